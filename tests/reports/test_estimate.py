"""`mb.estimate`: from runs, findings, stored studies and lists of releases."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import Recorded
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.reports.bias import Played, bias
from maskedbandit.reports.estimate import points
from maskedbandit.reports.estimate_source import source_of
from maskedbandit.reports.estimates import OWN, SAME
from maskedbandit.store.studies import new, opened
from maskedbandit.store.study import Study
from maskedbandit.study.protocol import Protocol
from maskedbandit.theory.sequences import Interval, mean_interval
from tests.reports.interval_misses import missed, misses_difference, misses_mean
from tests.statistics import at_most, mean_is

CENTRAL, FINE = mb.channels.Central(epsilon=1), mb.channels.Central(epsilon=4)
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
    assert [(each.arm, each.minus, each.of) for each in found.differences] == [("1", "0", SAME), ("2", "0", SAME)]
    assert found.differences[1].interval.low < -0.3 < found.differences[1].interval.high < 0
    other = mb.estimate(kept, against="2", simulations=0)
    assert [each.minus for each in other.differences] == ["2", "2"]
    assert other.differences[0].interval == pytest.approx([-end for end in found.differences[1].interval[::-1]])
    wide = mb.estimate(kept, 0.001, simulations=0)
    assert wide.arms[0].interval.width > found.arms[0].interval.width


def test_differences_of_arms_that_were_not_dealt_together_are_of_their_own_people() -> None:
    found = mb.identify(LIKELIHOOD, CENTRAL, WORLD, delta=0.1, seed=2, keep_releases=True)
    assert {each.of for each in mb.estimate(found, simulations=0).differences} == {OWN}
    tree = mb.simulate(mb.policies.UCB1(), mb.channels.Tree(epsilon=1), WORLD, 500, seed=1, keep_releases=True)
    assert {each.of for each in mb.estimate(tree, simulations=0).differences} == {OWN}


def test_shared_epochs_are_weighted_by_the_smaller_cohort() -> None:
    known = [
        Recorded(0, 100, 50.0, 0),
        Recorded(1, 200, 120.0, 0),
        Recorded(1, 10**6, 9e5, 1),
        Recorded(0, 300, 90.0, 2),
    ]
    known += [Recorded(1, 300, 120.0, 2)]
    (found,) = mb.estimate(known, channel=CENTRAL).differences
    assert found.estimate == pytest.approx((100 * 0.1 + 300 * 0.1) / 400)  # without the epoch that arm 1 had alone
    assert (found.n, found.of) == (900, SAME)


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


@contextmanager
def stored(folder: Path, people: int, arms: str) -> Iterator[tuple[Study, Callable[[], None]]]:
    """A study that began, and what plays its first epoch of ten people an arm: the first arm succeeds, others fail."""
    protocol = {"name": "sums", "people": people, "policy": {"name": "successive_elimination", "least": 10}}
    protocol |= {"channel": {"name": "central", "epsilon": 20}, "budget": {"epsilon": 20}}
    protocol |= {"arms": [{"name": arm} for arm in arms], "reward": {"least": -10, "most": 10, "window": "1 hour"}}
    address, time = f"sqlite:///{folder}/s.db", 0
    new(Protocol.from_table(protocol), address, folder / "w")
    with opened(address, folder=folder / "w", clock=lambda: time) as study:
        study.start()

        def play() -> None:
            nonlocal time
            for i in range(10 * len(arms)):
                place = study.assign(f"unit{i}")
                study.expose(place.ticket)
                study.report(place.ticket, 10 if place.arm == 0 else -10)
            time = 2 * 3_600_000
            study.tick()

        yield study, play


def test_a_stored_study_in_its_units(tmp_path: Path) -> None:
    with stored(tmp_path, 40, "ab") as (study, play):
        assert all(each.n == 0 for each in mb.estimate(study).arms)
        assert mb.estimate(study).differences == ()
        play()
        found = mb.estimate(study, simulations=0)
        assert [each.epoch for each in study.recorded()] == [0, 0]
    assert found.what == "sums"
    a, b = found.arms
    assert (a.arm, b.arm, a.n, b.n) == ("a", "b", 10, 10)
    assert (a.estimate, b.estimate) == (10, -10)  # noise at ε = 20 is 0, but for a chance of some 1e-8
    assert -10 == b.interval.low < -5 < b.interval.high < a.interval.low < a.interval.high == 10
    (difference,) = found.differences
    assert difference.of == SAME
    assert difference.estimate == -20
    assert -20 == difference.interval.low < difference.interval.high < 20


def test_simulations_of_a_stored_study_end_where_it_is_and_there_are_none_after_its_arms_changed(
    tmp_path: Path,
) -> None:
    with stored(tmp_path, 3000, "abc") as (study, play):
        assert mb.estimate(study).correction == "not corrected: an arm has no release"
        play()
        played = source_of(study, None, None).played
        assert played == Played(study.protocol.policy, 3000, AT_ONCE, 300, 30)  # 1 % of its people were released
        found = mb.estimate(study, simulations=20)
        assert found.correction == "corrected by 20 simulations until 30 people were released"
        assert found.correction in repr(found)
        assert all(
            each.corrected == pytest.approx(each.estimate, abs=0.1) for each in found.arms
        )  # nothing adapted yet
        study.change_arms("pause", "b")
        changed = mb.estimate(study, simulations=20)
    assert "its arms changed" in changed.correction
    assert all(math.isnan(each.corrected) for each in changed.arms + changed.differences)
    assert changed.arms == tuple(each._replace(corrected=pytest.approx(math.nan, nan_ok=True)) for each in found.arms)


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


def test_what_cannot_be_estimated_is_refused() -> None:
    several = run(runs=2)
    for wrong, said in (
        (lambda: mb.estimate(mb.simulate(ELIMINATION, CENTRAL, WORLD, 100)), "keep_releases=True"),
        (lambda: mb.estimate(several), "the number of one run, from 0 to 1"),
        (lambda: mb.estimate(several, run=2), "run is 2: it must be the number of one run, from 0 to 1"),
        (lambda: mb.estimate(several, run=1.0), "run is 1.0"),
        (lambda: mb.estimate(several, run=True), "run is True"),
        (lambda: mb.estimate(run(), channel=CENTRAL), "left out unless a list of releases"),
        (lambda: mb.estimate(run(), 0), "alpha is 0"),
        (lambda: mb.estimate(run(), against="control"), "the name of an arm: 0, 1, 2"),
        (lambda: mb.estimate([], channel=CENTRAL), "a list of releases"),
        (lambda: mb.estimate([mb.Release(0, 1, 1.0)]), "the channel of these releases"),
        (lambda: mb.estimate([mb.Release(0, 1, 1.0)], channel=CENTRAL, run=1), "left out"),
        (lambda: mb.simulate(ELIMINATION, CENTRAL, WORLD, 100, keep_releases=1), "true or false"),
    ):
        with pytest.raises(InvalidValue, match=said):
            wrong()


WELL = mb.Release(0, 100, 50.0)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ((0, 10.5, 4.0), "n of release 1 is 10.5: it must be a whole number of at least 1"),
        ((0, 0, 4.0), "n of release 1 is 0: it must be a whole number of at least 1"),
        ((0, -5, 4.0), "n of release 1 is -5"),
        ((0, True, 4.0), "n of release 1 is True"),
        ((0, 10, math.nan), "the total of release 1 is nan: it must be a finite number"),
        ((0, 10, math.inf), "the total of release 1 is inf"),
        ((0, 10, "4"), "the total of release 1 is '4'"),
        ((-1, 10, 4.0), "the arm of release 1 is -1: it must be a whole number of at least 0"),
        ((0.5, 10, 4.0), "the arm of release 1 is 0.5"),
        ((10**7, 10, 4.0), "the arm of release 1 is 10000000: it must be at most 9999"),
    ],
)
def test_a_release_that_cannot_be_is_refused(fields: tuple[Any, ...], said: str) -> None:
    lists: tuple[list[Any], ...] = (
        [WELL, mb.Release(*fields)],
        [Recorded(*WELL, epoch=0), Recorded(*fields, epoch=1)],
    )
    for wrong in lists:
        with pytest.raises(InvalidValue, match=re.escape(said)):
            mb.estimate(wrong, channel=CENTRAL)


def test_a_release_is_used_once_and_epochs_are_whole_numbers() -> None:
    known = [Recorded(0, 100, 50.0, 0), Recorded(1, 100, 60.0, 0), Recorded(1, 100, 70.0, 0)]
    for wrong, said in (
        (known, "the epoch of release 2 is 0: it must be another one: arm 1 has a release of this epoch already"),
        ([*known[:2], WELL], "all Release or all Recorded"),
        ([*known[:2], Recorded(1, 100, 70.0, -1)], "the epoch of release 2 is -1"),
        ([*known[:2], Recorded(1, 100, 70.0, 0.5)], "the epoch of release 2 is 0.5"),
    ):
        with pytest.raises(InvalidValue, match=said):
            mb.estimate(wrong, channel=CENTRAL)
    of_numpy: Any = [mb.Release(*map(np.float64, (0.0, 100.0, 50.0))), mb.Release(*map(np.int64, (1, 100, 60)))]
    assert mb.estimate(of_numpy, channel=CENTRAL).arms[1].n == 100
    assert len(mb.estimate([mb.Release(9999, 10, 4.0)], channel=CENTRAL).arms) == 10_000


def test_a_difference_never_changes_its_meaning() -> None:
    """Arms 0 and 1 are dealt together; arm 2 is added later; of arm 1 the second epoch is released last or first."""
    base = [Recorded(0, 100, 50.0, 0), Recorded(0, 100, 50.0, 1), Recorded(0, 100, 50.0, 2)]
    first, second = Recorded(1, 100, 60.0, 0), Recorded(1, 100, 70.0, 1)
    for order in ([first, second], [second, first]):
        known, meant = [*base, *order, Recorded(2, 100, 40.0, 2)], dict[str, set[str]]()
        for m in range(1, len(known) + 1):
            for each in mb.estimate(known[:m], channel=CENTRAL).differences:
                meant.setdefault(each.arm, set()).add(each.of)
        assert meant == {"1": {SAME if order[0] == first else OWN}, "2": {OWN}}
    assert [each.arm for each in mb.estimate([first, Recorded(2, 9, 4.0, 0)], channel=CENTRAL).differences] == []


# The bias of an unfinished study: 1 % of 10 000 people, three equal arms, NoiseAwareKLUCB, ε = 4.

PEOPLE = 10_000
INTERIM = Played(mb.policies.NoiseAwareKLUCB(), PEOPLE, AT_ONCE, PEOPLE // 10, PEOPLE // 100)


def means_of(rows: np.ndarray) -> np.ndarray:
    """The mean of each arm, and its difference to the first one."""
    return np.stack(points(rows, 3, 0, np.zeros(3, bool)))


@cache
def interim_means() -> np.ndarray:
    """The means of 3 000 studies, as soon as 1 % of their people were released."""
    truth = mb.Bernoulli([0.5] * 3)
    kept = mb.simulate(INTERIM.policy, FINE, truth, PEOPLE, 3000, 5, keep_releases=True).recorded or ()
    found = np.array([means_of(INTERIM.cut(rows))[0] for rows in kept])
    return found[np.isfinite(found).all(axis=1)]


def removes_most(played: Played) -> None:
    """The correction takes away at least three quarters of the mean bias. False alarms: 1e-9, of a normal mean."""
    wrong = interim_means().mean(axis=1) - 0.5
    means = np.clip(interim_means()[:60], 0.001, 0.999)
    taken = np.array([bias(played, FINE, m, m - m[0], means_of, 40, lambda: None)[0][0].mean() for m in means])
    left = taken.mean() - 0.75 * wrong.mean()  # below 0 if enough was taken: the bias is downwards
    error = math.hypot(taken.std(ddof=1) / math.sqrt(taken.size), 0.75 * wrong.std(ddof=1) / math.sqrt(wrong.size))
    assert wrong.mean() < -0.02
    assert left < 6 * error, (left, error)


def test_the_correction_of_an_unfinished_study_takes_most_of_its_bias_away() -> None:
    removes_most(INTERIM)


def test_the_bias_at_the_end_of_a_study_is_not_that_at_its_beginning() -> None:
    """Broken twin: simulations to the aim of the policy."""
    with pytest.raises(AssertionError):
        removes_most(INTERIM._replace(most=PEOPLE, released=math.inf))


def test_runs_in_which_an_arm_has_no_release_are_left_out() -> None:
    truth = np.full(3, 0.5)
    assert bias(INTERIM, FINE, truth, truth - 0.5, means_of, 20, lambda: None)[1] == 20
    wrong, used = bias(INTERIM._replace(released=1), FINE, truth, truth - 0.5, means_of, 20, lambda: None)
    assert used == 0
    assert np.isnan(wrong).all()


# slow: many runs


@pytest.mark.slow
def test_adaptivity_biases_means_and_the_correction_takes_most_of_it_away() -> None:
    """The mean of the worst of three arms, of 2 000 runs: it is not unbiased. Corrected, in 120 of them, it may be."""
    policy, channel, world = (
        mb.policies.NoiseAwareKLUCB(),
        mb.channels.Central(epsilon=0.5),
        mb.Bernoulli([0.5, 0.5, 0.4]),
    )
    kept = mb.simulate(policy, channel, world, 10_000, 2000, 5, keep_releases=True)
    of = [rows[rows[:, 0] == 2] for rows in kept.recorded or ()]
    plain = np.array([rows[:, 2].sum() / rows[:, 1].sum() for rows in of])
    corrected = np.array([mb.estimate(kept, run=i, simulations=50).arm("2").corrected for i in range(120)])
    assert plain.mean() < 0.4 - 0.01
    with pytest.raises(AssertionError):
        mean_is(plain, 0.4)
    mean_is(corrected, 0.4)
    with pytest.raises(AssertionError):
        mean_is(corrected - plain[:120], 0.0)
    assert ((corrected - 0.4) ** 2).mean() < ((plain[:120] - 0.4) ** 2).mean()


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
