"""Many people over HTTP, while requests and answers are lost, doubled and overtaken, and the server is killed.

The client notes what was acknowledged, in the history that the tests of the store use: it fails at the first answer
that contradicts another. A request whose answer was lost is sent again, with the same unit, ticket and event, until
there is an answer.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from maskedbandit.study.protocol import Protocol
from tests.service.live import Live
from tests.store.crash_history import History, Stored
from tests.store.small_study import PROOF

CODES = {"late": "Late", "conflict": "Conflict", "unknown_ticket": "UnknownTicket"}
CLIENTS = 32  # connections
IN_VAIN = 4000  # people in a row without a place: at least 6 seconds of them, where a release is due in two
TRIES = 15_000  # at one request, far more than it takes a server to begin again
TABLE: dict[str, Any] = {  # so little noise that a release tells whether a report was doubled
    "name": "load",
    "people": 10**6,
    "policy": {"name": "successive_elimination", "least": 20},
    "channel": {"name": "central", "epsilon": 224, "grid": 1000},
    "arms": [{"name": name} for name in "abc"],
    "reward": {"most": 4, "rule": "sum", "window": "0.4 seconds", "exposure": "1 hour"},
    "budget": {"epsilon": 224},
}


class Fault(NamedTuple):
    """How often a request is cut off before its end, its answer is not heard, or it is sent twice at once."""

    request: float = 0.0
    answer: float = 0.0
    twice: float = 0.0


class Load:
    """The client."""

    def __init__(self, server: Live, fault: Fault, seed: int, others: Sequence[Live] = ()) -> None:
        self.server, self.fault, self.rng, self.table = server, fault, Random(seed), TABLE
        self.servers = [server, *others]
        self.history = History(TABLE["name"], TABLE["name"])
        self.answered = self.unknown = self.came = self.in_vain = 0
        self.over = False  # the server was told to end, so nothing is sent again
        self.accepted: set[tuple[str, str]] = set()

    def run(self, people: int, kills: int = 0) -> None:
        """So many people, and so many kills, spread over them."""
        asyncio.run(self._run(people, kills))

    async def _run(self, people: int, kills: int) -> None:
        self.left = people
        tasks = [asyncio.create_task(self._client()) for _ in range(CLIENTS)]
        for number in range(kills):
            while self.came < people * (number + self.rng.random()) / kills and not all(task.done() for task in tasks):
                await asyncio.sleep(0.005)
            await asyncio.to_thread(self.harm, number)
        await asyncio.gather(*tasks)

    def harm(self, number: int) -> None:
        """What is done to the servers while people come, for the time of this number."""
        self.servers[number % len(self.servers)].kill_and_begin()

    def run_until_the_end(self, answers: int) -> int:
        """The server is told to end after so many answers, while everybody goes on asking: how it ends."""
        return asyncio.run(self._run_until_the_end(answers))

    async def _run_until_the_end(self, answers: int) -> int:
        self.left = 10**9
        tasks = [asyncio.create_task(self._client()) for _ in range(CLIENTS)]
        while self.answered < answers and not any(task.done() for task in tasks):
            await asyncio.sleep(0.005)
        self.over = True
        ended = await asyncio.to_thread(self.server.end)
        for found in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(found, OSError | EOFError):
                raise AssertionError from found
        return ended

    async def _client(self) -> None:
        while self.left > 0:
            self.left -= 1
            self.came += 1
            again = self.rng.random() < 0.1
            await self._person(f"u{self.came // 2 if again else self.came}")

    async def _person(self, unit: str) -> None:
        given = await self._do("assign", unit)
        if given is None:
            return
        if given["ticket"] is None:  # the cohorts are full: another comes after their release
            self.left += 1
            self.in_vain += 1
            assert self.in_vain < IN_VAIN, "nobody is given a place any more"
            await asyncio.sleep(0.05)
            return
        ticket = given["ticket"]
        if not given["again"]:
            self.in_vain = 0
        await self._do("expose", ticket)
        reports = [(event, float(ticket[int(event)] < "b")) for event in "012"[: self.rng.randrange(4)]]
        await asyncio.gather(*[self._do("report", ticket, value, event) for event, value in reports])
        for event, value in reports:
            if self.rng.random() < 0.2:  # once more, or a contradiction
                wrong = self.rng.random() < 0.3 and (ticket, event) in self.history.reports
                await self._do("report", ticket, value + wrong, event)

    async def _do(self, verb: str, *given: Any) -> Any:
        """Ask until there is an answer, and note it."""
        names = {"assign": ("unit",), "expose": ("ticket",), "report": ("ticket", "value", "event")}[verb]
        proof = {"proof": PROOF} if verb == "report" else {}
        body = json.dumps(dict(zip(names, given, strict=True)) | proof)
        for _ in range(TRIES):
            try:
                if self.rng.random() < self.fault.twice:
                    answers = await asyncio.gather(self._ask(verb, body), self._ask(verb, body))
                else:
                    answers = [await self._ask(verb, body)]
            except (OSError, EOFError):
                self.unknown += 1
                if self.over:
                    raise
                await asyncio.sleep(0.05)
                continue
            found = None
            for status, said in sorted(answers, key=lambda each: each[1].get("status") == "duplicate"):
                assert status < 500 or status == 503, said
                if status in (429, 503):
                    if self.over:
                        raise EOFError
                    break
                found = self._note(verb, given, status, said)
            else:
                return found
            await asyncio.sleep(0.02)
        raise AssertionError(f"{verb} is never answered")

    def _note(self, verb: str, given: tuple[Any, ...], status: int, said: dict[str, Any]) -> Any:
        self.answered += 1
        if status != 200:
            self.history.refused(CODES.get(said["code"], said["code"]), verb, given)
            return None
        if verb == "assign":
            arm = "abc".index(said["arm"])
            self.history.done((arm, said["ticket"], said["again"]), verb, given)
        elif verb == "expose":
            self.history.done(None, verb, given)
        else:
            which = given[0], given[2]
            if said["status"] == "accepted":
                assert which not in self.accepted, "a report was taken twice"
                self.accepted.add(which)
            self.history.done(which in self.history.reports or said["status"] == "duplicate", verb, given)
        return said

    async def _ask(self, verb: str, body: str) -> tuple[int, dict[str, Any]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.rng.choice(self.servers).port)
        try:
            head = (
                f"POST /v1/studies/{self.table['name']}/{verb} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                f"Authorization: Bearer {self.server.keys['client']}\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            raw = (head + body).encode()
            if self.rng.random() < self.fault.request:
                writer.write(raw[: self.rng.randrange(len(raw))])
                raise EOFError
            writer.write(raw)
            await writer.drain()
            if self.rng.random() < self.fault.answer:
                raise EOFError
            answer = await asyncio.wait_for(reader.read(), 30)
            head_, _, said = answer.partition(b"\r\n\r\n")
            if not said:
                raise EOFError
            return int(head_.split()[1]), json.loads(said)
        finally:
            writer.close()

    def check(self) -> None:
        """What was acknowledged is what the database says: lost, doubled, phantom and wrong are none."""
        database = open_database(self.server.address)
        try:
            name, project = self.table["name"], self.table["name"]
            witness = find_witness(database, self.server.witness)
            find = "SELECT cohort, arm, n, total FROM release WHERE study = ? ORDER BY step"
            self.history.told([tuple(row) for row in database.rows(find, name)])
            stored = Stored(database, name, Protocol.from_table(self.table))
            pseudonyms = witness.pseudonyms(project)
            people = {ticket: pseudonyms.of(unit) for ticket, unit in self.history.people.items()}
            stored.check_places(people, self.history)
            stored.check_reports(self.history)
            stored.check_releases(self.history)
            stored.check_accounts(project, Counter(people.values()))
            self.releases = len(self.history.releases)
            verify_study(database, witness, name)
        finally:
            database.close()
