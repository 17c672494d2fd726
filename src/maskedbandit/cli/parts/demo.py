"""The demo: a study with simulated people who come, convert late, and drop out.

Person i comes at time i * `every`. What becomes of each follows from the number alone: whether the message is ever
seen, and when; whether the person converts, and when. So after any end of the process the people of the last minutes
are played again, with no effect on what was written, and all goes on from there.
"""

import asyncio
import heapq
import random
from contextlib import closing
from pathlib import Path

from maskedbandit.cli.parts.simulation import Clock, Simulated
from maskedbandit.errors import Refused, StoreError
from maskedbandit.lab.experiments.examples import find_packaged_folder
from maskedbandit.service.host.host import Host
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.due import do_what_is_due
from maskedbandit.store.lease import read_clock
from maskedbandit.store.people import assign, expose, report
from maskedbandit.store.session import Session
from maskedbandit.store.studies import open_study, prepare_witness, write_study
from maskedbandit.store.study_rows import read_studies
from maskedbandit.store.writer import Writer
from maskedbandit.study.protocol import Protocol

PAST = 1_800_000  # milliseconds that are played before the server listens
STEP = 1000


class Demo:
    """The people of the demo's study; at most one thing happens to a person at a time."""

    def __init__(self, address: str, witness: Path | None) -> None:
        self.protocol = Protocol.from_file(find_packaged_folder() / "studies" / "demo.toml")
        self.address, self.witness = address, witness
        simulated = Simulated.of(self.protocol)
        self._means, self._every, self._lost = simulated.instance.true_means(), simulated.every, simulated.lost
        self._next = 0  # person
        self._later: list[tuple[int, str, bool]] = []  # when, the ticket, and whether it is a conversion

    def catch_up(self) -> None:
        """Play the last half hour, or what is missing of it, and go on from there."""
        self._create()
        clock, end = Clock(), read_clock()
        with open_study(self.address, self.protocol.name, self.witness, clock) as study:
            reward = self.protocol.reward
            begin = max(study.time - reward.window - reward.exposure, end - PAST)
            clock.now, self._next = begin, begin // self._every
            if study.state == "draft":
                study.start(simulated=True)
            for first in range(begin, end, 100 * STEP):
                steps = range(first, min(first + 100 * STEP, end), STEP)
                study.apply([(self._moment, clock, now) for now in steps])

    async def people(self, host: Host) -> None:
        """Play on, as long as the server lives."""
        while True:
            await asyncio.sleep(STEP / 1000)
            try:
                held = await host.hold(self.protocol.name)
                if isinstance(held, Writer):
                    await held.submit(self.play, read_clock())
            except StoreError:
                pass  # these people found the server closed

    def play(self, session: Session, now: int) -> None:
        """Within a transaction: all that happens up to now."""
        while self._next * self._every <= now:
            self._come(session, self._next)
            self._next += 1
        while self._later and self._later[0][0] <= now:
            _, ticket, converts = heapq.heappop(self._later)
            try:
                if converts:
                    report(session, ticket, 1)
                else:
                    expose(session, ticket)
            except Refused:
                pass  # too late: this person dropped out

    def _moment(self, session: Session, clock: Clock, now: int) -> None:
        clock.now = now
        self.play(session, now)
        do_what_is_due(session)

    def _come(self, session: Session, person: int) -> None:
        try:
            given = assign(session, f"person {person}")
        except Refused:
            return
        fate, reward = random.Random(person), self.protocol.reward
        if given.ticket is None or fate.random() < self._lost:
            return
        seen = person * self._every + round(fate.random() * reward.exposure / 2)
        heapq.heappush(self._later, (seen, given.ticket, False))
        if fate.random() < self._means[given.arm]:  # some convert after the window, which is too late
            heapq.heappush(self._later, (seen + round(fate.expovariate(4 / reward.window)), given.ticket, True))

    def _create(self) -> None:
        with closing(open_database(self.address)) as database:
            prepare_witness(database, self.witness)
            names = [each.name for each in read_studies(database)]
        if self.protocol.name not in names:
            write_study(self.protocol, self.address, self.witness)
