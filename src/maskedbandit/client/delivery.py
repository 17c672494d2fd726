"""Sending what the outbox holds until the service has answered, whatever happens in between."""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from maskedbandit.client.answers import Refusal, Reply, read_problem_code, read_verdicts
from maskedbandit.client.calls import Calls
from maskedbandit.client.outbox import Message, Outbox
from maskedbandit.errors import StorageFailed

MESSAGES_TOGETHER = 200  # messages in a request
REQUEST_PATIENCE = 30.0  # seconds for a request
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 60.0  # seconds
OTHERS_TURN = 0.05  # seconds, while another process of the application is sending
_GOOD = {"expose": frozenset({"exposed"}), "report": frozenset({"accepted", "duplicate"})}
_TOO_MUCH = (413, 422)  # of a batch: some of it may be accepted by itself
log = logging.getLogger("maskedbandit.client")


def choose_pause(failures: int, asked: float = 0.0, share: Callable[[], float] = random.random) -> float:
    """Seconds until the next attempt: twice as many each time, never fewer than the service asks for.

    The share is drawn anew, so that the applications that a service lost do not all come back at once.

    >>> [choose_pause(failures, share=lambda: 1.0) for failures in (1, 2, 3, 99)]
    [0.25, 0.5, 1.0, 60.0]
    >>> choose_pause(1, asked=7.0, share=lambda: 0.0)
    7.125
    """
    longest = min(FIRST_PAUSE * 2.0 ** min(failures - 1, 30), LONGEST_PAUSE)
    return asked + longest * (1 + share()) / 2


class Delivery:
    """Sends the messages of an outbox, of one study or of all, in the order in which each ticket's were written."""

    def __init__(self, calls: Calls, outbox: Outbox, study: str | None, on_refused: Callable[[Refusal], None]) -> None:
        self._calls, self._outbox, self._study, self._on_refused = calls, outbox, study, on_refused
        self._mail, self._hurry, self._idle = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._mail.set()  # what an earlier process left
        self._said = 200  # the last status that was logged

    def wake(self) -> None:
        """A message was written."""
        self._mail.set()
        self._idle.clear()

    async def flush(self) -> None:
        """Try now, and wait until nothing is left."""
        self.wake()
        self._hurry.set()
        await self._idle.wait()

    async def run(self) -> None:
        """Send all that comes, for ever."""
        failures = 0
        while True:
            if not failures:
                await self._mail.wait()
            self._mail.clear()
            try:
                wait = await self._attempt()
            except Exception as why:  # a full disk, or a mistake of ours: neither ends the sending
                if isinstance(why, RuntimeError) and "shutdown" in str(why):  # the application ends, without `close`
                    return
                log.error("outcomes wait: %s", why if isinstance(why, StorageFailed) else type(why).__name__)
                wait = 0.0
            if wait is None:
                failures = 0
                if not self._mail.is_set():
                    self._idle.set()
            else:
                failures += 1
                await self._rest(choose_pause(failures, wait))

    async def _rest(self, length: float) -> None:
        """Wait, unless somebody is in a hurry; new messages wait too."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), length)
        self._hurry.clear()

    async def _attempt(self) -> float | None:
        """Send what there is: None if nothing is left, or the seconds that the service asks to be left alone."""
        studies = [self._study] if self._study else await asyncio.to_thread(self._outbox.studies)
        if not any([await asyncio.to_thread(self._outbox.next, study, 1) for study in studies]):
            return None
        while not await asyncio.to_thread(self._outbox.turn.take):
            await asyncio.sleep(OTHERS_TURN)
        try:
            stuck = [wait for study in studies if (wait := await self._empty(study)) is not None]
        finally:
            await asyncio.to_thread(self._outbox.turn.give)
        return max(stuck, default=None)

    async def _empty(self, study: str) -> float | None:
        """The same of one study; one that is refused does not stop the others."""
        together = MESSAGES_TOGETHER
        while messages := await asyncio.to_thread(self._outbox.next, study, together):
            for kind in ("expose", "report"):
                batch = [message for message in messages if message.kind == kind]
                if not batch:
                    continue
                path = f"/v1/studies/{study}/{kind}/batch"
                reply = await self._calls.post(
                    path, {"requests": [message.body for message in batch]}, REQUEST_PATIENCE
                )
                if reply.status in _TOO_MUCH and len(messages) > 1:
                    together = max(len(messages) // 2, 1)
                    break
                if not await self._settle(batch, reply):
                    return reply.retry_after
                together = min(2 * together, MESSAGES_TOGETHER)
            for message in messages:
                if message.kind == "leave" and (wait := await self._say_farewell(message)) is not None:
                    return wait
        return None

    async def _say_farewell(self, message: Message) -> float | None:
        """Say that a person leaves: None if the service has erased what it had, or how long to leave it alone."""
        reply = await self._calls.post(f"/v1/studies/{message.study}/leave", message.body, REQUEST_PATIENCE)
        left = reply.status == 200 and isinstance(reply.body, dict) and reply.body.get("status") == "left"
        if not left and read_problem_code(reply.body) != "unknown_ticket":
            self._warn(message.study, reply)
            return reply.retry_after
        self._said = 200
        await asyncio.to_thread(self._outbox.settle, [message])
        return None

    def _warn(self, study: str, reply: Reply) -> None:
        """Say in the log that a service does not answer, when that changes."""
        if reply.status != self._said:
            why = f"answers with status {reply.status}" if reply.status else "does not answer"
            log.warning("outcomes of %s wait: the service %s", study, why)
        self._said = reply.status

    async def _settle(self, batch: list[Message], reply: Reply) -> bool:
        """Forget what was answered; whether all was."""
        found = read_verdicts(reply, len(batch), _GOOD[batch[0].kind])
        if reply.status == 422 and read_problem_code(reply.body):  # one alone
            found = [read_problem_code(reply.body)]
        if found is None:
            self._warn(batch[0].study, reply)
            return False
        self._said = 200
        answered = [(message, code) for message, code in zip(batch, found, strict=True) if code is not None]
        await asyncio.to_thread(self._outbox.settle, [message for message, _ in answered])
        refused = [Refusal(*message[1:5], code) for message, code in answered if code]
        for code, count in Counter(each.code for each in refused).items():
            log.warning("the service will never take %d messages of %s: %s", count, batch[0].study, code)
        for refusal in refused:
            self._on_refused(refusal)
        return len(answered) == len(batch)
