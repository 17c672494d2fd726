"""Arms that are paused, resumed and added while people come: who gets what, what is released, and what is stored."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import maskedbandit as mb
from maskedbandit.errors import Conflict, Corrupted, InvalidValue, NotRunning, UnknownArm
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.chain import Link, read_links
from maskedbandit.store.book.entries import parse_entry, read_entries
from maskedbandit.store.book.entry import Entry
from maskedbandit.store.book.standing import Standing
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.reconcile import bring_back, export_ledger
from maskedbandit.store.studies import find_witness
from maskedbandit.store.study import Study
from maskedbandit.study.deck import CohortDeck
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.golden import MULTI_ARMED
from tests.store.small_study import EXPOSURE, WINDOW, Clock, small_protocol, small_study

THREE = [{"name": "a"}, {"name": "b"}, {"name": "c"}]


class Played:
    """A study of three arms, with its clock."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.address, self.folder, self.clock = f"sqlite:///{folder}/study.db", folder / "witness", Clock()
        how = {"arms": THREE, "policy": {"name": "successive_elimination", "least": 4}, **changes}
        self.study, self.people = small_study(self.address, self.folder, self.clock, small_protocol(**how)), 0
        self.tickets: list[str] = []

    def come(self, many: int, seen: bool = True) -> list[int]:
        """New people: their arms, or -1 without a place."""
        units = [f"person {self.people + i + 1}" for i in range(many)]
        self.people += many
        given = [done.value() for done in self.study.apply([("assign", unit) for unit in units])]
        tickets = [each.ticket or "" for each in given]
        if seen:
            self.study.apply([("expose", ticket) for ticket in tickets if ticket])
        self.tickets += tickets
        return [each.arm if each.ticket else -1 for each in given]

    def wait(self, milliseconds: int = WINDOW + 1) -> list[int]:
        """The cohorts that are released when that time is over."""
        self.clock.now += milliseconds
        return [each.cohort for each in self.study.tick()]

    def open_again(self) -> None:
        self.study.close()
        database = open_database(self.address)
        self.study = Study(database, find_witness(database, self.folder), "small", self.clock, "tester")

    def verify(self) -> Any:
        return verify_study(self.study.database, self.study._session.witness, "small")

    def said(self) -> list[dict[str, Any]]:
        return [json.loads(link.body) for link in read_links(self.study.database, "small")]


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    found = Played(tmp_path)
    yield found
    found.verify()
    found.open_again()
    found.study.close()


def pause_in_an_open_deck(played: Played) -> None:
    """Nobody is given the arm from then on; its cohort is given up; those who have it keep it."""
    first = played.come(11)
    assert sorted(first).count(1) >= 3
    played.study.change_arms("pause", "b")
    assert all(played.study.assign(f"person {i + 1}").arm == arm for i, arm in enumerate(first))
    assert set(played.come(40)) <= {0, 2, -1}, "somebody was given a paused arm"
    cohorts = played.study._session.driver.cohorts
    assert {each.arm for each in cohorts[3:]} == {0, 2}
    before, full = played.wait(), [each.cohort for each in cohorts[:3] if each.left == 0]
    assert [cohort for cohort in before if cohort < 3] == full, "what was full is released, and nothing else"
    assert len(full) == 2


def test_a_paused_arm(played: Played) -> None:
    pause_in_an_open_deck(played)
    assert played.study.in_play == (0, 2)
    assert [each["kind"] for each in played.said()][1] == "arm_paused"


def pause_before_the_last_place(folder: Path) -> None:
    """The last place of the deck is dealt after an arm was paused, which may be that arm's."""
    folder.mkdir()
    played = Played(folder)
    played.come(11)
    played.study.change_arms("pause", "b")
    assert set(played.come(1)) <= {0, 2, -1}, "somebody was given a paused arm"
    played.study.close()


def test_a_stage_that_does_not_end_its_deck_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CohortDeck, "end_stage", lambda self: None)
    with pytest.raises(AssertionError, match="a paused arm"):  # it is missed with probability (2/3)^60 < 1e-10
        _ = [pause_before_the_last_place(tmp_path / str(i)) for i in range(60)]


def give_back_after_the_end(played: Played) -> None:
    """A full cohort gives back a place after its stage has ended: nobody gets it, and the cohort is never released."""
    played.come(11)
    played.come(1, seen=False)  # the deck is dealt
    unseen = played.study._session.rows.place(played.tickets[-1]).cohort
    played.study.change_arms("add", "d")
    played.wait(EXPOSURE + 1)
    places = played.study._session.driver.cohorts[unseen]
    assert places.given_up
    played.come(30)
    assert places.left == 1, "a cohort was filled up after its stage"
    assert unseen not in played.wait()
    played.open_again()
    assert played.study._session.driver.cohorts[unseen].given_up


def test_a_place_that_comes_back_after_its_stage(played: Played) -> None:
    give_back_after_the_end(played)


def test_a_cohort_that_is_filled_up_after_its_stage_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def always(self: CohortDeck, places: Any) -> None:
        if places.left:
            self._left[places.cohort] = places.left
        else:
            self._left.pop(places.cohort, None)

    monkeypatch.setattr(CohortDeck, "sort", always)
    with pytest.raises(AssertionError, match="filled up"):
        give_back_after_the_end(Played(tmp_path))


def test_an_arm_that_is_added_has_a_number_and_a_name_of_its_own(played: Played) -> None:
    played.come(12)
    assert played.wait() == [0, 1, 2]
    played.study.change_arms("add", "d", {"color": "red"})
    assert played.study.protocol.arms[3] == ("d", {"color": "red"})
    assert 3 in played.come(16)
    played.study.change_arms("pause", "d")
    for name in ("d", "a"):
        with pytest.raises(InvalidValue, match="different from the names of the arms before it"):
            played.study.change_arms("add", name)
    played.study.change_arms("add", "e")
    assert played.study.in_play == (0, 1, 2, 4)
    assert {each["arm"]: each["name"] for each in played.said() if each["kind"] == "arm_added"} == {3: "d", 4: "e"}
    digest = played.study.protocol.digest
    played.open_again()
    assert [name for name, _ in played.study.protocol.arms] == ["a", "b", "c", "d", "e"]
    assert played.study.in_play == (0, 1, 2, 4)
    assert played.study.protocol.digest == digest == played.said()[0]["protocol"]


def test_an_arm_that_is_resumed(played: Played) -> None:
    played.study.change_arms("pause", "b")
    assert 1 not in played.come(8)
    played.study.change_arms("resume", "b")
    assert 1 in played.come(12)


def test_what_is_refused_changes_nothing(played: Played) -> None:
    log, before = list(played.study._session.driver.log), played.said()
    for what, name, kind in (
        ("resume", "b", Conflict),
        ("pause", "x", UnknownArm),
        ("resume", "x", UnknownArm),
        ("add", "", InvalidValue),
        ("add", "a b", InvalidValue),
    ):
        with pytest.raises(kind):
            played.study.change_arms(what, name)
    with pytest.raises(InvalidValue, match="payload"):
        played.study.change_arms("add", "d", float("nan"))
    assert (list(played.study._session.driver.log), played.said()) == (log, before)
    assert len(played.study.protocol.arms) == 3
    played.study.change_arms("pause", "b")
    played.study.change_arms("pause", "c")
    with pytest.raises(Conflict, match="only one"):
        played.study.change_arms("pause", "a")
    assert played.come(3) == [-1, -1, -1]  # there is nothing to compare: they are served
    assert played.study.in_play == (0,)
    assert played.study.answer is None, "an arm that is alone was compared with nothing"
    played.study.stop()
    with pytest.raises(NotRunning):
        played.study.change_arms("resume", "b")


def test_only_releases_of_arms_in_play_decide_who_is_served(tmp_path: Path) -> None:
    played = Played(tmp_path, channel={"name": "central", "epsilon": 1000, "grid": 2}, budget={"epsilon": 1000})
    played.come(12)
    for ticket in played.tickets:
        arm = played.study._session.rows.place(ticket).arm
        played.study.report(ticket, [0.5, 1.0, 0.0][arm])
    played.wait()
    played.study.pause()
    assert played.study.assign("late").arm == 1
    played.study.change_arms("pause", "b")
    assert played.study.assign("later").arm == 0


def test_a_restored_copy_gets_the_arms_back(tmp_path: Path) -> None:
    played = Played(tmp_path)
    played.come(5)
    played.study.close()
    for each in tmp_path.glob("study.db*"):
        (tmp_path / each.name.replace("study", "copy")).write_bytes(each.read_bytes())
    played.open_again()
    played.study.change_arms("pause", "b")
    played.study.change_arms("add", "d", 7)
    played.come(9)
    log, arms = list(played.study._session.driver.log), played.study.protocol.arms
    witness = played.study._session.witness
    (tmp_path / "export").write_text("\n".join(export_ledger(played.study.database, witness, "small")))
    played.study.close()
    played.address = f"sqlite:///{tmp_path}/copy.db"
    database = open_database(played.address)
    bring_back(database, witness, "small", tmp_path / "export")
    database.close()
    played.open_again()
    found = played.study._session.driver.log
    assert (found, played.study.protocol.arms, played.study.in_play) == (log[: len(found)], arms, (0, 2, 3))
    played.verify()
    played.study.close()


@pytest.mark.sparing(1)
def test_the_entries_of_arms_are_found_on_both_databases(address: str, tmp_path: Path) -> None:
    how = small_protocol(arms=THREE)
    study = small_study(address, tmp_path / "witness", Clock(), how)
    study.change_arms("add", "d", 7)
    study.change_arms("pause", "a")
    study.pause()
    book = Book("small", how, read_entries(study.database, "small", "arm_"))
    assert [entry.kind for entry in book.entries] == ["arm_added", "arm_paused"]
    assert book.protocol.arms == study.protocol.arms
    assert book.standing.in_play == (1, 2, 3)
    study.close()


@for_each("policy", sorted(MULTI_ARMED))
def test_every_policy_begins_a_stage(policy: str) -> None:
    kind = mb.policies.room[policy]
    for k in (2, 3):
        kind().init(k, 1e-6 if kind.goal in ("identify", "select") else 1)


def test_a_search_splits_its_error_over_the_stages() -> None:
    table = {key: value for key, value in small_protocol().table.items() if key != "people"}
    search = Protocol.from_table({**table, "policy": "contemporaneous_elimination", "delta": 0.1})
    parts = [Fraction(search.aim_of_stage(s, 0)) for s in range(2, 2000)]
    assert sum(parts) < Fraction(search.aim)
    assert sum(parts) > Fraction(search.aim) * Fraction(999, 1000)
    assert [small_protocol().aim_of_stage(2, came) for came in (0, 400, 1000)] == [1000, 600, 1]


def test_a_channel_with_running_sums_has_no_stages(tmp_path: Path) -> None:
    tree = {"name": "tree", "epsilon": 1, "length": 1000}
    played = Played(tmp_path, policy={"name": "ucb1"}, channel=tree)
    with pytest.raises(InvalidValue, match="independent"):
        played.study.change_arms("pause", "b")
    played.study.close()


@for_each(
    "changed",
    [
        {"arms": [0, 1, 2]},
        {"arm": 3},
        {"arm": -1},
        {"name": "c"},
        {"aim": 0},
        {"aim": 10**9},
        {"kind": "arm_resumed"},
        {"kind": "arm_added"},
        {"kind": "arm_harmful"},
    ],
)
def test_a_ledger_that_contradicts_itself(changed: dict[str, Any]) -> None:
    says = {"kind": "arm_paused", "at": 0, "arm": 1, "name": "b", "step": 0, "aim": 5, "arms": [0, 2]}
    protocol = small_protocol(arms=THREE)
    assert standing(protocol, said(says)) == Standing(3, (0, 2), frozenset({1}), stage=2)
    with pytest.raises(Corrupted):
        standing(protocol, said(says | changed))


def standing(protocol: Protocol, *entries: Entry) -> Standing:
    return Book("small", protocol, entries).standing


def said(says: dict[str, Any]) -> Entry:
    return parse_entry("small", Link(0, json.dumps(says), "", ""))


def says(kind: str, arm: int, arms: list[int], aim: float = 5) -> Entry:
    return said({"kind": kind, "at": 0, "arm": arm, "name": "abc"[arm], "step": 0, "aim": aim, "arms": arms})


def test_changes_that_no_study_makes_are_found() -> None:
    paused = says("arm_paused", 1, [0, 2])
    protocol = small_protocol(arms=THREE)
    for wrong in (paused, says("arm_resumed", 0, [0, 1, 2])):
        with pytest.raises(Corrupted, match="earlier entries do not allow"):
            standing(protocol, paused, wrong)
    with pytest.raises(Corrupted, match="earlier entries do not allow"):  # the last one in play
        standing(protocol, paused, says("arm_paused", 0, [2]), says("arm_paused", 2, []))
    search = {"policy": {"name": "contemporaneous_elimination"}, "delta": 0.1}
    searching = Protocol.from_table({key: each for key, each in (protocol.table | search).items() if key != "people"})
    assert standing(searching, says("arm_paused", 1, [0, 2], 0.05)).stage == 2
    with pytest.raises(Corrupted, match="earlier entries do not allow"):  # a larger error than is left
        standing(searching, says("arm_paused", 1, [0, 2], 0.09))


def test_a_payload_is_what_will_be_read_again(played: Played) -> None:
    played.study.change_arms("add", "d", {1: (1, 2)})
    assert played.study.protocol.arms[3] == ("d", {"1": [1, 2]})
    with pytest.raises(InvalidValue, match="payload"):
        played.study.change_arms("add", "e", {1: 2, "b": 3})
    played.open_again()
    assert played.study.protocol.arms[3] == ("d", {"1": [1, 2]})


def test_a_replay_without_its_stages_is_refused(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    played.come(3)
    played.study.change_arms("pause", "b")
    played.come(3)
    monkeypatch.setattr(Book, "stages", {})
    with pytest.raises(Corrupted):
        played.verify()
    monkeypatch.undo()


def test_a_study_whose_arms_never_change_is_as_it_was(played: Played) -> None:
    """Its ledger and its log have nothing that they did not have before arms could change."""
    played.come(12)
    assert played.wait() == [0, 1, 2]
    played.study.pause()
    started, *released, paused = played.said()
    assert set(started) == {"kind", "protocol", "seed", "simulated", "at"}
    assert set(paused) == {"kind", "at"}
    what = {"cohort", "step", "arm", "n", "total", "loss", "members", "offer", "memory"}
    assert {frozenset(each) for each in released} == {frozenset({"kind", "at", *what})}
    assert {entry[0] for entry in played.study._session.driver.log} == {"ask", "tell"}
