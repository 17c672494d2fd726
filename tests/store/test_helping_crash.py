"""A helper survives that its process ends before and after every statement, COMMIT and write of the witness.

The process ends here as `kill -9` ends it: nothing more is done, neither in the database nor at the witness, and the
server or the next one who opens the file undoes what was not committed. A new process is asked the same again. What
ends after a step has done all that what ends before the next one has, so each end is played once.
"""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import StorageFailed
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.databases.sqlite import Sqlite
from maskedbandit.store.helping import totals
from maskedbandit.store.helping.session import HelperSession
from maskedbandit.store.helping.study import HelperStudy, register_study
from tests.store.databases import fresh_postgresql
from tests.store.faulty_disk import FAULTS, Disk
from tests.store.helper_scene import VALUES, N, Operators, Sent, ask_total, digest_sent, take

SEVERAL = 17  # steps, of which quick tests look at one


class Killed(BaseException):
    """The process has ended."""


class Steps:
    """The steps of a process, and how many it does before it ends."""

    def __init__(self, most: float = math.inf) -> None:
        self.most, self.seen, self.dead = most, list[str](), False

    def do(self, name: str, step: Callable[..., Any], *given: Any, **more: Any) -> Any:
        """Do a step, unless the process has ended by then."""
        self.dead = self.dead or len(self.seen) == self.most
        if self.dead:
            raise Killed
        self.seen.append(name)
        return step(*given, **more)


@contextmanager
def stepping(address: str, steps: Steps) -> Iterator[Database]:
    """A database for a process, which ends at one of these steps of the database and of the witness."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "replace"):  # of the witness: the databases do not call Python's
            patch.setattr(os, name, partial(steps.do, name, getattr(os, name)))
        database = open_database(address)
        end = database.close
        for name in Database.__abstractmethods__ - {"tables", "close"}:
            setattr(database, name, partial(steps.do, name, getattr(database, name)))
        try:
            yield database
        except Killed:
            pass
        finally:
            end()


def play(operators: Operators, sent: dict[int, Sent], steps: Steps, *, told: list[HelperTotal]) -> None:
    """A process has the helper do all that a cohort needs, and ends at a step; the leader may be told the total."""
    with stepping(operators.address, steps) as database:
        register_study(database, operators.witness, operators.protocol.text, operators.leader.fingerprint)
        study = HelperStudy(database, operators.witness, "small", operators.clock, "tester")
        assert all(each.ok for each in take(study, 0, N, sent))
        told.append(ask_total(study, 0, N, [], digest_sent(sent)))


def read_total(operators: Operators) -> str | None:
    """The total in the ledger, if there is one; shares are stored if there is none, and only then."""
    with closing(open_database(operators.address)) as database:
        found = [each for (each,) in database.rows("SELECT body FROM entry") if '"kind":"helped"' in each]
        ((reports, shares),) = database.rows("SELECT COUNT(*), COUNT(locked) FROM helped_report")
    assert len(found) <= 1, "a cohort has two totals"
    assert shares == (0 if found else reports), "shares and the total do not go together"
    assert reports in (0, len(VALUES)), "a request was done in part"
    return found[0] if found else None


def try_again(number: int, play: Callable[[Steps], None], read: Callable[[], str | None], told: Sequence[Any]) -> Steps:
    """A process ends before this step, and another one is asked the same again, twice: what the first one did."""
    ending = Steps(number)
    play(ending)
    kept = read()
    for _ in range(2):
        play(Steps())
    assert kept in (None, read()), "what was drawn was drawn again"
    assert len(told) >= 2
    assert {*told} == {told[0]}, "something else was told"
    return ending


def survives(
    folder: Path, address: Callable[[], str], every: int = 1, tell: Callable[[], list[HelperTotal]] = list
) -> list[str]:
    """A process ends before each step and after the last: the steps."""
    for number in count(step=every):
        operators = Operators(folder / str(number), address())
        sent, told = operators.send_all(0, VALUES, N), tell()
        ending = try_again(number, partial(play, operators, sent, told=told), partial(read_total, operators), told)
        assert operators.verify() == (1, len(VALUES))
        if not ending.dead:
            return ending.seen
    raise AssertionError("a process has no end")


def count_files(folder: Path) -> Callable[[], str]:
    """Addresses of new files."""
    numbers = count()
    return lambda: f"sqlite:///{folder}/{next(numbers)}.db"


@pytest.mark.slow
def test_a_helper_survives_an_end_at_some_steps(tmp_path: Path) -> None:
    survives(tmp_path, count_files(tmp_path), SEVERAL)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_helper_survives_an_end_at_every_step(tmp_path: Path, kind: str) -> None:
    steps = survives(tmp_path, count_files(tmp_path) if kind == "sqlite" else fresh_postgresql)
    last = len(steps) - steps[::-1].index("commit")
    assert steps[last:] == ["fsync", "replace", "fsync"], "the witness sees a total before anybody is told"


# mutants, which the same check must reject


@pytest.mark.slow
def test_shares_that_are_erased_before_the_total_is_kept_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = totals.erase_shares

    def erased_at_once(session: HelperSession, cohort: int) -> None:
        real(session, cohort)
        session.database.commit()
        session.database.begin()

    monkeypatch.setattr(totals, "erase_shares", erased_at_once)
    with pytest.raises(AssertionError, match="do not go together"):
        survives(tmp_path, count_files(tmp_path))


@pytest.mark.slow
def test_a_total_that_is_told_before_the_commit_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = list[HelperTotal]()

    def tell() -> list[HelperTotal]:
        told.clear()
        return told

    def tell_early(*given: Any) -> HelperTotal:
        told.append(totals.make_total(*given))
        return told[-1]

    monkeypatch.setitem(HelperStudy.operations, "make_total", tell_early)
    with pytest.raises(AssertionError, match="something else was told"):
        survives(tmp_path, count_files(tmp_path), tell=tell)


def test_a_total_is_not_told_while_the_disk_fails(tmp_path: Path) -> None:
    operators, disk = Operators(tmp_path, f"sqlite:///{tmp_path}/study.db"), Disk()
    operators.register()
    sent = operators.send_all(0, VALUES, N)
    database = Sqlite(f"{tmp_path}/study.db", disk.name)
    with HelperStudy(database, operators.witness, "small", operators.clock, "tester") as study:
        for fault in FAULTS:
            disk.fail(fault, 1, 1e9)
            with pytest.raises(StorageFailed):
                take(study, 0, N, sent)
            disk.mend()
        take(study, 0, N, sent)
        for fault in FAULTS:
            disk.fail(fault, 1, 1e9)
            with pytest.raises(StorageFailed):
                ask_total(study, 0, N, [], digest_sent(sent))
            disk.mend()
            assert read_total(operators) is None
        said = ask_total(study, 0, N, [], digest_sent(sent))
        assert ask_total(study, 0, N, [], digest_sent(sent)) == said
    assert operators.verify() == (1, len(VALUES))
