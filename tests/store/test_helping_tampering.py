"""What is changed by hand in a helper's database is found, and no share outlives its total."""

from contextlib import closing
from pathlib import Path

import pytest

from maskedbandit.errors import Corrupted, Disagreement, Forged
from maskedbandit.secagg.prio3 import FIELD, HELPER
from maskedbandit.secagg.uploads import REPORT_SUITE
from maskedbandit.store.book.checks import read_book
from maskedbandit.store.book.entry import KINDS
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.helping import reports, totals, verify
from maskedbandit.store.helping.book import collect_helped
from maskedbandit.store.helping.locked_shares import ShareLock
from maskedbandit.store.helping.reports import OfferedReport
from maskedbandit.store.helping.session import make_reader
from maskedbandit.store.own_keys import derive_share_key, read_seal_key
from maskedbandit.store.traces import Scrubber
from tests.for_each import for_each
from tests.store.helper_scene import HelpedCohorts, N, Operators, ask_total, digest_sent

SMALL = "study = 'small'"


@pytest.fixture
def helped(tmp_path: Path) -> HelpedCohorts:
    return HelpedCohorts(Operators(tmp_path, f"sqlite:///{tmp_path}/study.db"))


FIRST, SECOND = (f"{SMALL} AND cohort = {cohort} AND place = 1" for cohort in (0, 1))
OTHER = f"{SMALL} AND cohort = 1 AND place = 3"
WAITS = "a report of cohort 1 of small was changed"

CHANGED = {  # what is changed, and what the error says
    "cohort": (f"UPDATE helped_report SET cohort = 7 WHERE {FIRST}", "cohort [07] of small was"),
    "n": (f"UPDATE helped_report SET n = 5 WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "place": (f"UPDATE helped_report SET place = 2 WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "report": (f"UPDATE helped_report SET report = '00' WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "turn": (f"UPDATE helped_report SET turn = 1 WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "item": (f"UPDATE helped_report SET item = '00' WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "accepted": (f"UPDATE helped_report SET accepted = 0 WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "verifier": (f"UPDATE helped_report SET verifier = '' WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "locked": (f"UPDATE helped_report SET locked = '00' WHERE {FIRST}", "a report of cohort 0 of small was kept"),
    "study": (f"UPDATE helped_report SET study = 'other' WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "removed": (f"DELETE FROM helped_report WHERE {FIRST}", "a report of cohort 0 of small was changed"),
    "place of one that waits": (f"UPDATE helped_report SET place = 2 WHERE {SECOND}", WAITS),
    "place of one that waits to none": (f"UPDATE helped_report SET place = 4 WHERE {SECOND}", "one of its places"),
    "n of one that waits": (f"UPDATE helped_report SET n = 5 WHERE {SECOND}", "not in one of its places"),
    "cohort of one that waits": (
        f"UPDATE helped_report SET cohort = 7 WHERE {SECOND}",
        "cohort 7 of small was changed",
    ),
    "turn of one that waits": (f"UPDATE helped_report SET turn = 1 WHERE {SECOND}", WAITS),
    "report of one that waits": (f"UPDATE helped_report SET report = '{'00' * 16}' WHERE {SECOND}", WAITS),
    "item of one that waits": (f"UPDATE helped_report SET item = '00' WHERE {SECOND}", WAITS),
    "accepted of one that waits": (f"UPDATE helped_report SET accepted = 0 WHERE {SECOND}", WAITS),
    "verifier of one that waits": (f"UPDATE helped_report SET verifier = '' WHERE {SECOND}", WAITS),
    "locked of one that waits": (f"UPDATE helped_report SET locked = '{'00' * 24}' WHERE {SECOND}", WAITS),
    "locked of one that waits removed": (f"UPDATE helped_report SET locked = NULL WHERE {SECOND}", "was removed"),
    "locked of one that waits to that of another": (
        f"UPDATE helped_report SET locked = (SELECT locked FROM helped_report WHERE {OTHER}) WHERE {SECOND}",
        WAITS,
    ),
    "locked to no digits": (f"UPDATE helped_report SET locked = 'x' WHERE {SECOND}", WAITS),
    "protocol": (
        f"UPDATE study SET protocol = replace(protocol, '1000', '999') WHERE {SMALL}",
        "the protocol of small",
    ),
    "state": (f"UPDATE study SET state = 'stopped' WHERE {SMALL}", "the state of small was changed: it is stopped"),
    "entry": (f"UPDATE entry SET body = replace(body, '\"n\":4', '\"n\":5') WHERE {SMALL}", "entry 1 of the ledger"),
}


@pytest.mark.sparing(3)
@pytest.mark.parametrize("what", CHANGED)
def test_a_change_is_found(helped: HelpedCohorts, what: str) -> None:
    helped.operators.verify()
    statement, says = CHANGED[what]
    helped.change(statement)
    with pytest.raises(Corrupted, match=says):
        helped.operators.verify()


def test_two_rows_in_one_are_found(helped: HelpedCohorts) -> None:
    """A row with line breaks in it, which reads as two rows do."""
    joined = "char(10) || cohort || char(10) || n || char(10) || place || char(10) || turn || char(10) || item"
    joined = f"char(10) || report || {joined} || char(10) || accepted || char(10) || verifier"
    second = f"SELECT {joined} FROM helped_report WHERE {FIRST}"
    helped.change(
        f"UPDATE helped_report SET verifier = verifier || ({second}) WHERE {SMALL} AND cohort = 0 AND place = 0"
    )
    helped.change(f"DELETE FROM helped_report WHERE {FIRST}")
    with pytest.raises(Corrupted, match="a report of cohort 0 of small was changed after its total"):
        helped.operators.verify()


def test_every_column_is_looked_at(helped: HelpedCohorts) -> None:
    database = open_database(helped.operators.address)
    columns = {name for (name,) in database.rows("SELECT name FROM pragma_table_info('helped_report')")}
    database.close()
    assert columns <= CHANGED.keys()
    assert {"study"} == columns - {what.partition(" ")[0] for what in CHANGED if " " in what}


@pytest.mark.sparing(3)
@pytest.mark.parametrize("what", [what for what in CHANGED if WAITS in CHANGED[what] and not what.startswith("report")])
def test_a_report_that_was_changed_is_in_no_total(helped: HelpedCohorts, what: str) -> None:
    """Of one that is said to hold no more, or to be of another place, the list is another than the leader's."""
    helped.change(CHANGED[what][0])
    with helped.operators.open() as study, pytest.raises((Corrupted, Disagreement), match="cohort 1 of small"):
        ask_total(study, 1, N, [], digest_sent(helped.waiting))


@pytest.mark.parametrize("what", ["protocol", "state", "entry"])
def test_a_study_that_was_changed_is_not_opened(helped: HelpedCohorts, what: str) -> None:
    statement, says = CHANGED[what]
    helped.change(statement)
    with pytest.raises(Corrupted, match=says):
        helped.operators.open()


def test_a_check_that_is_left_out_is_noticed(helped: HelpedCohorts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "check_taken", lambda *given: None)
    helped.change(CHANGED["verifier"][0])
    helped.operators.verify()


def test_a_share_that_is_locked_without_its_row_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "join_row", lambda values: b"")
    helped = HelpedCohorts(Operators(tmp_path, f"sqlite:///{tmp_path}/study.db"))
    helped.change(CHANGED["locked of one that waits to that of another"][0])
    helped.operators.verify()


def test_a_share_of_another_study_or_helper_is_not_unlocked(helped: HelpedCohorts, tmp_path: Path) -> None:
    here, protocol = helped.operators.witness, helped.operators.protocol.digest
    elsewhere = Witness(tmp_path / "elsewhere")
    elsewhere.create()
    locked = ShareLock(derive_share_key(here, protocol)).lock(FIELD - 1, b"a row")
    assert ShareLock(derive_share_key(here, protocol)).unlock(locked, b"a row") == FIELD - 1
    for key in (derive_share_key(here, "00" * 32), derive_share_key(elsewhere, protocol)):
        with pytest.raises(Forged):
            ShareLock(key).unlock(locked, b"a row")


def test_the_two_kinds_of_ledgers_are_told_apart(helped: HelpedCohorts) -> None:
    operators = helped.operators
    database = open_database(operators.address)
    with pytest.raises(Corrupted, match="does not begin with its start"):
        read_book(database, operators.witness, "small")
    database.close()
    started = KINDS["started"](number=0, hash="", at=0, protocol=operators.protocol.digest, seed="")
    with pytest.raises(Corrupted, match="entry 0 of the ledger of small is not one of a helper"):
        collect_helped("small", operators.protocol, [started])


TOTAL = {"cohort": 0, "n": N, "reports": 3, "digest": "aa", "total": "7", "answers": "bb", "asked": "cc"}


@for_each(
    ("change", "says"),
    [
        ({"offer": "00"}, "had other noise than its protocol says"),
        ({"n": N + 1}, "had other noise than its protocol says"),
        ({"total": str(FIELD)}, "is not what a cohort of 4 can have"),
        ({"total": "-1"}, "is not what a cohort of 4 can have"),
        ({"reports": 5}, "is not what a cohort of 4 can have"),
        ({"cohort": 1}, "what was made of cohort 1 of small is in the ledger twice"),
    ],
)
def test_a_total_that_no_helper_makes_is_found(tmp_path: Path, change: dict[str, object], says: str) -> None:
    operators = Operators(tmp_path, f"sqlite:///{tmp_path}/study.db")
    begun = KINDS["helping"](
        number=0, hash="", at=0, protocol=operators.protocol.digest, leader=operators.leader.fingerprint
    )
    total = TOTAL | {"offer": operators.offer(N).digest.hex(), "hash": "", "at": 0}
    good = KINDS["helped"](**total | {"cohort": 1, "number": 1})
    assert collect_helped("small", operators.protocol, [begun, good]) == {1: good}
    with pytest.raises(Corrupted, match=says):
        collect_helped("small", operators.protocol, [begun, good, KINDS["helped"](**total | change | {"number": 2})])


# shares


def find_shares(helped: HelpedCohorts, locked: dict[int, str]) -> list[str]:
    """What of the helper's shares of the second cohort is in its tables, or in the file of its database."""
    operators, found = helped.operators, list[str]()
    with closing(open_database(operators.address)) as database:
        stored = "\n".join(str(row) for table in database.tables() for row in database.rows(f"SELECT * FROM {table}"))
        assert Scrubber().scrub(database)
        reader = make_reader(database, operators.witness, operators.protocol)
    files = b"".join(path.read_bytes() for path in operators.folder.glob("study.db*"))
    for place, each in helped.waiting.items():
        report, turn, sealed = each.offered.report, each.offered.turn, each.offered.sealed
        terms = operators.terms(1, N, place)
        seed = REPORT_SUITE.decrypt(sealed, read_seal_key(operators.witness), terms.bind(HELPER, report, turn))
        value, held = reader.read(terms, report, turn, sealed).value, bytes.fromhex(locked[place])
        marks = {"sealed share": sealed, "seed": seed, "value": value.to_bytes(8), "locked share": held}
        marks |= {"value, turned": value.to_bytes(8, "little"), "value in digits": str(value).encode()}
        for name, mark in marks.items():
            found += [name for text in (mark, mark.hex().encode()) if text in files or text in stored.encode()]
    return found


def read_locked(helped: HelpedCohorts) -> dict[int, str]:
    """The locked shares of the second cohort, by place."""
    with closing(open_database(helped.operators.address)) as database:
        return dict(database.rows("SELECT place, locked FROM helped_report WHERE cohort = 1"))


def test_no_share_outlives_its_total(helped: HelpedCohorts) -> None:
    locked = read_locked(helped)
    assert set(find_shares(helped, locked)) == {"locked share"}, "until then the value alone is there, locked"
    helped.make_second()
    assert find_shares(helped, locked) == []


@pytest.mark.parametrize("twin", ["as they are", "as they came"])
def test_a_share_that_is_not_locked_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twin: str) -> None:
    if twin == "as they are":
        monkeypatch.setattr(ShareLock, "lock", lambda self, value, row: value.to_bytes(8).hex())
        monkeypatch.setattr(ShareLock, "unlock", lambda self, locked, row: int(locked, 16))
    else:
        monkeypatch.setattr(OfferedReport, "item", property(lambda self: self.sealed.hex()))
    helped = HelpedCohorts(Operators(tmp_path, f"sqlite:///{tmp_path}/study.db"))
    assert {"value", "sealed share"} & set(find_shares(helped, read_locked(helped)))


def test_a_share_that_is_kept_is_noticed(helped: HelpedCohorts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "erase_shares", lambda *given: None)
    locked = read_locked(helped)
    helped.make_second()
    assert find_shares(helped, locked)
    with pytest.raises(Corrupted, match="was kept"):
        helped.operators.verify()
