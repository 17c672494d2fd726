"""The audit of studies with a shuffler, through both: as the public sees them, and as a service with some devices."""

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from random import Random
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

import maskedbandit.reports.audit.services as audit_service
from maskedbandit.channels.codec import encode_reward
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.device import shuffled_reports
from maskedbandit.device.own_place import OwnPlace
from maskedbandit.errors import Disagreement, StorageFailed
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.sampling import Bits
from maskedbandit.reports.audit import mixed_reports
from maskedbandit.reports.audit.audit import ERROR, AuditPart
from maskedbandit.reports.audit.audit_study import find_cohort_size, throw_away
from maskedbandit.reports.audit.over_http import Service
from maskedbandit.reports.audit.parties import list_insiders, list_parties
from maskedbandit.reports.audit.samples import promise_to_samples, sampled_part
from maskedbandit.reports.audit.services import take_columns, views_of
from maskedbandit.service.host import mix_link
from maskedbandit.store.shuffling import mixes
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.service.inside import TABLE
from tests.service.many_shuffled_studies import ManyShuffledStudies
from tests.service.many_studies_of_two import many_studies_of_two
from tests.statistics import ALPHA

ARMS = 50
COINS = {"name": "shuffled", "epsilon": 1, "delta": "1/1000", "honest": "1/2", "backend": "shuffler"}
SPLIT = {"name": "split_and_mix", "epsilon": 1, "eta": f"1/{10**6}", "honest": "1/2", "backend": "shuffler"}
PUBLIC, INSIDER = "", ", to the service with some devices"


def make_protocol(channel: dict[str, Any], operators: Any) -> Protocol:
    """A study with a shuffler."""
    return Protocol.from_table(
        TABLE
        | {
            "channel": channel,
            "operators": operators,
            "budget": {"epsilon": 1, "delta": "1/1000"},
            "reward": {"window": "1 day", "grace": "1 day"},
        }
    )


def audit(channel: dict[str, Any], samples: int, error: float = ALPHA) -> dict[str, AuditPart]:
    """What an audit finds, as each party; each is wrong with a probability of at most `error`."""
    with many_studies_of_two(ManyShuffledStudies) as both:
        host, clock = both.leader.host, both.leader.clock
        protocol = make_protocol(channel, both.operators)

        async def wait(study: str) -> None:
            clock.now += 1001
            await host._round()
            await host.links.rest()

        async def play() -> Any:
            ways = {both.operators["helper"]["address"]: both.wire}
            transport = httpx.ASGITransport(app=both.leader.app)
            async with httpx.AsyncClient(base_url="http://audit", transport=transport, mounts=ways) as client:
                service = Service(client, both.leader.keys["owner"], wait, ARMS, officer=both.leader.keys["officer"])
                made = throw_away(protocol, "audit-x", arms=ARMS)
                return await views_of(service, made, samples, 3, lambda n: None)

        views = both.leader.run(play())
    promise = promise_to_samples(protocol.price(find_cohort_size(protocol)))
    return {
        party: sampled_part(party, promise, take_columns(views, columns), [], names, error)
        for party, columns, names in list_parties(protocol)
    }


@pytest.mark.slow
@pytest.mark.parametrize("channel", [COINS, SPLIT], ids=["coins", "shares"])
def test_devices_keep_the_promise(channel: dict[str, Any]) -> None:
    """That as many samples show something, the broken twins say."""
    found = audit(channel, 400)
    assert [(party, each.violation) for party, each in found.items()] == [(PUBLIC, False), (INSIDER, False)]


Patch = Callable[[pytest.MonkeyPatch], None]


def toss_tails(patch: pytest.MonkeyPatch) -> None:
    """No coin ever shows heads."""

    def randomize(self: Shuffled, reward: float, offer: Any, bits: Bits) -> int:
        return encode_reward(reward, 1, bits)

    patch.setattr(Shuffled, "randomize", randomize)


def divide_by_a_thousand(patch: pytest.MonkeyPatch) -> None:
    """Shares of the wrong order: of a draw that a thousand devices make together."""
    real = DiscreteLaplace.noise_shares
    patch.setattr(DiscreteLaplace, "noise_shares", lambda self, size, n, bits: real(self, size, 1000, bits))


def draw_once_for_two_cohorts(patch: pytest.MonkeyPatch) -> None:
    """The devices of an arm's cohort draw what those of the one before it drew."""
    seen, real = dict[str, list[int]](), shuffled_reports.draw_bundle

    def draw(place: OwnPlace, steps: int) -> Any:
        assert place.cohort is not None
        cohorts = seen.setdefault(place.arm, [])
        if place.cohort not in cohorts:
            cohorts.append(place.cohort)
        seed = f"{place.arm} {cohorts.index(place.cohort) // 2} {place.offer.position}"
        patch.setattr(shuffled_reports, "Bits", lambda: Bits(Random(seed).randbytes))
        return real(place, steps)

    patch.setattr(mixed_reports, "draw_bundle", draw)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("channel", "twin"), [(COINS, toss_tails), (COINS, draw_once_for_two_cohorts), (SPLIT, divide_by_a_thousand)]
)
def test_each_broken_device_is_noticed(channel: dict[str, Any], twin: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """With other bits, each bound would be at least 3 deviations above 1."""
    twin(monkeypatch)
    assert audit(channel, 400, ERROR)[INSIDER].violation


def count_twice(patch: pytest.MonkeyPatch) -> None:
    """The service counts a report twice."""
    real = mix_link.open_mix

    def open_mix(*given: Any) -> Any:
        opened = real(*given)
        return opened._replace(total=opened.total + 1)

    patch.setattr(mix_link, "open_mix", open_mix)


def leave_one_out(patch: pytest.MonkeyPatch) -> None:
    """The shuffler loses a report. The coins of one of two people are enough, so there is a release."""
    real = mixes.mix_now

    def mix(session: Any, cohort: int, n: int, *given: Any) -> Any:
        session.database.change("DELETE FROM bundle WHERE cohort = ? AND place = ?", cohort, n - 1)
        return real(session, cohort, n, *given)

    patch.setattr(mixes, "mix_now", mix)


@pytest.mark.slow
@pytest.mark.parametrize("twin", [count_twice, leave_one_out])
def test_reports_that_are_not_in_a_release_once_are_noticed(twin: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    twin(monkeypatch)
    with pytest.raises(Disagreement, match=r"a report of cohort \d+ is not in its release once"):
        audit(COINS, ARMS)


@pytest.mark.slow
def test_a_report_that_the_shuffler_delivers_twice_is_never_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service refuses what the shuffler states, and the audit waits in vain."""
    real = mixes.shuffle

    def shuffle(items: list[bytes], bits: Bits) -> None:
        real(items, bits)
        items[1] = items[0]

    monkeypatch.setattr(mixes, "shuffle", shuffle)
    monkeypatch.setattr(audit_service, "WINDOW_PATIENCE", 1)
    with pytest.raises(StorageFailed, match="released nothing"):
        audit(COINS, ARMS)


def test_the_shuffler_is_shown_no_key() -> None:
    seen = list[httpx.Request]()

    async def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={})

    async def play() -> None:
        async with httpx.AsyncClient(base_url="http://audit", transport=httpx.MockTransport(answer)) as client:
            service = Service(client, "mb_owner_00000000_x")
            await service.ask("POST", "/v1/studies", {})
            await service.tell("https://shuffler.test/v1/studies/small/bundle", "{}")

    asyncio.run(play())
    assert ["authorization" in each.headers for each in seen] == [True, False]
    assert [each.url.host for each in seen] == ["audit", "shuffler.test"]


@for_each(("status", "taken"), [("stored", True), ("duplicate", True), ("unknown", False)])
def test_a_bundle_that_came_twice_is_taken(status: str, taken: bool) -> None:
    """A shuffler that was busy is asked again, and may have stored it before."""
    replies = [httpx.Response(503, headers={"Retry-After": "0"}), httpx.Response(200, json={"status": status})]
    operators = SimpleNamespace(address="https://service.test"), SimpleNamespace(address="https://shuffler.test")
    place: Any = SimpleNamespace(study="small", operators=operators)

    async def answer(request: httpx.Request) -> httpx.Response:
        return replies.pop(0)

    async def play() -> None:
        async with httpx.AsyncClient(base_url="http://audit", transport=httpx.MockTransport(answer)) as client:
            await mixed_reports.send_bundle(Service(client, "mb_owner_00000000_x"), place, "{}")

    with nullcontext() if taken else pytest.raises(StorageFailed, match="does not take"):
        asyncio.run(play())
    assert not replies


@for_each(
    ("channel", "size", "insiders"),
    [
        (COINS, 2, 1),
        (COINS | {"honest": "3/4"}, 2, 0),  # of two people each has coins that are counted on
        (SPLIT, 3, 1),
        (SPLIT | {"honest": "2/3"}, 2, 0),
        (SPLIT | {"honest": "1/4"}, 5, 1),
    ],
)
def test_cohorts_are_as_small_as_may_be(channel: dict[str, Any], size: int, insiders: int) -> None:
    operators = {
        "leader": {"name": "Clinic", "key": "5b" * 32},
        "helper": {"name": "University", "key": "c0" * 32, "address": "https://shuffler.test"},
    }
    protocol = make_protocol(channel, operators)
    assert find_cohort_size(protocol) == size
    assert len(list_insiders(protocol)) == insiders
    twin = throw_away(protocol, "twin", 2)
    assert twin.channel.epsilon == 2
    assert (twin.reward.window, twin.reward.grace) == (0, 1000)
    assert twin.price(size).delta <= 0.25
