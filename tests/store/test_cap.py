"""A study in which each person can have several rewards: they are added up, and the sum is cut at a cap."""

from pathlib import Path
from typing import Any

import pytest

from maskedbandit.channels.offers import to_lines
from maskedbandit.channels.response import Response
from maskedbandit.cli.parts.simulation import Clock as Simulated
from maskedbandit.cli.parts.simulation import Simulated as SimulationTable
from maskedbandit.cli.parts.simulation import play_study
from maskedbandit.client.local_noise import add_report_noise, add_up_rewards
from maskedbandit.errors import Conflict, Corrupted, InvalidValue, RewardOutOfRange
from maskedbandit.privacy.statistics import capped_sum
from maskedbandit.reports.estimate.source import source_of
from maskedbandit.service.views.status import write_ledger
from maskedbandit.statement.facts import Facts
from maskedbandit.statement.points import answer_points
from maskedbandit.statement.sentences import list_assumptions
from maskedbandit.statement.study import privacy_unit
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.checks import check_noise
from maskedbandit.store.book.entries import read_entries
from maskedbandit.store.book.entry import Entry
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.session import Session
from maskedbandit.store.studies import find_witness
from maskedbandit.store.study import Study
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.store.small_study import EXPOSURE, PROOF, WINDOW, Clock, small_protocol, small_study

EXACT = {"channel": {"name": "central", "epsilon": 100, "grid": 3}, "budget": {"epsilon": 100}}  # hardly any noise
CAPPED = {"reward": {"cap": 3, "window": "20 seconds", "exposure": "10 seconds"}}
PEOPLE = {"ann": [1.0] * 7, "bob": [1.0, 1.0], "carl": [], "dora": [0.5, 0.25, 0.25]}  # of whom 3, 2, 0 and 1 count


def capped_study(tmp_path: Path, clock: Clock, **changes: Any) -> Study:
    return small_study(f"sqlite:///{tmp_path}/s.db", tmp_path / "witness", clock, small_protocol(**CAPPED, **changes))


def test_reports_are_added_up_and_cut(tmp_path: Path) -> None:
    clock = Clock()
    with capped_study(tmp_path, clock, **EXACT) as study:
        given = {person: study.assign(person) for person in PEOPLE}
        for person, rewards in PEOPLE.items():
            study.expose(given[person].ticket)
            for number, value in enumerate(rewards):
                clock.now += 1
                assert not study.report(given[person].ticket, value, f"visit {number}", proof=PROOF).again
        assert study.report(given["bob"].ticket, 1, "visit 1", proof=PROOF).again  # sent twice, counted once
        with pytest.raises(Conflict):
            study.report(given["bob"].ticket, 0.5, "visit 1", proof=PROOF)
        with pytest.raises(RewardOutOfRange):
            study.report(given["bob"].ticket, 1.5, "visit 2")  # no single reward is above the most of one
        clock.now += WINDOW + EXPOSURE + 1
        released = {each.arm: each.total for each in study.tick()}
        for arm in (0, 1):
            counts = [min(sum(PEOPLE[person]), 3) for person, each in given.items() if each.arm == arm]
            assert released[arm] * 3 == pytest.approx(sum(counts))
        book = Book(study.name, small_protocol(), read_entries(study.database, study.name))
        assert [each.cap for each in book.releases] == [3, 3]
        witness = find_witness(study.database, tmp_path / "witness")
        assert "in units of 3 rewards" in write_ledger(study.database, witness, study.name)[-1]
        source = source_of(study, None, None)
        assert (source.what, source.most) == ("small, sums of a person's rewards cut at 3", 3)
        verify_study(study.database, witness, study.name)
        with pytest.raises(Corrupted, match="the cap of the release of cohort 0 of small is not that of its protocol"):
            check_noise(book)


def test_a_release_that_does_not_say_its_cap_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Session.enter

    def silent(self: Session, by: str = "", **says: Any) -> Entry:
        return real(self, by, **{name: value for name, value in says.items() if name != "cap"})

    monkeypatch.setattr(Session, "enter", silent)
    clock = Clock()
    with capped_study(tmp_path, clock) as study:
        for person in PEOPLE:
            study.expose(study.assign(person).ticket)
        clock.now += WINDOW + EXPOSURE + 1
        assert len(study.tick()) == 2
        with pytest.raises(Corrupted, match="the cap of the release of cohort 0"):
            verify_study(study.database, find_witness(study.database, tmp_path / "witness"), study.name)


def test_a_person_costs_what_a_reward_costs() -> None:
    one, several = small_protocol(), small_protocol(**CAPPED)
    assert one.price(100) == several.price(100)
    assert dict(several.channel.offer(4).terms)["cap"] == 3


def test_a_cap_counts_rewards_of_any_size() -> None:
    reward = small_protocol(reward={"cap": 3, "most": 10}).reward
    assert [reward.of(told) for told in ([10, 5], [10, 10, 10, 10], [2.5] * 4, [])] == [0.5, 1, pytest.approx(1 / 3), 0]
    assert (reward.highest, reward.in_units(0.5), reward.reports(0.5)) == (30, 15, [10, 5])
    assert not reward.allows(11)


def test_a_protocol_without_a_cap_is_what_it_was() -> None:
    reward = {"window": "20 seconds", "exposure": "10 seconds", "rule": "sum", "most": 3}
    protocol = small_protocol(reward=reward)
    text = (
        "maskedbandit-offer-1 channel=Central n=4 steps=1 modulus=0 noise=DiscreteLaplace:1:1 terms=epsilon:1 position="
    )
    assert protocol.channel.offer(4).to_text() == text
    assert protocol.reward.of([2, 2]) == 1
    assert protocol.reward.highest == 3


@for_each(
    ("reward", "said"),
    [
        ({"cap": 0}, "cap is 0: it must be a whole number of at least 1"),
        ({"cap": 2.5}, "cap is 2.5"),
        ({"cap": "3"}, "cap is '3'"),
        ({"cap": 3, "rule": "last"}, "rule of the reward is 'last': it must be sum, or left out"),
        ({"cap": 3, "least": -1}, "least of the reward is -1.0: it must be 0, if there is a cap"),
        ({"cap": 10, "most": 1e308}, r"most of the reward is 1e\+308: it must be a number from -1e\+15 to 1e\+15"),
    ],
)
def test_caps_that_mean_nothing_are_refused(reward: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        small_protocol(reward=reward)


LOCAL = {"channel": {"name": "response", "epsilon": 1}}


def test_devices_add_up_under_local_trust(tmp_path: Path) -> None:
    protocol = small_protocol(**CAPPED, **LOCAL)
    assert protocol.on_devices
    assert dict(protocol.channel.offer(4).terms)["cap"] == 3
    with pytest.raises(InvalidValue, match=r"rule of the reward is 'sum': it must be first: each device reports once"):
        small_protocol(**LOCAL, reward={"rule": "sum"})
    clock = Simulated()
    with capped_study(tmp_path, clock, **{**PLAYED, **LOCAL}) as study:
        play_study(study, clock, lambda many: None)
        (reports, tickets), *_ = study.database.rows("SELECT COUNT(*), COUNT(DISTINCT ticket) FROM reward")
        assert reports == tickets > 0  # one bit of each person, however many rewards
        verify_study(study.database, find_witness(study.database, tmp_path / "witness"), study.name)


def test_a_guardrail_has_no_cap() -> None:
    guardrail = {"name": "harm", "harm": {"above": 0.5}}
    protocol = small_protocol(**CAPPED, guardrail=guardrail, policy="contemporaneous_klucb")
    assert "cap" in dict(protocol.channel.offer(4).terms)
    assert "cap" not in dict(protocol.outcomes[1].channel.offer(4).terms)
    with pytest.raises(InvalidValue, match=r"key of \[guardrail\] is 'cap'"):
        small_protocol(**CAPPED, guardrail=guardrail | {"cap": 3})


def test_a_guardrail_on_devices_has_no_cap() -> None:
    guardrail = {"name": "harm", "harm": {"above": 0.5}}
    protocol = small_protocol(**CAPPED, **LOCAL, guardrail={**guardrail, "rule": "first"})
    agreed, offers = Response(1).carrying(capped_sum(3)), to_lines(protocol.offers(2))
    first = add_report_noise(agreed, offers, add_up_rewards(agreed, [1, 1, 0]))
    second = add_report_noise(agreed, offers, add_up_rewards(agreed, 1, "harm"), "harm", first.epsilon)
    assert first.epsilon + second.epsilon == 1
    with pytest.raises(InvalidValue, match="cap of an offer is '3': it must be None"):
        add_report_noise(Response(1), offers, 1)


def test_a_statement_says_that_a_person_is_protected_and_what_counts() -> None:
    for protocol, person in ((small_protocol(**CAPPED), True), (small_protocol(), False)):
        said = answer_points(protocol, Facts.of(Book("small", protocol)))
        assert ("one person over the whole study" in said.unit) is person
        assert ("Of each person at most 3 rewards of 1 count" in said.unit) is person
        assert ("from 0 to 1 (all of a person are added, and cut at 3 times that)" in said.contribution) is person
        assert ("all outcomes of one person, however many" in said.neighbours) is person
        assert ("the noise hides all rewards of a person together" in said.mechanism) is person
        assert (privacy_unit(protocol) == "One person over the whole study") is person
        assert ("with all outcomes of a person as with any others" in said.definition) is person
        assert ("Sums above 3 are cut, so an arm whose people have more looks worse" in said.bias) is person


def test_the_time_of_the_one_report_of_a_device_must_tell_nothing() -> None:
    """Who reports when the last reward comes says in the clear when that was."""
    said = "A device reports once, also of a person without any outcome, at a time that depends on no outcome"
    assert any(said in each for each in list_assumptions(small_protocol(**CAPPED, **LOCAL)))
    assert not any(said in each for each in list_assumptions(small_protocol(**CAPPED)))


PLAYED: dict[str, Any] = {
    "people": 600,
    "policy": "contemporaneous_klucb",
    "simulation": {"instance": {"name": "visits", "means": [0.2, 0.6], "visits": 4, "cap": 3}},
}


def test_a_study_is_played_with_people_who_come_several_times(tmp_path: Path) -> None:
    clock = Simulated()
    with capped_study(tmp_path, clock, **PLAYED) as study:
        found = play_study(study, clock, lambda many: None)
        assert found.people == 600
        assert found.regret > 0
        (reports, tickets, most), *_ = study.database.rows(
            "SELECT COUNT(*), COUNT(DISTINCT ticket), MAX(value) FROM reward"
        )
        assert reports > tickets > 0
        assert most == 1
        verify_study(study.database, find_witness(study.database, tmp_path / "witness"), study.name)


@pytest.mark.parametrize("cap", [1, 2, 4])
def test_people_are_not_played_with_another_cap(tmp_path: Path, cap: int) -> None:
    other = {**PLAYED, "simulation": {"instance": {"name": "visits", "means": [0.2, 0.6], "visits": 4, "cap": cap}}}
    clock = Simulated()
    said = "as many rewards that count as the protocol says, 3"
    with capped_study(tmp_path, clock, **other) as study, pytest.raises(InvalidValue, match=said):
        play_study(study, clock, lambda many: None)


def test_a_guardrail_is_not_played_with_a_cap() -> None:
    several = PLAYED["simulation"]["instance"]
    guardrail = {"name": "harm", "harm": {"above": 0.5}}
    protocol = small_protocol(
        **CAPPED, **{**PLAYED, "simulation": {"instance": several, "guardrail": several}, "guardrail": guardrail}
    )
    with pytest.raises(InvalidValue, match=r"harm of \[simulation\] is .*: it must be one whose people have as many"):
        SimulationTable.of(protocol)


def test_a_protocol_with_a_cap_is_read_again(tmp_path: Path) -> None:
    protocol = small_protocol(**CAPPED)
    assert Protocol.from_text(protocol.text).reward.cap == 3
