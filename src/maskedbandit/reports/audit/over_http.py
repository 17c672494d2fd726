"""A service, asked over HTTP: one that runs at an address, or one of this process, whose clock goes on when asked."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from maskedbandit.client.calls import check_key, check_url
from maskedbandit.errors import Forbidden, MaskedBanditError, NotApproved, StorageFailed, Unauthorized, UnknownStudy
from maskedbandit.service import keys
from maskedbandit.service.app import make_application
from maskedbandit.service.host.host import Host
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.writer import Writer

REQUESTS_AT_ONCE = 1000  # requests in a batch
COHORTS_AT_ONCE, ARMS_FAR = 200, 1000  # cohorts that are released together: here, and where each release takes seconds
NO_WINDOW, WINDOW_FAR = "0 seconds", "4 seconds"  # in which reports must arrive
MEMORY = Path("/dev/shm")
ERRORS_BY_CODE: dict[str, type[MaskedBanditError]] = {
    "unauthorized": Unauthorized,
    "forbidden": Forbidden,
    "unknown_study": UnknownStudy,
    "not_approved": NotApproved,
}
Wait = Callable[[str], Awaitable[None]]


async def a_while(study: str) -> None:
    """Until the clock of the service may have gone round."""
    await asyncio.sleep(0.1)


class Service:
    """A service, asked with a key of its owner; one of an officer, if there is one, approves what is started."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        key: str,
        wait: Wait = a_while,
        arms: int = COHORTS_AT_ONCE,
        window: str = NO_WINDOW,
        officer: str | None = None,
    ) -> None:
        self.officer = officer
        self._client, self._key, self.wait, self.arms, self.window = client, key, wait, arms, window

    async def ask(
        self, method: str, path: str, body: Any = None, key: str | None = None, looked_at: str | None = None
    ) -> Any:
        """The answer of the service; raises the error that it reports."""
        headers = {"Authorization": f"Bearer {key or self._key}"}
        if looked_at is not None:
            headers["If-Match"] = looked_at
        return await self._request(method, path, None if body is None else json.dumps(body), headers)

    async def tell(self, url: str, body: str) -> Any:
        """The answer of another operator at this address, who is shown no key; raises the error that it reports."""
        return await self._request("POST", url, body, {}, f"the operator at {url.partition('/v1/')[0]}")

    async def _request(
        self, method: str, path: str, body: str | None, headers: dict[str, str], whom: str = "the service"
    ) -> Any:
        headers["Content-Type"] = "application/json"
        content = None if body is None else body.encode()
        for _ in range(20):
            try:
                reply = await self._client.request(method, path, content=content, headers=headers)
            except httpx.HTTPError as why:
                raise StorageFailed(f"{whom} cannot be asked: {why or type(why).__name__}") from None
            if reply.status_code not in (429, 503):
                break
            await asyncio.sleep(float(reply.headers.get("Retry-After", 1)))
        found = reply.json()
        if reply.status_code >= 400:
            kind = ERRORS_BY_CODE.get(found.get("code", ""), StorageFailed)
            raise kind(f"{whom} says: {found.get('detail', reply.status_code)}")
        return found

    async def together(self, path: str, requests: list[Any], key: str, may_be: str = "") -> list[Any]:
        """The answers to many requests of one kind, all of which must be granted, or be refused for this reason."""
        answers = []
        for i in range(0, len(requests), REQUESTS_AT_ONCE):
            for item in (await self.ask("POST", path, {"requests": requests[i : i + REQUESTS_AT_ONCE]}, key))["items"]:
                if "answer" not in item and item["problem"]["code"] != may_be:
                    raise StorageFailed(f"the service says: {item['problem']['detail']}")
                answers.append(item.get("answer"))
        return answers


@asynccontextmanager
async def reach_service(url: str, key: str, officer: str | None = None) -> AsyncIterator[Service]:
    """A service that runs at an address."""
    check_key(key)
    if officer is not None:
        check_key(officer)
    async with httpx.AsyncClient(base_url=check_url(url), trust_env=False, timeout=60) as client:
        yield Service(client, key, arms=ARMS_FAR, window=WINDOW_FAR, officer=officer)


@asynccontextmanager
async def start_own_service() -> AsyncIterator[Service]:
    """A service of this process, whose database ends with the block; its clock goes on when it is waited for."""
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:  # whose people are made up
        now, address, witness = [0], f"sqlite:///{folder}/studies.db", Path(folder) / "witness"
        host = Host(address, witness, rate=1e9, clock=lambda: now[0])
        database = open_database(address)
        key = keys.write_key(database, keys.OWNER, None, 0)
        host.keys.read(database)
        database.close()

        async def tick(study: str) -> None:
            now[0] += 1
            held = await host.hold(study)
            assert isinstance(held, Writer)
            await held.submit("tick")

        transport = httpx.ASGITransport(app=make_application(host))
        await host.start()
        try:
            async with httpx.AsyncClient(base_url="http://audit", transport=transport, timeout=None) as client:
                yield Service(client, key, tick)
        finally:
            await host.stop()
