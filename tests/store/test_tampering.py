"""Whatever is changed by hand in a finished study is found, and the error says what it was."""

import re
import shutil
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest

from maskedbandit.errors import BehindWitness, Corrupted
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.store.accounts import number_loss
from maskedbandit.store.book import checks, verify
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.session import Session
from maskedbandit.store.studies import find_witness
from maskedbandit.store.study import Study
from tests.store.small_study import EXPOSURE, WINDOW, Clock, small_protocol, small_study


class Finished(NamedTuple):
    """A folder with the database and the witness of a study."""

    folder: Path

    @property
    def file(self) -> str:
        return f"{self.folder}/study.db"

    @property
    def address(self) -> str:
        return f"sqlite:///{self.file}"

    def verify(self) -> None:
        database = open_database(self.address)
        try:
            verify.verify_study(database, find_witness(database, self.folder / "witness"), "small")
        finally:
            database.close()

    def error(self) -> str:
        """What `verify` says; nothing if it finds nothing."""
        try:
            self.verify()
        except Corrupted as why:
            return str(why)
        return ""

    def open(self) -> None:
        database = open_database(self.address)
        try:
            Study(database, find_witness(database, self.folder / "witness"), "small", Clock(), "tester")
        finally:
            database.close()

    def change(self, *statements: str) -> int:
        """Change rows past all rules of the tables: how many."""
        connection = apsw.Connection(self.file)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        before = connection.total_changes()
        for statement in statements:
            connection.execute(statement)
        changed = connection.total_changes() - before
        connection.close()
        return changed


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A study that has stopped, with all kinds of rows.

    Released cohorts, one of whose people was erased; people with several reports, with none, and without places; a
    place that went to another person; cohorts that wait; other accounts in the same project.
    """
    finished, clock = Finished(tmp_path_factory.mktemp("finished")), Clock()
    witness = finished.folder / "witness"
    protocol = small_protocol(budget={"epsilon": 3, "period": "30 days"}, project="all")
    study = small_study(finished.address, witness, clock, protocol)
    for number, people in enumerate((4, 8, 5)):
        units = [f"person {number} {i}" for i in range(people)]
        if number == 1:
            study.assign("gone")
            clock.now += EXPOSURE + 1
            study.tick()
        tickets = [study.assign(unit).ticket for unit in units]
        study.apply([("expose", ticket) for ticket in tickets if ticket])
        study.apply([("report", ticket, i % 2) for i, ticket in enumerate(tickets) if ticket])
        study.apply([("report", ticket, 1 - i % 2, "b") for i, ticket in enumerate(tickets) if i % 3])
        study.assign(f"without a place {number}")
        clock.now += WINDOW + 1
        study.tick()
    study.erase("person 0 0")
    study.pause()
    study.stop()
    study.close()
    other = small_study(
        finished.address,
        witness,
        clock,
        small_protocol(name="other", budget={"epsilon": 3, "period": "30 days"}, project="all"),
    )
    other.assign("person 0 1")
    other.close()
    return finished


@pytest.fixture
def study(original: Finished, tmp_path: Path) -> Finished:
    """A copy of it, to be changed."""
    shutil.copytree(original.folder, tmp_path / "copy")
    return Finished(tmp_path / "copy")


def test_nothing_is_found_where_nothing_was_changed(study: Finished) -> None:
    study.verify()
    study.open()


SMALL = "study = 'small'"
FIRST = f"{SMALL} AND cohort = 0"
WAITING = f"{SMALL} AND cohort NOT IN (SELECT cohort FROM release WHERE {SMALL}) AND returned IS NULL"
IN_FIRST = f"SELECT ticket FROM place WHERE {FIRST} AND person IS NOT NULL AND returned IS NULL LIMIT 1"
MEMBER = f"{SMALL} AND ticket IN ({IN_FIRST})"
SPENT = "(SELECT spent FROM account GROUP BY spent ORDER BY COUNT(*) LIMIT 1)"  # of whoever is in both studies
ONE = f"person IN (SELECT person FROM place WHERE {MEMBER})"
OTHER_LOSS = "(SELECT loss FROM loss WHERE loss <> release.loss LIMIT 1)"

CHANGED = {  # what is changed, and what the error line says
    "release.total": (f"UPDATE release SET total = total + 0.5 WHERE {FIRST}", "the total of the release of cohort 0"),
    "release.total by an ulp": (
        f"UPDATE release SET total = total * 1.0000000000000002 + 1e-300 WHERE {FIRST}",
        "total",
    ),
    "release.total to a text": (
        f"UPDATE release SET total = 'many' WHERE {FIRST}",
        "the total of the release of cohort 0",
    ),
    "release.n": (f"UPDATE release SET n = n - 1 WHERE {FIRST}", "the n of the release of cohort 0"),
    "release.arm": (f"UPDATE release SET arm = 1 - arm WHERE {FIRST}", "the arm of the release of cohort 0"),
    "release.step": (f"UPDATE release SET step = step + 100 WHERE {FIRST}", "the step of the release of cohort 0"),
    "release.cohort": (f"UPDATE release SET cohort = 77 WHERE {FIRST}", "cohort 77 of small is not in the ledger"),
    "release.loss": (f"UPDATE release SET loss = {OTHER_LOSS} WHERE {FIRST}", "the loss of the release of cohort 0"),
    "release.members": (f"UPDATE release SET members = '00' WHERE {FIRST}", "the members of the release of cohort 0"),
    "release.memory": (f"UPDATE release SET memory = '[[0]]' WHERE {FIRST}", "the memory of the release of cohort 0"),
    "release.study": (
        f"UPDATE release SET study = 'other' WHERE {FIRST}",
        "the release of cohort 0 of small was removed",
    ),
    "release removed": (f"DELETE FROM release WHERE {FIRST}", "the release of cohort 0 of small was removed"),
    "release added": (
        "INSERT INTO release (study, cohort, step, arm, n, total, loss, members, memory) "
        "SELECT study, 4, step + 100, arm, n, total, loss, members, memory "
        f"FROM release WHERE {FIRST}",
        "cohort 4 of small is not in the ledger",
    ),
    "entry.body": (
        f"UPDATE entry SET body = replace(body, '\"n\":2', '\"n\":1') WHERE {SMALL}",
        "entry 1 of the ledger",
    ),
    "entry.hash": (f"UPDATE entry SET hash = '00' WHERE {SMALL} AND number = 1", "entry 1 of the ledger of small"),
    "entry.number": (
        f"UPDATE entry SET number = 50 WHERE {SMALL} AND number = 1",
        "entry 1 of the ledger of small is miss",
    ),
    "entry.signature": (f"UPDATE entry SET signature = '00' WHERE {SMALL}", "the signature of the ledger of small"),
    "entry.signature to no hex": (f"UPDATE entry SET signature = 'x' WHERE {SMALL}", "the signature of the ledger"),
    "entry.study": (
        f"UPDATE entry SET study = 'x' WHERE {SMALL} AND number = 1",
        "entry 1 of the ledger of small is miss",
    ),
    "entry removed": (f"DELETE FROM entry WHERE {SMALL} AND number = 1", "entry 1 of the ledger of small is missing"),
    "study.protocol": (
        f"UPDATE study SET protocol = replace(protocol, '3', '4') WHERE {SMALL}",
        "the protocol of small",
    ),
    "study.protocol to no JSON": (f"UPDATE study SET protocol = '' WHERE {SMALL}", "the protocol of small was changed"),
    "study.seed": (f"UPDATE study SET seed = '{'00' * 16}' WHERE {SMALL}", "the seed of small was changed"),
    "study.seed to no hex": (f"UPDATE study SET seed = 'x' WHERE {SMALL}", "a row of small was changed"),
    "study.state": (
        f"UPDATE study SET state = 'running' WHERE {SMALL}",
        "the state of small was changed: it is running",
    ),
    "study.state to draft": (f"UPDATE study SET state = 'draft' WHERE {SMALL}", "the state of small was changed"),
    "study.project": (
        (
            "INSERT INTO project (project, budget, period, burned) SELECT 'x', budget, period, burned FROM project",
            f"UPDATE study SET project = 'x' WHERE {SMALL}",
        ),
        "the project of small was changed",
    ),
    "project.budget": (f"UPDATE project SET budget = {SPENT}", "the budget of project all was changed"),
    "project.period": ("UPDATE project SET period = period / 2", "the budget of project all was changed"),
    "project.period to never": ("UPDATE project SET period = NULL", "the budget of project all was changed"),
    "project.burned": (f"UPDATE project SET burned = {SPENT}", "what was burned in project all was changed"),
    "project removed": ("DELETE FROM project", "project all was removed"),
    "decision.number": (f"UPDATE decision SET number = 90 WHERE {SMALL} AND number = 0", "log of small"),
    "decision.step": (f"UPDATE decision SET step = 90 WHERE {SMALL} AND number = 0", "missing from its log"),
    "decision.arm": (f"UPDATE decision SET arm = 1 - arm WHERE {SMALL} AND number = 0", "the log of small is not one"),
    "decision.n": (f"UPDATE decision SET n = n + 1 WHERE {SMALL} AND number = 0", "the log of small is not one"),
    "decision.close": (
        f"UPDATE decision SET close = 1 - close WHERE {SMALL} AND number = 0",
        "the log of small is not",
    ),
    "decision removed": (f"DELETE FROM decision WHERE {SMALL} AND number = 0", "missing from its log"),
    "decision added": (
        "INSERT INTO decision (study, number, step, arm, n, close) "
        f"SELECT study, 90, 90, arm, n, close FROM decision WHERE {SMALL} LIMIT 1",
        "its log",
    ),
    "place.person": (f"UPDATE place SET person = 'somebody' WHERE {MEMBER}", "changed after its release"),
    "place.person to null": (f"UPDATE place SET person = NULL WHERE {MEMBER}", "changed after its release"),
    "place.ticket": (f"UPDATE place SET ticket = 'aa' WHERE {MEMBER}", "changed after its release"),
    "place.arm": (f"UPDATE place SET arm = 1 - arm WHERE {MEMBER}", "a place of cohort 0 of small is not one"),
    "place.place": (f"UPDATE place SET place = place + 50 WHERE {MEMBER}", "a place of cohort 0 of small is not one"),
    "place.site": (f"UPDATE place SET site = 0 WHERE {MEMBER}", "a place of cohort 0 of small is of a site that"),
    "place.cohort": (f"UPDATE place SET cohort = 99 WHERE {MEMBER}", "a place of cohort 99 of small is not one"),
    "place.loss": (f"UPDATE place SET loss = {SPENT} WHERE {SMALL} AND cohort = 1", "holds less"),
    "place.loss lowered": (
        (
            "INSERT INTO loss (loss, text) VALUES ({half}, '{half_text}')",
            f"UPDATE place SET loss = {{half}} WHERE {MEMBER}",
        ),
        "people of cohort 0 of small were charged less than its release cost",
    ),
    "place.period": (
        f"UPDATE place SET period = period + 1 WHERE {MEMBER}",
        "the account of a person of all was removed",
    ),
    "place.returned": (f"UPDATE place SET returned = assigned WHERE {MEMBER}", "cohort 0 of small was released with 2"),
    "place.salt": (f"UPDATE place SET salt = 'aa' WHERE {MEMBER}", "cohort 0 of small"),
    "place.salt removed": (f"UPDATE place SET salt = NULL WHERE {MEMBER}", "cohort 0 of small"),
    "place.leaf": (f"UPDATE place SET leaf = '00' WHERE {MEMBER}", "cohort 0 of small"),
    "place removed": (f"DELETE FROM place WHERE {MEMBER}", "cohort 0 of small was released with 2 people, and 1"),
    "place of somebody who waits to another arm": (
        f"UPDATE place SET arm = 1 - arm WHERE {WAITING}",
        "not one that was",
    ),
    "place of somebody who waits to another person": (
        f"UPDATE place SET person = 'x' || ticket WHERE {WAITING}",
        "account",
    ),
    "reward.value": (
        f"UPDATE reward SET value = 1 - value WHERE {MEMBER}",
        "a reward of cohort 0 of small was changed",
    ),
    "reward.event": (
        f"UPDATE reward SET event = event || 'x' WHERE {MEMBER}",
        "a reward of cohort 0 of small was changed",
    ),
    "reward.proof": (f"UPDATE reward SET proof = 'x' WHERE {MEMBER}", "a reward of cohort 0 of small was changed"),
    "a report that does not count added": (
        "INSERT INTO reward (study, ticket, event, proof, value, received, position) "
        "SELECT study, ticket, event, 'x', 1, 0, 99 FROM reward WHERE "
        f"ticket IN (SELECT ticket FROM place WHERE {MEMBER})",
        "a reward of cohort 0 of small was changed",
    ),
    "reward.ticket": (f"UPDATE reward SET ticket = 'aa' WHERE {MEMBER}", "a reward of cohort 0 of small was changed"),
    "reward.study": (f"UPDATE reward SET study = 'aa' WHERE {MEMBER}", "a reward of cohort 0 of small was changed"),
    "reward.position": (
        f"UPDATE reward SET position = -position WHERE {SMALL} AND ticket IN "
        "(SELECT ticket FROM reward GROUP BY ticket HAVING COUNT(*) = 2)",
        "a reward of cohort",
    ),
    "reward removed": (f"DELETE FROM reward WHERE {MEMBER}", "a reward of cohort 0 of small was changed"),
    "reward added": (
        "INSERT INTO reward (study, ticket, event, proof, value, received, position) "
        f"SELECT study, ticket, 'late', '', 1, 0, 99 FROM place WHERE {MEMBER}",
        "a reward of cohort 0 of small was changed",
    ),
    "account.spent lowered": (
        (
            "INSERT INTO loss (loss, text) VALUES ({half}, '{half_text}')",
            f"UPDATE account SET spent = {{half}} WHERE {ONE}",
        ),
        "holds less than what the person was charged",
    ),
    "account.spent over the budget": (
        (
            "INSERT INTO loss (loss, text) VALUES ({large}, '{large_text}')",
            f"UPDATE account SET spent = {{large}} WHERE {ONE}",
        ),
        "a person of all is over the budget",
    ),
    "account.first": (
        (
            "INSERT INTO loss (loss, text) VALUES ({half}, '{half_text}')",
            f"UPDATE account SET first = {{half}} WHERE {ONE}",
        ),
        "the first charge of a person of all was changed",
    ),
    "account.tickets": (
        f"UPDATE account SET tickets = substr(tickets, 2) WHERE {ONE}",
        "does not name the person's place in small",
    ),
    "account.tickets to those of another person": (
        "UPDATE account SET tickets = (SELECT MAX(tickets) FROM account)",
        "does not name the person's place in small",
    ),
    "place of somebody who waits to a person who has another, and was charged for both": (
        (
            f"UPDATE account SET spent = {SPENT} WHERE person = (SELECT MIN(person) FROM place WHERE {WAITING})",
            f"UPDATE place SET person = (SELECT MIN(person) FROM place WHERE {WAITING}) "
            f"WHERE person = (SELECT MAX(person) FROM place WHERE {WAITING})",
            "UPDATE account SET tickets = (SELECT GROUP_CONCAT(ticket, ' ') FROM place WHERE person = account.person) "
            f"WHERE person = (SELECT MIN(person) FROM place WHERE {WAITING})",
        ),
        "a person of small has two places",
    ),
    "account.person": (f"UPDATE account SET person = 'x' WHERE {ONE}", "the account of a person of all was removed"),
    "account.period": (f"UPDATE account SET period = 9 WHERE {ONE}", "the account of a person of all was removed"),
    "account.project": (f"UPDATE account SET project = 'x' WHERE {ONE}", "the account of a person of all was removed"),
    "account removed": (f"DELETE FROM account WHERE {ONE}", "the account of a person of all was removed"),
    "erased.person": (f"UPDATE erased SET person = 'x' WHERE {SMALL}", "the account of a person of all was removed"),
    "erased.period": (f"UPDATE erased SET period = 9 WHERE {SMALL}", "the account of a person of all was removed"),
    "erased.loss": (
        (
            "INSERT INTO loss (loss, text) VALUES ({large}, '{large_text}')",
            f"UPDATE erased SET loss = {{large}} WHERE {SMALL}",
        ),
        "holds less than what the person was charged",
    ),
    "loss.text": ("UPDATE loss SET text = replace(text, '1', '2')", "was changed or removed"),
    "loss.loss": ("UPDATE loss SET loss = loss + 1", "was changed or removed"),
    "loss removed": ("DELETE FROM loss", "was changed or removed"),
}


UNFOUND = {  # what is not found, and why that is all right
    "place.propensity": "it is for whoever analyses the study, who can recompute it from the decisions",
    "place.assigned": "no release depends on it any more",
    "place.exposed": "no release depends on it any more",
    "erased.study": "it keeps a person out of further cohorts, and no release rests on it",
    "place.erased": "it says when, and the row is empty",
    "reward.received": "no release depends on it any more",
    "study.people": "it is only shown, and follows from the places when the study is opened",
    "study.reached": "deadlines follow it, and everybody is charged",
    "study.traces": "what was erased is in no row, and the files are written anew when somebody is erased next",
    "study.fence": "whoever holds the study is fenced off, and takes it again",
    "study.holder": "as the fence",
    "study.lease": "as the fence",
}
OF_THE_SERVICE = {
    "approval",
    "api_key",
    "delivery",
    "invitation",
    "made_once",
    "pairing",
    "signed_out",
    "tally",
    "webhook",
}  # who may ask, what was asked, and what pages count: nothing of a study follows from them
# which test_settled_tampering.py, test_helping_tampering.py and service/test_shuffler_kills.py look at
OF_TWO_OPERATORS = {"upload", "listed", "helped_report", "bundle", "mixed"}
# test_rounds.py, test_site_lies.py and test_site_lists.py
OF_SITES = {"round", "round_message", "site_place", "site_report", "site_round", "site_message", "agreed_list"}
KEYS = {"study.study", "project.project", "identity.name", "version.version"}  # who changes a name has another study


def statements(given: str | tuple[str, ...]) -> list[str]:
    """With the losses that a statement may name."""
    texts = {"half": Loss.pure("0.5").to_text(), "large": Loss.pure(50).to_text()}
    names = {name: str(number_loss(text)) for name, text in texts.items()}
    names |= {f"{name}_text": text for name, text in texts.items()}
    found = [given] if isinstance(given, str) else list(given)
    for name, value in names.items():
        found = [each.replace("{" + name + "}", value) for each in found]
    return found


@pytest.mark.sparing(14)
@pytest.mark.parametrize("what", CHANGED)
def test_a_change_is_found(study: Finished, what: str) -> None:
    given, says = CHANGED[what]
    assert study.change(*statements(given)) > 0
    with pytest.raises(Corrupted, match=says):
        study.verify()


def test_every_column_is_looked_at(study: Finished) -> None:
    database = open_database(study.address)
    columns = {
        f"{table}.{column}"
        for table in database.tables() - OF_THE_SERVICE - OF_TWO_OPERATORS - OF_SITES
        for (column,) in database.rows("SELECT name FROM pragma_table_info(?)", table)
    }
    database.close()
    changed = {what.partition(" ")[0] for what in CHANGED}
    twins = {f"{table}.study" for table in ("decision", "place")} | {"reward.study"}  # as for entries and releases
    assert columns - changed - KEYS - twins == set(UNFOUND)


@pytest.mark.parametrize("what", UNFOUND)
def test_what_is_not_found_changes_no_release(study: Finished, what: str) -> None:
    table, _, column = what.partition(".")
    which = " AND event <> ''" if table == "reward" else ""
    assert study.change(f"UPDATE {table} SET {column} = 12345 WHERE {SMALL}{which}") > 0
    study.verify()


@pytest.mark.parametrize(
    "what",
    [
        "release.total",
        "release.loss",
        "release.memory",
        "release removed",
        "entry.body",
        "entry.signature",
        "study.protocol",
        "study.protocol to no JSON",
        "study.seed",
        "study.seed to no hex",
        "study.state",
        "study.project",
        "project.budget",
        "project.period",
        "decision.arm",
        "decision removed",
        "loss.text",
    ],
)
def test_a_study_that_was_changed_is_not_opened(study: Finished, what: str) -> None:
    given, says = CHANGED[what]
    study.change(*statements(given))
    with pytest.raises(Corrupted, match=says):
        study.open()


@pytest.mark.parametrize("do", ["verify", "open"])
def test_a_ledger_whose_end_was_cut_off_is_behind_its_witness(study: Finished, do: str) -> None:
    study.change(
        f"DELETE FROM entry WHERE {SMALL} AND number = (SELECT MAX(number) FROM entry WHERE {SMALL})",
        f"UPDATE study SET state = 'paused' WHERE {SMALL}",
    )
    with pytest.raises(BehindWitness, match="has 6 entries here"):
        getattr(study, do)()


def test_a_ledger_that_was_removed_is_behind_its_witness(study: Finished) -> None:
    tables = ("entry", "release", "decision", "reward", "place")
    study.change(*(f"DELETE FROM {table} WHERE {SMALL}" for table in tables))
    study.change(f"UPDATE study SET state = 'draft' WHERE {SMALL}")
    with pytest.raises(BehindWitness, match="has 0 entries here"):
        study.verify()


def test_what_was_burned_stays_burned(study: Finished) -> None:
    database = open_database(study.address)
    with Study(database, find_witness(database, study.folder / "witness"), "other", Clock(), "tester") as other:

        def burn(session: Session) -> None:
            session.accounts.burn(Loss.pure(1))
            session.enter(kind="burned", missing=1, witness="", loss=Loss.pure(1).to_text())

        other.apply([(burn,)])
    study.verify()
    study.change("UPDATE project SET burned = NULL")
    with pytest.raises(Corrupted, match="what was burned in project all was changed"):
        study.verify()


def test_the_noise_that_a_channel_keeps_is_not_changed(tmp_path: Path) -> None:
    """A tree draws the noise of a node once. Its hash in the ledger is keyed, so that nobody can guess the noise."""
    tree, clock = Finished(tmp_path), Clock()
    channel = {"name": "tree", "epsilon": 1, "length": 1000}
    protocol = small_protocol(channel=channel, policy="dpucb")
    with small_study(tree.address, tmp_path / "witness", clock, protocol) as study:
        for i in range(6):
            ticket = str(study.assign(f"person {i}").ticket)
            study.expose(ticket)
            study.report(ticket, 1)
        clock.now += WINDOW + 1
        assert study.tick()
    tree.verify()
    tree.open()
    assert tree.change("UPDATE release SET memory = replace(memory, ', ', ', 1')") > 0
    for look in (tree.verify, tree.open):
        with pytest.raises(Corrupted, match="the memory of the release of cohort"):
            look()


@pytest.mark.parametrize(
    ("check", "what"),
    [
        ("check_start", "study.seed"),
        ("check_state", "study.state"),
        ("check_project", "project.budget"),
        ("check_releases", "release.members"),
        ("check_places", "reward.value"),
        ("check_accounts", "account removed"),
        ("check_tickets", "account.tickets"),
        ("check_burned", "project.burned"),
        ("check_account", "account.spent over the budget"),
    ],
)
def test_a_verification_without_one_of_its_checks_is_noticed(
    study: Finished, monkeypatch: pytest.MonkeyPatch, check: str, what: str
) -> None:
    """What a check finds, no other one does."""
    monkeypatch.setattr(checks if hasattr(checks, check) else verify, check, lambda *given: (0, ZERO))
    study.change(*statements(CHANGED[what][0]))
    assert re.search(CHANGED[what][1], study.error()) is None
