"""Whatever is changed by hand in a study of two operators is found: its reports, and what the ledger says of them."""

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.errors import Corrupted
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.store.book import checks, verify
from maskedbandit.store.book.chain import NO_ENTRY, Head, Link, next_link, read_links
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from maskedbandit.store.study import Study
from tests.store.small_study import WINDOW, Clock
from tests.store.two_operators import GRACE, Leading


class Settled(NamedTuple):
    """A folder with the database and the witness of a study of two operators."""

    folder: Path

    @property
    def address(self) -> str:
        return f"sqlite:///{self.folder}/study.db"

    def look(self, opens: bool = False) -> None:
        """Verify it, or open it."""
        with closing(open_database(self.address)) as database:
            witness = find_witness(database, self.folder / "witness")
            if opens:
                Study(database, witness, "small", Clock(), "tester")
            else:
                verify.verify_study(database, witness, "small")

    def change(self, statement: str) -> int:
        """Change rows past all rules of the tables: how many."""
        with closing(apsw.Connection(f"{self.folder}/study.db")) as connection:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            before = connection.total_changes()
            connection.execute(statement)
            return connection.total_changes() - before

    def rewrite(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Write the whole ledger anew, signed, with another first release, as the leader itself could."""
        with closing(open_database(self.address)) as database:
            witness = find_witness(database, self.folder / "witness")
            head, links, changed = NO_ENTRY, list[Link](), False
            for link in read_links(database, "small"):
                says = json.loads(link.body)
                if says["kind"] == "released" and not changed:
                    change(says)
                    changed = True
                links.append(next_link("small", head, says, witness.signing_key()))
                head = Head(links[-1].number + 1, links[-1].hash)
            with database.transaction():
                for link in links:
                    keep = "UPDATE entry SET body = ?, hash = ?, signature = ? WHERE study = 'small' AND number = ?"
                    database.change(keep, link.body, link.hash, link.signature, link.number)
                says = json.loads(links[1].body)
                total = "UPDATE release SET total = ? WHERE study = 'small' AND cohort = ?"
                database.change(total, float.fromhex(says["total"]), says["cohort"])
            seen = witness.seen("small")
            assert seen is not None
            witness.saw("small", head, seen.worst)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Settled:
    """Two cohorts were released, without one report, and with one of somebody who was erased; others wait.

    Of one that waits the list is written down.
    """
    settled, clock = Settled(tmp_path_factory.mktemp("settled")), Clock()
    leading = Leading(settled.address, settled.folder / "witness", clock)
    for number, people in enumerate((4, 8)):
        for i in range(people):
            given = leading.come(f"person {number} {i}")
            if i:
                leading.upload(given, leading.seal(given, i % 2))
        clock.now += WINDOW + GRACE + 1
        leading.do("tick")
        if number:
            first = leading.do("due")[0]
            leading.list_cohort(first.cohort, first.n)
        else:
            leading.settle()
            leading.study.erase("person 0 1")
    leading.study.close()
    return settled


@pytest.fixture
def settled(original: Settled, tmp_path: Path) -> Settled:
    """A copy of it, to be changed."""
    shutil.copytree(original.folder, tmp_path / "copy")
    return Settled(tmp_path / "copy")


MEMBER = "ticket IN (SELECT upload.ticket FROM upload JOIN place USING (study, ticket) WHERE cohort IN (0, 1) LIMIT 1)"
CHANGED = {
    "upload.report": f"UPDATE upload SET report = 'aa' WHERE {MEMBER}",
    "upload.turn": f"UPDATE upload SET turn = 7 WHERE {MEMBER}",
    "upload.ticket": f"UPDATE upload SET ticket = 'aa' WHERE {MEMBER}",
    "upload.study": f"UPDATE upload SET study = 'aa' WHERE {MEMBER}",
    "upload removed": f"DELETE FROM upload WHERE {MEMBER}",
}
UNFOUND = {  # what is not found, and why that is all right
    "upload.leader": "it is not there any more once a cohort was released, and nobody can read another one before",
    "upload.helper": "as the leader's share",
    "upload.received": "no release depends on it any more",
    "listed.study": "a cohort whose list is gone is listed anew, and the helper states one total alone",
    "listed.cohort": "as the study",
    "listed.reports": "the helper has signed how many there are, and no other number is released",
    "listed.left_out": "the helper has signed which reports are in its total, and no other list is released",
    "listed.digest": "as the places that are left out",
    "listed.total": "it is of a cohort that waits, as a reward is that somebody changes before the release",
}


def test_nothing_is_found_where_nothing_was_changed(settled: Settled) -> None:
    settled.look()
    settled.rewrite(lambda says: None)
    settled.look()
    settled.look(opens=True)


@pytest.mark.parametrize("what", CHANGED)
def test_a_change_of_a_released_cohort_is_found(settled: Settled, what: str) -> None:
    assert settled.change(CHANGED[what]) > 0
    with pytest.raises(Corrupted, match="was changed after its release"):
        settled.look()


@pytest.mark.parametrize("what", UNFOUND)
def test_what_is_not_found_changes_no_release(settled: Settled, what: str) -> None:
    table, _, column = what.partition(".")
    assert settled.change(f"UPDATE {table} SET {column} = 12345") > 0
    settled.look()


def test_every_column_is_looked_at(settled: Settled) -> None:
    with closing(open_database(settled.address)) as database:
        columns = {
            f"{table}.{column}"
            for table in ("upload", "listed")
            for (column,) in database.rows("SELECT name FROM pragma_table_info(?)", table)
        }
    assert columns == {what for what in CHANGED if "." in what} | set(UNFOUND)


def with_helper(**changes: Any) -> Callable[[dict[str, Any]], None]:
    """The helper's statement is another one, which a key of the leader's signed."""

    def change(says: dict[str, Any]) -> None:
        said = replace(HelperTotal.from_text(says["helper"]), **changes)
        says["helper"] = said.sign(Ed25519PrivateKey.generate()).to_text()

    return change


def with_values(**values: Any) -> Callable[[dict[str, Any]], None]:
    """The entry says something else."""
    return lambda says: says.update(values)


FORGED = {
    "another total": (with_values(total=(99.0).hex()), "and both operators added up"),
    "another share of the leader": (with_values(leader="7"), "both operators added up|noise alone does not lead"),
    "no share of the leader": (lambda says: says.pop("leader"), "does not say what both operators added up"),
    "no statement": (lambda says: says.pop("helper"), "does not say what both operators added up"),
    "a statement of nobody": (with_helper(), "is not signed by it"),
    "a statement that is none": (with_values(helper="{}"), "cannot be read"),
    "a share that is none": (with_values(leader="x"), "was changed, as it cannot be read"),
}


@pytest.mark.parametrize("opens", [False, True], ids=["verify", "open"])
@pytest.mark.parametrize("what", FORGED)
def test_a_leader_that_writes_another_ledger_is_found(settled: Settled, what: str, opens: bool) -> None:
    change, says = FORGED[what]
    settled.rewrite(change)
    with pytest.raises(Corrupted, match=says):
        settled.look(opens)


def test_a_statement_of_another_cohort_is_found(settled: Settled) -> None:
    """The helper signed it, and of what it signed nothing else fits here."""
    with closing(open_database(settled.address)) as database:
        bodies = [json.loads(link.body) for link in read_links(database, "small")]
    first, second = [says["helper"] for says in bodies if says["kind"] == "released"]
    settled.rewrite(lambda says: says.update(helper=second if says["helper"] == first else first))
    with pytest.raises(Corrupted, match="states cohort 1: it must be 0"):
        settled.look()


def test_a_verification_without_the_check_is_noticed(settled: Settled, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it finds, no other check does."""
    monkeypatch.setattr(checks, "check_all_shares", lambda book: None)
    settled.rewrite(with_helper())
    settled.look()
