"""What a command cannot take back it asks on the terminal first, and a script says `--yes`."""

import io
import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from maskedbandit.cli import main
from maskedbandit.service import keys
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import open_study, write_study
from tests.store.small_study import small_protocol

Say = Callable[..., tuple[int, str]]


class Terminal(io.StringIO):
    """Somebody types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def place(tmp_path: Path) -> list[str]:
    """Where the draft of a study is."""
    write_study(small_protocol(), f"sqlite:///{tmp_path}/studies.db", tmp_path / "witness")
    return ["--data", str(tmp_path)]


@pytest.fixture
def do(place: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    """Give a command: its code, and what it says; what is typed is None if there is no terminal."""

    def given(*words: str, typed: str | None = None) -> tuple[int, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO() if typed is None else Terminal(typed))
        code = main(["study", *words, *place])
        found = capsys.readouterr()
        return code, found.out + found.err

    return given


def state(place: list[str]) -> str:
    """That of the study."""
    with open_study(f"sqlite:///{place[1]}/studies.db", folder=Path(place[1]) / "witness") as study:
        return study.state


def check_asked(do: Say, place: list[str]) -> None:
    """Nothing is done before the name of the study is typed, and what is said has the numbers."""
    protocol = small_protocol()
    for verb, before, after, says in (
        ("start", "draft", "running", (protocol.digest, f"{protocol.people:,}".replace(",", "\u202f"), "is frozen")),
        ("stop", "running", "stopped", ("1 person of", "ever given a place again")),
        ("archive", "stopped", "archived", ("The data of 1 person is erased for ever",)),
    ):
        code, said = do(verb)
        assert (code, state(place)) == (2, before)
        assert f"`study {verb}` cannot be undone" in said
        assert "--yes" in said
        for typed in ("", "\n", "yes\n", "other\n"):
            code, said = do(verb, typed=typed)
            assert (code, state(place)) == (2, before), typed
            assert "is not the name of the study, small" in said
            for part in (*says, "This cannot be undone."):
                assert part in said, part
        code, said = do(verb, typed="small\n")
        assert (code, state(place)) == (0, after), said
        if after == "running":
            assert do("assign", "ann")[0] == 0


@pytest.mark.slow
def test_a_terminal_is_asked(do: Say, place: list[str]) -> None:
    check_asked(do, place)


def test_a_command_that_asks_nobody_is_caught(do: Say, place: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maskedbandit.cli.study.confirm_move", lambda options, move: None)
    with pytest.raises(AssertionError):
        check_asked(do, place)


def test_a_script_says_yes(do: Say, place: list[str]) -> None:
    for verb, after in (("start", "running"), ("stop", "stopped"), ("archive", "archived")):
        code, said = do(verb, "--yes")
        assert (code, json.loads(said)["state"]) == (0, after)


def test_what_cannot_be_done_is_not_asked(do: Say, place: list[str]) -> None:
    assert "small is draft: start it first." in do("stop", typed="small\n")[1]
    assert do("start", "--yes")[0] == 0
    assert "small is running: stop it first." in do("archive", typed="small\n")[1]
    assert "small is running: this cannot be done any more." in do("start", typed="small\n")[1]


def test_a_start_on_a_terminal_is_of_what_was_shown(do: Say, place: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody changes the draft while the other one reads."""
    address, witness = f"sqlite:///{place[1]}/studies.db", Path(place[1]) / "witness"

    class Slow(Terminal):
        def readline(self, *given: int) -> str:
            write_study(small_protocol(people=77), address, witness, looked_at=small_protocol().digest)
            return super().readline()

    monkeypatch.setitem(globals(), "Terminal", Slow)
    code, said = do("start", typed="small\n")
    assert (code, state(place)) == (2, "draft")
    assert "look at it again" in said


def test_a_command_needs_the_approval_of_an_officer_too(do: Say, place: list[str]) -> None:
    address, digest = f"sqlite:///{place[1]}/studies.db", small_protocol().digest
    with closing(open_database(address)) as database:
        officer = keys.write_key(database, keys.OFFICER, None, 0).split("_")[2]
    for given in (("start", "--yes"), ("start", digest, "--yes")):
        code, said = do(*given)
        assert (code, state(place)) == (2, "draft")
        for part in (officer, digest, "on the page of the study or by POST /v1/studies/small/approve"):
            assert part in said
    assert "An officer of privacy is to approve this protocol first" in do("start", typed="small\n")[1]
    with open_study(address, folder=Path(place[1]) / "witness") as study:
        study.apply([("approve", officer, digest)])
    assert do("start", "--yes")[0] == 0
    assert main(["ledger", "show", *place]) == 0


def test_the_ledger_says_who_approved(do: Say, place: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    test_a_command_needs_the_approval_of_an_officer_too(do, place)
    (begin,) = [line for line in capsys.readouterr().out.splitlines() if "started" in line]
    assert "approved by key " in begin
    assert " by key" not in begin.replace("approved by key", "")  # a command needs none
