"""One set of scenarios, which the clients of all languages play against a live service; a broken one is found."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.client.built_package import SDK, build_package
from tests.client.play_scenarios import play_scenarios
from tests.client.scenarios import SCENARIOS, play_scenario

PYTHON = (sys.executable, "-m", "tests.client.driven_python")
NODE = ("node", str(SDK / "test" / "scenarios" / "driven.mjs"))
TWINS = [(path, twin) for path in SCENARIOS for twin in json.loads(path.read_text())["twins"]]


@pytest.fixture(scope="session")
def javascript() -> Sequence[str]:
    """The command of the client of JavaScript, of what is in sdk/typescript now."""
    build_package()
    return NODE


def play(path: Path, command: Sequence[str], folder: Path, twin: str = "") -> None:
    """Play a scenario of a file."""
    play_scenario(json.loads(path.read_text()), command, folder, twin)


@pytest.mark.slow
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_python_plays_it(tmp_path, path) -> None:
    play(path, PYTHON, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "twin"), TWINS, ids=[f"{path.stem} {twin}" for path, twin in TWINS])
def test_a_broken_client_of_python_is_found(tmp_path, path, twin) -> None:
    with pytest.raises(AssertionError, match="step"):
        play(path, PYTHON, tmp_path, twin)


@pytest.mark.slow
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_javascript_plays_it(tmp_path, path, javascript) -> None:
    play(path, javascript, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "twin"), TWINS, ids=[f"{path.stem} {twin}" for path, twin in TWINS])
def test_a_broken_client_of_javascript_is_found(tmp_path, path, twin, javascript) -> None:
    with pytest.raises(AssertionError, match="step"):
        play(path, javascript, tmp_path, twin)


@pytest.mark.slow
def test_whoever_writes_a_client_is_told_which_scenarios_it_plays(capsys) -> None:
    """As it stands in docs/another_client.md, with the client of Python, and with a twin of it."""
    paths = [path for path in SCENARIOS if path.stem in ("order", "twice")]
    assert play_scenarios(PYTHON, paths) == []
    assert play_scenarios([*PYTHON, "proves anew"], paths) == ["twice"]
    said = capsys.readouterr().out
    assert said.count("plays it") == 3
    assert "twice: FAILS: step" in said


def test_the_page_for_other_languages_has_every_step_of_a_client() -> None:
    page = (SDK.parents[1] / "docs" / "another_client.md").read_text().partition("| `do` |")[2]
    told = {verb for row in re.findall(r"^\| (`[^|]+`) \|", page, re.MULTILINE) for verb in re.findall(r"`(\w+)`", row)}
    steps = [step for path in SCENARIOS for step in json.loads(path.read_text())["steps"]]
    assert told == {step["do"] for step in steps if "do" in step}


def test_every_scenario_has_a_twin() -> None:
    assert len(SCENARIOS) > 10
    assert {path for path, _ in TWINS} == set(SCENARIOS)
