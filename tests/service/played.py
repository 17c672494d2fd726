"""Studies with people who come, see their arm or not, and report or not: for the tests of what is shown of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from maskedbandit.store.connection import connect
from maskedbandit.store.database import Database
from maskedbandit.store.studies import new, witness_of
from maskedbandit.store.study import Study
from maskedbandit.store.witness import Witness
from maskedbandit.study.protocol import Protocol

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


class Played:
    """A study in a folder, and the clock that its people move."""

    def __init__(self, folder: Path, seed: int = 1, **protocol: Any) -> None:
        self.folder, self.now, self.random = folder, START, random.Random(seed)
        self.protocol = Protocol.from_table({**BASE, **protocol})
        self.address = f"sqlite:///{folder}/{self.protocol.name}.db"
        new(self.protocol, self.address, folder / "witness")
        self.study = Study(connect(self.address), self.witness(), self.protocol.name, lambda: self.now, "tester")
        self._soon: list[tuple[int, Callable[[], Any]]] = []

    @property
    def database(self) -> Database:
        return self.study.database

    def witness(self) -> Witness:
        database = connect(self.address)
        try:
            return witness_of(database, self.folder / "witness")
        finally:
            database.close()

    def come(
        self, people: int, means: list[float], every: int = MINUTE, unseen: float = 0.1, lost: float = 0.2
    ) -> None:
        """People come one after the other; some never see their arm, and some never report."""
        for _ in range(people):
            self.now += every
            self.pass_time()
            given = self.study.assign(f"person {self.random.random()}")
            if given.ticket is None or self.random.random() < unseen:
                continue
            sees = self.now + int(self.random.expovariate(1 / (20 * SECOND)))
            self.soon(sees, partial(self.study.expose, given.ticket))
            value = float(self.random.random() < means[given.arm])
            if self.protocol.on_devices:
                channel = self.protocol.channel
                from maskedbandit.privacy.sampling import Bits

                value = channel.randomize(value, self.study.offer(given.ticket), Bits())
            if self.random.random() >= lost:
                self.soon(sees + self.random.randrange(HOUR), partial(self.study.report, given.ticket, value))

    def soon(self, at: int, what: Callable[[], Any]) -> None:
        self._soon.append((at, what))
        self._soon.sort(key=lambda each: each[0])

    def pass_time(self) -> None:
        """What was to happen until now."""
        while self._soon and self._soon[0][0] <= self.now:
            self._soon.pop(0)[1]()
        self.study.tick()

    def wait(self, milliseconds: int) -> None:
        """Nobody comes for a while."""
        end = self.now + milliseconds
        while self._soon and self._soon[0][0] <= end:
            self.now = max(self.now, self._soon[0][0])
            self.pass_time()
        self.now = end
        self.pass_time()
