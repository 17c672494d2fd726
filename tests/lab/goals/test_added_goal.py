"""The goal of docs/add_a_goal.md is found by its two folders: it is listed, run, compared, planned and forecast."""

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import maskedbandit as mb
from maskedbandit import policies
from maskedbandit.cli import main
from maskedbandit.cli.parts.forecast import foreseen, in_words
from maskedbandit.cli.parts.trust_plan import cells, question
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.lab import goals
from maskedbandit.policies.parts.purposes import list_purposes
from maskedbandit.reports.plan.plan import plan
from maskedbandit.study.protocol import Protocol
from tests.guides import DOCS, block

PAGE = "add_a_goal.md"
FILES = ("policies/worst/__init__.py", "policies/worst/lowest_mean.py", "goals/worst/goal.py")
EXPERIMENT = re.findall(r"^```toml\n(.*?)^```$", (DOCS / PAGE).read_text(), re.MULTILINE | re.DOTALL)[0]


def forget() -> None:
    """What was listed without the goal, or with it."""
    list_purposes.cache_clear()
    goals.list_goals.cache_clear()
    vars(policies.room).pop("modules", None)
    for name in [each for each in sys.modules if re.match(r"maskedbandit\.(policies|lab\.goals)\.worst\b", each)]:
        del sys.modules[name]


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folders of the page, beside those of the package."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    for i, name in enumerate(FILES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(block(PAGE, i))
    (tmp_path / "goals" / "worst" / "__init__.py").write_text('"""Name the worst arm."""\n')
    monkeypatch.setattr(policies, "__path__", [*policies.__path__, str(tmp_path / "policies")])
    monkeypatch.setattr(goals, "__path__", [*goals.__path__, str(tmp_path / "goals")])
    forget()
    yield
    monkeypatch.undo()
    forget()


@pytest.mark.usefixtures("added")
def test_it_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    below = capsys.readouterr().out.partition("policy for the worst arm:\n")[2]
    assert below.startswith("  lowest_mean           An equal split, and then the arm of the lowest mean\n")


@pytest.mark.slow
@pytest.mark.usefixtures("added")
def test_an_experiment_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "which.toml").write_text(EXPERIMENT)
    out = tmp_path / "out"
    assert main(["run", str(tmp_path / "which.toml"), "--out", str(out), "--quiet"]) == 0
    assert "wrong" in capsys.readouterr().out
    assert (out / "figure.svg").exists()
    (tmp_path / "which.toml").write_text(EXPERIMENT.replace("lowest_mean", "equal_split"))
    assert main(["run", str(tmp_path / "which.toml"), "--out", str(out), "--quiet"]) == 2
    assert "a policy whose goal is 'worst', not 'answer'" in capsys.readouterr().err


@pytest.mark.usefixtures("added")
def test_it_is_compared() -> None:
    policy, arms = policies.room["lowest_mean"](), mb.Bernoulli([0.9, 0.5, 0.1])
    channels = [mb.channels.Raw(), mb.channels.Central(epsilon=1)]
    found = mb.compare(policy, channels, arms, horizon=300, runs=10)
    assert found.goal == "worst"
    assert (found.results["Raw"].outcome().values == 0).all()
    assert found.plot() is not None
    with pytest.raises(InvalidValue, match="whose goal is 'identify' or 'select', as they are given a delta"):
        mb.compare(policy, channels, arms, delta=0.1)


@pytest.mark.usefixtures("added")
def test_it_is_planned(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "--people", "200", "--difference", "0.3", "--epsilon", "1", "--policy", "lowest_mean"]
    assert main([*asked, "--trust", "central", "--runs", "20", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "No bound is known." in said
    (row,) = plan(goal="worst", people=200, difference=0.3, trust=("central",), runs=20).rows
    assert row.expected.people == 200
    assert row.expected.wrong < 0.2
    assert plan(goal="worst", difference=0.3, trust=("central",), runs=20).rows[0].expected.wrong <= 0.05


@pytest.mark.usefixtures("added")
def test_a_live_study_is_forecast() -> None:
    table = {"name": "which", "arms": [{"name": "a"}, {"name": "b"}], "people": 200, "policy": "lowest_mean"}
    table |= {"channel": {"name": "central", "epsilon": 1}, "budget": {"epsilon": 1}}
    protocol = Protocol.from_table(table)
    found = foreseen(protocol, 0.3, 0.5, 100.0)
    assert found.people == 200
    said = dict(in_words(protocol, found, 100.0, datetime(2026, 1, 30, tzinfo=UTC)))
    assert said["Wrong answers"].endswith("% of studies")
    asked = question(protocol, 0.3, 0.5, 100.0)
    assert "Wrong answers" in cells(plan(asked, trust=("central",), runs=10).rows[0], asked)


def test_without_its_folders_nothing_knows_it() -> None:
    """Negative control."""
    with pytest.raises(UnknownName):
        goals.find_goal("worst")
    with pytest.raises(UnknownName):
        plan(goal="worst", people=200)
