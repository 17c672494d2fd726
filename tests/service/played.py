"""Studies with people who come, see their arm or not, and report or not: for the tests of what is shown of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from functools import partial
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

from maskedbandit.errors import Late, UnknownTicket
from maskedbandit.privacy.sampling import Bits
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.studies import find_witness, write_study
from maskedbandit.store.study import Study
from maskedbandit.study.protocol import Protocol
from tests.quick import QUICK

SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000
START = 1_795_305_600_000  # 22 November 2026
BASE: dict[str, Any] = {
    "name": "newsletter",
    "about": "which of three subject lines is opened most often",
    "people": 2000,
    "channel": {"name": "central", "epsilon": 1},
    "arms": [{"name": "short"}, {"name": "question"}, {"name": "numbers"}],
    "reward": {"window": "2 hours", "exposure": "10 minutes"},
    "budget": {"epsilon": 1, "period": "90 days"},
}


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory, if there is one."""
    with TemporaryDirectory(dir=QUICK) as folder:
        yield Path(folder)


class Played:
    """A study in a folder, and the clock that its people move."""

    def __init__(self, folder: Path, address: str | None = None, **protocol: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.now, self.random = folder, START, random.Random(1)
        table = BASE | protocol
        self.protocol = Protocol.from_table({key: value for key, value in table.items() if value is not None})
        write_study(self.protocol, address or f"sqlite:///{folder}/{self.protocol.name}.db", folder / "witness")
        self.address = address or f"sqlite:///{folder}/{self.protocol.name}.db"
        self.study = self._opened()
        self._people, self.said = 0, dict[str, Any]()  # and what is said of each
        self._soon: list[tuple[int, Callable[[], Any]]] = []

    @classmethod
    def copied(cls, other: Played, folder: Path) -> Played:
        """The same study in a copy of its database and its witness."""
        other.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        copytree(other.folder, folder)
        found = copy(other)
        found.folder, found.address = folder, f"sqlite:///{folder}/{other.protocol.name}.db"
        found._soon, found.study = [], found._opened()
        return found

    def _opened(self) -> Study:
        return Study(open_database(self.address), self.witness(), self.protocol.name, lambda: self.now, "tester")

    def reopen(self) -> None:
        """The study is taken over by another process, as it were."""
        self.study.close()
        self.study = self._opened()

    @property
    def database(self) -> Database:
        return self.study.database

    def witness(self) -> Witness:
        database = open_database(self.address)
        try:
            return find_witness(database, self.folder / "witness")
        finally:
            database.close()

    def come(
        self, people: int, means: list[float], every: int = MINUTE, unseen: float = 0.1, lost: float = 0.2
    ) -> None:
        """People come one after the other; some never see their arm, and some never report."""
        for _ in range(people):
            self.wait(every)
            self._people += 1
            given = self.study.assign(f"person {self._people}", self.said)
            if given.ticket is None or self.random.random() < unseen:
                continue
            sees = self.now + int(self.random.expovariate(1 / (20 * SECOND)))
            self.soon(sees, partial(self._say, "expose", given.ticket))
            value = float(self.random.random() < means[given.arm])
            if self.protocol.on_devices:
                value = self.protocol.channel.randomize(value, self.study.offers(given.ticket)[0], Bits())
            if self.random.random() >= lost:
                later = sees + self.random.randrange(min(HOUR, self.protocol.reward.window))
                self.soon(later, partial(self._say, "report", given.ticket, value))

    def _say(self, what: str, *said: Any) -> None:
        with suppress(UnknownTicket, Late):  # of a person who was erased, or of a cohort that is closed
            getattr(self.study, what)(*said)

    def soon(self, at: int, what: Callable[[], Any]) -> None:
        self._soon.append((at, what))
        self._soon.sort(key=lambda each: each[0])

    def wait(self, milliseconds: int) -> None:
        """Time goes by, in which nobody else comes."""
        end = self.now + milliseconds
        while self._soon and self._soon[0][0] <= end:
            self.now, what = self._soon.pop(0)
            what()
        self.now = end
        self.study.tick()
