"""What is changed by hand in a helper's database is found, and no share outlives its total."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import Corrupted, Disagreement
from maskedbandit.secagg.prio3 import FIELD, HELPER
from maskedbandit.secagg.uploads import REPORT_SUITE
from maskedbandit.store.book.checks import read_book
from maskedbandit.store.book.entries import KINDS
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.helping import totals, verify
from maskedbandit.store.helping.book import collect_totals
from maskedbandit.store.helping.session import make_reader
from maskedbandit.store.own_keys import read_seal_key
from maskedbandit.store.traces import Scrubber
from tests.for_each import for_each
from tests.store.helper_scene import HelpedCohorts, N, Operators, Sent, ask_total, digest_sent, sign_total

SMALL = "study = 'small'"


@pytest.fixture
def helped(tmp_path: Path) -> HelpedCohorts:
    return HelpedCohorts(Operators(tmp_path, f"sqlite:///{tmp_path}/study.db"))


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
def test_a_change_is_found(helped: HelpedCohorts, what: str) -> None:
    helped.operators.verify()
    statement, says = CHANGED[what]
    helped.change(statement)
    with pytest.raises(Corrupted, match=says):
        helped.operators.verify()


def test_every_column_is_looked_at(helped: HelpedCohorts) -> None:
    database = open_database(helped.operators.address)
    columns = {name for (name,) in database.rows("SELECT name FROM pragma_table_info('helped_report')")}
    database.close()
    assert columns <= CHANGED.keys()
    assert UNFOUND.keys() | {"study"} == columns - {what.partition(" ")[0] for what in CHANGED if " " in what}


@pytest.mark.parametrize("what", UNFOUND)
def test_what_is_not_found_makes_no_total(helped: HelpedCohorts, what: str) -> None:
    helped.change(f"UPDATE helped_report SET {what} = 0 WHERE {SECOND}")
    helped.operators.verify()
    digest = digest_sent(helped.waiting)
    signature = sign_total(helped.operators.protocol, 1, N, digest)
    asked: tuple[Any, ...] = ("make_total", 1, N, [], digest, signature)
    if what == "item":
        asked = ("take_reports", 1, N, [each.offered for each in helped.waiting.values()])
    with helped.operators.open() as study, pytest.raises(Disagreement):
        study.apply([asked])[0].value()


def test_a_share_that_was_changed_is_in_no_total(helped: HelpedCohorts) -> None:
    helped.change(f"UPDATE helped_report SET sealed = '{'00' * 80}' WHERE {SECOND}")
    with helped.operators.open() as study, pytest.raises(Corrupted, match="the report of place 1 of cohort 1 of small"):
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


def test_the_two_kinds_of_ledgers_are_told_apart(helped: HelpedCohorts) -> None:
    operators = helped.operators
    database = open_database(operators.address)
    with pytest.raises(Corrupted, match="does not begin with its start"):
        read_book(database, operators.witness, "small")
    database.close()
    started = KINDS["started"](number=0, hash="", at=0, protocol=operators.protocol.digest, seed="")
    with pytest.raises(Corrupted, match="entry 0 of the ledger of small is not one of a helper"):
        collect_totals("small", operators.protocol, [started])


TOTAL = {"cohort": 0, "n": N, "reports": 3, "digest": "aa", "total": "7", "answers": "bb", "asked": "cc"}


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


def find_shares(helped: HelpedCohorts, sent: dict[int, Sent]) -> list[str]:
    """What of the helper's shares of these reports is in its tables, or in the file of its database."""
    operators, found = helped.operators, list[str]()
    with closing(open_database(operators.address)) as database:
        stored = "\n".join(str(row) for table in database.tables() for row in database.rows(f"SELECT * FROM {table}"))
        assert Scrubber().scrub(database)
        reader = make_reader(database, operators.witness, operators.protocol)
    files = b"".join(path.read_bytes() for path in operators.folder.glob("study.db*"))
    for place, each in sent.items():
        report, turn, sealed = each.offered.report, each.offered.turn, each.offered.sealed
        terms = operators.terms(1, N, place)
        seed = REPORT_SUITE.decrypt(sealed, read_seal_key(operators.witness), terms.bind(HELPER, report, turn))
        value = reader.read(terms, report, turn, sealed).value
        for name, mark in (("sealed share", sealed), ("seed", seed), ("value", value.to_bytes(8, "little"))):
            texts = mark.hex().encode(), str(value).encode() if name == "value" else mark.hex().encode()
            found += [name for text in {mark, *texts} if text in files or text in stored.encode()]
    return found


def test_no_share_outlives_its_total(helped: HelpedCohorts) -> None:
    assert set(find_shares(helped, helped.waiting)) == {"sealed share"}, "shares are stored as they came"
    helped.make_second()
    assert find_shares(helped, helped.waiting) == []


def test_a_share_that_is_kept_is_noticed(helped: HelpedCohorts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "erase_shares", lambda *given: None)
    helped.make_second()
    assert find_shares(helped, helped.waiting)
    with pytest.raises(Corrupted, match="was kept"):
        helped.operators.verify()
