"""Two databases of a study that differ in what was reported of one person, among whatever others asked at the time.

Others ask the same in both, in batches, each of which is a transaction; reports of the victim are in these batches, or
in some of their own, in one database or in both. What others are answered, and all other tables, must be the same. As
in service/two_worlds.py, what is drawn is the same, and the noise of each release makes both totals equal. Every
operation has a time of its own, so that one among others has a time at which nobody else came. Some transactions are
undone and done again, and some studies are opened anew.
"""

import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from maskedbandit.privacy.sampling import Bits
from maskedbandit.store import lease
from maskedbandit.store.databases.database import Again
from maskedbandit.store.requests import Operation
from maskedbandit.store.session import Session
from maskedbandit.store.studies import open_study
from maskedbandit.store.study import Study
from maskedbandit.study.outcomes import MeasuredOutcome
from tests.store.databases import copied_postgresql
from tests.store.small_study import small_protocol, small_study

BETWEEN, LONGEST = 10, 100  # milliseconds between the operations of a batch, and before the next batch
HASH = re.compile("[0-9a-f]{64,}")


class Asked(NamedTuple):
    """An operation, by what it is called and what it is given; instead of a ticket it is given whose it is."""

    verb: str
    unit: str = ""
    value: int = 0
    event: str = ""
    metric: str = ""
    proof: str = ""


class Batch(NamedTuple):
    """What others ask, and what happens to the transaction."""

    rest: int  # milliseconds before it
    others: list[Asked]
    undone: bool
    reopened: bool


class Seen(NamedTuple):
    """What is to be seen after a batch."""

    answers: list[str]
    tables: dict[str, list[str]]
    time: int
    released: int


class Drawn:
    """What is drawn, what the time is, and what was released: the same in both databases."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.random, self.now, self.times, self.asked = Random(0), 1_000_000, list[int](), 0
        self.totals, self.released = list[float](), 0
        self.replays = self.undoing = False
        patch.setattr(Bits.__init__, "__defaults__", (lambda n: self.random.randbytes(n),))
        for module in ("people", "rows"):
            patch.setattr(f"maskedbandit.store.{module}.urandom", lambda n: self.random.randbytes(n))
        patch.setattr(secrets, "token_hex", lambda n=16: self.random.randbytes(n).hex())
        patch.setattr(secrets, "token_bytes", lambda n=16: self.random.randbytes(n))
        patch.setattr(lease, "read_clock", lambda: self.now)
        real, keep = MeasuredOutcome.released, Session._keep

        def released(outcome: MeasuredOutcome, *given: Any) -> float:
            total = real(outcome, *given)
            self.released += 1
            if self.replays:
                total = self.totals[self.released - 1]
            else:
                self.totals.append(total)
            self.random = Random(self.released)  # how much noise was drawn depends on the reports, and is seen nowhere
            return total

        def kept(of: Session) -> None:
            keep(of)
            if self.undoing:
                self.undoing = False
                raise Again("another transaction was in the way")

        patch.setattr(MeasuredOutcome, "released", released)
        patch.setattr(Session, "_keep", kept)

    def __call__(self) -> int:
        """The time of the next operation; if a batch is done again its operations have the same times again."""
        if not self.times:
            return self.now
        self.asked += 1
        return self.times[(self.asked - 1) % len(self.times)]


class World:
    """One of the two databases, from the first batch on."""

    def __init__(self, address: str, folder: Path, drawn: Drawn) -> None:
        self._where, self._drawn = (address, "small", folder, drawn), drawn
        self._tickets: dict[str, str] = {}
        self.seen: list[Seen] = []
        drawn.now, drawn.released = 1_000_000, 0
        self.study = self._opened(0)

    def _opened(self, step: int) -> Study:
        self._drawn.random = Random(f"opening {step}")
        return open_study(*self._where)

    def ask(self, batch: Batch, own: list[tuple[int, Asked]]) -> None:
        """Do a batch, with some of the victim's among it, each before one of the others."""
        drawn = self._drawn
        drawn.now += batch.rest
        drawn.random, drawn.asked = Random(f"batch {len(self.seen)}"), 0
        wanted = [(drawn.now + BETWEEN * i, each, True) for i, each in enumerate(batch.others)]
        wanted += [(drawn.now + BETWEEN * i - 1 - len(own) + j, each, False) for j, (i, each) in enumerate(own)]
        wanted.sort(key=lambda each: each[0])
        answers = list[str]()
        if wanted:
            drawn.times, drawn.undoing = [time for time, _, _ in wanted], batch.undone and bool(batch.others)
            found = self.study.apply([self._operation(each) for _, each, _ in wanted])
            for (_, each, is_seen), done in zip(wanted, found, strict=True):
                if is_seen:
                    answers.append(f"{each}: {done.result!r} {done.refusal!r}")
                if each.verb == "assign" and done.result and done.result.ticket:
                    self._tickets[each.unit] = done.result.ticket
        drawn.times = []
        drawn.now += LONGEST
        if batch.reopened:
            self.study.close()
            self.study = self._opened(len(self.seen))
        self.seen.append(Seen(answers, self._tables(), self.study.time, drawn.released))

    def _operation(self, asked: Asked) -> Operation:
        ticket = self._tickets.get(asked.unit, "0" * 32)
        if asked.verb in ("assign", "erase"):
            return asked.verb, asked.unit
        if asked.verb == "report":
            return "report", ticket, asked.value, asked.event, asked.metric, asked.proof
        return ("tick",) if asked.verb == "tick" else (asked.verb, ticket)

    def _tables(self) -> dict[str, list[str]]:
        database = self.study.database
        names = sorted(database.tables() - {"reward", "sqlite_stat1"})
        return {name: sorted(map(repr, database.rows(f"SELECT * FROM {name}"))) for name in names}


@contextmanager
def both(address: str, folder: Path, drawn: Drawn, how: dict[str, Any]) -> Iterator[Callable[[str], World]]:
    """What opens a copy, by its name, of a study that has begun."""
    small_study(address, folder / "witness", drawn, small_protocol(**how)).close()
    worlds = list[World]()

    def opening(name: str) -> World:
        shutil.copytree(folder / "witness", folder / f"witness of {name}")
        if address.startswith("sqlite:///"):
            copy = f"sqlite:///{folder}/{name}.db"
            shutil.copyfile(address.removeprefix("sqlite:///"), folder / f"{name}.db")
        else:
            copy = copied_postgresql(address)
        worlds.append(World(copy, folder / f"witness of {name}", drawn))
        return worlds[-1]

    try:
        yield opening
    finally:
        for world in worlds:
            world.study.close()


def difference(first: Any, second: Any) -> str:
    """Where two that should be the same are not, so that a failure can be read."""
    if isinstance(first, tuple):
        return str(next(((a, b) for a, b in zip(first, second, strict=False) if a != b), (len(first), len(second))))
    at = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second)))
    return f"{first[max(at - 200, 0) : at + 200]!r} or {second[max(at - 200, 0) : at + 200]!r}"


def check_same(first: list[Seen], second: list[Seen]) -> None:
    """Raise unless both look the same after every batch, but for hashes with salts in them after a release."""
    for step, (one, other) in enumerate(zip(first, second, strict=True)):
        for name, a, b in zip(Seen._fields, one, other, strict=True):
            first_said, second_said = (HASH.sub("#", repr(each)) if one.released else repr(each) for each in (a, b))
            what = f"{name} after batch {step}"
            assert first_said == second_said, f"the {what} tell: {difference(first_said, second_said)}"
