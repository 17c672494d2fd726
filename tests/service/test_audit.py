"""The audit of a service through its API: a sound one is not found broken, and each broken one is."""

import asyncio
import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

import maskedbandit.reports.audit.over_http as audit_reached
import maskedbandit.reports.audit.services as audit_service
from maskedbandit.cli import main
from maskedbandit.errors import Forbidden, InvalidValue, NotApproved, StorageFailed, Unauthorized, UnknownStudy
from maskedbandit.privacy.exact import to_fraction
from maskedbandit.reports.audit.audit import ERROR, AuditPart, How
from maskedbandit.reports.audit.audit_study import SERVICE_COHORT, shared_epsilon_channel, throw_away
from maskedbandit.reports.audit.over_http import Service, reach_service, start_own_service
from maskedbandit.reports.audit.parties import list_seen_of_arm
from maskedbandit.reports.audit.samples import promise_to_samples, sampled_part
from maskedbandit.reports.audit.services import audited_protocol, make_audited_study, service_parts, views_of
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.service.broken_services import BROKEN, lazy_device, share_noise, silent_guardrail
from tests.service.inside import TABLE, Inside
from tests.service.live import live
from tests.service.sound_audits import NEWSLETTER, shown
from tests.statistics import ALPHA

SMALL = Protocol.from_table(TABLE)
RESPONSE = Protocol.from_table(TABLE | {"channel": "response", "reward": {"rule": "first"}})
HARM = {"guardrail": {"name": "harm", "harm": {"above": 3}, "least": 1, "most": 7, "rule": "first", "share": "1/3"}}
SPENT = {"metrics": [{"name": "spent", "most": 9, "cap": 2, "share": "1/3"}, {"name": "left", "share": "1/3"}]}
MEASURED = Protocol.from_table(SMALL.table | SPENT)
GUARDED, ON_DEVICES = (Protocol.from_table(protocol.table | HARM) for protocol in (SMALL, RESPONSE))

SAMPLES = {"noise from a seed": 400, "arms by rewards": 400, "no noise in every other release": 2200}  # else 2000


def quiet(n: int) -> None:
    pass


def audit(protocol: Protocol, samples: int, error: float = ALPHA, seed: int = 3) -> AuditPart:
    """The audit of a service of its own, without a twin; it is wrong with a probability of at most 1e-9."""

    async def play() -> Any:
        async with start_own_service() as service:
            return await views_of(service, throw_away(protocol, "audit-x"), samples, seed, quiet)

    views = asyncio.run(play())
    promise = promise_to_samples(protocol.price(SERVICE_COHORT))
    assert views[0].shape[1] == len(list_seen_of_arm(protocol))
    return sampled_part("service", promise, views, [], list_seen_of_arm(protocol), error)


@pytest.mark.slow
def test_noise_from_a_seed_is_noticed_and_a_sound_service_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not audit(SMALL, 400).violation
    BROKEN["noise from a seed"](monkeypatch.setattr)
    assert audit(SMALL, 400).violation


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_service_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With other bits, each bound would be at least 3 deviations above 1, by forty samples each of such sums."""
    BROKEN[name](monkeypatch.setattr)
    assert audit(SMALL, SAMPLES.get(name, 2000), ERROR).violation


@pytest.mark.slow
def test_devices_of_local_trust_are_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    """With other bits, each bound would be at least 3 deviations away from what it must exceed."""
    found = audit(RESPONSE, 1800, ERROR)
    assert 0.3 < found.lower_bound <= 1
    lazy_device(monkeypatch.setattr)
    assert audit(RESPONSE, 1800, ERROR).violation


@pytest.mark.slow
def test_a_guardrail_without_noise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not audit(GUARDED, 600).violation
    silent_guardrail(monkeypatch.setattr)
    found = audit(GUARDED, 600)
    assert found.violation
    assert "(harm)" in found.event


@pytest.mark.slow
def test_one_draw_of_noise_for_two_outcomes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What two opposite outcomes are together has no noise then; of either alone nothing is wrong.

    The bound is about 2: in three of four samples two outcomes are opposite, so the event is one of 450 of 600 runs.
    """
    assert not audit(MEASURED, 1200).violation
    share_noise(monkeypatch.setattr)
    assert audit(MEASURED, 1200).violation


@pytest.mark.slow
def test_both_outcomes_of_local_trust_are_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device flips no bit of the second outcome: the bound is near 3 then, where 1 was promised."""
    assert not audit(ON_DEVICES, 1000).violation
    lazy_device(monkeypatch.setattr)
    assert audit(ON_DEVICES, 1000, ERROR).violation


@pytest.mark.slow
@pytest.mark.parametrize("channel", ["central", "response"])
def test_all_rewards_of_a_person_are_audited(channel: str) -> None:
    """In one world a person has three rewards, in the other none: that shows, and no more than one reward may.

    The bound is about .42, and its standard error below .06: it misses .1 with a probability below 1e-6.
    """
    found = audit(Protocol.from_table(TABLE | {"channel": channel, "reward": {"cap": 3}}), 2400)
    assert 0.1 < found.lower_bound <= 1


@pytest.mark.slow
def test_a_sound_service_is_not_found_broken() -> None:
    """One of those that `sound_audits` plays two hundred of; it is found broken with a chance of at most 1e-9."""
    protocol = Protocol.from_file(NEWSLETTER)
    assert shown(protocol, 0, ALPHA) <= protocol.price(SERVICE_COHORT).epsilon()


@pytest.mark.slow
def test_a_running_service_is_audited_by_its_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sound one is found broken with a chance of 1e-5; its twin, at 4.5 deviations, is missed with one of 3e-6."""
    monkeypatch.setattr(audit_reached, "WINDOW_FAR", "2 seconds")  # it is near
    monkeypatch.setattr(audit_reached, "ARMS_FAR", 800)  # a third of the samples
    given = ["--study", "small", "--json", "--quiet", "--samples"]

    def audited(command: tuple[str, ...], samples: int, folder: Path) -> tuple[int, Any]:
        with live(folder, command=("-m", *command, "serve")) as server:
            server.start_study(TABLE)
            key = ["--key", server.keys["owner"], "--officer-key", server.keys["officer"]]
            code = main(["audit", "--url", server.url, *key, *given, str(samples)])
            found = json.loads(capsys.readouterr().out)
            studies = {each["study"]: each for each in server.ask("GET", "/v1/studies", key="owner").json["studies"]}
            assert studies["small"]["people"] == 0
            assert {(each["state"], each["simulated"]) for name, each in studies.items() if name != "small"} == {
                ("archived", True)
            }
            return code, found

    code, found = audited(("maskedbandit",), 2400, tmp_path / "sound")
    assert (code, found["violation"], found["control"]["caught"]) == (0, False, True)
    assert (found["protocol"], found["format"]) == (SMALL.digest, "maskedbandit audit 1")
    code, found = audited(("tests.service.broken_services", "noise from a seed"), 500, tmp_path / "broken")
    assert (code, found["violation"]) == (2, True)


# --- what it asks the service, and what it makes of the answers ----------------------------------------------------


def with_small(service: Inside) -> httpx.AsyncClient:
    service.begin()
    return httpx.AsyncClient(base_url="http://inside", transport=httpx.ASGITransport(app=service.app))


def test_the_study_is_found_and_what_is_wrong_is_said(service: Inside) -> None:
    client = with_small(service)

    def asked(role: str, study: str | None) -> Protocol:
        found: Protocol = service.run(audited_protocol(Service(client, service.keys[role]), study))
        return found

    assert asked("owner", None) == asked("officer", "small") == SMALL
    with pytest.raises(UnknownStudy, match="no study 'other'"):
        asked("owner", "other")
    with pytest.raises(Forbidden, match="client"):
        asked("client", "small")
    with pytest.raises(Unauthorized):
        service.run(audited_protocol(Service(client, "mb_owner_00000000_x"), "small"))
    service.begin(name="second")
    with pytest.raises(InvalidValue, match="second, small"):
        asked("owner", None)


def test_an_audit_that_no_officer_approves_leaves_nothing(service: Inside) -> None:
    async def play(officer: str | None) -> None:
        async with make_audited_study(Service(client, service.keys["owner"], officer=officer), made):
            pass

    client, made = with_small(service), throw_away(SMALL, "audit-1")
    with pytest.raises(NotApproved, match="no officer of privacy has approved the protocol of audit-1"):
        service.run(play(None))
    assert [each["study"] for each in service.ask("GET", "/v1/studies", key="owner").json["studies"]] == ["small"]
    service.run(play(service.keys["officer"]))
    assert service.ask("GET", "/v1/studies/audit-1", key="owner").json["state"] == "archived"


def test_a_service_that_is_not_there() -> None:
    async def ask(other: str | None = None) -> None:
        async with reach_service("http://127.0.0.1:9", "mb_owner_00000000_x") as service:
            await (service.tell(f"{other}/v1/bundles", "") if other else service.ask("GET", "/v1/studies"))

    with pytest.raises(StorageFailed, match="the service cannot be asked"):
        asyncio.run(ask())
    with pytest.raises(StorageFailed, match=r"the operator at http://127\.0\.0\.1:10 cannot be asked"):
        asyncio.run(ask("http://127.0.0.1:10"))
    for url, key in (("ftp://x", "k"), ("http://x", "a b")):
        with pytest.raises(InvalidValue):
            asyncio.run(reach_service(url, key).__aenter__())


@for_each("budget", [{"epsilon": 1}, {"epsilon": "3/2", "delta": 1e-6}, {"rho": "1/2"}, {"epsilon": 1.3}])
def test_the_twin_of_a_study_may_spend_a_thousand_times_as_much(budget: dict) -> None:
    made = throw_away(Protocol.from_table(TABLE | {"budget": budget}), "twin", 2)
    first = next(iter(budget))
    assert to_fraction(first, made.table["budget"][first]) == 1000 * to_fraction(first, budget[first])
    assert made.table["budget"].get("delta") == budget.get("delta")


def test_a_guardrail_of_which_all_outcomes_are_large_has_a_limit_in_an_audit() -> None:
    """The most that is not the most: rounded to it, it would be refused."""
    guardrail = {"name": "harm", "least": 1e9, "most": 1e9 + 1, "harm": {"above": 1e9 + 0.5}}
    made = throw_away(Protocol.from_table(TABLE | {"guardrail": guardrail}), "audit-1")
    assert 1 - 1e-6 < made.guardrail.limit < 1


def test_the_study_of_an_audit_keeps_channel_and_rewards() -> None:
    table = TABLE | {"reward": {"least": -1, "most": 3, "default": 0, "window": "1 day"}, "signed_by": "ab" * 32}
    made = throw_away(Protocol.from_table(table), "audit-1")
    assert (made.channel, made.reward.least, made.reward.most) == (SMALL.channel, -1, 3)
    assert (made.reward.window, made.reward.exposure, made.signed_by) == (0, 0, ())
    assert throw_away(Protocol.from_table(TABLE | {"reward": {"cap": 3}}), "audit-1").reward.cap == 3
    assert made.project == "audit-1"  # so that nobody's budget is touched
    assert throw_away(SMALL, "twin", 2).channel.loss(2).epsilon() == 2
    assert [each.share for each in throw_away(MEASURED, "audit-1").outcomes] == [Fraction(1, 3)] * 3
    assert throw_away(MEASURED, "audit-1").outcomes[1].reward.cap == 2
    for protocol in (GUARDED, ON_DEVICES):
        twin = throw_away(protocol, "twin", 2)
        assert [each.metric for each in twin.outcomes] == ["", "harm"]
        assert twin.price(2).epsilon() == 2
        assert twin.outcomes[1].channel.epsilon == Fraction(2, 3)
        assert (twin.guardrail.outcome.least, twin.guardrail.outcome.most) == (1, 7)
        assert shared_epsilon_channel(protocol).epsilon == 1
    assert list_seen_of_arm(SMALL) == ["the release", "the release after it", "when the arm is dealt next"]
    assert list_seen_of_arm(ON_DEVICES)[3:] == [
        "what the device sends",
        "the release (harm)",
        "the release after it (harm)",
        "what the device sends (harm)",
        "the release, of the reward and harm together",
    ]
    tree = Protocol.from_table(TABLE | {"channel": {"name": "tree", "epsilon": 1}, "policy": "ucb1"})
    with pytest.raises(InvalidValue, match="independent"):
        throw_away(tree, "audit-1")


@cache
def small_part() -> AuditPart:
    async def play() -> AuditPart:
        async with start_own_service() as service:
            (part,) = await service_parts(service, SMALL, How(samples=400))
            return part

    return asyncio.run(play())


@pytest.mark.slow
def test_the_twin_is_a_study_with_half_of_the_noise() -> None:
    part = small_part()
    assert part.samples == 400
    assert [each.twin for each in part.controls] == ["a study with half of the noise"]
    assert part.controls[0].lower_bound > part.lower_bound


@pytest.mark.slow
def test_a_service_that_releases_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_service, "WINDOW_PATIENCE", 1)

    async def still(study: str) -> None:
        pass

    async def play() -> None:
        async with start_own_service() as service:
            service.wait = still
            await views_of(service, throw_away(SMALL, "audit-x"), 200, 1, quiet)

    with pytest.raises(StorageFailed, match="released nothing"):
        asyncio.run(play())
