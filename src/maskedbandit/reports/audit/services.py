"""An audit of a service through its API, as an application sees it: studies of its own, with simulated people.

The study has the channel and the outcomes of the audited one, many arms, and small cohorts, which are released again
and again. In every other round the first person of each arm's cohort has the highest reward or the lowest, as a coin
says; all others have the lowest. Each further outcome of that person is like the reward or opposite to it, as other
coins say, which the auditor knows: so the audit finds sums that share one noise by looking at two of them together. The
audit observes of an arm its release, its next release, and the time when the arm is dealt next; with two operators also
the view that each of them has of both releases, as it knows its own noise (sealed_reports.py), and with a shuffler that
of a service with which some devices work (mixed_reports.py). The broken twin is a study on the same service with twice
the epsilon, from which the same is requested as from the sound one.

The real study is only read. Each audit leaves two archived studies on the service, whose ledgers say that they were
simulated.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from maskedbandit.channels.offers import from_lines
from maskedbandit.client.local_noise import add_report_noise
from maskedbandit.errors import InvalidValue, MaskedBanditError, Refused, StorageFailed
from maskedbandit.reports.audit.audit import USUAL_AUDIT, Advance, AuditPart, How
from maskedbandit.reports.audit.audit_study import find_cohort_size, name_twin, shared_epsilon_channel, throw_away
from maskedbandit.reports.audit.over_http import NO_WINDOW, REQUESTS_AT_ONCE, Service
from maskedbandit.reports.audit.parties import choose_devices, compare_views, list_parties
from maskedbandit.reports.audit.samples import (
    MOST_SAMPLES,
    Both,
    count_enough_samples,
    promise_to_samples,
    sampled_part,
)
from maskedbandit.study.protocol import Protocol

SERVICE_PART = "the service: its releases, and its arms"
ARMS_OF_DEVICES, WINDOW_OF_DEVICES = 200, "15 seconds"  # so that a service takes as much from one address
DEVICES_AT_ONCE = 50  # people whose devices report one after the other
WINDOW_PATIENCE = 60  # seconds until a release must have come
Highs = tuple[int, ...]  # whether the first person of an arm has the highest of each outcome, or the lowest


class AuditedStudy:
    """A study that is made for an audit."""

    def __init__(self, service: Service, protocol: Protocol, key: str) -> None:
        self.service, self.protocol, self._key, self._channel = service, protocol, key, shared_epsilon_channel(protocol)
        self.path, self._people, self._awaited = f"/v1/studies/{protocol.name}", 0, 0
        self._devices, self._cohort = choose_devices(protocol), find_cohort_size(protocol)

    async def round(self, worlds: dict[str, Highs]) -> dict[str, tuple[float, ...]]:
        """All cohorts once: when each arm was dealt first, and what that person's device sent, if it adds the noise.

        The first person of an arm has the outcomes of its world, and all others the lowest.
        """
        firsts = dict[str, tuple[float, ...]]()
        units = [{"unit": f"person {self._people + i}"} for i in range(self.service.arms * self._cohort)]
        self._people += len(units)
        many = REQUESTS_AT_ONCE if self._devices is None else DEVICES_AT_ONCE
        for start in range(0, len(units), many):
            # each batch reports before the next is dealt, so as not to be late
            dealt = await self.service.together(f"{self.path}/assign/batch", units[start : start + many], self._key)
            if self._devices is not None:
                for place, each in enumerate(dealt, start):
                    high = self._choose(each, place, worlds, firsts)[0]
                    await self._devices.send(self.service, each["device"], high, self._key)
                continue
            each_told = (self._told(each, place, worlds, firsts) for place, each in enumerate(dealt, start))
            reports = [report for told in each_told for report in told]
            # a late report makes its person one of those with the lowest reward: so less is shown, and never more
            await self.service.together(f"{self.path}/report/batch", reports, self._key, may_be="late")
        self._awaited += self.service.arms
        for _ in range(10 * WINDOW_PATIENCE):
            await self.service.wait(self.protocol.name)
            head = await self.service.ask("GET", f"{self.path}/ledger/head")
            if head["entries"] > self._awaited:
                return firsts
        raise StorageFailed(f"the service released nothing in {WINDOW_PATIENCE} seconds")

    def _told(
        self, dealt: Any, place: int, worlds: dict[str, Highs], firsts: dict[str, tuple[float, ...]]
    ) -> list[dict[str, Any]]:
        """The reports of a person, of which those of an arm's first person are noted where the device adds noise."""
        first, sent, reports = dealt["arm"] not in firsts, list[float](), list[dict[str, Any]]()
        highs = self._choose(dealt, place, worlds, firsts)
        for j, outcome in enumerate(self.protocol.outcomes):
            values = outcome.reward.reports(float(highs[j]))  # of one person, however many
            if outcome.on_devices:
                values = [add_report_noise(self._channel, dealt["offer"], float(highs[j]), outcome.metric).value]
                steps = from_lines(dealt["offer"])[j].steps
                sent += [steps - values[0]] if highs[j] != highs[0] else values
            for i, value in enumerate(values):
                told = {"value": value, "event": str(i or ""), "metric": outcome.metric}
                reports.append({"ticket": dealt["ticket"], **told})
        if first:
            firsts[dealt["arm"]] += tuple(sent)
        return reports

    def _choose(self, dealt: Any, place: int, worlds: dict[str, Highs], firsts: dict[str, tuple[float, ...]]) -> Highs:
        """The outcomes of a person; when the first of an arm came is noted."""
        if dealt["ticket"] is None:
            raise StorageFailed("the service gave a person no place: it released less than it was to release")
        lowest = (0,) * len(self.protocol.outcomes)
        if dealt["arm"] in firsts:
            return lowest
        firsts[dealt["arm"]] = (float(place),)
        return worlds.get(dealt["arm"], lowest)

    async def totals(self) -> dict[str, list[list[float]]]:
        """All releases of each arm, in their order: the sums of all outcomes, and what insiders make of them."""
        found: dict[str, list[list[float]]] = {}
        after = 0
        while entries := (await self.service.ask("GET", f"{self.path}/ledger?after={after}"))["entries"]:
            after = entries[-1]["number"]
            for says in (json.loads(entry["body"]) for entry in entries):
                if says["kind"] == "released":
                    views = self._devices.find_views(says) if self._devices else []
                    further = (total for total, _ in says.get("further", []))
                    sums = [float.fromhex(total) for total in (says["total"], *further)]
                    found.setdefault(f"arm{says['arm']}", []).append(sums + views)
        return found


async def played(audited: AuditedStudy, samples: int, seed: int, advance: Advance) -> Both:
    """The observations of the arms whose first person had the lowest reward, and of those with the highest.

    A sum whose outcome was opposite to the reward is seen from the other end.
    """
    rng, chosen, dealt = np.random.default_rng(seed), list[dict[str, Highs]](), list[Any]()
    arms, outcomes = audited.service.arms, len(audited.protocol.outcomes)
    names = [f"arm{i}" for i in range(arms)]
    for _ in range(-(-samples // arms)):
        rewards = rng.permutation(np.arange(arms) % 2)
        opposite = rng.integers(2, size=(arms, outcomes - 1))
        highs = np.column_stack([rewards, rewards[:, None] ^ opposite]).tolist()
        worlds = dict(zip(names, map(tuple, highs), strict=True))
        chosen.append(worlds)
        dealt.append((await audited.round(worlds), await audited.round({})))
        advance(arms)
    totals, views = await audited.totals(), (list[Any](), list[Any]())
    for i, (worlds, (now, after)) in enumerate(zip(chosen, dealt, strict=True)):
        for arm, highs in worlds.items():
            view, (first, second) = list[float](), totals[arm][2 * i : 2 * i + 2]
            turned = [high != highs[0] for high in highs]
            seen = [turn_sums(each[:outcomes], turned) for each in (first, second)]
            for j, both in enumerate(zip(*seen, strict=True)):
                view += [*both, *([] if j else after[arm][:1]), *now[arm][1 + j : 2 + j]]
            pairs = combinations(range(outcomes), 2)
            view += [seen[0][j] + seen[0][k] if turned[j] != turned[k] else 0.0 for j, k in pairs]
            view += compare_views(first[outcomes:], second[outcomes:])
            views[highs[0]].append(view)
    return np.array(views[0]), np.array(views[1])


def turn_sums(sums: Sequence[float], turned: Sequence[bool]) -> list[float]:
    """Sums of an arm, of which those of outcomes that were opposite to the reward are seen from the other end.

    Two that are opposite, and have the same noise, have none once they are added up.
    """
    return [1 - total if other else total for total, other in zip(sums, turned, strict=True)]


@asynccontextmanager
async def make_audited_study(service: Service, protocol: Protocol) -> AsyncIterator[AuditedStudy]:
    """A study of simulated people until the end of a block, with a key of its own."""
    path, looked_at = f"/v1/studies/{protocol.name}", {"protocol": protocol.digest}
    await service.ask("POST", "/v1/studies", protocol.table)
    try:
        if service.officer is not None:
            await service.ask("POST", f"{path}/approve", looked_at, service.officer)
        await service.ask("POST", f"{path}/start?simulated=1", looked_at)
    except Refused:
        await service.ask("DELETE", path, looked_at=protocol.digest)
        raise
    key = (await service.ask("POST", "/v1/keys", {"role": "client", "study": protocol.name}))["key"]
    try:
        await service.wait(protocol.name)  # until another operator has heard of it
        yield AuditedStudy(service, protocol, key)
    finally:
        await service.ask("POST", f"/v1/keys/{key.split('_')[2]}/revoke")
        await service.ask("POST", f"{path}/stop")
        with suppress(StorageFailed):  # a cohort waits for its release, if the audit was cut off
            await service.ask("POST", f"{path}/archive")


async def views_of(service: Service, protocol: Protocol, samples: int, seed: int, advance: Advance) -> Both:
    """The observations of two neighbours, in a study that is made for the audit."""
    async with make_audited_study(service, protocol) as audited:
        return await played(audited, samples, seed, advance)


async def all_of(several: Sequence[Coroutine[Any, Any, Both]]) -> list[Both]:
    """What comes of several that go on together; if one fails, the others end what they began."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in several]
    except* MaskedBanditError as why:
        raise why.exceptions[0] from None
    return [task.result() for task in tasks]


async def service_parts(service: Service, protocol: Protocol, how: How = USUAL_AUDIT) -> list[AuditPart]:
    """The loss that studies with the channel of a protocol show through the API of a service, or to either operator."""
    name, promise = f"audit-{secrets.token_hex(6)}", promise_to_samples(protocol.price(find_cohort_size(protocol)))
    many = min(count_enough_samples(promise), MOST_SAMPLES) if how.samples is None else how.samples
    if protocol.operators is not None and service.window != NO_WINDOW:  # devices upload one by one
        service.arms, service.window = ARMS_OF_DEVICES, WINDOW_OF_DEVICES
    here = partial(throw_away, protocol, arms=service.arms, window=service.window)
    both = (
        views_of(service, here(name), many, how.seed, how.advance),
        views_of(service, here(f"{name}-twin", 2), many, how.seed + 1, how.advance),
    )
    if service.window == NO_WINDOW:  # whoever waits moves the clock, and so closes the other one's cohorts
        sound, broken = [await each for each in both]
    else:
        sound, broken = await all_of(both)
    twin = name_twin(protocol)
    return [
        sampled_part(
            SERVICE_PART + party,
            promise,
            take_columns(sound, columns),
            [(twin, take_columns(broken, columns))],
            names,
            how.error,
        )
        for party, columns, names in list_parties(protocol)
    ]


def take_columns(views: Both, columns: Sequence[int]) -> Both:
    """Some columns of the observations."""
    return views[0][:, columns], views[1][:, columns]


async def audited_protocol(service: Service, study: str | None) -> Protocol:
    """The protocol of the study that is meant: the only one, if none is named."""
    if study is None:
        named = [each["study"] for each in (await service.ask("GET", "/v1/studies"))["studies"]]
        named = [each for each in named if not each.startswith("audit-")]
        if len(named) != 1:
            raise InvalidValue("--study", study, f"one of {', '.join(named) or 'none'}")
        (study,) = named
    return Protocol.from_table(await service.ask("GET", f"/v1/studies/{study}/protocol"))
