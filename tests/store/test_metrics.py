"""Metrics: further outcomes of each person, in the same release, with noise of their own, and charged once."""

import json
import secrets
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.channels.local import Local
from maskedbandit.channels.offers import to_lines
from maskedbandit.channels.response import Response
from maskedbandit.client.local_noise import add_report_noise
from maskedbandit.errors import Conflict, Corrupted, InvalidValue, PersonalValue
from maskedbandit.privacy.loss import Loss
from maskedbandit.store.book.chain import Link
from maskedbandit.store.book.entries import Release, parse_entry
from maskedbandit.store.book.further_sum import FurtherSum
from maskedbandit.store.members import read_members
from maskedbandit.store.requests import GUARDRAIL
from maskedbandit.study.driver import Driver
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.store.small_study import PROOF, small_protocol
from tests.store.test_arms import Played

SPENT = {"name": "spent", "most": 100, "rule": "sum", "share": "1/4"}
LEFT = {"name": "guardrail", "share": "1/8"}  # a name that is also the prefix of the guardrail's reports
HARM = {"name": "harm", "harm": {"above": 0.2}, "share": "1/8"}
SURE: dict[str, Any] = {"channel": {"name": "central", "epsilon": 80_000}, "budget": {"epsilon": 80_000}}
ALL: dict[str, Any] = {"metrics": [SPENT, LEFT], "guardrail": HARM}


@for_each(
    ("metrics", "guardrail"),
    [([SPENT], None), ([SPENT, LEFT], None), ([SPENT, LEFT], HARM), ([{**SPENT, "share": "1/3", "cap": 2}], HARM)],
)
def test_epsilon_is_shared_exactly_and_charged_once(metrics: list[Any], guardrail: Any) -> None:
    how = small_protocol(metrics=metrics, **({"guardrail": guardrail} if guardrail else {}))
    shares = [Fraction(each["share"]) for each in ([guardrail] if guardrail else []) + metrics]
    parts = [each.channel.loss(100).pure_epsilon for each in how.outcomes]
    assert parts == [1 - sum(shares), *shares]
    assert how.price(100).pure_epsilon == 1


def test_so_is_rho_of_gaussian_noise() -> None:
    """A part of epsilon is the same part of the ratio of sensitivity to noise, whose square rho is."""
    gaussian = {"name": "central", "epsilon": 1, "noise": "discrete_gaussian"}
    how = small_protocol(metrics=[SPENT, LEFT], channel=gaussian, budget={"rho": 0.5})
    alone = small_protocol(channel=gaussian, budget={"rho": 0.5})
    parts = [each.channel.loss(100).without_single().curve[0] for each in how.outcomes]
    assert how.price(100).without_single().curve[0] == pytest.approx(sum(parts), rel=1e-6)
    assert sum(parts) < alone.price(100).without_single().curve[0]


def test_all_sums_are_released_and_charged_once(tmp_path: Path) -> None:
    played = Played(tmp_path, **ALL, **SURE)
    played.come(12)
    for i, ticket in enumerate(played.tickets):
        played.study.report(ticket, 1)
        played.study.report(ticket, i % 2, metric="harm")
        for event, value in (("x", 50 * (i % 2)), ("y", 50 * (i % 2))):
            assert not played.study.report(ticket, value, event, metric="spent", proof=PROOF).again
            assert played.study.report(ticket, value, event, metric="spent", proof=PROOF).again
        with pytest.raises(Conflict):
            played.study.report(ticket, 7, "y", metric="spent", proof=PROOF)
        played.study.report(ticket, 1, metric="guardrail")
    played.wait()
    told = [each for each in played.said() if each["kind"] == "released"]
    assert [float.fromhex(each["total"]) for each in told] == [4.0] * 3
    sums = [[float.fromhex(total) for total, _ in each["further"]] for each in told]
    assert [sum(each) for each in zip(*sums, strict=True)] == pytest.approx([6.0, 6.0, 12.0])
    assert {Loss.from_text(each["loss"]).pure_epsilon for each in told} == {Fraction(80_000)}
    find = "SELECT DISTINCT text FROM account JOIN loss ON loss.loss = account.spent"
    assert played.study.database.rows(find) == [(told[0]["loss"],)], "people were charged for something else"
    played.verify()
    played.open_again()
    played.verify()
    played.study.close()


def test_reports_of_outcomes_are_kept_apart_sealed_and_erased(tmp_path: Path) -> None:
    played = Played(tmp_path, **ALL)
    played.come(1)
    (ticket,) = played.tickets
    for value, metric in ((1, ""), (0, "harm"), (30, "spent"), (1, "guardrail")):
        played.study.report(ticket, value, "x", metric=metric)
    for wrong in (101, -1, True):
        with pytest.raises(PersonalValue):
            played.study.report(ticket, wrong, metric="spent")
    with pytest.raises(PersonalValue, match="metric must be harm, spent, guardrail, or left out"):
        played.study.report(ticket, 1, metric="other")
    played.study.apply([])
    (found,) = (each for cohort in range(3) for each in read_members(played.study.database, "small", cohort))
    prefixes = ("", GUARDRAIL, "metric spent\n", "metric guardrail\n")
    assert [found.reports(prefix) for prefix in prefixes] == [[1.0], [0.0], [30.0], [1.0]]
    told = [(value + (event == "metric spent\nx"), event, proof) for value, event, proof in found.told]
    assert found._replace(told=told).leaf != found.leaf, "a leaf that does not cover a metric"
    assert played.study.erase("person 1") == 1
    assert played.study.database.rows("SELECT * FROM reward") == []
    played.study.close()


@for_each(
    ("wrong", "said"),
    [
        ({"metrics": 3}, "metrics is"),
        ({"metrics": [3]}, "metrics is"),
        ({"metrics": [{**SPENT, "name": f"m{i}", "share": "1/9"} for i in range(4)]}, "at most 3"),
        ({"metrics": [{**SPENT, "share": 1}]}, "share of metric 1"),
        ({"metrics": [{"name": "spent"}]}, "share of metric 1"),
        ({"metrics": [{**SPENT, "share": "0.25"}]}, "share"),
        ({"metrics": [{**SPENT, "share": "1/2"}, {**LEFT, "share": "1/2"}]}, "1/2 of spent, 1/2 of guardrail"),
        ({"metrics": [{**SPENT, "share": "1/2"}], "guardrail": {**HARM, "share": "1/2"}}, "the reward has the rest"),
        ({"metrics": [SPENT, SPENT]}, "different from one another"),
        ({"metrics": [{**SPENT, "name": "harm"}], "guardrail": HARM}, "and from the guardrail's"),
        ({"metrics": [{**SPENT, "name": "a b"}]}, "name of metric 1"),
        ({"metrics": [{**SPENT, "window": "1 hour"}]}, "window"),
        ({"metrics": [{**SPENT, "most": 0}]}, "most of metric 1"),
        ({"metrics": [SPENT], "policy": "ucb1", "channel": {"name": "tree", "epsilon": 1, "length": 1000}}, "channel"),
        ({"metrics": [SPENT], "budget": {"epsilon": 0.9}}, "enough for one cohort"),
    ],
)
def test_what_a_metric_cannot_be(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        small_protocol(**wrong)


@pytest.mark.parametrize("leaks", [False, True])
def test_a_policy_sees_the_reward_alone(leaks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two studies of one seed, whose rewards are the same, and whose metrics are not, decide alike."""
    monkeypatch.setattr(secrets, "token_hex", lambda many: "5c" * many)
    if leaks:
        tell = Driver.tell
        monkeypatch.setattr(Driver, "tell", lambda self, cohort, n, total: tell(self, cohort, n, sum(sums)))
    logs = []
    for spent in (0, 100):
        folder = tmp_path / str(spent)
        folder.mkdir()
        played, sums = Played(folder, **SURE, metrics=[SPENT]), [0.0, float(spent)]
        for _ in range(3):
            first = len(played.tickets)
            played.come(12)
            for ticket in played.tickets[first:]:
                played.study.report(ticket, int(played.study._session.rows.place(ticket).arm == 1))
                played.study.report(ticket, spent, metric="spent")
            played.wait()
        logs.append(played.study._session.driver.log)
        played.study.close()
    assert (logs[0] == logs[1]) != leaks


@pytest.mark.parametrize("lie", ["noise", "price", "order"])
def test_what_metrics_cost_is_verified(lie: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken services give each outcome all of epsilon, charge the share of the reward alone, or swap two sums."""
    with monkeypatch.context() as patch:
        if lie == "noise":
            patch.setattr("maskedbandit.study.outcomes.share_channel", lambda channel, outcome: channel)
            patch.setattr(Protocol, "price", lambda self, n: Loss.pure(1))
        elif lie == "price":
            patch.setattr(Protocol, "price", lambda self, n: self.channel.loss(n))
        else:
            offers = Protocol.offers
            patch.setattr(Protocol, "offers", lambda self, n: (offers(self, n)[0], *offers(self, n)[:0:-1]))
        played = Played(tmp_path, **ALL)
        played.come(12)
        played.wait()
    says = "cost more than its ledger says" if lie == "price" else "had other noise than its protocol says"
    for look in (played.verify, played.open_again):
        with pytest.raises(Corrupted, match=says):
            look()


RELEASED = {
    "kind": "released",
    "at": 1,
    "cohort": 0,
    "step": 0,
    "arm": 0,
    "n": 8,
    "total": (3.0).hex(),
    "loss": Loss.pure(1).to_text(),
    "members": "",
    "offer": "",
    "memory": "",
}


def parse(**more: Any) -> Any:
    return parse_entry("small", Link(1, json.dumps(RELEASED | more), "", ""))


def test_an_entry_of_an_earlier_version_says_its_guardrail_otherwise() -> None:
    old, new = parse(guardrail=(2.0).hex(), guardrail_offer="ab"), parse(further=[[(2.0).hex(), "ab"]])
    assert isinstance(old, Release)
    assert old == new
    assert old.further == (FurtherSum(2.0, "ab"),)
    assert (old.in_epoch(4), old.in_epoch(4, 1)) == ((0, 8, 3.0, 4), (0, 8, 2.0, 4))
    for wrong in ({"guardrail": (2.0).hex()}, {"further": [[2, "ab"]]}, {"further": [["0x1p+1", 3]]}, {"further": 3}):
        with pytest.raises(Corrupted):
            parse(**wrong)
    with pytest.raises(Corrupted, match="says nothing of outcome 2"):
        old.in_epoch(4, 2)


@pytest.mark.parametrize("kind", ["local", "response"])
def test_devices_send_each_outcome_with_noise_of_its_own(kind: str, tmp_path: Path) -> None:
    first = {"rule": "first"}
    how: dict[str, Any] = {
        "channel": {"name": kind, "epsilon": 1},
        "reward": {"window": "20 seconds", "exposure": "10 seconds", **first},
        "metrics": [{**SPENT, **first}, {**LEFT, **first}],
        "guardrail": {**HARM, **first},
    }
    assert small_protocol(**how).price(1).pure_epsilon == 1
    played, agreed = Played(tmp_path, **how), {"local": Local(epsilon=1), "response": Response(epsilon=1)}[kind]
    played.come(12)
    study, sums = played.study, [0] * 4
    for ticket in played.tickets:
        offers = study.offers(ticket)
        assert [offer.metric for offer in offers] == ["", "harm", "spent", "guardrail"]
        assert [dict(offer.terms)["epsilon"] for offer in offers] == [Fraction(1, each) for each in (2, 8, 4, 8)]
        for j, offer in enumerate(offers):
            sent = add_report_noise(agreed, to_lines(offers), 1, offer.metric)
            sums[j] += sent.value
            study.report(ticket, sent.value, metric=offer.metric)
    played.wait()
    told = [each for each in played.said() if each["kind"] == "released"]
    found = [[float.fromhex(total) for total in (each["total"], *(sum for sum, _ in each["further"]))] for each in told]
    for outcome, totals, known in zip(study.protocol.outcomes, zip(*found, strict=True), sums, strict=True):
        flip = outcome.channel.law().flip
        assert sum(totals) == pytest.approx((known - 12 * flip) / (1 - 2 * flip))
    played.verify()
    study.close()
    with pytest.raises(InvalidValue, match="rule of metric 1 is 'sum': it must be first"):
        small_protocol(**how | {"metrics": [SPENT]})
