"""An audit of a service through its API, as an application sees it: studies of its own, with people who are not there.

The study has the channel and the rewards of the audited one, many arms, and small cohorts, which are released again and
again. In every other round the first person of each arm's cohort has the highest reward or the lowest, as a coin says;
all others have the lowest. What is seen of an arm: its release, its next release, and when the arm is dealt next. The
broken twin is a study on the same service with twice the epsilon, of which the same is asked as of the sound one.

The real study is only read. Each audit leaves two archived studies on the service, whose ledgers say that they were
simulated.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np

from maskedbandit.client.calls import check_key, checked_url
from maskedbandit.client.device import noisy
from maskedbandit.errors import (
    Forbidden,
    InvalidValue,
    MaskedBanditError,
    StorageFailed,
    Unauthorized,
    UnknownStudy,
)
from maskedbandit.policies.regret.successive_elimination import SuccessiveElimination
from maskedbandit.reports.audit import ERROR, Advance, Part
from maskedbandit.reports.audit_sampled import MOST_SAMPLES, Both, enough, promise_to_samples, sampled_part
from maskedbandit.service import keys
from maskedbandit.service.app import application
from maskedbandit.service.held import Held
from maskedbandit.service.host import Host
from maskedbandit.store.connection import connect
from maskedbandit.study.naming import table
from maskedbandit.study.protocol import Protocol

TOGETHER = 1000  # requests in a batch
SIZE = 2  # people in a cohort
ARMS, ARMS_FAR = 200, 500  # cohorts that are released together: here, and where each release takes seconds
WINDOW_FAR = "3 seconds"  # in which reports must arrive
PART = "the service: its releases, and its arms"
PATIENCE = 60  # seconds until a release must have come
SEEN = ("the release", "the release after it", "when the arm is dealt next", "what the device sends")
WRONG: dict[str, type[MaskedBanditError]] = {
    "unauthorized": Unauthorized,
    "forbidden": Forbidden,
    "unknown_study": UnknownStudy,
}
Wait = Callable[[str], Awaitable[None]]


async def a_while(study: str) -> None:
    """Until the clock of the service may have gone round."""
    await asyncio.sleep(0.1)


class Service:
    """A service, asked with a key of its owner."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        key: str,
        wait: Wait = a_while,
        arms: int = ARMS_FAR,
        window: str = WINDOW_FAR,
    ) -> None:
        self._client, self._key, self.wait, self.arms, self.window = client, key, wait, arms, window

    async def ask(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """What the service answers, or raise what it says is wrong."""
        headers = {"Authorization": f"Bearer {key or self._key}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        for _ in range(20):
            try:
                reply = await self._client.request(method, path, content=content, headers=headers)
            except httpx.HTTPError as why:
                raise StorageFailed(f"the service cannot be asked: {why or type(why).__name__}") from None
            if reply.status_code not in (429, 503):
                break
            await asyncio.sleep(float(reply.headers.get("Retry-After", 1)))
        found = reply.json()
        if reply.status_code >= 400:
            kind = WRONG.get(found.get("code", ""), StorageFailed)
            raise kind(f"the service says: {found.get('detail', reply.status_code)}")
        return found

    async def together(self, path: str, requests: list[Any], key: str) -> list[Any]:
        """The answers to many requests of one kind, all of which must be granted."""
        answers = []
        for i in range(0, len(requests), TOGETHER):
            for item in (await self.ask("POST", path, {"requests": requests[i : i + TOGETHER]}, key))["items"]:
                if "answer" not in item:
                    raise StorageFailed(f"the service says: {item['problem']['detail']}")
                answers.append(item["answer"])
        return answers


def throw_away(protocol: Protocol, name: str, factor: int = 1, arms: int = ARMS, window: str = "0 seconds") -> Protocol:
    """A study with the channel and the rewards of another, of many small cohorts; at so many times its epsilon."""
    given = protocol.table
    channel, budget = dict(table("channel", given["channel"])), dict(given["budget"])
    if factor > 1:
        channel["epsilon"] = str(factor * Fraction(getattr(protocol.channel, "epsilon")))  # noqa: B009
        budget = {key: value if key in ("delta", "period") else 1000 * value for key, value in budget.items()}
    reward = {key: value for key, value in given.get("reward", {}).items() if key in ("least", "most", "rule")}
    if lacks := SuccessiveElimination().needs(protocol.channel.law()):
        raise InvalidValue("channel", protocol.channel, f"one with {lacks}: audit the protocol's file, without a url")
    return Protocol.from_table(
        {
            "name": name,
            "about": f"an audit of {protocol.name}: nobody takes part",
            "people": 10**9,
            "policy": {"name": "successive_elimination", "least": SIZE, "base": 1.000001, "failure": 1e-200},
            "channel": channel,
            "arms": [{"name": f"arm{i}"} for i in range(arms)],
            "reward": reward | {"window": window, "exposure": "0 seconds"},
            "budget": budget,
        }
    )


def epsilon_of(protocol: Protocol) -> Any:
    """The epsilon of a protocol's channel."""
    channel: Any = protocol.channel
    return channel.epsilon


class Audited:
    """A study that is made for an audit."""

    def __init__(self, service: Service, protocol: Protocol, key: str) -> None:
        self.service, self.protocol, self._key = service, protocol, key
        self.path, self._people, self._awaited = f"/v1/studies/{protocol.name}", 0, 0

    async def round(self, worlds: dict[str, int]) -> dict[str, tuple[float, ...]]:
        """All cohorts once: when each arm was dealt first, and what that person's device sent, if it adds the noise.

        The first person of an arm is in its world.
        """
        reward, reports, firsts = self.protocol.reward, list[dict[str, Any]](), dict[str, tuple[float, ...]]()
        units = [{"unit": f"person {self._people + i}"} for i in range(self.service.arms * SIZE)]
        self._people += len(units)
        dealt = await self.service.together(f"{self.path}/assign/batch", units, self._key)
        for place, each in enumerate(dealt):
            if each["ticket"] is None:
                raise StorageFailed("the service gave a person no place: it released less than it was to release")
            first = each["arm"] not in firsts
            value = reward.most if first and worlds.get(each["arm"], 0) else reward.least
            if self.protocol.on_devices:
                value = noisy(self.protocol.channel, each["offer"], float(value > reward.least))
            if first:
                firsts[each["arm"]] = (float(place), *([value] if self.protocol.on_devices else []))
            reports.append({"ticket": each["ticket"], "value": value})
        await self.service.together(f"{self.path}/report/batch", reports, self._key)
        self._awaited += self.service.arms
        for _ in range(10 * PATIENCE):
            await self.service.wait(self.protocol.name)
            head = await self.service.ask("GET", f"{self.path}/ledger/head")
            if head["entries"] > self._awaited:
                return firsts
        raise StorageFailed(f"the service released nothing in {PATIENCE} seconds")

    async def totals(self) -> dict[str, list[float]]:
        """All releases of each arm, in their order."""
        found: dict[str, list[float]] = {}
        for each in (await self.service.ask("GET", f"{self.path}/releases"))["releases"]:
            found.setdefault(each["arm"], []).append(each["total"])
        return found


async def played(audited: Audited, samples: int, seed: int, advance: Advance) -> Both:
    """What was seen, of the arms whose first person had the lowest reward, and of those who had the highest."""
    rng, chosen, dealt = np.random.default_rng(seed), list[dict[str, int]](), list[Any]()
    arms = audited.service.arms
    names = [f"arm{i}" for i in range(arms)]
    for _ in range(-(-samples // arms)):
        worlds = dict(zip(names, rng.permutation(np.arange(arms) % 2).tolist(), strict=True))
        chosen.append(worlds)
        dealt.append((await audited.round(worlds), await audited.round({})))
        advance(arms)
    totals, views = await audited.totals(), (list[Any](), list[Any]())
    for i, (worlds, (now, after)) in enumerate(zip(chosen, dealt, strict=True)):
        for arm, world in worlds.items():
            views[world].append((*totals[arm][2 * i : 2 * i + 2], after[arm][0], *now[arm][1:]))
    return np.array(views[0]), np.array(views[1])


@asynccontextmanager
async def made(service: Service, protocol: Protocol) -> AsyncIterator[Audited]:
    """A study of simulated people until the end of a block, with a key of its own."""
    path = f"/v1/studies/{protocol.name}"
    await service.ask("POST", "/v1/studies", protocol.table)
    await service.ask("POST", f"{path}/start?simulated=1")
    key = (await service.ask("POST", "/v1/keys", {"role": "client", "study": protocol.name}))["key"]
    try:
        yield Audited(service, protocol, key)
    finally:
        await service.ask("POST", f"/v1/keys/{key.split('_')[2]}/revoke")
        await service.ask("POST", f"{path}/stop")
        with suppress(StorageFailed):  # a cohort waits for its release, if the audit was cut off
            await service.ask("POST", f"{path}/archive")


async def views_of(service: Service, protocol: Protocol, samples: int, seed: int, advance: Advance) -> Both:
    """What was seen of two neighbours, in a study that is made for it."""
    async with made(service, protocol) as audited:
        return await played(audited, samples, seed, advance)


async def service_part(
    service: Service,
    protocol: Protocol,
    seed: int,
    samples: int | None = None,
    error: float = ERROR,
    advance: Advance = lambda n: None,
) -> Part:
    """What studies with the channel of a protocol show through the API of a service."""
    name, promise = f"audit-{secrets.token_hex(6)}", promise_to_samples(protocol.price(SIZE))
    many = min(enough(promise), MOST_SAMPLES) if samples is None else samples
    here = partial(throw_away, protocol, arms=service.arms, window=service.window)
    sound, broken = await asyncio.gather(
        views_of(service, here(name), many, seed, advance),
        views_of(service, here(f"{name}-twin", 2), many, seed + 1, advance),
    )
    return sampled_part(
        PART, promise, sound, [("a study with half of the noise", broken)], SEEN[: sound[0].shape[1]], error
    )


async def audited_protocol(service: Service, study: str | None) -> Protocol:
    """The protocol of the study that is meant: the only one, if none is named."""
    if study is None:
        named = [each["study"] for each in (await service.ask("GET", "/v1/studies"))["studies"]]
        named = [each for each in named if not each.startswith("audit-")]
        if len(named) != 1:
            raise InvalidValue("--study", study, f"one of {', '.join(named) or 'none'}")
        (study,) = named
    return Protocol.from_table(await service.ask("GET", f"/v1/studies/{study}/protocol"))


@asynccontextmanager
async def reached(url: str, key: str) -> AsyncIterator[Service]:
    """A service that runs at an address."""
    check_key(key)
    async with httpx.AsyncClient(base_url=checked_url(url), trust_env=False, timeout=60) as client:
        yield Service(client, key)


@asynccontextmanager
async def own() -> AsyncIterator[Service]:
    """A service of this process, whose database ends with the block; its clock goes on when it is waited for."""
    with TemporaryDirectory() as folder:
        now, address, witness = [0], f"sqlite:///{folder}/studies.db", Path(folder) / "witness"
        host = Host(address, witness, rate=1e9, clock=lambda: now[0])
        database = connect(address)
        key = keys.make(database, keys.OWNER, None, 0)
        host.keys.read(database)
        database.close()

        async def tick(study: str) -> None:
            now[0] += 1
            held = await host.hold(study)
            assert isinstance(held, Held)
            await held.do(held.study.op_tick)

        transport = httpx.ASGITransport(app=application(host))
        await host.start()
        try:
            async with httpx.AsyncClient(base_url="http://audit", transport=transport, timeout=None) as client:
                yield Service(client, key, tick, ARMS, "0 seconds")
        finally:
            await host.stop()
