"""What both clients and the OpenFeature provider have in common: a thread that talks to the service, and the files.

The thread has an event loop of its own. So a deadline holds for the whole of a request, one client serves threads and
any number of event loops, and outcomes are sent while the application's own loop is busy.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from maskedbandit.client.answers import (
    STUDY_PATTERN,
    TICKET_PATTERN,
    Assigned,
    Refusal,
    Reply,
    read_assignment,
    read_problem_code,
)
from maskedbandit.client.calls import Calls, Transport, check_key, check_url
from maskedbandit.client.delivery import Delivery
from maskedbandit.client.local_noise import add_report_noise, add_up_rewards
from maskedbandit.client.outbox import Outbox
from maskedbandit.client.person import write_person
from maskedbandit.client.places import KnownArms, KnownPlace, hash_unit
from maskedbandit.device_refusals import OutcomeStaysOnDevice, find_refusal
from maskedbandit.errors import (
    Forbidden,
    InvalidValue,
    PersonalValue,
    Refused,
    StorageFailed,
    Unauthorized,
    UnknownStudy,
    restore_error,
)
from maskedbandit.person_attributes import PersonAttributes
from maskedbandit.private_files import name_service_files, prepare_file, usual_folder

if TYPE_CHECKING:
    from maskedbandit.channels.channel import Channel

UNREACHABLE = "unreachable"
ELSEWHERE = "given_elsewhere"  # of local trust: another folder, or another person, was given the place first
LONGEST_EVENT = 128
LARGEST_FLOAT = sys.float_info.max
MISTAKES = {401: Unauthorized, 403: Forbidden, 404: UnknownStudy}  # others than of a moment, or of one person
WorkResult = TypeVar("WorkResult")
log = logging.getLogger("maskedbandit.client")


class _Running:
    """The thread, its connections and its files, of one process."""

    def __init__(self, calls: Calls, files: Path, study: str | None, on_refused: Callable[[Refusal], None]) -> None:
        self.process, self.calls = os.getpid(), calls
        self.outbox, self.known = Outbox(files.with_suffix(".outbox")), KnownArms(files.with_suffix(".known"))
        self.loop = asyncio.new_event_loop()
        self.delivery = Delivery(calls, self.outbox, study, on_refused)
        self._thread = threading.Thread(target=self._live, name="maskedbandit", daemon=True)
        self._thread.start()

    def _live(self) -> None:
        sending = self.loop.create_task(self.delivery.run())
        try:
            self.loop.run_forever()
        finally:
            others = asyncio.all_tasks(self.loop)
            for task in (sending, *others):
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(sending, *others, return_exceptions=True))
            self.loop.run_until_complete(self.calls.close())
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()

    def submit(self, work: Coroutine[Any, Any, WorkResult]) -> Future[WorkResult]:
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def flush(self, timeout: float) -> bool:
        async def sent() -> bool:
            try:
                await asyncio.wait_for(self.delivery.flush(), timeout)
            except TimeoutError:
                return False
            return True

        return self.submit(sent()).result()

    def end(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.outbox.close()
        self.known.close()


class Engine:
    """See the module. With a study it sends what waits of that study alone, without one all that waits."""

    def __init__(
        self,
        url: str,
        key: str,
        study: str | None,
        *,
        deadline: float,
        folder: str | Path | None,
        channels: dict[str, Channel],
        on_refused: Callable[[Refusal], None] | None,
        transport: Transport | None,
    ) -> None:
        if not (isinstance(deadline, int | float) and 0 < deadline < math.inf):
            raise InvalidValue("deadline", deadline, "a positive number of seconds")
        if study is not None:
            check_path_name("study", study, "the name of a study, of letters, digits, '_', '.' and '-'")
        check_key(key)
        self.url, self.deadline, self._channels = check_url(url), deadline, channels
        files = Path(folder or usual_folder()) / name_service_files(self.url)
        prepare_file(files.with_suffix(".outbox"))  # a folder that cannot be used is noticed now
        self._begin: Callable[[], _Running] = lambda: _Running(
            Calls(self.url, key, transport), files, study, self._refuse
        )
        self._lock, self._closed = threading.Lock(), False
        self._now: _Running | None = None
        self._on_refused = on_refused
        self.refused: Counter[str] = Counter()  # how many messages were refused for good, by the code
        self._said = ""  # the last line of the log on what people get

    @property
    def _running(self) -> _Running:
        """What runs in this process. It begins when it is first needed, as web servers fork after they have started."""
        with self._lock:
            if self._closed:
                raise InvalidValue("client", "closed", "open: make another one")
            if self._now is None:
                self._now = self._begin()
            if self._now.process != os.getpid():  # its thread and its locks are not here
                raise InvalidValue("client", "one that was used before a fork", "first used in this process")
            return self._now

    def _refuse(self, refusal: Refusal) -> None:
        self.refused[refusal.code] += 1
        if self._on_refused is not None:
            try:
                self._on_refused(refusal)
            except Exception:
                log.exception("on_refused failed")

    # assign

    def ask(self, study: str, unit: str, token: str | None, attributes: PersonAttributes | None) -> Future[Reply]:
        """Ask for the arm of a unit."""
        body = write_person(unit, token, attributes)
        running = self._running

        def right(reply: Reply) -> bool:
            return read_assignment(reply, study) is not None

        return running.submit(running.calls.ask(f"/v1/studies/{study}/assign", body, self.deadline, right))

    def settle(self, study: str, unit: str, reply: Reply, fallback: str) -> Assigned:
        """What the unit gets: the arm of this reply, or else the one that it had before, or else the fallback."""
        given, known, outbox = read_assignment(reply, study), self._running.known, self._running.outbox
        code = read_problem_code(reply.body) if 400 <= reply.status < 500 else ""
        if code and reply.status not in (409, 429):
            kind, usual = find_refusal(code), MISTAKES.get(reply.status, Refused)
            raise restore_error(kind if issubclass(kind, usual) else usual, f"the service refuses the request: {code}")
        draws = given is not None and given.offer is not None and study in self._channels
        if given is not None and draws:  # the noise is drawn here, and so by no other device
            given = replace(given, device=None)
        try:
            if (
                given is not None
                and draws
                and given.ticket is not None
                and not outbox.take_place(study, hash_unit(unit), given.ticket, given.again)
            ):
                self._say(f"outcomes of people of {study} whose places were given elsewhere are not reported")
                return replace(given, ticket=None, offer=None, why=ELSEWHERE)
            if given is not None:
                if given.device is not None and given.offer is None:
                    known.keep_on_devices(study)
                known.remember(study, unit, given)
                self._said = ""
                return given
            why = code or f"status {reply.status}" if reply.status else "no answer"
            self._say(f"people of {study} get the arm they had, or a fallback: {why}")
            before = known.find(study, unit) or known.served(study) or Assigned(fallback)
        except StorageFailed as failure:  # people can be served all the same
            log.error("the arms that were given are not kept: %s", failure)
            before = given or Assigned(fallback)
            if draws:  # nobody knows whose ticket it is
                given = None
        return given or Assigned(before.arm, before.payload, source="fallback", why=code or UNREACHABLE)

    def _say(self, line: str) -> None:
        """Log what people get in place of the service's arms, when that changes."""
        if line != self._said:
            log.warning("%s", line)
        self._said = line

    # expose, report

    def expose(self, study: str, ticket: str | None) -> None:
        """Write down that the arm was seen."""
        if ticket is not None:
            check_ticket(ticket)
            self._running.outbox.put(study, ticket, "expose")
            self._wake()

    def report(
        self, study: str, ticket: str | None, value: float | Sequence[float], event: str, metric: str = ""
    ) -> None:
        """Write an outcome down; under local trust with its noise, of one outcome or of all that are given."""
        if ticket is None:
            return
        check_ticket(ticket)
        several = isinstance(value, list | tuple)
        values = cast("Sequence[float]", value if several else [value])
        if not all(isinstance(each, Real) and -LARGEST_FLOAT <= each <= LARGEST_FLOAT for each in values):
            raise PersonalValue("value", "a finite number")
        values = [float(each) for each in values]
        if not isinstance(event, str) or len(event) > LONGEST_EVENT or not event.isprintable():
            raise PersonalValue("event", f"a str of at most {LONGEST_EVENT} printable characters")
        if metric:
            check_path_name("metric", metric, "the name of the guardrail or of a metric of the study")
            event = f"{metric}\n{event}"
        running, channel = self._running, self._channels.get(study)
        offer = running.known.offer(study, ticket)
        if channel is None and offer is None:
            if several:
                raise PersonalValue("value", "one number: without local trust each outcome is a report with its event")
            if running.known.stays_on_devices(study):
                raise OutcomeStaysOnDevice(f"outcomes of {study} stay on people's devices: record them there")
            running.outbox.put(study, ticket, "report", event, values[0])
        elif channel is None:
            raise InvalidValue("channel", None, "the channel to which people agreed: the study has local trust")
        elif offer is None:
            raise PersonalValue("ticket", "one that `assign` of this folder gave with an offer, as a channel was named")
        else:
            told = values if several else values[0]
            running.outbox.put_device_report(
                *(study, offer.person, ticket, metric),
                lambda spent: add_report_noise(
                    channel, offer.offer, add_up_rewards(channel, told, metric), metric, spent
                ),
            )
        self._wake()

    def leave(self, study: str, ticket: str | None) -> None:
        """Write down that a person leaves, and forget what is kept of the person here."""
        if ticket is not None:
            check_ticket(ticket)
            self._running.outbox.put_leaving(study, ticket)
            self._running.known.forget(study, ticket)
            self._wake()

    def places(self, unit: str) -> list[KnownPlace]:
        """All places of a unit."""
        return self._running.known.places(unit)

    def _wake(self) -> None:
        self._running.loop.call_soon_threadsafe(self._running.delivery.wake)

    # the end

    def flush(self, timeout: float) -> bool:
        """Try to send what waits; whether nothing waits any more."""
        return self._running.flush(timeout)

    def close(self, timeout: float) -> None:
        """Try to send what waits, and stop. What still waits is sent at the next start."""
        with self._lock:
            running, self._now, self._closed = self._now, None, True
        if running is not None and running.process == os.getpid():
            running.flush(timeout)
            running.end()


def check_path_name(what: str, name: str, allowed: str) -> None:
    """Raise unless this can be the name of a study or of a guardrail, which becomes part of an address."""
    if not isinstance(name, str) or not STUDY_PATTERN.fullmatch(name):
        raise InvalidValue(what, name, allowed)


def check_ticket(ticket: str) -> None:
    """Raise unless this can be a ticket of the service; it is secret, and not shown."""
    if not isinstance(ticket, str) or not TICKET_PATTERN.fullmatch(ticket):
        raise PersonalValue("ticket", "a ticket that `assign` gave")
