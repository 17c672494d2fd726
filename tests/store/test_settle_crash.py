"""A leader that dies before or after any statement goes on with the same list and total, and publishes one release.

The process is as good as dead: from the step at which it dies nothing of what it does reaches the database or the
witness, and another one opens the study. What was told to anybody stays as it was told.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.store.batches import compare_proofs
from maskedbandit.store.book.entries import Release
from maskedbandit.store.databases.database import Database
from maskedbandit.store.settle import ListedReports, settle_cohort
from maskedbandit.store.study import Study
from tests.store.small_study import WINDOW, Clock
from tests.store.test_crash_steps import ends
from tests.store.test_settle import verify
from tests.store.two_operators import CHANNEL, GRACE, Leading

NOISY = CHANNEL | {"epsilon": 0.001}  # two draws are as good as surely different
At = tuple[int, str]  # the number of a step, "before" or "after" it


class Killed(BaseException):
    """The process is dead."""


class Steps:
    """Statements, and writes of the witness: at one of them the process dies."""

    def __init__(self, at: At | None = None) -> None:
        self.at, self.seen, self.dead, self._within = at, list[str](), False, False

    def do(self, name: str, step: Callable[..., Any], *given: Any, **keys: Any) -> Any:
        if self._within:
            return step(*given, **keys)
        number = len(self.seen)
        self.seen.append(name)
        self._die(number, "before")
        self._within = True
        try:
            found = step(*given, **keys)
        finally:
            self._within = False
        self._die(number, "after")
        return found

    def _die(self, number: int, side: str) -> None:
        self.dead = self.dead or (number, side) == self.at
        if self.dead:
            raise Killed


@contextmanager
def dying(study: Study, at: At | None) -> Iterator[Steps]:
    """Until the end of the block the study's process dies at this step."""
    steps, database, names = Steps(at), study.database, Database.__abstractmethods__ - {"tables", "close", "check_own"}
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(database, name, partial(steps.do, name, getattr(database, name)))
        for name in ("fsync", "replace"):
            patch.setattr(os, name, partial(steps.do, name, getattr(os, name)))
        yield steps


class Prepared(NamedTuple):
    """A folder in which a study is about to do something."""

    folder: Path
    leading: Leading
    listed: ListedReports | None
    said: HelperTotal | None


def prepare(folder: Path, what: str) -> Prepared:
    """A study of which a cohort is due; with its list, if it is to be settled."""
    clock, listed, said = Clock(), None, None
    leading = Leading(f"sqlite:///{folder}/study.db", folder / "witness", clock, channel=NOISY)
    for unit in range(4):
        given = leading.come(f"person {unit}")
        leading.upload(given, leading.seal(given, unit % 2))
    clock.now += WINDOW + GRACE + 1
    if what == "settle":
        listed = leading.list_cohort(0, 2)
        said = leading.helper.state_total(leading.protocol, listed)
    leading.study.close()
    return Prepared(folder, leading, listed, said)


def operation(prepared: Prepared, what: str) -> tuple[Any, ...]:
    """What is about to be done."""
    leading = prepared.leading
    if what == "settle":
        return "settle", 0, prepared.said
    if what == "list":
        batch = leading.open_batch(0, 0)
        shown = leading.helper.show_proofs(leading.protocol, 0, 2, batch)
        return "list", 0, compare_proofs(batch, shown)
    return ("due",) if what == "due" else ("batch", 0, 0)


def run(prepared: Prepared, folder: Path, what: str, at: At | None) -> tuple[list[str], list[Release]]:
    """Do it in a copy, die, and go on in another process to the end: the steps, and what was told, in its order."""
    shutil.copytree(prepared.folder, folder)
    leading, told = prepared.leading, list[Release]()
    leading.address, leading.folder = f"sqlite:///{folder}/study.db", folder / "witness"
    leading.study = leading.open()
    asked = operation(prepared, what)
    with dying(leading.study, at) as steps, suppress(Killed):
        found = leading.do(*asked)
        told += [found] if isinstance(found, Release) else []
    leading.study.database.close()
    leading.study = leading.open()
    told += leading.study.releases()
    if prepared.listed is not None and not told:
        assert leading.do("due")[0].listed == prepared.listed
    told += leading.settle()
    told += leading.study.releases()
    verify(leading)
    leading.study.close()
    return steps.seen, told


def check_told(told: list[Release]) -> None:
    """No release was told in two ways, and all were told."""
    known: dict[int, Release] = {}
    for each in told:
        assert known.setdefault(each.cohort, each).total == each.total, "a release was drawn again"
    assert sorted(known) == [0, 1]


def survives(folder: Path, what: str, stride: int) -> int:
    """Die before every step, or some, and after the last: how many there are."""
    (folder / "first").mkdir()
    prepared = prepare(folder / "first", what)
    steps, told = run(prepared, folder / "whole", what, None)
    check_told(told)
    assert steps.count("commit") == 1
    for at in ends(len(steps), stride):
        check_told(run(prepared, folder / "copy", what, at)[1])
        shutil.rmtree(folder / "copy")
    return len(steps)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("what", ["list", "settle"])
def test_a_leader_may_die_at_some_statements(tmp_path: Path, what: str) -> None:
    assert survives(tmp_path, what, 5) > 5


@pytest.mark.slow
@pytest.mark.parametrize("what", ["due", "batch", "list", "settle"])
def test_a_leader_may_die_at_any_statement(tmp_path: Path, what: str) -> None:
    assert survives(tmp_path, what, 1) > 5


def test_a_release_that_is_told_before_the_commit_is_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = list[Release]()

    def tells(*given: Any) -> Any:
        early.append(made := settle_cohort(*given))
        return made

    (tmp_path / "first").mkdir()
    prepared = prepare(tmp_path / "first", "settle")
    monkeypatch.setitem(Study.operations, "settle", tells)
    steps, _ = run(prepared, tmp_path / "whole", "settle", None)
    early.clear()
    _, told = run(prepared, tmp_path / "died", "settle", (steps.index("commit"), "before"))
    check_told(told)
    with pytest.raises(AssertionError, match="was drawn again"):
        check_told(early + told)
