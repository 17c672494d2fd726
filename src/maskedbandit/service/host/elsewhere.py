"""A study that another process holds: what is asked here is sent there.

Any number of processes may serve one database. One of them holds a study; the others check who asks, and send what
clients ask in batches, each as large as what came while the last one was under way. Whatever else is asked of the study
is relayed as it is. If the holder ends, nothing is acknowledged until its lease does, or until it is known that its
process is gone; then another process takes the study over.
"""

import asyncio
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import httpx
import msgspec

from maskedbandit.errors import FencedOff, MaskedBanditError
from maskedbandit.service.messages import Assign, Assigned, Expose, Exposed, Items, Problem, Report, Reported
from maskedbandit.service.request.limits import BATCH

VERBS: dict[type, str] = {Assign: "assign", Expose: "expose", Report: "report"}
DECODE: dict[str, Any] = {
    "assign": msgspec.json.Decoder(Items[Assigned]).decode,
    "expose": msgspec.json.Decoder(Items[Exposed]).decode,
    "report": msgspec.json.Decoder(Items[Reported]).decode,
}
WaitingCall = tuple[msgspec.Raw, asyncio.Future[Any]]  # a body as it is sent, and who waits for its answer
encode_call = msgspec.json.Encoder().encode
BATCH_FRAME = 100  # bytes of a batch besides its requests
RELAY_PATIENCE = 9  # seconds: longer than the holder waits for its database
CALLS_TOGETHER = 300  # requests
RELAYED = "maskedbandit-relayed"  # a header: whoever is asked so answers, and sends it no further


PROCESS = "maskedbandit-process"  # a header: a seal that only processes with one witness can write


def count_that_fit(lengths: Sequence[int]) -> int:
    """How many requests of these lengths, in bytes, fit the body of a batch: at least one, as each fits a body alone.

    >>> count_that_fit([10, 10]), count_that_fit([60_000] * 300), count_that_fit([])
    (2, 17, 0)
    """
    ends = accumulate(length + 1 for length in lengths)
    return sum(end <= BATCH - BATCH_FRAME for end in ends)


class Said(MaskedBanditError):
    """The problem that the holder of the study answered with."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class Elsewhere:
    """A study that the process at `url` holds."""

    def __init__(self, name: str, holder: str, url: str, client: httpx.AsyncClient) -> None:
        self.name, self.holder, self.url, self._client = name, holder, url, client
        self._waiting: dict[tuple[str, str], list[WaitingCall]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, body: Assign | Expose | Report, key: str) -> Any:
        """What a client is answered by the holder."""
        future = asyncio.get_running_loop().create_future()
        what, call = (VERBS[type(body)], key), (msgspec.Raw(encode_call(body)), future)
        if what in self._waiting:
            self._waiting[what].append(call)
        else:
            self._waiting[what] = [call]
            task = asyncio.create_task(self._send(what))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return future

    async def relay(self, method: str, path: str, headers: dict[str, str], body: bytes) -> httpx.Response:
        """Send a request to the holder as it is, and return the answer."""
        headers = {**headers, RELAYED: "1"}
        try:
            async with asyncio.timeout(RELAY_PATIENCE):
                return await self._client.request(method, self.url + path, headers=headers, content=body, timeout=None)
        except (httpx.HTTPError, TimeoutError) as why:
            raise self.away() from why

    def away(self) -> FencedOff:
        """The error when the holder does not answer. The request may have been carried out; it can be made again."""
        return FencedOff(f"the process that holds {self.name} does not answer")

    async def _send(self, what: tuple[str, str]) -> None:
        """Send what waits, and what comes meanwhile."""
        while waiting := self._waiting[what]:
            many = count_that_fit([len(bytes(call)) for call, _ in waiting[:CALLS_TOGETHER]])
            now, self._waiting[what] = waiting[:many], waiting[many:]
            await self._batch(*what, now)
        del self._waiting[what]

    async def _batch(self, verb: str, key: str, waiting: list[WaitingCall]) -> None:
        path = f"/v1/studies/{self.name}/{verb}/batch"
        try:
            sent = encode_call({"requests": [body for body, _ in waiting]})
            answer = await self.relay("POST", path, {"authorization": f"Bearer {key}"}, sent)
            if answer.status_code != 200:
                raise Said(msgspec.json.decode(answer.content, type=Problem))
            items = DECODE[verb](answer.content).items
            if len(items) != len(waiting):
                raise self.away()
        except Exception as why:  # whatever it is, nobody waits for ever, nor for the same once more
            late, self._waiting[verb, key] = self._waiting[verb, key], []
            for _, future in [*waiting, *late]:
                if not future.cancelled():
                    future.set_exception(why if isinstance(why, MaskedBanditError) else self.away())
            return
        for (_, future), item in zip(waiting, items, strict=True):
            if future.cancelled():
                continue
            if item.problem is None:
                future.set_result(item.answer)
            else:
                future.set_exception(Said(item.problem))
