"""What a stored study must never do, where its machine of rules does not look: each was possible once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shutil import copy
from typing import Any

import pytest

from maskedbandit.channels.central import Central
from maskedbandit.errors import BehindWitness, Corrupted, InvalidValue, Late, NotExposed, PersonalValue, StorageFailed
from maskedbandit.privacy.loss import Loss
from maskedbandit.service.views.status import write_ledger, write_status
from maskedbandit.store.accounts import Accounts, Losses
from maskedbandit.store.book import checks
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Again
from maskedbandit.store.studies import find_witness, write_study
from maskedbandit.store.study import Study
from maskedbandit.study.protocol import Protocol
from tests.store.racers import LATE

TREE = {"name": "tree", "epsilon": 1}
EXPOSURE, WINDOW = 2000, 1000  # milliseconds
BASE: dict[str, Any] = {
    "project": "both",
    "people": 100,
    "policy": {"name": "successive_elimination", "least": 2},
    "channel": {"name": "central", "epsilon": 1},
    "arms": [{"name": "a"}, {"name": "b"}],
    "budget": {"epsilon": 1},
    "reward": {"window": "1 second", "exposure": "2 seconds", "rule": "first"},
}


class House:
    """A database of studies, its witness and its clock."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now, self.open = folder, 0, list[Study]()
        self.file = folder / "study.db"

    def start(self, name: str = "one", **other: Any) -> Study:
        write_study(
            Protocol.from_table({**BASE, "name": name, **other}), f"sqlite:///{self.file}", self.folder / "witness"
        )
        study = self.opened(name)
        study.start()
        return study

    def opened(self, name: str = "one", file: Path | None = None) -> Study:
        database = open_database(f"sqlite:///{file or self.file}")
        try:
            study = Study(database, self.witness(), name, lambda: self.now, "me")
        except BaseException:
            database.close()
            raise
        self.open.append(study)
        return study

    def witness(self) -> Witness:
        database = open_database(f"sqlite:///{self.file}")
        try:
            return find_witness(database, self.folder / "witness")
        finally:
            database.close()

    def come(self, study: Study, n: int = 4, value: float = 1) -> list[str]:
        """People come, see and report, and their time goes by; their tickets."""
        first = study.people
        given = [done.value() for done in study.apply([("assign", f"{first + i}") for i in range(n)])]
        tickets = [each.ticket for each in given if each.ticket]
        study.apply([("expose", ticket) for ticket in tickets])
        study.apply([("report", ticket, value) for ticket in tickets])
        self.now += WINDOW + 1
        return tickets


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    for study in made.open:
        study.database.close()


@contextmanager
def commit_fails(study: Study, meanwhile: Any = None) -> Iterator[None]:
    def fails() -> None:
        if meanwhile:
            meanwhile()
        raise StorageFailed("the disk is full")

    study.database.commit = fails
    try:
        with pytest.raises(StorageFailed):
            yield
    finally:
        del study.database.commit


def test_a_report_does_not_decide_who_is_in_a_cohort(house):
    """Whether a report came is private: the same places go back, and to others, whether or not one came."""
    study = house.start()
    given = [study.assign(unit) for unit in ("ann", "bob")]
    with pytest.raises(NotExposed):
        study.report(given[0].ticket, 1)
    house.now += EXPOSURE + 1
    study.tick()
    find = "SELECT COUNT(returned), COUNT(exposed) FROM place"
    assert study.database.rows(find) == [(2, 0)]
    assert study.database.rows("SELECT COUNT(*) FROM reward") == [(0,)]
    with pytest.raises(Late):
        study.report(given[0].ticket, 1)


def test_what_failed_is_not_shown(house):
    """A release that was not stored will be made again: nobody may have seen the first, or what was decided by it."""
    study = house.start()
    house.come(study)
    before = study.state, study.people, study.answer, study.releases()
    for fails in (partial(study.assign, "somebody"), study.tick, study.pause):
        with commit_fails(study):
            fails()
        assert (study.state, study.people, study.answer, study.releases()) == before


def test_what_is_being_written_is_not_shown(house):
    study = house.start()
    house.come(study)
    with ThreadPoolExecutor(1) as pool:
        seen = []

        def look() -> None:
            seen.append(pool.submit(study.releases))
            wait(seen, 0.3)  # time enough for who does not wait for the transaction

        with commit_fails(study, look):
            study.tick()
        assert seen[0].result(LATE) == []


def test_what_the_witness_has_not_seen_is_not_shown(house):
    study, witness = house.start(), house.witness()
    house.come(study)

    def fails(*what: Any) -> None:
        raise StorageFailed("the disk of the witness is full")

    study._session.witness._write = fails
    with pytest.raises(StorageFailed):
        study.tick()
    assert study.releases() == []
    assert study.database.rows("SELECT COUNT(*) FROM release") == [(2,)]
    assert " 0 releases" in write_status(study.database, witness, "one", study.time)
    assert not any("released" in line for line in write_ledger(study.database, witness, "one"))
    del study._session.witness._write
    study.tick()
    assert len(study.releases()) == 2
    assert " 2 releases" in write_status(study.database, witness, "one", study.time)


def test_a_copy_in_which_another_study_is_behind_is_refused(house):
    """Its accounts are behind too: people would spend again what the other study's releases have cost."""
    one, two = house.start("one"), house.start("two")
    yesterday = house.folder / "yesterday.db"
    one.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    copy(house.file, yesterday)
    clone = house.opened("one", yesterday)
    house.come(two)
    two.tick()
    with pytest.raises(BehindWitness, match="the ledger of two is behind"):
        clone.pause()
    with pytest.raises(BehindWitness, match="the ledger of two is behind"):
        house.opened("one", yesterday)
    one.pause()


def test_a_witness_does_not_go_back(house, monkeypatch):
    """A copy moves on while another one is being opened."""
    study, witness = house.start(), house.witness()
    study.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    other = house.folder / "other.db"
    copy(house.file, other)
    clone, check = house.opened("one", other), checks.seen_head

    def slow(*which: Any) -> Any:
        found = check(*which)
        monkeypatch.undo()
        clone.pause()
        return found

    monkeypatch.setattr(checks, "seen_head", slow)
    with pytest.raises(BehindWitness):
        house.opened()
    assert witness.seen("one").head.entries == 2


def test_nobody_is_charged_for_a_cohort_that_cannot_be_released(house, monkeypatch):
    """A tree that the protocol's check would refuse is full: that is said before anybody is charged."""
    monkeypatch.setattr(Protocol, "check", lambda self: None)
    study = house.start(channel={**TREE, "length": 1}, policy="ucb1")
    house.come(study, 2)
    assert len(study.tick()) == 2
    before = study.database.rows("SELECT * FROM account ORDER BY person")
    for _ in range(2):
        with pytest.raises(InvalidValue, match="length is 1"):
            study.assign("somebody")
    assert study.database.rows("SELECT * FROM account ORDER BY person") == before
    assert study.tick() == []
    verify_study(study.database, house.witness(), "one")


def test_a_release_of_minus_zero_is_that_of_the_ledger(house, monkeypatch):
    study = house.start()
    house.come(study)
    monkeypatch.setattr(Central, "analyze", lambda *how, **more: -0.0)
    assert [each.total for each in study.tick()] == [0, 0]
    study.close()
    assert len(house.opened().releases()) == 2


def test_a_device_reports_once_and_what_its_channel_can_send(house):
    study = house.start(channel={"name": "response", "epsilon": 1})
    ticket = study.assign("ann").ticket
    study.expose(ticket)
    for wrong in (2, 10**15, 0.5, True, "1"):
        with pytest.raises(PersonalValue):
            study.report(ticket, wrong)
    with pytest.raises(PersonalValue, match="event must be left out"):
        study.report(ticket, 1, "again")
    assert study.report(ticket, 1).again is False


@pytest.mark.sparing(2)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE project SET period = 7", "the budget of project both was changed"),
        ("UPDATE project SET budget = NINE", "the budget of project both was changed"),
        ("UPDATE release SET loss = NINE", "the loss of the release"),
        ("UPDATE release SET memory = replace(memory, '1', '2')", "the memory of the release"),
        ("UPDATE release SET total = total + 1", "the total of the release"),
        ("UPDATE reward SET value = 0", "a reward of cohort"),
    ],
)
def test_what_was_changed_is_found(house, change, said):
    study = house.start(channel=TREE, policy="ucb1")
    nine = Losses(study.database).number(Loss.pure(9))
    house.come(study, 2)
    assert len(study.tick()) == 2
    verify_study(study.database, house.witness(), "one")
    study.database.change(change.replace("NINE", str(nine)))
    with pytest.raises(Corrupted, match=said):
        verify_study(study.database, house.witness(), "one")
    if "memory" not in change and "reward" not in change:
        with pytest.raises(Corrupted, match=said):
            house.opened()


def test_nothing_is_done_twice_if_the_tables_cannot_be_counted(house, monkeypatch):
    """What comes after the commit does not undo it."""
    study, tries = house.start(), []
    house.come(study)

    def busy() -> None:
        tries.append(1)
        raise Again("another process writes")

    monkeypatch.setattr(study.database, "count", busy)
    study._session._counted, study._session._since = 0, 1
    assert (len(study.tick()), tries) == (2, [1])


def test_what_is_burned_elsewhere_is_charged_at_once(house):
    """A study that is open hears of what another process takes everybody to have spent."""
    study = house.start()
    assert study.assign("ann").ticket
    other = open_database(f"sqlite:///{house.file}")
    with other.transaction():
        Accounts(other, Losses(other), "both").burn(Loss.pure(1))
    other.close()
    assert study.assign("bob").why == "budget_exceeded"
