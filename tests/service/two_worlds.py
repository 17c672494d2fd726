"""Two services that differ in what was reported of one person, and whoever looks for the difference.

In some of them the study has a control arm, whose cohort the victim is in.

The worlds have the same seeds, clocks, people and requests. In the one the application of one person, the victim,
reports something, and in the other something else, or nothing. All that anybody else is answered must be the same, byte
for byte, until the victim's cohort is released, and so must the statements that are made for it, the other tables, the
metrics and the log. Of the release itself the law is tested elsewhere; here its noise is taken to have made both totals
equal, and then all that is said later must be the same again, but for hashes in which salts are. Requests that come
together are done in one transaction: reports of the victim may be among those of others in one world alone.
"""

import json
import logging
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.errors import MaskedBanditError
from maskedbandit.privacy.sampling import Bits
from maskedbandit.service.host.scrubbing import Scrubbing
from maskedbandit.service.logs import JsonLines
from maskedbandit.service.request.sessions import COOKIE_NAME, new_session
from maskedbandit.service.views import status
from maskedbandit.store import reconcile, writer
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.sqlite import Sqlite
from maskedbandit.study.outcomes import MeasuredOutcome
from maskedbandit.study.signatures import sign_person
from tests.service.inside import Inside, Reply, inside
from tests.service.receivers import Heard, is_signed
from tests.store.small_study import Clock
from tests.store.two_worlds_of_batches import difference

WINDOW = 20  # seconds
REWARD = {"most": 4, "rule": "sum", "window": f"{WINDOW} seconds", "exposure": "10 seconds"}
HARM = "harm"
GUARDRAIL = {"name": HARM, "harm": {"above": 0.9}, "rule": "first", "share": "1/4"}
SPENT = {"name": "spent", "most": 4, "rule": "sum", "share": "1/4"}
VICTIM, EARLY = "victim", ("early", "earlier", "earliest", "first")
OTHERS = "one", "two", "three", "four", "five", "six"
HELD = [{"name": "a", "payload": {"text": "A"}}, {"name": "plain", "share": "1/3"}, {"name": "b"}]
MORE_EARLY, MORE_OTHERS = ("fifth", "sixth"), ("seven", "eight", "nine", "ten")  # who fill up the control's cohorts
SIGNER = Ed25519PrivateKey.from_private_bytes(bytes(32))  # of the application
SHOP = "https://shop.example"  # on whose pages the device key may be used
SECRETS = ("proof-of-an-attacker", "another-proof-of-one")
HASH = re.compile(r"[0-9a-f]{32,}|>[0-9a-f]{10}<")  # the page has the first ten digits of some
Request = tuple[str, str, Any, str]  # method, path, body and key
SAID = {"age": 20}
ENROLMENT = {  # everybody of whom this is said, but for a chance of 1 in 10^18 that the ramp keeps one of them out
    "eligible": {"age": {"least": 18}},
    "group": {"name": "all"},
    "ramp": {"shares": [f"{2**64 - 1}/{2**64}"], "every": "1 week"},
}
OF_A_COHORT = "LEFT JOIN reward"  # in what reads the reports of a whole cohort, when it is released, and after it


@cache
def sign(unit: str) -> str:
    """The token of a person."""
    return sign_person(SIGNER.private_bytes_raw().hex(), "small", unit, expires=86_400)


class Posted(httpx.AsyncBaseTransport):
    """The way to the receiver of a webhook, who keeps all that comes, and now and then refuses it."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Whether it is taken."""
        self.heard.append(Heard(dict(request.headers), await request.aread()))
        return httpx.Response(500 if len(self.heard) % 5 == 0 else 204)

    def tell(self, secret: str) -> str:
        """All that came; a signature is as good as what is signed."""
        signed = [is_signed(secret, each) for each in self.heard]
        return repr(
            [(each.headers | {"webhook-signature": ok}, each.body) for each, ok in zip(self.heard, signed, strict=True)]
        )


class Beginning(NamedTuple):
    """A study that has begun, of which each world is a copy; it may be that of many worlds, one after the other."""

    folder: Path
    tickets: dict[str, str]
    keys: dict[str, str]
    hook: str  # the secret of its webhook
    exposed: int  # when all who see their arm have seen it


class World:
    """One of the two."""

    def __init__(self, service: Inside) -> None:
        self.service = service
        self.statements: list[str] = []
        self.logged: list[str] = []
        self.totals: list[float] = []
        self.random = Random(0)
        self.posted = Posted()
        service.host.deliveries.transport = self.posted
        self._looking = Sqlite(service.address.removeprefix("sqlite:///"))
        self._looked, self._seen = -1, dict[str, list[str]]()

    @property
    def metrics(self) -> str:
        """All that Prometheus is told."""
        found = self.service.host.metrics.registry.collect()
        return repr([(each.name, each.labels, each.value) for metric in found for each in metric.samples])

    def tables(self) -> dict[str, list[str]]:
        """The rows of all tables but that of the reports, and of what the database knows of its own tables.

        SQLite counts what others have written: the tables are read if that has changed.
        """
        ((written,),) = self._looking.rows("PRAGMA data_version")
        if written != self._looked:
            names = sorted(self._looking.tables() - {"reward", "sqlite_stat1"})
            seen = {name: sorted(map(repr, self._looking.rows(f"SELECT * FROM {name}"))) for name in names}
            self._looked, self._seen = written, seen
        return self._seen

    def close(self) -> None:
        """End it."""
        self._looking.close()
        self.service.close()


class Worlds(logging.Handler):
    """Both, of which one is asked at a time."""

    def __init__(
        self,
        folder: Path,
        patch: pytest.MonkeyPatch,
        all_exposed: bool,
        held: bool = False,
        prepare: Callable[[Inside], None] = lambda service: None,
        begun: Beginning | None = None,
        **changes: Any,
    ) -> None:
        super().__init__()
        self.setFormatter(JsonLines())
        self.clock, self.asked, self.released = Clock(), 0, False
        self.now: World | None = None  # who is asked
        self.random, self.replays = Random(), False
        self._patched(patch)
        tried = (self._began(folder / f"{i}", i, all_exposed, held, prepare, changes) for i in range(50))
        self.begun = begun or next(each for each in tried if each is not None)
        _, self.tickets, self.keys, self.hook, self.exposed = self.begun
        self.clock.now = self.exposed + 1
        self.both = [self._opened(shutil.copytree(self.begun.folder, folder / each)) for each in "ab"]
        logging.getLogger("maskedbandit").addHandler(self)

    def _began(
        self,
        folder: Path,
        again: int,
        all_exposed: bool,
        held: bool,
        prepare: Callable[[Inside], None],
        changes: dict[str, Any],
    ) -> Beginning | None:
        """A study that began; None if it has a control, and the victim is not in its cohort."""
        self.random, self.clock.now = Random("both worlds" + " again" * again), Clock().now
        folder.mkdir()
        early, later, arms = EARLY, (VICTIM, *OTHERS), {}
        if held:
            early, later, arms = (*EARLY, *MORE_EARLY), (VICTIM, *OTHERS, *MORE_OTHERS), {"arms": HELD}
        with inside(f"sqlite:///{folder}/studies.db", folder / "witness", clock=self.clock) as first:
            first.sign, first.said = sign, SAID
            public = SIGNER.public_key().public_bytes_raw().hex()
            further = {"guardrail": GUARDRAIL, "metrics": [SPENT]}
            first.begin(reward=REWARD, **further, signed_by=public, enrolment=ENROLMENT, **arms, **changes)
            tickets = {name: first.seen(name) for name in early}
            prepare(first)
            first.tick(WINDOW + 1)  # whose cohorts are released
            tickets |= {name: first.seen(name) for name in later}
            if held and first.assign(VICTIM)["arm"] != "plain":
                return None
            tickets["last"] = first.seen("last") if all_exposed else first.assign("last")["ticket"]
            found = first.keys | {"another": first.ask("POST", "/v1/keys", {"role": "client"}, "owner").json["key"]}
            found["scoped"] = first.scoped("client", "small")
            page = {"role": "device", "study": "small", "origins": [SHOP]}
            found["device"] = first.ask("POST", "/v1/keys", page, "owner").json["key"]
            hook = first.ask("POST", "/v1/webhooks", {"url": "https://hooks.example"}, "owner").json["secret"]
        return Beginning(folder, tickets, found, hook, self.clock.now)

    def _patched(self, patch: pytest.MonkeyPatch) -> None:
        """What is drawn, and what the time is, is the same in both; what is asked of the database is noted."""

        def drawn(n: int) -> bytes:
            return (self.now.random if self.now else self.random).randbytes(n)

        patch.setattr(Bits.__init__, "__defaults__", (drawn,))
        for module in ("people", "rows"):
            patch.setattr(f"maskedbandit.store.{module}.urandom", drawn)
        patch.setattr(secrets, "token_hex", lambda n=16: drawn(n).hex())
        patch.setattr(secrets, "token_bytes", lambda n=16: drawn(n))
        patch.setattr(secrets, "token_urlsafe", lambda n=16: drawn(n).hex())
        for where in ("store.lease", "service.host.hosting"):
            patch.setattr(f"maskedbandit.{where}.read_clock", self.clock)
        for where in ("request.route", "host.hosting"):
            patch.setattr(f"maskedbandit.service.{where}.perf_counter", lambda: 0.0)
        patch.setattr(Scrubbing, "begin", lambda self: None)  # it goes on beside all else
        patch.setattr(writer, "LONGEST", 60.0)  # what comes together is one transaction, however slow the machine is
        for name in ("rows", "change", "each"):
            patch.setattr(Sqlite, name, self._noting(getattr(Sqlite, name)))
        real = MeasuredOutcome.released

        def released(outcome: MeasuredOutcome, *given: Any) -> float:
            total = real(outcome, *given)
            if self.now is None:
                return total
            self.released = True
            if self.replays:
                return self.both[0].totals.pop(0)
            self.now.totals.append(total)
            return total

        patch.setattr(MeasuredOutcome, "released", released)

    def _noting(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def noted(database: Sqlite, statement: str, *values: Any) -> Any:
            found = real(database, statement, *values)
            if self.now is not None:
                counted = isinstance(found, list) and OF_A_COHORT not in statement
                self.now.statements.append(f"{statement} {len(found) if counted else ''}")
            return found

        return noted

    def _opened(self, folder: Path) -> World:
        self.random = Random("what opens a world")
        service = Inside(f"sqlite:///{folder}/studies.db", folder / "witness", clock=self.clock)
        service.keys = self.keys
        database = open_database(service.address)
        with database.transaction():  # those that it made for itself
            database.change("DELETE FROM api_key WHERE made > ?", self.exposed)
        service.host.keys.read(database)
        database.close()
        made = World(service)
        service.run(service.host.deliveries.rest())
        return made

    def emit(self, record: logging.LogRecord) -> None:
        """A line of the log."""
        if self.now is not None:
            self.now.logged.append(str(json.loads(self.format(record)) | {"time": None}))

    def end(self) -> None:
        """End both."""
        logging.getLogger("maskedbandit").removeHandler(self)
        for world in self.both:
            world.close()

    @contextmanager
    def in_each(self) -> Iterator[Iterator[World]]:
        """One after the other, which draw the same."""

        def each() -> Iterator[World]:
            for i, world in enumerate(self.both):
                self.now, self.replays, world.random = world, i == 1, Random(self.asked)
                yield world

        self.asked += 1
        try:
            yield each()
        finally:
            self.now = None

    def differ(self, *own: Sequence[Request]) -> None:
        """The requests that the victim's application makes in each world; nobody else sees the answers."""
        self.clock.now += 137  # milliseconds, at which nothing else happens
        with self.in_each() as each:
            for world, requests in zip(each, own, strict=True):
                for request in requests:
                    world.service.ask(*request)
                world.statements.clear()

    def probe(self, what: str, ask: Callable[[World], Any]) -> None:
        """What somebody is answered, and all that is to be seen of it, is the same in both."""
        said = []
        with self.in_each() as each:
            for world in each:
                said.append((repr(ask(world)), tuple(world.statements), tuple(world.logged)))
                world.statements.clear()
        said = [(*found, world.metrics, repr(world.tables())) for found, world in zip(said, self.both, strict=True)]
        if said[0] == said[1]:  # and so without its hashes, which take most of the time
            return
        if self.released:
            said = [tuple(HASH.sub("#", str(each)) for each in found) for found in said]
        for name, first, second in zip(("answer", "statements", "log", "metrics", "tables"), *said, strict=True):
            assert first == second, f"the {name} of {what} tells: {difference(first, second)}"

    def together(self, others: Sequence[Request], own: Sequence[Sequence[tuple[int, Request]]]) -> None:
        """Requests come at the same time, and in each world some of the victim's, each before one of the others.

        Statements are of all of them, so they are not compared.
        """
        self.clock.now += 137
        numbered = [(i + 0.5, request) for i, request in enumerate(others)]

        def ask(world: World) -> list[Reply]:
            wanted = sorted([*numbered, *own[self.both.index(world)]], key=itemgetter(0))
            found = world.service.together(*[request for _, request in wanted])
            world.statements.clear()
            return [reply for reply, (at, _) in zip(found, wanted, strict=True) if at % 1]  # those of the others

        self.probe(f"{others} that come together", ask)

    def tick(self, seconds: int) -> None:
        """Time passes."""
        self.clock.now += 1000 * seconds

        def gone_round(world: World) -> str:
            host = world.service.host
            world.service.run(host._round())
            world.service.run(host.deliveries.rest())
            return world.posted.tell(self.hook)

        self.probe(f"{seconds} seconds", gone_round)


def asked(
    method: str, path: str, body: Any = None, key: str | None = "client", cookie: bool = False, origin: str = ""
) -> Any:
    """A request, which every role makes in this way; from a page of another site, if it has an origin."""

    def ask(world: World) -> Reply:
        service, headers = world.service, [("origin", origin), ("host", "bandit")] if origin else []
        if cookie:
            found = service.host.keys.of(service.keys[str(key)], service.clock())
            headers = [("cookie", f"{COOKIE_NAME}={new_session(service.host, found)}")]
        return service.ask(method, path, body, None if cookie else key, headers)

    return f"{method} {path} {body} by {key} {origin}", ask


def stream(world: World) -> bytes:
    """What events say until nothing has changed any more."""
    return world.service.streamed("/v1/studies/small/events", "officer")


def reopened(world: World) -> None:
    """The study is given back, and opened again: by the clock, which is soon there if nobody asks."""
    host = world.service.host
    world.service.run(host.drop("small"))
    world.service.run(host.hold("small"))


def exported(world: World) -> list[str]:
    """What `ledger export` and `study status` write."""
    service = world.service
    database = open_database(service.address)
    try:
        found = [*reconcile.export_ledger(database, service.host.witness, "small")]
        return [*found, status.write_status(database, service.host.witness, "small", service.clock())]
    except MaskedBanditError as why:
        return [str(why)]
    finally:
        database.close()
