"""Devices of one cohort and the server of their round, without a network: what each is told, and what it answers."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from maskedbandit.backends.secagg import SecAgg
from maskedbandit.channels.distributed import Distributed
from maskedbandit.device.adding_up import answer_due
from maskedbandit.device.agreed import Agreed
from maskedbandit.device.device_book import DeviceBook
from maskedbandit.device.own_place import read_place
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.kept_round import RoundDue, RoundTerms, name_round
from maskedbandit.secagg.server import RoundServer

N, COHORT, NOW = 12, 3, 1_000_000
PROTOCOL = "9f" * 32
SEED = bytes(range(32))
PHASES = 4
ATTEMPTS = 2
BACKEND = SecAgg("1/10", attempts=ATTEMPTS, smallest=4)
CHANNEL = Distributed(1, honest="7/10", backend=BACKEND)
OPENED = CHANNEL.counted_on(N) + BACKEND.rules.count_corrupted(N)
AGREED = Agreed(ATTEMPTS, corrupted="1/10")


def make_adding_place(position: int, **changes: Any) -> dict[str, Any]:
    """The place of a device in the cohort."""
    rules = BACKEND.rules
    rounds = {"corrupted": str(rules.corrupted), "server": rules.server, "graph": rules.graph}
    place = {
        "study": "kiosks",
        "arm": "bold",
        "ticket": f"ticket{position}",
        "again": False,
        "exposed": 0,
        "offer": CHANNEL.offer(N).at(position).to_text(),
        "terms": {"protocol": PROTOCOL, "cohort": COHORT},
        "rounds": {**rounds, "smallest": rules.smallest, "attempts": ATTEMPTS},
        "window": 1000,
        "grace": 0,
        "default": 0,
    }
    return place | changes


class AddingDevice:
    """A device, whose file is opened anew before every step."""

    def __init__(self, folder: Path, position: int, value: float) -> None:
        self.folder, self.position = folder / str(position), position
        book = DeviceBook(self.folder)
        book.write_consent(0)
        given = make_adding_place(position)
        place = read_place(given)
        book.take_place(given, place, 0, partial(AGREED.check, place), Bits())
        (booked,) = book.places()
        book.record(booked, "", value, Bits())
        book.close()

    def answer(self, due: RoundDue) -> bytes:
        """What it answers."""
        book = DeviceBook(self.folder)
        found = book.change_place("kiosks", partial(answer_due, due=due, now=NOW))
        book.close()
        assert found is not None
        return found


class RoundScene:
    """The devices of a cohort, of which every third has an outcome of 1, and an attempt at their sum."""

    def __init__(self, folder: Path, n: int = N) -> None:
        self.devices = [AddingDevice(folder, position, float(position % 3 == 0)) for position in range(n)]
        self.begin(1)

    def begin(self, attempt: int) -> None:
        """Begin an attempt."""
        offer, seed = CHANNEL.offer(N), sha256(SEED + bytes([attempt])).digest()
        self.terms = RoundTerms(COHORT, attempt, N, (), sha256(seed).digest())
        name = name_round("devices", bytes.fromhex(PROTOCOL), offer.digest, COHORT, attempt)
        plan = BACKEND.rules.plan(N, CHANNEL.counted_on(N), offer.modulus, name, self.terms.ring)
        self.server, self.phase = RoundServer(plan, seed), 0

    def due(self, position: int) -> RoundDue:
        """What is due from a device."""
        return RoundDue(self.terms, self.phase, self.server.message_for(position))

    def go_on(self, until: int = PHASES, lost: frozenset[int] = frozenset()) -> None:
        """All devices answer, but for those that are lost, until this phase."""
        while self.phase < until:
            for device in self.devices:
                if device.position in self.server.waiting - lost:
                    self.server.receive(device.position, device.answer(self.due(device.position)))
            self.server.close()
            self.phase += 1
