"""Type checkers see every public name with its parameters: the stubs are current, and say what the code does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import maskedbandit
import maskedbandit.noises as noises
from maskedbandit.rooms import Room
from tests.document_code import program
from tests.test_documents import WITH_CODE
from tools.stubs import of_room, stubs

SOURCE = Path(maskedbandit.__file__).parent
STUBS = stubs()
HOW = "run `make golden` and commit the stubs that it writes"


@pytest.mark.parametrize("path", STUBS, ids=lambda path: path.parent.name)
def test_a_stub_names_what_its_package_finds(path: Path) -> None:
    assert path.exists(), f"{path.relative_to(SOURCE)} is missing: {HOW}"
    assert path.read_text() == STUBS[path], f"{path.relative_to(SOURCE)} does not list the files that are there: {HOW}"


def test_no_other_stubs_hide_the_code() -> None:
    """A stub without a package of its own would replace, for type checkers, a module that they can read."""
    assert set(SOURCE.rglob("*.pyi")) == set(STUBS)
    assert (SOURCE / "py.typed").exists()


def test_a_new_file_changes_the_stub(tmp_path: Path, monkeypatch) -> None:
    """Negative control."""
    (tmp_path / "loud.py").write_text("class Loud:\n    pass\n")
    monkeypatch.setattr(noises, "__path__", [*noises.__path__, str(tmp_path)])
    try:
        changed = of_room(Room("noise", "maskedbandit.noises"))
    finally:
        sys.modules.pop("maskedbandit.noises.loud", None)
        vars(noises).pop("loud", None)
    line = "from maskedbandit.noises.loud import Loud as Loud\n"
    assert line in changed
    assert changed.replace(line, "") == STUBS[SOURCE / "noises" / "__init__.pyi"]


WRONG = {  # a line, and the name or type that its error is about
    "mb.simulat": '"simulat"',
    "mb.policies.NoSuchThing()": '"NoSuchThing"',
    "mb.channels.NoSuchThing()": '"NoSuchThing"',
    "mb.policies.UCB1(nothing=1)": '"nothing" for "UCB1"',
    "mb.simulate(contextual, raw, contexts, horizon=10).realised_regret": '"ContextualRun" has no attribute',
    "mb.simulate(policy, raw, arms, horizon=10).reward": '"Run" has no attribute',
    "mb.simulate(policy, raw, contexts, horizon=10)": "No overload variant",
}
RIGHT = """import maskedbandit as mb

raw, policy, contextual = mb.channels.Raw(), mb.policies.UCB1(), mb.policies.LinUCB(alpha=0.3)
arms, contexts = mb.Bernoulli([0.5, 0.4]), mb.LinearContexts(d=3)
mb.simulate(policy, raw, arms, horizon=10).realised_regret.mean()
mb.simulate(contextual, raw, contexts, horizon=10, delay=mb.delays.Constant(3)).reward.mean()
mb.worlds.Bernoulli([0.5, 0.4]).true_means().max()
"""


@pytest.mark.slow
def test_documents_pass_a_strict_type_check_and_mistakes_do_not(tmp_path: Path) -> None:
    """In one run of mypy, as it takes seconds to read the package."""
    for path in WITH_CODE:
        (tmp_path / f"code_of_{path.stem.lower()}.py").write_text(program(path.read_text()))
    (tmp_path / "mistakes.py").write_text(RIGHT + "".join(f"{line}\n" for line in WRONG))
    options = ["--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}", "--no-error-summary"]
    files = sorted(path.name for path in tmp_path.glob("*.py"))
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *files], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    errors = re.findall(r"^(.+):(\d+): error: (.+)$", checked.stdout, re.MULTILINE)
    assert [error for error in errors if error[0] != "mistakes.py"] == [], checked.stdout
    first = RIGHT.count("\n") + 1
    assert [int(line) for _, line, _ in errors] == list(range(first, first + len(WRONG))), (
        checked.stdout + checked.stderr
    )
    for (_, _, said), expected in zip(errors, WRONG.values(), strict=True):
        assert expected in said
