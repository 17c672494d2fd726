"""Every refusal has a code that programs rely on, says what is wrong, and changes nothing."""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import (
    BehindWitness,
    Conflict,
    Corrupted,
    FencedOff,
    FrozenProtocol,
    InvalidValue,
    Late,
    MaskedBanditError,
    NotRunning,
    PersonalValue,
    Refused,
    RewardOutOfRange,
    StoreError,
    UnknownSchema,
    UnknownStudy,
    UnknownTicket,
)
from maskedbandit.privacy.loss import Loss
from maskedbandit.store import people
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.members import read_members
from maskedbandit.store.reconcile import burn_missing
from maskedbandit.store.requests import check_report
from maskedbandit.store.studies import find_witness, open_study, write_study
from maskedbandit.store.study import Study
from maskedbandit.study.driver import Driver
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.store.small_study import EXPOSURE, PROOF, WINDOW, Clock, small_protocol, small_study


class Setting:
    """A running study, its clock and where it is."""

    def __init__(self, folder: Path) -> None:
        self.address, self.witness, self.clock = f"sqlite:///{folder}/study.db", folder / "witness", Clock()
        self.study = small_study(self.address, self.witness, self.clock)

    def rows(self) -> dict[str, list[Any]]:
        """All rows, but for the lease and the clock, which go on."""
        database = open_database(self.address)
        found = {
            table: sorted(database.rows(f"SELECT * FROM {table}"), key=repr) for table in database.tables() - {"study"}
        }
        found["study"] = database.rows("SELECT study, state, people FROM study")
        database.close()
        return found

    def ticket(self, unit: str = "ann") -> str:
        return str(self.study.assign(unit).ticket)


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    found = Setting(tmp_path)
    yield found
    found.study.close()
    database = open_database(found.address)
    verify_study(database, find_witness(database, found.witness), "small")
    database.close()


def refused(setting: Setting, kind: type[MaskedBanditError], code: str, do: Callable[[], Any], says: str) -> None:
    """It is refused twice, with this code, and nothing has changed."""
    before = setting.rows()
    for _ in range(2):
        with pytest.raises(kind, match=says) as why:
            do()
        assert why.value.code == code
        assert isinstance(why.value, Refused | StoreError | InvalidValue)
        assert setting.rows() == before


def test_an_unknown_study(setting: Setting) -> None:
    says = r"there is no study 'other' \(in this database there are: small\)"
    refused(setting, UnknownStudy, "unknown_study", lambda: open_study(setting.address, "other", setting.witness), says)
    database = open_database(setting.address)
    for do in (
        lambda: verify_study(database, find_witness(database, setting.witness), "other"),
        lambda: Study(database, find_witness(database, setting.witness), "other"),
    ):
        refused(setting, UnknownStudy, "unknown_study", do, "there is no study 'other'")
    database.close()


def test_an_unknown_ticket(setting: Setting) -> None:
    study, ticket = setting.study, setting.ticket()
    for wrong in ("", "aa", ticket[:-1], ticket.upper(), f"{ticket}' OR '1'='1", 7, None, [ticket]):
        for do in (study.expose, study.offers, lambda each: study.report(each, 1)):
            refused(setting, UnknownTicket, "unknown_ticket", lambda do=do, wrong=wrong: do(wrong), "has this ticket")
    assert study.erase("ann") == 1
    refused(setting, UnknownTicket, "unknown_ticket", lambda: study.report(ticket, 1), "no place of small has this")


@pytest.mark.parametrize("state", ["running", "paused", "stopped", "archived"])
def test_a_frozen_protocol(setting: Setting, state: str) -> None:
    moves = {"paused": ["pause"], "stopped": ["stop"], "archived": ["stop", "archive"]}
    for move in moves.get(state, []):
        getattr(setting.study, move)()
    for protocol in (small_protocol(), small_protocol(people=2000)):
        says = f"small is {state}: its protocol cannot be changed"
        do = partial(write_study, protocol, setting.address, setting.witness, small_protocol().digest)
        refused(setting, FrozenProtocol, "frozen_protocol", do, says)


MOVES = {"start": "draft", "pause": "running", "resume": "paused", "stop": "running or paused", "archive": "stopped"}
STATES = {"running": (), "paused": ("pause",), "stopped": ("stop",), "archived": ("stop", "archive")}


@pytest.mark.parametrize("state", STATES)
def test_a_move_from_a_state_that_does_not_allow_it(setting: Setting, state: str) -> None:
    for move in STATES[state]:
        getattr(setting.study, move)()
    for move, before in MOVES.items():
        if state not in before.split(" or "):
            says = f"small is {state}: only one that is {before} can be"
            refused(setting, NotRunning, "not_running", getattr(setting.study, move), says)


def test_nobody_is_given_an_arm_of_a_draft_or_of_an_archive(setting: Setting, tmp_path: Path) -> None:
    write_study(small_protocol(name="draft"), setting.address, setting.witness)
    with open_study(setting.address, "draft", setting.witness) as draft:
        refused(setting, NotRunning, "not_running", lambda: draft.assign("ann"), "draft is draft: nobody")
    setting.study.stop()
    setting.study.archive()
    refused(setting, NotRunning, "not_running", lambda: setting.study.assign("ann"), "small is archived: nobody")


def test_a_study_whose_full_cohorts_wait_is_not_archived(setting: Setting) -> None:
    for i in range(4):
        setting.study.expose(setting.ticket(f"person {i}"))
    setting.study.stop()
    refused(setting, NotRunning, "not_running", setting.study.archive, "waits for rewards of a full cohort")
    setting.clock.now += WINDOW + 1
    assert len(setting.study.tick()) == 2
    setting.study.archive()


def test_a_conflict(setting: Setting) -> None:
    study, ticket = setting.study, setting.ticket()
    study.expose(ticket)
    study.report(ticket, 0, proof=PROOF)
    study.report(ticket, 1, "b", proof=PROOF)
    for value, event in ((1, ""), (0.5, ""), (0, "b")):
        do = partial(study.report, ticket, value, event, proof=PROOF)
        refused(setting, Conflict, "conflict", do, "this report came before, with another value")
    assert study.report(ticket, 0, proof=PROOF).again
    assert study.report(ticket, 1.0, "b", proof=PROOF).again


def test_who_cannot_prove_to_have_reported_is_told_nothing(setting: Setting) -> None:
    study, ticket = setting.study, setting.ticket()
    study.expose(ticket)
    study.report(ticket, 0, proof=PROOF)
    other = PROOF[::-1]
    for proof, value, again in (("", 1, False), ("", 0, False), (other, 1, False), (other, 1, True)):
        assert study.report(ticket, value, proof=proof).again is again
    refused(setting, Conflict, "conflict", lambda: study.report(ticket, 0, proof=other), "with another value")
    ((cohort,),) = study.database.rows("SELECT cohort FROM place WHERE ticket = ?", ticket)
    (member,) = [each for each in read_members(study.database, study.name, cohort) if each.ticket == ticket]
    assert member.reports() == [0.0]  # the first one counts


@for_each("proof", ["short", "x" * 65, "a proof with spaces", None, 7, "ünicode-ünicode-ünicode"])
def test_what_is_no_proof(setting: Setting, proof: Any) -> None:
    ticket = setting.ticket()
    setting.study.expose(ticket)
    do = partial(setting.study.report, ticket, 1, proof=proof)
    refused(setting, PersonalValue, "personal_value", do, "proof must be 16 to 64 letters, digits, '-' or '_'")


def test_a_report_that_comes_too_late(setting: Setting) -> None:
    study, ticket = setting.study, setting.ticket()
    study.expose(ticket)
    setting.clock.now += WINDOW
    study.report(ticket, 1, proof=PROOF)  # the last moment
    setting.clock.now += 1
    for event in ("", "b"):  # whatever came before
        do = partial(study.report, ticket, 1, event, proof=PROOF)
        refused(setting, Late, "late", do, "the window .* is over")


def test_an_arm_that_is_seen_too_late(setting: Setting) -> None:
    study, ticket, second = setting.study, setting.ticket(), setting.ticket("bob")
    setting.clock.now += EXPOSURE
    study.expose(second)  # the last moment
    setting.clock.now += 1
    for do in (lambda: study.expose(ticket), lambda: study.report(ticket, 1)):
        refused(setting, Late, "late", do, "the place went to another person")
    study.tick()
    for do in (lambda: study.expose(ticket), lambda: study.report(ticket, 1)):
        refused(setting, Late, "late", do, "the place went to another person")


def test_whoever_is_over_budget_changes_nothing_and_the_place_goes_to_the_next(setting: Setting) -> None:
    """Ann has spent her budget in another study of the project."""
    setting.study.close()
    for name in ("first", "second"):
        write_study(small_protocol(name=name, project="shared"), setting.address, setting.witness)
    with open_study(setting.address, "first", setting.witness, setting.clock) as first:
        first.start()
        assert first.assign("ann").ticket
    with open_study(setting.address, "second", setting.witness, setting.clock) as second:
        second.start()
        others = [second.assign(f"person {i}") for i in range(3)]  # of four places
        before, accounts = second.people, second.database.rows("SELECT * FROM account ORDER BY person")
        ann = second.assign("ann")
        assert (ann.ticket, ann.propensity, ann.again, ann.why) == (None, Fraction(1, 2), False, "budget_exceeded")
        assert second.people == before
        assert second.database.rows("SELECT * FROM account ORDER BY person") == accounts
        last = second.assign("next")
        assert sorted(each.arm for each in [*others, last]) == [0, 0, 1, 1]
        assert last.ticket
        assert last.propensity == 1
        ann = second.assign("ann")  # without a place nobody is charged, and no budget is asked about
        assert (ann.ticket, ann.why) == (None, None)


def test_whoever_is_over_budget_gets_the_best_arm_of_what_was_released(setting: Setting) -> None:
    """And not the one of the place that went to the next: of eight more places, four are of each arm."""
    setting.study.close()
    little = {"channel": {"name": "central", "epsilon": 100}, "budget": {"epsilon": 100}, "people": 100}
    for name in ("first", "second"):
        write_study(small_protocol(name=name, project="shared", **little), setting.address, setting.witness)
    with open_study(setting.address, "first", setting.witness, setting.clock) as first:
        first.start()
        assert first.assign("ann").ticket
    with open_study(setting.address, "second", setting.witness, setting.clock) as second:
        second.start()
        for i in range(4):
            given = second.assign(f"person {i}")
            second.expose(str(given.ticket))
            second.report(str(given.ticket), given.arm)
        setting.clock.now += WINDOW + 1
        assert len(second.tick()) == 2
        for _ in range(40):
            ann = second.assign("ann")
            assert (ann.arm, ann.propensity, ann.why) == (1, 1, "budget_exceeded")


def test_a_place_that_is_not_given_back_is_noticed(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Driver, "give_back", lambda self, cohort, place: None)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test_whoever_is_over_budget_changes_nothing_and_the_place_goes_to_the_next(setting)


def test_a_refusal_that_changes_something_is_noticed(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    ticket = setting.ticket()

    def seen_first(protocol: Protocol, *report: Any) -> None:
        people.expose(setting.study._session, ticket)
        check_report(protocol, *report)

    monkeypatch.setattr("maskedbandit.store.people.check_report", seen_first)
    do = partial(setting.study.report, ticket, 7)
    with pytest.raises(AssertionError):
        refused(setting, RewardOutOfRange, "reward_out_of_range", do, "reward")


def test_a_study_that_another_process_holds(setting: Setting) -> None:
    database = open_database(setting.address)
    do = partial(Study, database, find_witness(database, setting.witness), "small")
    refused(setting, FencedOff, "fenced_off", do, r"another process holds small \(tester\): stop it, or wait")
    database.close()


def test_a_database_without_its_witness(setting: Setting, tmp_path: Path) -> None:
    says = "the keys of this database are not in .*elsewhere/[0-9a-f]+: name the folder"
    for do in (
        lambda: open_study(setting.address, "small", tmp_path / "elsewhere"),
        lambda: write_study(small_protocol(name="other"), setting.address, tmp_path / "elsewhere"),
    ):
        refused(setting, BehindWitness, "behind_witness", do, says)


def test_a_ledger_behind_its_witness(tmp_path: Path) -> None:
    setting = Setting(tmp_path)
    copy = tmp_path / "copy.db"
    setting.study.close()
    copy.write_bytes((tmp_path / "study.db").read_bytes())
    with open_study(setting.address, "small", setting.witness) as study:
        study.pause()
    address = f"sqlite:///{copy}"
    says = "has 1 entries here, and its witness in .* has seen 2.*reconcile"
    do = partial(open_study, address, "small", setting.witness)
    refused(setting, BehindWitness, "behind_witness", do, says)
    database = open_database(address)
    with pytest.raises(BehindWitness, match=says):
        verify_study(database, find_witness(database, setting.witness), "small")
    database.close()


def test_what_is_burned_holds_in_every_study_of_the_project(setting: Setting, tmp_path: Path) -> None:
    """None of them can be used before: people would be charged as if nothing had been burned."""
    for name in ("first", "second"):
        write_study(small_protocol(name=name, project="shared"), setting.address, setting.witness)
    with open_study(setting.address, "first", setting.witness, setting.clock) as first:
        first.start()
    setting.study.close()
    copy = tmp_path / "copy.db"
    copy.write_bytes((tmp_path / "study.db").read_bytes())
    address = f"sqlite:///{copy}"
    with open_study(setting.address, "first", setting.witness, setting.clock) as first:
        for i in range(4):
            first.expose(str(first.assign(f"person {i}").ticket))
        setting.clock.now += WINDOW + 1
        assert len(first.tick()) == 2
    with pytest.raises(BehindWitness, match="reconcile first first"):
        open_study(address, "second", setting.witness, setting.clock)
    database = open_database(address)
    burn_missing(database, find_witness(database, setting.witness), "first")
    database.close()
    with open_study(address, "second", setting.witness, setting.clock) as second:
        second.start()
        assert second.assign("person 0").why == "budget_exceeded"
    database = open_database(address)
    for name in ("first", "second"):
        verify_study(database, find_witness(database, setting.witness), name)
    database.close()
    setting.address = address  # the copy is the one that goes on


def test_codes_of_what_is_shown_elsewhere() -> None:
    """Tampering and migrations have tests of their own."""
    assert [kind("").code for kind in (Corrupted, UnknownSchema)] == ["corrupted", "unknown_schema"]


@for_each("value", [-0.1, 1.1, float("nan"), float("inf"), "1", None, True, [1], 10**400])
def test_a_reward_out_of_range(setting: Setting, value: Any) -> None:
    ticket = setting.ticket()
    with pytest.raises(RewardOutOfRange) as why:
        setting.study.report(ticket, value)
    assert why.value.code == "reward_out_of_range"
    assert repr(value) not in str(why.value) or value == "1", "a personal value is shown"
    assert setting.rows()["reward"] == []


@for_each("unit", ["", "x" * 257, "a\nb", "\x00", "\ud800", 7, None, b"ann", ["ann"]])
def test_a_unit_that_is_no_name(setting: Setting, unit: Any) -> None:
    for do in (setting.study.assign, setting.study.erase):
        refused(setting, PersonalValue, "personal_value", lambda do=do: do(unit), "unit must be a str")


@for_each("event", ["x" * 129, "a\nb", "\ud800", 7, None, b"b"])
def test_an_event_that_is_no_name(setting: Setting, event: Any) -> None:
    ticket = setting.ticket()
    do = partial(setting.study.report, ticket, 1, event)
    refused(setting, PersonalValue, "personal_value", do, "event must be a str")


def test_whoever_was_erased_takes_no_further_part(setting: Setting) -> None:
    """Otherwise one person could be in two releases of a study, and what a lost one cost would not bound both."""
    study = setting.study
    ticket = study.assign("ann").ticket
    assert ticket
    assert ticket in str(setting.rows())
    assert study.erase("ann") == 1
    assert ticket not in str(setting.rows()), "a ticket of somebody who was erased is still there"
    assert study.assign("ann").ticket is None
    assert study.erase("ann") == 0
    assert study.assign("bob").ticket


def test_refusals_in_a_batch_leave_the_others_alone(setting: Setting) -> None:
    study = setting.study
    ticket = setting.ticket()
    done = study.apply(
        [
            ("assign", "bob"),
            ("report", "no such", 1),
            ("report", ticket, 0),
            ("expose", ticket),
            ("report", ticket, 7),
            ("report", ticket, 1, "", "", PROOF),
            ("report", ticket, 0, "", "", PROOF),
        ]
    )
    codes = [each.refusal.code if each.refusal else "" for each in done]
    assert codes == ["", "unknown_ticket", "not_exposed", "", "reward_out_of_range", "", "conflict"]
    assert study.people == 2


# protocols

ARMS = [{"name": "a"}, {"name": "b"}]
WRONG: list[tuple[dict[str, Any], str]] = [  # what is changed, and what the error says
    ({"nmae": "x"}, "key is 'nmae'.*did you mean 'name'"),
    ({"name": None}, "name is None: it must be 1 to 64 letters"),
    ({"name": ""}, "name is '': it must be 1 to 64 letters"),
    ({"name": "a b"}, "name is 'a b'"),
    ({"name": "../x"}, "name is '../x'"),
    ({"name": "x" * 65}, "name is 'xxx"),
    ({"name": 7}, "name is 7"),
    ({"project": "a/b"}, "project is 'a/b': it must be 1 to 64 letters"),
    ({"people": 1}, "people is 1: it must be"),
    ({"people": 10**13}, "people is 10000000000000: it must be"),
    ({"people": 2.5}, "people is 2.5: it must be"),
    ({"people": None}, "people is None: it must be"),
    ({"people": True}, "people is True: it must be"),
    ({"delta": 0.1}, "delta is 0.1: it must be left out"),
    ({"policy": "succesive_elimination"}, "did you mean 'successive_elimination'"),
    ({"policy": {"name": "successive_elimination", "least": 0}}, "least is 0: it must be a whole number"),
    ({"policy": {"name": "successive_elimination", "most": 0}}, "most"),
    ({"policy": 7}, "policy"),
    ({"policy": "lin_ucb"}, "one of arms without contexts"),
    ({"channel": None}, "channel"),
    ({"channel": "cental"}, "did you mean 'central'"),
    ({"budget": {"epsilon": 1, "delta": False}}, "delta is False"),
    ({"budget": {"epsilon": 1, "delta": ""}}, "delta is ''"),
    ({"channel": {"name": "central", "epsilon": -1}}, "epsilon is -1"),
    ({"channel": {"name": "central", "epsilon": 0}}, "epsilon is 0"),
    ({"channel": {"name": "distributed", "epsilon": 1}}, "one of central or of local trust"),
    ({"channel": {"name": "tree", "epsilon": 1, "length": 8}}, "releases that are independent"),
    ({"arms": []}, r"arms is \[\]: it must be 2 to 1000"),
    ({"arms": ARMS[:1]}, "2 to 1000"),
    ({"arms": {"name": "a"}}, "2 to 1000"),
    ({"arms": ["a", "b"]}, "tables, each with a name"),
    ({"arms": [{"name": "a"}, {"name": "a"}]}, "name of arm 2 is 'a': it must be different from the names"),
    ({"arms": [{"name": "a"}, {"payload": 1}]}, "name of arm 2 is None"),
    ({"arms": [{"name": "a"}, {"name": "b", "pay": 1}]}, r"key of \[\[arms\]\] is 'pay'"),
    ({"reward": 7}, r"reward is 7: it must be a \[reward\] table"),
    ({"reward": {"leats": 0}}, r"key of \[reward\] is 'leats'"),
    ({"reward": {"least": "0"}}, "least of the reward is '0': it must be a number from"),
    ({"reward": {"least": float("1e999")}}, "Out of range|not JSON compliant|finite"),
    ({"reward": {"most": True}}, "most of the reward is True"),
    ({"reward": {"least": 1, "most": 1}}, "most of the reward is 1.0: it must be above its least"),
    ({"reward": {"least": 2}}, "most of the reward is 1.0: it must be above its least, 2"),
    ({"reward": {"least": -1e308, "most": 1e308}}, "least of the reward is -1e.308: it must be a number from -1e.15"),
    ({"reward": {"most": 1.001e15}}, "most of the reward is 1001000000000000.0"),
    ({"guardrail": {"name": "g", "most": 1e308, "harm": {"above": 1}}}, "most of the guardrail is 1e.308"),
    ({"reward": {"default": 2}}, "default of the reward is 2: it must be a number from 0 to 1"),
    ({"reward": {"default": "0"}}, "default of the reward is '0'"),
    ({"reward": {"rule": "mean"}}, "rule of the reward is 'mean': it must be one of first, last, sum"),
    ({"reward": {"rule": ["sum"]}}, "rule of the reward is"),
    ({"reward": {"window": "6 fortnights"}}, "window is '6 fortnights': it must be a time such as"),
    ({"reward": {"window": "-1 days"}}, "window is '-1 days'"),
    ({"reward": {"window": 6}}, "window is 6"),
    ({"reward": {"window": "11 years"}}, "window is '11 years'"),
    ({"reward": {"window": "4000 days"}}, "of at most ten years"),
    ({"reward": {"exposure": "soon"}}, "exposure is 'soon'"),
    ({"reward": {"evaluating": True}}, "evaluating is True: it must be one of exposes, enrols"),
    ({"guardrail": {"evaluating": "enrols"}}, "evaluating"),
    (
        {"policy": "dpucb", "channel": {"name": "tree", "epsilon": 1, "length": 999}},
        "length of the channel is 999: it must be at least the number of people, 1000",
    ),
    ({"budget": None}, r"budget is None: it must be a \[budget\] table"),
    ({"budget": {}}, r"budget is \{\}: it must be a \[budget\] table with epsilon, or with rho"),
    ({"budget": {"epsilom": 1}}, r"key of \[budget\] is 'epsilom'"),
    ({"budget": {"epsilon": 0}}, "epsilon is 0"),
    ({"budget": {"epsilon": 1, "delta": 1}}, "delta is 1"),
    ({"budget": {"epsilon": 1, "delta": -0.5}}, "delta is -0.5"),
    ({"budget": {"rho": 0}}, "rho is 0"),
    ({"budget": {"rho": 1, "epsilon": 1}}, "either rho, or epsilon"),
    ({"budget": {"epsilon": 0.5}}, "enough for one cohort, and it is not"),
    ({"budget": {"epsilon": 1, "period": "59 minutes"}}, "period is '59 minutes': .* at least 3600 seconds"),
    ({"budget": {"epsilon": 1, "period": 90}}, "period is 90"),
    *(
        ({"budget": {"epsilon": text}}, re.escape(f"epsilon is {text!r}: it must be a number, or a fraction as a text"))
        for text in ("1", "1.5", "1e3", " 1", "+1", ".5", "1/2 ", "1_0/3", "٣/٢")
    ),
    ({"budget": {"rho": "1"}}, "rho is '1': it must be a number, or a fraction"),
    ({"budget": {"epsilon": 1, "delta": "1e-6"}}, "delta is '1e-6': it must be a number, or a fraction"),
    ({"budget": {"epsilon": "one"}}, "epsilon is 'one': it must be a finite number"),
    ({"channel": {"name": "central", "epsilon": "1"}}, "epsilon is '1': it must be a number, or a fraction"),
    ({"channel": {"name": "central", "epsilon": 1, "grid": {"fineness": "2"}}}, "fineness is '2': it must be a number"),
    ({"guardrail": {"name": "g", "harm": {"above": 0.5}, "share": "0.5"}}, "share is '0.5': it must be a number"),
    ({"budget": {"epsilon": 1e308}}, "epsilon of the budget is 1e[+]308: it must be at most 1000000, which a loss"),
    ({"budget": {"epsilon": 1_000_000.5}}, "epsilon of the budget is 1000000.5: it must be at most 1000000"),
    ({"budget": {"epsilon": f"{10**7}/3"}}, "epsilon of the budget is '10000000/3': it must be at most 1000000"),
    ({"budget": {"rho": 1e300}}, "rho of the budget is 1e[+]300: it must be at most 1000000"),
]


@for_each(("changes", "says"), WRONG, ids=[f"{i} {next(iter(each[0]))}" for i, each in enumerate(WRONG)])
def test_a_protocol_with_a_wrong_value(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidValue, match=says) as why:
        small_protocol(**changes)
    assert why.value.code in ("invalid_value", "unknown_name")
    assert len(str(why.value)) < 2000


def test_a_search_takes_delta_and_no_people() -> None:
    search = {"policy": "uniform_glr", "channel": {"name": "response", "epsilon": 1}, "reward": {"rule": "first"}}
    table = {"name": "search", "arms": ARMS, "budget": {"epsilon": 1}} | search
    assert Protocol.from_table(table).people is None
    for changes, says in (
        ({"people": 100}, "people is 100: it must be left out"),
        ({"delta": 0}, "delta is 0: it must be a probability"),
        ({"delta": 1}, "delta is 1"),
        ({"delta": "0.1"}, "delta is '0.1'"),
        ({"delta": float("nan")}, "not JSON"),
        ({"reward": {"rule": "sum"}}, r"rule of the reward is 'sum': it must be first: each device reports once"),
    ):
        with pytest.raises(InvalidValue, match=says):
            Protocol.from_table(table | changes)


def test_fractions_may_be_texts_and_a_budget_may_be_large() -> None:
    made = small_protocol(channel={"name": "central", "epsilon": "1/3"}, budget={"epsilon": "4/3", "period": "90 days"})
    assert (made.price(1), made.budget) == (Loss.pure("1/3"), Loss.pure("4/3"))
    assert small_protocol(budget={"epsilon": 10**6}).budget == Loss.pure(10**6)


def test_a_protocol_that_is_stored_is_read_as_it_was_checked_then() -> None:
    """What a new one may not say: it was frozen when its study started."""
    text = small_protocol().text.replace('"budget":{"epsilon":1', '"budget":{"epsilon":"1"')
    assert Protocol.from_text(text).budget == small_protocol().budget
    assert Protocol.from_text(text) != small_protocol()


@for_each("text", ["name = ", "\x00", "name = 'x'\nname = 'y'", b"\xff\xfe"])
def test_a_file_that_is_no_protocol(tmp_path: Path, text: str | bytes) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidValue, match=r"study.toml.*a TOML file that can be read"):
        Protocol.from_file(path)
    with pytest.raises(InvalidValue, match="a TOML file that can be read"):
        Protocol.from_file(tmp_path / "none.toml")


def test_a_protocol_that_is_no_text() -> None:
    for wrong in ({"about": {1, 2}}, {"about": float("nan")}, {"about": object()}):
        with pytest.raises(InvalidValue, match="protocol is 'dict': it must be of numbers, texts, lists and tables"):
            small_protocol(**wrong)


def test_propensities_are_those_of_the_places_that_are_left(setting: Setting) -> None:
    found = [setting.study.assign(f"person {i}") for i in range(4)]
    assert found[0].propensity == Fraction(1, 2)
    assert found[-1].propensity == 1
