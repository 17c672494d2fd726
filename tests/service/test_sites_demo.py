"""The demo of sites, as whoever has installed the package runs it."""

import subprocess
import sys

import pytest

from maskedbandit.cli import main


def run_demo(*words: str) -> subprocess.CompletedProcess[str]:
    """What the command prints."""
    command = sys.executable, "-m", "maskedbandit", "sites-demo", *words
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_the_demo_ends_with_an_answer() -> None:
    """False alarm below 10^-9: 100 people for each of .2 and .8, and noise of a standard deviation of 3 in each sum."""
    done = run_demo("--sites", "4", "--people", "200", "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "sites 4, people 200, answer bold"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--sites", "2"), "--sites is 2: it must be a number from 3 to 20"),
        (("--people", "7"), "--people is 7: it must be a number from 40 to 100000"),
        (("--data", "."), "a folder that is not there yet"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sites-demo", *words]) == 2
    assert says in capsys.readouterr().err
