"""What is changed by hand in a helper's database is found; a restored copy is refused; no share outlives its total."""

import shutil
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import apsw
import pytest

from maskedbandit.errors import BehindWitness, Corrupted, Disagreement, FencedOff, InvalidValue, NotRunning
from maskedbandit.secagg.prio3 import FIELD, HELPER
from maskedbandit.secagg.uploads import REPORT_SUITE
from maskedbandit.store.book.checks import read_book
from maskedbandit.store.book.entries import KINDS
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.helping import totals, verify
from maskedbandit.store.helping.book import collect_totals
from maskedbandit.store.helping.reconcile import bring_back_help, end_help, export_help
from maskedbandit.store.helping.session import make_reader
from maskedbandit.store.own_keys import read_seal_key
from maskedbandit.store.traces import Scrubber
from tests.for_each import for_each
from tests.store.databases import copied_postgresql
from tests.store.helper_scene import Operators, Sent, digest_sent, take

SMALL = "study = 'small'"
VALUES = {0: 3, 1: 0, 3: 1}
N = 4


class Helped:
    """A helper with a cohort that has its total, and one whose reports wait."""

    def __init__(self, operators: Operators) -> None:
        self.operators = operators
        operators.register()
        with operators.open() as study:
            self.done, self.waiting = (operators.send_all(cohort, VALUES, N) for cohort in (0, 1))
            take(study, 0, N, self.done)
            take(study, 1, N, self.waiting)
            self.said = study.make_total(0, N, [], digest_sent(self.done))

    def change(self, statement: str) -> None:
        """Change rows past all rules of the tables."""
        connection = apsw.Connection(f"{self.operators.folder}/study.db")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        before = connection.total_changes()
        connection.execute(statement)
        assert connection.total_changes() > before
        connection.close()

    def make_second(self) -> None:
        """The total of the other cohort."""
        with self.operators.open() as study:
            study.make_total(1, N, [], digest_sent(self.waiting))


@pytest.fixture
def helped(tmp_path: Path) -> Helped:
    return Helped(Operators(tmp_path, f"sqlite:///{tmp_path}/study.db"))


FIRST, SECOND = (f"{SMALL} AND cohort = {cohort} AND place = 1" for cohort in (0, 1))

CHANGED = {  # what is changed, and what the error says
    "cohort": (f"UPDATE helped_report SET cohort = 7 WHERE {FIRST}", "cohort [07] of small was"),
    "n": (f"UPDATE helped_report SET n = 5 WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "place": (f"UPDATE helped_report SET place = 2 WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "report": (f"UPDATE helped_report SET report = '00' WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "turn": (f"UPDATE helped_report SET turn = 1 WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "item": (f"UPDATE helped_report SET item = '00' WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "accepted": (f"UPDATE helped_report SET accepted = 0 WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "verifier": (f"UPDATE helped_report SET verifier = '' WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "sealed": (f"UPDATE helped_report SET sealed = '00' WHERE {FIRST}", "a report of cohort 0 of small was kept"),
    "study": (f"UPDATE helped_report SET study = 'other' WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "removed": (f"DELETE FROM helped_report WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "place of one that waits": (f"UPDATE helped_report SET place = 2 WHERE {SECOND}", "another proof"),
    "place of one that waits to none": (f"UPDATE helped_report SET place = 4 WHERE {SECOND}", "one of its places"),
    "n of one that waits": (f"UPDATE helped_report SET n = 5 WHERE {SECOND}", "not in one of its places"),
    "cohort of one that waits": (f"UPDATE helped_report SET cohort = 7 WHERE {SECOND}", "another proof"),
    "turn of one that waits": (f"UPDATE helped_report SET turn = 1 WHERE {SECOND}", "another proof"),
    "report of one that waits": (f"UPDATE helped_report SET report = '{'00' * 16}' WHERE {SECOND}", "another proof"),
    "sealed of one that waits": (f"UPDATE helped_report SET sealed = '{'00' * 80}' WHERE {SECOND}", "another proof"),
    "sealed of one that waits removed": (f"UPDATE helped_report SET sealed = NULL WHERE {SECOND}", "was removed"),
    "verifier of one that waits": (f"UPDATE helped_report SET verifier = '' WHERE {SECOND}", "another proof"),
    "sealed to no digits": (f"UPDATE helped_report SET sealed = 'x' WHERE {SECOND}", "another proof|cannot be read"),
    "protocol": (
        f"UPDATE study SET protocol = replace(protocol, '1000', '999') WHERE {SMALL}",
        "the protocol of small",
    ),
    "state": (f"UPDATE study SET state = 'stopped' WHERE {SMALL}", "the state of small was changed: it is stopped"),
    "entry": (f"UPDATE entry SET body = replace(body, '\"n\":4', '\"n\":5') WHERE {SMALL}", "entry 1 of the ledger"),
}
UNFOUND = {  # what is not found of a report that waits, and why that is all right
    "item": "the leader offers it otherwise then, and is refused: nothing is told, and nothing added up",
    "accepted": "the list is another than the leader's then, and no total is made",
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_change_is_found(helped: Helped, what: str) -> None:
    helped.operators.verify()
    statement, says = CHANGED[what]
    helped.change(statement)
    with pytest.raises(Corrupted, match=says):
        helped.operators.verify()


def test_every_column_is_looked_at(helped: Helped) -> None:
    database = open_database(helped.operators.address)
    columns = {name for (name,) in database.rows("SELECT name FROM pragma_table_info('helped_report')")}
    database.close()
    assert columns <= CHANGED.keys()
    assert UNFOUND.keys() | {"study"} == columns - {what.partition(" ")[0] for what in CHANGED if " " in what}


@pytest.mark.parametrize("what", UNFOUND)
def test_what_is_not_found_makes_no_total(helped: Helped, what: str) -> None:
    helped.change(f"UPDATE helped_report SET {what} = 0 WHERE {SECOND}")
    helped.operators.verify()
    asked = ("make_total", 1, N, [], digest_sent(helped.waiting))
    if what == "item":
        asked = ("take_reports", 1, N, [each.offered for each in helped.waiting.values()])
    with helped.operators.open() as study, pytest.raises(Disagreement):
        study.apply([asked])[0].value()


def test_a_share_that_was_changed_is_in_no_total(helped: Helped) -> None:
    helped.change(f"UPDATE helped_report SET sealed = '{'00' * 80}' WHERE {SECOND}")
    with helped.operators.open() as study, pytest.raises(Corrupted, match="the report of place 1 of cohort 1 of small"):
        study.make_total(1, N, [], digest_sent(helped.waiting))


@pytest.mark.parametrize("what", ["protocol", "state", "entry"])
def test_a_study_that_was_changed_is_not_opened(helped: Helped, what: str) -> None:
    statement, says = CHANGED[what]
    helped.change(statement)
    with pytest.raises(Corrupted, match=says):
        helped.operators.open()


def test_a_check_that_is_left_out_is_noticed(helped: Helped, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "check_taken", lambda *given: None)
    helped.change(CHANGED["verifier"][0])
    helped.operators.verify()


def test_the_two_kinds_of_ledgers_are_told_apart(helped: Helped) -> None:
    operators = helped.operators
    database = open_database(operators.address)
    with pytest.raises(Corrupted, match="does not begin with its start"):
        read_book(database, operators.witness, "small")
    database.close()
    started = KINDS["started"](number=0, hash="", at=0, protocol=operators.protocol.digest, seed="")
    with pytest.raises(Corrupted, match="entry 0 of the ledger of small is not one of a helper"):
        collect_totals("small", operators.protocol, [started])


TOTAL = {"cohort": 0, "n": N, "reports": 3, "digest": "aa", "total": "7", "answers": "bb"}


@for_each(
    ("change", "says"),
    [
        ({"offer": "00"}, "had other noise than its protocol says"),
        ({"n": N + 1}, "had other noise than its protocol says"),
        ({"total": str(FIELD)}, "is not one that a cohort of 4 can have"),
        ({"total": "-1"}, "is not one that a cohort of 4 can have"),
        ({"reports": 5}, "is not one that a cohort of 4 can have"),
        ({"cohort": 1}, "the total of cohort 1 of small is in the ledger twice"),
    ],
)
def test_a_total_that_no_helper_makes_is_found(tmp_path: Path, change: dict[str, object], says: str) -> None:
    operators = Operators(tmp_path, f"sqlite:///{tmp_path}/study.db")
    begun = KINDS["helping"](
        number=0, hash="", at=0, protocol=operators.protocol.digest, leader=operators.leader.fingerprint
    )
    total = TOTAL | {"offer": operators.offer(N).digest.hex(), "hash": "", "at": 0}
    good = KINDS["helped"](**total | {"cohort": 1, "number": 1})
    assert collect_totals("small", operators.protocol, [begun, good]) == {1: good}
    with pytest.raises(Corrupted, match=says):
        collect_totals("small", operators.protocol, [begun, good, KINDS["helped"](**total | change | {"number": 2})])


# shares


def find_shares(helped: Helped, sent: dict[int, Sent]) -> list[str]:
    """What of the helper's shares of these reports is in its tables, or in the file of its database."""
    operators, found = helped.operators, list[str]()
    with closing(open_database(operators.address)) as database:
        stored = "\n".join(str(row) for table in database.tables() for row in database.rows(f"SELECT * FROM {table}"))
        assert Scrubber().scrub(database)
    files = b"".join(path.read_bytes() for path in operators.folder.glob("study.db*"))
    reader = make_reader(operators.witness, operators.protocol)
    for place, each in sent.items():
        report, turn, sealed = each.offered.report, each.offered.turn, each.offered.sealed
        terms = operators.terms(1, N, place)
        seed = REPORT_SUITE.decrypt(sealed, read_seal_key(operators.witness), terms.bind(HELPER, report, turn))
        value = reader.read(terms, report, turn, sealed).value
        for name, mark in (("sealed share", sealed), ("seed", seed), ("value", value.to_bytes(8, "little"))):
            texts = mark.hex().encode(), str(value).encode() if name == "value" else mark.hex().encode()
            found += [name for text in {mark, *texts} if text in files or text in stored.encode()]
    return found


def test_no_share_outlives_its_total(helped: Helped) -> None:
    assert set(find_shares(helped, helped.waiting)) == {"sealed share"}, "shares are stored as they came"
    helped.make_second()
    assert find_shares(helped, helped.waiting) == []


def test_a_share_that_is_kept_is_noticed(helped: Helped, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "erase_shares", lambda *given: None)
    helped.make_second()
    assert find_shares(helped, helped.waiting)
    with pytest.raises(Corrupted, match="was kept"):
        helped.operators.verify()


# copies


class Copied:
    """A helper, and a copy of its database from before its second total."""

    def __init__(self, folder: Path, address: str) -> None:
        self.helped = Helped(Operators(folder, address))
        self.operators, self.address = self.helped.operators, address
        if address.startswith("sqlite"):
            shutil.copy(folder / "study.db", folder / "copy.db")
            self.copy = f"sqlite:///{folder}/copy.db"
        else:
            self.copy = copied_postgresql(address)

    def use(self, address: str) -> None:
        """Go on with this database."""
        self.operators.address = address

    def export(self, file: Path) -> Path:
        """What the newest database exports."""
        with closing(open_database(self.address)) as database:
            file.write_text("\n".join(export_help(database, self.operators.witness, "small")))
        return file

    def reconcile(self, how: Callable[..., str], *given: Path) -> str:
        """Have the copy reconciled."""
        with closing(open_database(self.copy)) as database:
            return how(database, self.operators.witness, "small", *given)


@pytest.fixture
def copied(tmp_path: Path, address: str) -> Copied:
    return Copied(tmp_path, address)


def test_a_restored_copy_is_refused(copied: Copied) -> None:
    copied.helped.make_second()
    copied.use(copied.copy)
    for look in (copied.operators.open, copied.operators.verify, copied.helped.make_second):
        with pytest.raises(BehindWitness, match="has 2 entries here"):
            look()


def make_both(copied: Copied) -> None:
    """A clone that was opened while it was like the other makes the same total once more."""
    copied.use(copied.copy)
    with copied.operators.open() as clone:
        copied.use(copied.address)
        copied.helped.make_second()
        clone.make_total(1, N, [], digest_sent(copied.helped.waiting))


def test_a_clone_makes_no_total(copied: Copied) -> None:
    with pytest.raises(BehindWitness, match="another copy of this database is in use"):
        make_both(copied)


def test_a_clone_whose_witness_looks_away_makes_one(copied: Copied, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Witness, "watching", lambda *given: nullcontext())
    make_both(copied)


def test_whoever_was_replaced_makes_no_total(copied: Copied) -> None:
    with copied.operators.open() as first, copied.operators.open() as second:
        with pytest.raises(FencedOff):
            first.make_total(1, N, [], digest_sent(copied.helped.waiting))
        assert second.make_total(1, N, [], digest_sent(copied.helped.waiting)).entry == 2


def test_a_restored_copy_is_brought_back(copied: Copied, tmp_path: Path) -> None:
    helped = copied.helped
    with copied.operators.open() as study:
        answers = take(study, 1, N, helped.waiting)
        said = study.make_total(1, N, [], digest_sent(helped.waiting))
    export = copied.export(tmp_path / "export")
    for old, new in (('"report", "', '"report", "00'), ("helped", "helper")):
        wrong = tmp_path / "wrong"
        wrong.write_text(export.read_text().replace(old, new))
        with pytest.raises((InvalidValue, Corrupted)):
            copied.reconcile(bring_back_help, wrong)
    assert not any(each.offered.sealed.hex() in export.read_text() for each in helped.waiting.values())
    assert "1 entries were brought back" in copied.reconcile(bring_back_help, export)
    copied.use(copied.copy)
    assert copied.operators.verify() == (2, 6)
    with copied.operators.open() as study:
        assert take(study, 1, N, helped.waiting) == answers
        assert study.make_total(1, N, [], digest_sent(helped.waiting)) == said
        assert study.make_total(0, N, [], digest_sent(helped.done)) == helped.said
        assert study.make_total(2, N, [], digest_sent({})).entry == 3
    with pytest.raises(InvalidValue, match="nothing is missing here"):
        copied.reconcile(bring_back_help, export)


def test_without_an_export_no_more_totals_are_made(copied: Copied) -> None:
    copied.helped.make_second()
    assert "1 entries are missing here" in copied.reconcile(end_help)
    copied.use(copied.copy)
    assert copied.operators.verify() == (1, 6)
    fresh = copied.operators.send(copied.operators.terms(2, N, 0), 1)
    with copied.operators.open() as study:
        assert study.state == "stopped"
        assert study.make_total(0, N, [], digest_sent(copied.helped.done)) == copied.helped.said
        for cohort, sent in ((1, copied.helped.waiting), (2, {})):
            with pytest.raises(NotRunning, match="no total is made any more"):
                study.make_total(cohort, N, [], digest_sent(sent))
        with pytest.raises(NotRunning, match="no report is taken any more"):
            study.take_reports(2, N, [fresh.offered])
        assert study.database.rows("SELECT COUNT(*) FROM helped_report WHERE sealed IS NOT NULL") == [(0,)]
