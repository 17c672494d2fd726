"""Deliveries: what is published of studies is sent to the receivers of webhooks, by the process that holds the study.

Each receiver has a lane of its own, which goes from study to study and sends one announcement after the other, so the
order within a study is kept, and one that is slow or dead is in nobody's way. Where a receiver stands is written down
after it has taken an announcement: so each comes at least once, and twice if the process ends between the two, with the
same id. What is refused is tried again, less often each time. Once a receiver has taken nothing for three days, each
announcement is tried once, and given up.

What is sent, and when, follows from entries that the witness has seen, and from what is shown of a study to everybody
who may see it: never from an outcome before its release.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, NamedTuple, Protocol

import httpx

from maskedbandit.errors import MaskedBanditError
from maskedbandit.service.host.posting import PATIENCE, post_announcement
from maskedbandit.service.views.announcements import Announcement, announce_entries, compare_conditions
from maskedbandit.service.views.view import StudyView
from maskedbandit.service.webhooks import (
    ReceiverState,
    Webhook,
    derive_signing_key,
    parse_waiting,
    read_deliveries,
    read_webhooks,
    save_delivery,
)
from maskedbandit.store.book.book import read_published
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.study_rows import read_studies

log = logging.getLogger("maskedbandit")
SHORTEST_WAIT_TO_RETRY, LONGEST_WAIT_TO_RETRY = 2_000, 3_600_000  # milliseconds between two tries
GIVEN_UP = 3 * 86_400_000  # milliseconds without success after which announcements are given up
LOOK_AGAIN = 10_000  # milliseconds between two looks at what holds of a study
MOST_AT_ONCE = 100  # announcements to one receiver before it is another study's turn
MOST_WAITING = 100  # of what began or ended to hold, while a receiver takes nothing


class DeliverySource(Protocol):
    """What deliveries need of the host."""

    @property
    def witness(self) -> Witness:
        """The witness."""

    @property
    def clock(self) -> Callable[[], int]:
        """The time in milliseconds."""

    @property
    def read(self) -> Callable[[Callable[[Database], Any]], Awaitable[Any]]:
        """The answer to a question about the database."""

    async def view(self, name: str) -> StudyView:
        """What may be shown of a study."""

    def sends_for(self, study: str, state: str) -> bool:
        """Whether this process is the one that tells of a study."""


class Due(NamedTuple):
    """A study of which a receiver may have something to hear."""

    delivery: ReceiverState
    entries: int  # that the witness has seen
    looks: bool  # at what holds of it

    @property
    def waits(self) -> bool:
        """Whether there is something to send."""
        return self.delivery.position < self.entries or self.delivery.waiting != "[]"


class Deliveries:
    """The deliveries of one process."""

    def __init__(self, source: DeliverySource) -> None:
        self._source = source
        self.transport: httpx.AsyncBaseTransport | None = None  # how receivers are reached, if not directly
        self._client: httpx.AsyncClient | None = None
        self._lanes: dict[str, asyncio.Task[None]] = {}
        self._round: asyncio.Task[None] | None = None
        self._webhooks: list[Webhook] = []
        self._looked: dict[tuple[str, str], int] = {}
        self._views: dict[str, StudyView] = {}
        self._looking, self._connecting = asyncio.Lock(), asyncio.Lock()

    def read(self, database: Database) -> None:
        """Which webhooks there are."""
        self._webhooks = read_webhooks(database)

    def go_on(self) -> None:
        """Begin to send what is due, unless there is no receiver, or what is due is being looked up already."""
        if self._webhooks and (self._round is None or self._round.done()):
            self._round = asyncio.create_task(self._go_round())

    async def rest(self) -> None:
        """Wait until all that is under way has ended."""
        if self._round is not None:
            await self._round
        await asyncio.gather(*self._lanes.values())

    async def end(self) -> None:
        """End what is under way; the next process goes on with it."""
        tasks = [*self._lanes.values(), *([] if self._round is None else [self._round])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    async def _go_round(self) -> None:
        try:
            self._lanes = {name: lane for name, lane in self._lanes.items() if not lane.done()}
            for webhook, due in await self._source.read(self._find_due):
                if webhook.webhook not in self._lanes:
                    self._lanes[webhook.webhook] = asyncio.create_task(self._send_all(webhook, due))
        except MaskedBanditError as why:  # of the store, which the clock tells of
            log.info("webhooks wait", extra={"why": str(why)})

    def _find_due(self, database: Database) -> list[tuple[Webhook, list[Due]]]:
        """For each webhook, the studies of which its receiver may have something to hear now."""
        witness, now, known = self._source.witness.as_now(), self._source.clock(), read_deliveries(database)
        here = [each for each in read_studies(database) if self._source.sends_for(each.name, each.state)]
        found = []
        for webhook in self._webhooks:
            due = list[Due]()
            for study in here:
                seen = witness.seen(study.name)
                if seen is None or not seen.head.entries or not webhook.hears(study.name):
                    continue
                given = known.get((webhook.webhook, study.name), ReceiverState(webhook.webhook, study.name))
                lasts = study.state in ("running", "paused") or given.standing != "{}"
                looks = lasts and not has_just_been(self._looked.get(given[:2]), now)
                each = Due(given, seen.head.entries, looks and bool({"finished", "attention"} & {*webhook.kinds}))
                if each.looks or (each.waits and not has_to_pause(given, now)):
                    due.append(each)
            if due:
                found.append((webhook, due))
        return found

    async def _send_all(self, webhook: Webhook, due: list[Due]) -> None:
        """Send a receiver what it may hear of these studies."""
        for each in due:
            name = each.delivery.study
            try:
                await self._send_of_study(webhook, each)
            except MaskedBanditError as why:
                log.info("a webhook waits", extra={"study": name, "webhook": webhook.webhook, "why": str(why)})
            except Exception:
                log.exception("a webhook failed, and goes on", extra={"study": name, "webhook": webhook.webhook})

    async def _send_of_study(self, webhook: Webhook, due: Due) -> None:
        if due.looks:
            due = due._replace(delivery=await self._look(webhook, due.delivery))
        delivery, witness, read = due.delivery, self._source.witness, self._source.read
        if not due.waits or has_to_pause(delivery, self._source.clock()):
            return
        said, end = await read(partial(list_announcements, witness=witness, webhook=webhook, delivery=delivery))
        key = await asyncio.to_thread(derive_signing_key, witness, webhook)
        for each in said:
            error = await self._post(webhook, key, each)
            delivery = self._advance(delivery, each, error)
            await read(partial(save_delivery, delivery=delivery))
            if error:
                about = {"study": delivery.study, "webhook": webhook.webhook, "why": error}
                log.warning("a receiver of a webhook takes nothing", extra=about)
                return
        if len(said) < MOST_AT_ONCE and delivery.position < end:  # the last ones are of kinds that it does not hear of
            await read(partial(save_delivery, delivery=delivery._replace(position=end)))

    async def _look(self, webhook: Webhook, delivery: ReceiverState) -> ReceiverState:
        """Write down which conditions began or ended, before any receiver is told."""
        waiting, before, now = parse_waiting(delivery), json.loads(delivery.standing), self._source.clock()
        if len(waiting) >= MOST_WAITING:
            return delivery
        standing, said = compare_conditions(await self._view(delivery.study), webhook.webhook, webhook.kinds, before)
        self._looked[delivery.webhook, delivery.study] = now
        if standing == before:
            return delivery
        delivery = delivery._replace(standing=json.dumps(standing), waiting=json.dumps(waiting + said))
        await self._source.read(partial(save_delivery, delivery=delivery))
        return delivery

    async def _view(self, study: str) -> StudyView:
        """What may be shown of a study: one look for all receivers."""
        async with self._looking:
            found = self._views.get(study)
            if found is None or not has_just_been(found.now, self._source.clock()):
                found = self._views[study] = await self._source.view(study)
            return found

    async def _post(self, webhook: Webhook, key: bytes, each: Announcement) -> str:
        async with self._connecting:  # two receivers at once would make two clients, of which only the last is closed
            if self._client is None:
                self._client = await asyncio.to_thread(self._make_client)
        seconds = self._source.clock() // 1000
        return await post_announcement(self._client, webhook.url, key, each.id, seconds, each.body.encode())

    def _make_client(self) -> httpx.AsyncClient:
        """The client for requests to receivers. Making it reads all certificates that are trusted."""
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        # trust_env: a proxy of the environment would see what is sent
        return httpx.AsyncClient(trust_env=False, timeout=PATIENCE, transport=self.transport, cookies=no_cookies)

    def _advance(self, delivery: ReceiverState, each: Announcement, error: str) -> ReceiverState:
        """How far a receiver has come after a try."""
        now = self._source.clock()
        waiting = json.dumps([other for other in parse_waiting(delivery) if other["id"] != each.id])
        after = delivery._replace(position=max(delivery.position, each.position), waiting=waiting, next=0)
        if not error:
            return after._replace(failures=0, failing=None, error="", sent=now)
        since = now if delivery.failing is None else delivery.failing
        pause = min(SHORTEST_WAIT_TO_RETRY * 2 ** min(delivery.failures, 20), LONGEST_WAIT_TO_RETRY)
        failed = {"failures": delivery.failures + 1, "failing": since, "next": now + pause, "error": error}
        if now < since + GIVEN_UP:
            return delivery._replace(**failed)
        return after._replace(**failed, lost=delivery.lost + 1)


def has_just_been(look: int | None, now: int) -> bool:
    """Whether the last look was a moment ago. One in the future was timed by a wrong clock, and does not count."""
    return look is not None and look <= now < look + LOOK_AGAIN


def has_to_pause(delivery: ReceiverState, now: int) -> bool:
    """Whether it is too early to try again. A pause that is too long comes from a wrong clock, and does not count."""
    return now < delivery.next <= now + LONGEST_WAIT_TO_RETRY


def list_announcements(
    database: Database, witness: Witness, webhook: Webhook, delivery: ReceiverState
) -> tuple[list[Announcement], int]:
    """What is to be said of a study now, in order; and how many entries there are to be said of it."""
    waiting = parse_waiting(delivery)
    with database.still():
        book = read_published(database, witness.as_now(), delivery.study)
    said = announce_entries(book, webhook.webhook, webhook.kinds, delivery.position, MOST_AT_ONCE)
    found = list[Announcement]()
    for each in waiting:
        after = int(each["after"])
        found += [entry for entry in said if entry.position <= after]
        said = [entry for entry in said if entry.position > after]
        found.append(Announcement(str(each["id"]), str(each["body"]), after))
    return (found + said)[:MOST_AT_ONCE], len(book.entries)
