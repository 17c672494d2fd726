"""Known answers of rounds in which devices add up: what offers cost, and every message of a device."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple
from unittest.mock import patch

from maskedbandit.backends.secagg import SecAgg
from maskedbandit.channels.distributed import Distributed
from maskedbandit.device import adding_up
from maskedbandit.device.agreed import Agreed
from maskedbandit.device.device_book import DeviceBook
from maskedbandit.device.own_place import read_place
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.kept_round import RoundDue, RoundTerms, name_round, stretch_seed
from maskedbandit.secagg.parameters import choose_neighbours
from maskedbandit.secagg.round_rules import MOST_NEIGHBOURS, SECRECY, AgreedRounds
from maskedbandit.secagg.server import RoundServer
from tests.golden.fixed_bytes import Entry, make_bytes
from tests.golden.fixed_operators import make_place
from tests.golden.mixed_vectors import read_pages

PHASES = 4
GraphName = Literal["auto", "complete", "sparse"]


class FixedRound(NamedTuple):
    """A round in which all is fixed: who is watched, and in which phase others are lost or send something wrong."""

    channel: Distributed
    n: int
    watched: tuple[int, ...]
    lost: dict[int, int]  # a device and the phase which it does not answer
    wrong: int  # a device that seals its key shares wrongly
    attempt: int = 1
    cap: int = 1


def make_channel(graph: GraphName, corrupted: str, honest: str, grid: int = 1, smallest: int = 4) -> Distributed:
    """Devices that add up, three attempts at most."""
    backend = SecAgg(corrupted, graph=graph, attempts=3, smallest=smallest)
    return Distributed(epsilon=Fraction(1, 2), grid=grid, honest=honest, backend=backend)


FIXED_ROUNDS = (
    FixedRound(make_channel("auto", "1/10", "7/10"), 12, (0, 7), {11: 1, 5: 2}, wrong=4),
    FixedRound(make_channel("sparse", "0", "9/10", grid=100), 40, (3,), {8: 0, 20: 1, 31: 2}, wrong=39, attempt=2),
)
HELD = (None, Fraction(1), Fraction(0.371))


def make_round_place(channel: Distributed, n: int, position: int, **changes: Any) -> Entry:
    """A place of a device in the cohort, as it is handed over."""
    backend = channel.backend
    assert isinstance(backend, SecAgg)
    rounds = AgreedRounds(backend.rules, backend.attempts).to_table()
    given = make_place(channel.offer(n).at(position), rounds=rounds, grace=0)
    del given["operators"]
    return given | changes


class WatchedDevice:
    """A device whose file, seed and random words are fixed."""

    def __init__(self, folder: Path, made: FixedRound, position: int, number: int) -> None:
        self.place, self.held = make_round_place(made.channel, made.n, position), HELD[number]
        self.first, self.seed = number, make_bytes(f"round seed {position}", 32)
        self.book, self.steps = DeviceBook(folder / str(position)), list[Entry]()
        self.book.write_consent(0)
        place = read_place(self.place)
        self.book.take_place(self.place, place, 0, partial(Agreed(10, corrupted=0).check, place), Bits())
        if self.held is not None:
            self.book.record(self.book.places()[0], "", float(self.held), Bits())

    def answer(self, due: RoundDue) -> bytes:
        """What it answers, which is written down."""
        with (
            patch.object(adding_up, "Bits", lambda: read_pages(self.first)),
            patch.object(adding_up, "urandom", lambda size: self.seed),
        ):
            sent = self.book.change_place(self.place["study"], partial(adding_up.answer_due, due=due, now=0))
        assert sent
        self.steps.append({"received": due.message.hex(), "sent": sent.hex()})
        return sent


@contextmanager
def watch_devices(made: FixedRound) -> Iterator[dict[int, WatchedDevice]]:
    """The devices that are watched, with files that are gone afterwards."""
    with TemporaryDirectory() as folder:
        found = {who: WatchedDevice(Path(folder), made, who, number) for number, who in enumerate(made.watched)}
        yield found
        for device in found.values():
            device.book.close()


def list_rounds() -> list[Entry]:
    """What devices answer in each phase, while others are lost or seal nonsense, and what the sum is."""
    return [entry for made in FIXED_ROUNDS for entry in play_fixed_round(made)]


def play_fixed_round(made: FixedRound) -> list[Entry]:
    """One round to its sum, which says what all that was hidden adds up to."""
    place = read_place(make_round_place(made.channel, made.n, 0))
    ring_seed = make_bytes(f"ring {made.n}", 32)
    assert place.cohort is not None
    terms = RoundTerms(place.cohort, made.attempt, made.n, (), sha256(ring_seed).digest())
    plan = adding_up.make_own_plan(place, terms)
    assert plan.cohort == name_round("devices", place.protocol, place.offer.digest, terms.cohort, terms.attempt)
    server = RoundServer(plan, ring_seed)
    with watch_devices(made) as watched:
        others = {
            who: RoundClient(plan, who, who % 2, stretch_seed(make_bytes(f"other {who}", 32), "device"))
            for who in range(made.n)
            if who not in watched
        }
        for phase in range(PHASES):
            for who in sorted(server.waiting):
                told = server.message_for(who)
                device = watched.get(who)
                sent = device.answer(RoundDue(terms, phase, told)) if device else others[who].receive(told)
                if phase == 1 and who == made.wrong:
                    sent = sent[:-1] + bytes([sent[-1] ^ 1])
                if made.lost.get(who) != phase:
                    server.receive(who, sent)
            server.close()
        assert server.total is not None
        return [write_watched(device, terms) for device in watched.values()]


def write_watched(device: WatchedDevice, terms: RoundTerms) -> Entry:
    """A device of a round, as it stands in the file."""
    told = {"cohort": terms.cohort, "attempt": terms.attempt, "n": terms.n, "ring": terms.ring.hex()}
    entry: Entry = {"place": device.place, "held": None if device.held is None else str(device.held)}
    entry |= {"terms": told, "first_page": device.first, "seed": device.seed.hex()}
    return {**entry, "steps": device.steps}


def list_neighbourhoods() -> list[Entry]:
    """How many neighbours a device has where so many may be corrupted and lost, and the thresholds allowed."""
    found = []
    sizes = [(n, part, lost) for n in (200, 1000, 20_000, 10**6) for part in (0, 10, 3) for lost in (0, 5, 4)]
    for n, part, lost in [*sizes, (10, 3, 5), (3, 0, 0), (1000, 2, 2), (1000, 2, 10)]:
        counts = n // part if part else 0, n // lost if lost else 0
        entry: Entry = {"n": n, "corrupted": counts[0], "lost": counts[1]}
        try:
            entry |= choose_neighbours(n, *counts, secrecy=SECRECY["honest"], most=MOST_NEIGHBOURS)._asdict()
        except InvalidValue as wrong:
            entry["refused"] = str(wrong).partition(" is ")[0]
        found.append(entry)
    return found


def list_round_places() -> list[Entry]:
    """Places that are as they should be, and some that only look like it."""
    dense, sparse = (made.channel for made in FIXED_ROUNDS)
    place = partial(make_round_place, dense, 12, 7)
    offer, noise = dense.offer(12).at(7), dense.offer(12).noise
    assert noise is not None
    wide = Distributed(epsilon=2, honest="9/10", backend=SecAgg("1/20", attempts=2))
    found = [place(), make_round_place(sparse, 40, 0), make_round_place(wide, 1000, 999)]
    found += [make_round_place(wide, 128, 5), make_round_place(wide, 40, 0), make_round_place(wide, 34, 0)]
    others: list[Entry] = [
        {"n": 11},
        {"steps": 2},
        {"steps": 0},
        {"channel": "TwoServers"},
        *({"modulus": modulus} for modulus in (0, 12, 13, 2**63, 2**63 + 1)),
        {"noise": None},
        *({"noise": noise._replace(**change)} for change in ({"least": 8}, {"least": 3}, {"scale": Fraction(1)})),
        *({"terms": terms} for terms in ((), (("epsilon", Fraction(1)),), offer.also(cap=3).terms)),
        {"position": None},
        {"metric": "unsubscribed"},
        {"n": 10**6 + 1, "modulus": 2**62},
    ]
    found += [place(offer=replace(offer, **change).to_text()) for change in others]
    large = replace(offer, n=10**4, modulus=2**40, noise=noise._replace(least=7000))
    rules = place()["rounds"]
    found.append(place(offer=large.to_text(), rounds={**rules, "graph": "complete"}))
    changes: list[Entry] = [
        *({"corrupted": part} for part in ("0", ".3", "0.25", "1/4", "1/0", "1", "-1/10", 0.1, None, "2/3", "1/11")),
        *({"server": server} for server in ("malicious", "evil", None)),
        *({"graph": graph} for graph in ("complete", "sparse", "ring")),
        *({"smallest": smallest} for smallest in (1, 9, 10, 0, 2**32 + 1, 1.5, True)),
        *({"attempts": attempts} for attempts in (1, 100, 101, 0, "3")),
    ]
    found += [place(rounds={**rules, **change}) for change in changes]
    return [*found, place(cap=3), place(cap=3, offer=offer.also(cap=3).to_text())]


def list_summed_offers() -> list[Entry]:
    """What places cost a person who agreed to cohorts of 12 at least, of which this part may be corrupted."""
    found = []
    for place in list_round_places():
        entry: Entry = {"place": place, "least": 12, "corrupted": "1/20" if place["rounds"]["smallest"] == 32 else "0"}
        try:
            read = read_place(place)
            entry["epsilon"] = str(Agreed(10**6, least=12, corrupted=entry["corrupted"]).check(read, Fraction(0)))
        except InvalidValue as wrong:
            entry["refused"] = str(wrong).partition(" is ")[0]
        found.append(entry)
    return found
