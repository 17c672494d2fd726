"""`mb.estimate`: from runs, findings, stored studies and lists of releases."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import Release
from maskedbandit.reports.estimate.intervals import OWN, WHOSE_DIFFERENCE
from maskedbandit.theory.sequences import Interval, mean_interval
from tests.reports.interval_misses import missed, misses_difference, misses_mean
from tests.statistics import at_most

CENTRAL = mb.channels.Central(epsilon=1)
ELIMINATION, LIKELIHOOD = mb.policies.SuccessiveElimination(), mb.policies.ReleasedLikelihood()
WORLD = mb.Bernoulli([0.6, 0.5, 0.3])


def run(policy: Any = ELIMINATION, **how: Any) -> Any:
    """A short run that keeps its releases."""
    return mb.simulate(policy, CENTRAL, WORLD, 5000, seed=5, keep_releases=True, **how)


@pytest.mark.parametrize("delay", [0, 40])
def test_runs_keep_their_releases_and_are_the_same_as_those_that_do_not(delay: int) -> None:
    late = mb.delays.Constant(delay)
    kept, plain = run(runs=3, delay=late), mb.simulate(ELIMINATION, CENTRAL, WORLD, 5000, 3, 5, delay=late)
    assert plain.recorded is None
    assert (kept.regret == plain.regret).all()
    assert [len(rows) for rows in kept.recorded] == kept.releases.tolist() == plain.releases.tolist()
    for rows, pulls in zip(kept.recorded, kept.pulls, strict=True):
        assert (np.bincount(rows[:, 0].astype(int), rows[:, 1], 3) <= pulls).all()
        first = rows[rows[:, 3] == 0]  # the first epoch has a cohort of every arm
        assert sorted(first[:, 0]) == [0, 1, 2]
        assert len(set(map(tuple, rows[:, [0, 3]].tolist()))) == len(rows)  # an arm is in an epoch once


def test_a_run_of_many_releases_keeps_all(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = mb.policies.UCB1()
    found = mb.simulate(policy, mb.channels.Raw(), WORLD, 3000, seed=5, keep_releases=True)
    assert len(found.recorded[0]) == 3000
    assert set(found.recorded[0][:, 3]) == set(range(3000))


@pytest.mark.parametrize("policy", [ELIMINATION, mb.policies.KLUCB()])
def test_interpreted_runs_keep_the_same(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    how: dict[str, Any] = {"horizon": 300, "seed": 3, "delay": mb.delays.Constant(7), "keep_releases": True}
    compiled = mb.simulate(policy, CENTRAL, WORLD, **how).recorded
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    (rows,) = mb.simulate(policy, CENTRAL, WORLD, **how).recorded or ()
    assert compiled is not None
    assert (rows == compiled[0]).all()


@pytest.mark.slow
def test_a_rehearsal_keeps_its_releases() -> None:
    channel = mb.channels.Distributed(epsilon=1, backend=mb.backends.SecAgg())
    policy = mb.policies.SuccessiveElimination(least=32)
    found = mb.simulate(policy, channel, WORLD, 200, seed=1, keep_releases=True)
    rows = (found.recorded or ())[0]
    assert len(rows) == found.releases[0] > 0
    assert (rows[:3, 3] == 0).all()


def test_means_and_differences_of_a_run() -> None:
    kept = run()
    found, rows = mb.estimate(kept, simulations=0), kept.recorded[0]
    of = rows[rows[:, 0] == 1]
    arm = found.arm("1")
    assert (arm.n, arm.releases) == (of[:, 1].sum(), len(of))
    assert arm.estimate == pytest.approx(of[:, 2].sum() / of[:, 1].sum())
    known = [mb.Release(1, int(n), total) for _, n, total, _ in of]
    assert arm.interval == mean_interval(CENTRAL.law(), known)
    assert arm.without_noise.width < arm.interval.width
    assert math.isnan(arm.corrected)
    assert [(each.arm, each.minus, each.of) for each in found.differences] == [
        ("1", "0", WHOSE_DIFFERENCE),
        ("2", "0", WHOSE_DIFFERENCE),
    ]
    assert found.differences[1].interval.low < -0.3 < found.differences[1].interval.high < 0
    other = mb.estimate(kept, against="2", simulations=0)
    assert [each.minus for each in other.differences] == ["2", "2"]
    assert other.differences[0].interval == pytest.approx([-end for end in found.differences[1].interval[::-1]])
    wide = mb.estimate(kept, 0.001, simulations=0)
    assert wide.arms[0].interval.width > found.arms[0].interval.width


def test_simultaneous_intervals_share_alpha() -> None:
    """Of three means and two differences each has a fifth, whether all are there or not."""
    kept = run()
    found, each = mb.estimate(kept, simultaneous=True, simulations=0), mb.estimate(kept, 0.05 / 5, simulations=0)
    assert [arm.interval for arm in found.arms] == [arm.interval for arm in each.arms]
    assert [row.interval for row in found.differences] == [row.interval for row in each.differences]
    plain = mb.estimate(kept, simulations=0)
    widths = [one.interval.width / two.interval.width for one, two in zip(found.arms, plain.arms, strict=True)]
    assert 1.1 < min(widths) < max(widths) < 1.25
    assert "95 % at any time, all intervals together" in found.title()
    assert "together" not in plain.title()
    known = [mb.Release(0, 1000, 520.0), mb.Release(2, 5000, 2100.0)]
    early = mb.estimate(known, channel=CENTRAL, simultaneous=True)
    assert early.arms[0].interval == mean_interval(CENTRAL.law(), known[:1], 0.05 / 5)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("policy", [mb.policies.KLLUCB(m=1), mb.policies.UniformArmsAbove(theta=0.4)])
def test_a_selection_of_several_arms(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    easy = mb.Bernoulli([0.9, 0.2, 0.1])
    kept = mb.select(policy, mb.channels.Raw(), easy, delta=0.1, runs=2, seed=2, keep_releases=True)
    found, rows = mb.estimate(kept, run=1, simulations=3), (kept.recorded or ())[1]
    for a, arm in enumerate(found.arms):
        mine = rows[rows[:, 0] == a]
        assert (arm.n, arm.estimate) == (mine[:, 1].sum(), pytest.approx(mine[:, 2].sum() / mine[:, 1].sum()))
        assert arm.interval.low <= easy.means[a] <= arm.interval.high
        assert arm.corrected != arm.estimate
    assert found.correction == "corrected by 3 simulations to the end"


@pytest.mark.slow
def test_differences_of_arms_that_were_not_dealt_together_are_of_their_own_people() -> None:
    found = mb.identify(LIKELIHOOD, CENTRAL, WORLD, delta=0.1, seed=2, keep_releases=True)
    assert {each.of for each in mb.estimate(found, simulations=0).differences} == {OWN}
    tree = mb.simulate(mb.policies.UCB1(), mb.channels.Tree(epsilon=1), WORLD, 500, seed=1, keep_releases=True)
    assert {each.of for each in mb.estimate(tree, simulations=0).differences} == {OWN}


def test_shared_epochs_are_weighted_by_the_smaller_cohort() -> None:
    known = [Release(0, 100, 50.0, 0), Release(1, 200, 120.0, 0), Release(1, 10**6, 9e5, 1), Release(0, 300, 90.0, 2)]
    known += [Release(1, 300, 120.0, 2)]
    (found,) = mb.estimate(known, channel=CENTRAL).differences
    assert found.estimate == pytest.approx((100 * 0.1 + 300 * 0.1) / 400)  # without the epoch that arm 1 had alone
    assert (found.n, found.of) == (900, WHOSE_DIFFERENCE)


def test_a_list_of_releases() -> None:
    known = [mb.Release(0, 1000, 520.0), mb.Release(1, 5000, 2100.0)]
    found = mb.estimate(known, channel=mb.channels.Response(epsilon=1))
    assert found.differences[0].of == OWN
    assert found.arms[1].interval.low < 0.42 < found.arms[1].interval.high
    lone = mb.estimate([mb.Release(2, 10, 4.0)], channel=CENTRAL)
    assert lone.arms[0].interval == Interval(0.0, 1.0)
    assert math.isnan(lone.arms[0].estimate)
    assert "2" in repr(lone)
    assert lone.differences == ()


@pytest.mark.slow
def test_it_is_a_result_like_others(tmp_path: Path) -> None:
    found = mb.estimate(run(), simulations=0)
    frame = found.to_frame()
    assert frame.shape == (5, 12)
    assert frame["what"].to_list() == ["mean"] * 3 + ["difference"] * 2
    found.to_csv(tmp_path / "found.csv")
    assert (tmp_path / "found.csv").read_text().count("\n") == 6
    assert "the same people" in repr(found)
    assert "<table>" in found._repr_html_()
    axes = found.plot(file=tmp_path / "found.svg")
    assert [each.get_xlabel() for each in axes] == ["mean", "difference"]
    assert found.plot(columns=1, axes=axes[0]) is axes[0]


@pytest.mark.slow
def test_a_difference_never_changes_its_meaning() -> None:
    """Arms 0 and 1 are dealt together; arm 2 is added later; of arm 1 the second epoch is released last or first."""
    base = [Release(0, 100, 50.0, 0), Release(0, 100, 50.0, 1), Release(0, 100, 50.0, 2)]
    first, second = Release(1, 100, 60.0, 0), Release(1, 100, 70.0, 1)
    for order in ([first, second], [second, first]):
        known, meant = [*base, *order, Release(2, 100, 40.0, 2)], dict[str, set[str]]()
        for m in range(1, len(known) + 1):
            for each in mb.estimate(known[:m], channel=CENTRAL).differences:
                meant.setdefault(each.arm, set()).add(each.of)
        assert meant == {"1": {WHOSE_DIFFERENCE if order[0] == first else OWN}, "2": {OWN}}
    assert [each.arm for each in mb.estimate([first, Release(2, 9, 4.0, 0)], channel=CENTRAL).differences] == []


# slow: many runs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "channel"),
    [
        (mb.policies.ContemporaneousElimination(), mb.channels.Central(epsilon=1)),
        (LIKELIHOOD, mb.channels.Response(epsilon=1)),
    ],
    ids=["elimination-central", "likelihood-response"],
)
def test_no_interval_misses_more_often_than_promised_at_any_time(policy: Any, channel: Any) -> None:
    """2 000 runs; all other rules and channels: `python -m tests.reports.interval_misses`. False alarms: 1e-9 each."""
    found = missed(policy, channel, WORLD, people=3000)
    if isinstance(policy, mb.policies.ContemporaneousElimination):
        drift = mb.Drifting(mb.Bernoulli([0.6, 0.5, 0.3]), amplitude=0.25, period=500, shape="step")
        found |= {f"{name}, drift": count for name, count in missed(policy, channel, drift, delay=100).items()}
    assert len(found) >= 7
    for count in found.values():
        at_most(count, 2000, 0.05)


def naive_misses(rows: np.ndarray, mean: float, scale: float) -> np.ndarray:
    """At each release, whether a normal interval that knows the noise misses the mean of an arm."""
    n, total, m = rows[:, 1].cumsum(), rows[:, 2].cumsum(), np.arange(1, len(rows) + 1)
    return np.abs(total - n * mean) > 1.959964 * np.sqrt(n * mean * (1 - mean) + 2 * scale**2 * m)


@pytest.mark.slow
def test_normal_intervals_fail_under_adaptive_stopping() -> None:
    """The same test rejects them; docs/estimate.md has more numbers."""
    policy, channel, world = mb.policies.NoiseAwareKLUCB(), CENTRAL, mb.Bernoulli([0.5, 0.5, 0.5])
    kept = mb.simulate(policy, channel, world, 3000, 500, 7, keep_releases=True).recorded or ()
    law, of = channel.law(), [rows[rows[:, 0] == 0] for rows in kept]
    at_most(sum(misses_mean(law, rows, 0.5) for rows in of), 500, 0.05)
    with pytest.raises(AssertionError):
        at_most(sum(naive_misses(rows, 0.5, law.scale).any() for rows in of), 500, 0.05)


def test_the_check_of_differences_rejects_a_wrong_one() -> None:
    """Broken twin: a difference that is .3 too large."""
    kept = mb.simulate(ELIMINATION, CENTRAL, WORLD, 5000, 20, 7, keep_releases=True).recorded or ()
    of = [[rows[rows[:, 0] == a] for a in range(2)] for rows in kept]
    assert sum(misses_difference(CENTRAL.law(), two, one, 0.2) for one, two in of) == 20
    assert sum(misses_difference(CENTRAL.law(), two, one, -0.1) for one, two in of) == 0
