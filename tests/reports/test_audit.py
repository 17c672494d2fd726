"""Audits: exact ones meet what is promised, sampled ones are below it, and broken twins are caught by both."""

import json
import math
import os
import subprocess
import sys
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit import __version__, channels
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.tree import Tree
from maskedbandit.cli import main
from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.skellam import Skellam
from maskedbandit.reports.audit.audit import AuditPart, AuditPromise, BrokenTwin, How
from maskedbandit.reports.audit.bounds import (
    choose_event,
    hockey_stick_excess,
    largest_ratio,
    measure_shown_epsilon,
    trade_off,
)
from maskedbandit.reports.audit.exact import exact_part, fit_cohort_size
from maskedbandit.reports.audit.figure import promised_curve
from maskedbandit.reports.audit.policies import BROKEN, decisions_part, run_part
from maskedbandit.reports.audit.samples import count_enough_samples, live_part
from maskedbandit.reports.audit.targets import audit_channel, describe_part, join_audits, of_channel
from tests.audit.events import seen_epsilon
from tests.reports.broken_channels import AllHonest, HalfNoise, PromisesMuch
from tests.statistics import ALPHA, at_most

C, P = mb.channels, mb.policies
MADE: dict[str, Channel] = {"pure_shuffled": C.PureShuffled("0.5"), "tree": C.Tree(counter="binary")}
PRIVATE = [name for name in channels.room if name != "raw"]


def made(name: str) -> Channel:
    found: Channel = MADE.get(name) or channels.room[name]()
    return found


# --- every channel ---------------------------------------------------------------------------------------------


@pytest.mark.sparing(1)
@pytest.mark.parametrize("name", PRIVATE)
def test_each_channel_has_an_audit_that_proves_something(name: str) -> None:
    (part, _), (live, why) = of_channel(made(name), How(samples=400))
    assert part is not None, "it is not enumerated"
    assert part.proves
    assert not part.violation
    assert part.lower_bound > 0.99 * part.promised.epsilon
    assert live is not None, why


def test_a_channel_without_a_promise_is_refused() -> None:
    with pytest.raises(InvalidValue, match="promises privacy"):
        audit_channel(C.Raw(), None, How())


@pytest.mark.parametrize(
    "channel",
    [C.Central("0.2", Skellam()), C.Local(1, DiscreteGaussian()), C.Distributed("0.3", Skellam(), honest="0.5")],
    ids=["central", "local", "distributed"],
)
def test_losses_without_a_pure_epsilon_are_enumerated_at_a_delta(channel: Channel) -> None:
    part, _ = exact_part(channel, 6)
    assert part is not None
    assert part.promised == AuditPromise(channel.loss(6).epsilon(1e-6), 1e-6)
    assert 0.9 * part.promised.epsilon < part.lower_bound <= part.promised.epsilon
    assert part.proves


@pytest.mark.slow
@pytest.mark.parametrize("channel", [C.Central(1), C.Distributed(1, honest="0.5"), C.Response(1)])
def test_live_releases_show_nearly_what_is_promised(channel: Channel) -> None:
    part, _ = live_part(channel, 2, How(samples=4000, error=ALPHA, seed=4))
    assert part is not None
    assert 0.3 < part.lower_bound <= 1
    assert part.proves


@pytest.mark.slow
@pytest.mark.parametrize("channel", [HalfNoise(1), AllHonest(1, honest="0.4")])
def test_broken_channels_are_found_live(channel: Channel) -> None:
    part, _ = live_part(channel, 3, How(samples=5000, error=ALPHA, seed=4))
    assert part is not None
    assert part.violation


@pytest.mark.slow
def test_a_loss_that_says_too_little_is_found() -> None:
    found = audit_channel(PromisesMuch(1), None, How(samples=2000, error=ALPHA))
    assert found.violation
    assert found.worst.promised.epsilon == pytest.approx(0.1)


def test_what_is_too_wide_or_too_rare_is_not_audited_and_said() -> None:
    part, why = exact_part(C.Central("0.0001"), 4)
    assert part is None
    assert "too wide" in why
    part, why = live_part(C.Central("0.01"), 4)
    assert part is None
    assert "samples" in why
    with pytest.raises(InvalidValue, match="too wide"):
        audit_channel(C.Central("0.0001"), None, How())
    assert (
        count_enough_samples(AuditPromise(0.1))
        > count_enough_samples(AuditPromise(1.0))
        < count_enough_samples(AuditPromise(6.0))
    )
    with pytest.raises(InvalidValue, match="finite"):
        count_enough_samples(AuditPromise(math.inf))
    carried, why = exact_part(C.Central(1).carrying(mb.privacy.statistics.linear_sums(2)), 4)
    assert carried is None
    assert "vectors" in why


def test_cohorts_are_of_a_size_that_the_channel_allows() -> None:
    assert fit_cohort_size(C.Central(1), 4) == 4
    assert fit_cohort_size(C.SplitAndMix(1, honest="0.1"), 4) == 16
    narrow = C.Distributed(1, DiscreteGaussian())
    assert fit_cohort_size(narrow, 4) == 1


# --- policies --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("policy", [P.UCB1(), P.ContemporaneousKLUCB(), P.ContemporaneousElimination(), P.DPKLUCB()])
def test_a_run_costs_what_one_release_costs(policy: Any) -> None:
    part, _ = run_part(policy, C.Central(1))
    assert part is not None
    assert part.lower_bound == pytest.approx(1)
    assert part.proves
    assert not part.violation


@pytest.mark.slow
def test_a_run_through_a_shuffler_is_enumerated_by_its_sum() -> None:
    part, _ = run_part(P.SuccessiveElimination(), C.SplitAndMix(1))
    assert part is not None
    assert part.proves


@pytest.mark.slow
def test_a_run_of_a_broken_engine_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for twin in BROKEN.values():
        monkeypatch.setattr("maskedbandit.reports.audit.policies.break_nothing", twin)
        part, _ = run_part(P.UCB1(), C.Central(1))
        assert part is not None
        assert part.violation


@pytest.mark.slow
def test_runs_that_release_nothing_or_are_not_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maskedbandit.reports.audit.policies.MOST_AUDITED_PEOPLE", 1000)
    assert run_part(P.Uniform(), C.Central(1))[0] is None
    assert "enumerated" in run_part(P.UCB1(), Tree())[1]
    assert "search" in decisions_part(P.AdaPTT(), C.Central(1))[1]


@pytest.mark.slow
def test_decisions_are_sampled() -> None:
    part, _ = decisions_part(P.LDPUCB(), C.Response(1), How(samples=10_000, error=ALPHA))
    assert part is not None
    assert part.proves
    assert not part.violation


# --- bounds ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_bound_from_samples_is_wrong_as_rarely_as_it_says() -> None:
    """Randomized response at ε = 1 among columns of noise; without the split it would be wrong far more often."""
    rng, flip, runs, error = np.random.default_rng(8), 1 / (1 + math.e), 60, 0.05
    wrong = careless = 0
    for _ in range(runs):
        a, b = (np.column_stack([rng.random(120) < p, rng.normal(size=(120, 6))]).astype(float) for p in (flip, 0.5))
        b[:, 0] = rng.random(120) < 1 - flip
        wrong += measure_shown_epsilon(a, b, ["bit", *"abcdef"], 0.0, error).epsilon > 1
        event = choose_event(a, b, 0.0, error)
        hits = [int(np.sum((each[:, event.what] > event.threshold) == event.above)) for each in (a, b)]
        p, q = hits if event.first else hits[::-1]
        careless += math.log(max(p, 1e-9) / max(q, 1e-9)) > 1
    at_most(wrong, runs, error)
    with pytest.raises(AssertionError, match="more than"):
        at_most(careless, runs, error)


def test_the_best_tests_trade_off_as_randomized_response_does() -> None:
    p, q = np.array([0.25, 0.75]), np.array([0.75, 0.25])
    curve = trade_off(p, q)
    assert curve.tolist() == [[0.0, 0.25, 1.0], [1.0, 0.25, 0.0]]
    assert np.allclose(promised_curve(AuditPromise(math.log(3)), curve[0]), curve[1])
    assert promised_curve(AuditPromise(math.log(3), 0.1), np.array([0.0]))[0] == pytest.approx(0.9)
    assert largest_ratio(p, q) == pytest.approx(math.log(3))
    assert hockey_stick_excess(p, q, 0.0) == pytest.approx(0.5)


def test_events_that_were_counted_are_bounded() -> None:
    from collections import Counter
    from collections.abc import Hashable

    a: Counter[Hashable] = Counter({None: 10_000, "x": 7310})
    b: Counter[Hashable] = Counter({None: 10_000, "x": 2690})
    assert 0.8 < seen_epsilon(a, b, 1) < 1
    assert seen_epsilon(a, a, 1) == 0


# --- what is said ----------------------------------------------------------------------------------------------

FIELDS = {
    *("format", "version", "target", "protocol", "date", "promised", "method", "samples", "confidence"),
    *("lower_bound", "violation", "control", "parts", "left_out"),
}


def part_of(lower_bound: float, caught: bool, twin: float = 2.0) -> AuditPart:
    control = BrokenTwin("twin", twin, caught)
    return AuditPart("part", AuditPromise(1.0), "sampled", lower_bound, (control,), samples=10, error=1e-5)


def test_the_file_of_an_audit_has_the_fields_that_others_read() -> None:
    found = join_audits("target", [(part_of(0.8, True, math.inf), "")], "ab").to_dict()
    assert set(found) == FIELDS
    assert (found["format"], found["version"]) == ("maskedbandit audit 1", __version__)
    assert found["promised"] == {"epsilon": 1.0, "delta": 0.0}
    assert found["control"] == {"twin": "twin", "lower_bound": None, "caught": True}
    assert (found["protocol"], found["method"], found["samples"], found["violation"]) == ("ab", "sampled", 10, False)
    assert found["confidence"] == 1 - 1e-5
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    document = (Path(__file__).parents[2] / "docs" / "audit.md").read_text()
    assert all(f"| `{name}` |" in document for name in FIELDS)


def test_a_part_that_proves_nothing_is_left_out_unless_it_is_all_there_is() -> None:
    weak, strong, wrong = part_of(0.1, False, 0.5), part_of(0.8, True), part_of(1.4, False)
    both = join_audits("target", [(weak, ""), (strong, "")])
    assert (both.parts, both.proves, len(both.left_out)) == ((strong,), True, 1)
    assert both.error == pytest.approx(2e-5)  # what was left out could have been a false alarm too
    alone = join_audits("target", [(weak, "")])
    assert (alone.parts, alone.proves) == ((weak,), False)
    assert "proves nothing" in str(alone)
    assert join_audits("target", [(wrong, ""), (strong, "")]).violation
    with pytest.raises(InvalidValue, match="because"):
        join_audits("target", [(None, "because")])


def test_channels_are_described_in_one_line() -> None:
    assert describe_part(C.Central("0.5")) == "Central(epsilon = 1/2)"
    assert describe_part(C.Distributed(1, Skellam(), honest=Fraction(4, 5))) == (
        "Distributed(epsilon = 1, noise = Skellam, honest = 4/5)"
    )


# --- the command -----------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASKEDBANDIT_KEY", raising=False)


@pytest.mark.slow
def test_the_command_writes_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["audit", "--channel", '{ name = "central", epsilon = 2 }', "--samples", "3000", "--out", str(tmp_path)]
    assert main([*given, "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == json.loads((tmp_path / "audit.json").read_text())
    assert said["promised"]["epsilon"] == 2
    assert "every broken twin was caught" in (tmp_path / "audit.txt").read_text()
    assert "promised" in (tmp_path / "audit.svg").read_text()


OWN = ("--channel", '{ name = "tests.reports.broken_channels:Sound", epsilon = 0.3 }')


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        (["--channel", "tests.reports.broken_channels:HalfNoise", "--samples", "4000"], 2, "a promise is broken"),
        ([*OWN, "--samples", "400"], 3, "proves nothing"),
        (["--channel", "raw"], 2, "promises privacy"),
        (["--channel", "central", "quickstart"], 2, "one of FILE"),
        (["--channel", "{ name = "], 2, "such as"),
        (["--channel", "central", "--policy", "gaussian_thompson"], 2, "sums without noise"),
        (["--channel", "central", "--error", "0"], 2, "--error"),
        (["--channel", "central", "--samples", "3"], 2, "--samples"),
        (["--url", "http://127.0.0.1:9"], 2, "MASKEDBANDIT_KEY"),
        (["nowhere.toml"], 2, "nowhere.toml"),
        ([], 2, "one of FILE"),
    ],
)
def test_exit_codes(more: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--quiet", *more]) == code
    assert says in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.slow
def test_an_experiment_and_a_study_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two.toml"
    file.write_text(
        'about = "x"\nsource = "y"\nhorizon = 100\nruns = 1\npolicy = "ucb1"\n'
        'instance = { name = "bernoulli", means = [0.2, 0.8] }\n'
        '[[curves]]\nchannel = "raw"\n[[curves]]\nchannel = { name = "central", epsilon = 2 }\n'
    )
    assert "arms" not in tomllib.loads(file.read_text())
    assert main(["audit", str(file), "--samples", "3000", "--quiet", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    names = [part["part"] for part in said["parts"]]
    assert said["protocol"] is None
    assert names == [
        "Central(epsilon = 2): the release of a cohort of 4",
        "Central(epsilon = 2): the release of a cohort of 4, live",
        "UCB1 on Central(epsilon = 2): a run of 250 people, one of them turned over",
    ]


WITHOUT_LAB = """
import sys
sys.modules.update(dict.fromkeys(("polars", "matplotlib", "tqdm", "openfeature")))  # none can be imported
from maskedbandit.cli import main
sys.exit(main(["audit", "--url", "http://127.0.0.1:1", "--key", "mb_owner_0_x", "--quiet"]))
"""


@pytest.mark.slow
def test_a_running_service_is_audited_where_only_the_service_is_installed() -> None:
    """Nobody listens on this port, which is noticed after all imports."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_LAB], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the service cannot be asked" in done.stderr


def test_what_a_figure_needs_is_said_before_the_audit(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["audit", "newsletter", "--quiet", "--out", str(tmp_path / "out")]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.endswith("pip install 'maskedbandit[lab]'\n")


@pytest.mark.slow
def test_the_study_of_the_newsletter_is_audited(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "newsletter", "--samples", "2000", "--quiet", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["parts"]) == 4
    assert len(said["protocol"]) == 64
    assert os.environ.get("MASKEDBANDIT_KEY") is None
