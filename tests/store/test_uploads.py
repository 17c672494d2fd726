"""What the devices of a study of two operators may upload, and what is kept of it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import Conflict, InvalidValue, Late, NotExposed, PersonalValue, UnknownTicket
from maskedbandit.secagg.uploads import Upload
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.requests import Assigned
from maskedbandit.store.settle import read_batch
from maskedbandit.store.studies import find_witness
from maskedbandit.store.uploads import upload
from tests.store.small_study import EXPOSURE, WINDOW, Clock, small_study
from tests.store.two_operators import GRACE, Leading


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def leading(tmp_path: Path, clock: Clock) -> Iterator[Leading]:
    made = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock)
    yield made
    made.study.close()


@pytest.fixture
def anywhere(address: str, tmp_path: Path, clock: Clock) -> Iterator[Leading]:
    """In a database of either kind."""
    made = Leading(address, tmp_path / "witness", clock)
    yield made
    made.study.close()


def stored(leading: Leading, given: Assigned) -> Any:
    """What is kept of a place's report."""
    find = "SELECT report, turn, leader, helper, received FROM upload WHERE ticket = ?"
    return leading.study.database.one(find, given.ticket)


def as_row(sent: Upload, at: int) -> tuple[Any, ...]:
    return sent.report.hex(), sent.turn, sent.leader.hex(), sent.helper.hex(), at


def test_a_place_says_what_its_device_needs(leading: Leading, clock: Clock) -> None:
    given = leading.do("assign", "ann")
    (offer,) = given.offers
    assert (given.again, given.exposed, given.seen, given.cohort) == (False, False, None, 0 if given.arm == 0 else 1)
    assert (offer.channel, offer.steps, offer.n, offer.position) == ("TwoServers", 1, 2, 0)
    clock.now += 7
    assert leading.do("expose", given.ticket) == clock.now
    seen, clock.now = clock.now, clock.now + 7
    assert leading.do("expose", given.ticket) == seen
    again = leading.do("assign", "ann")
    assert again == given._replace(again=True, seen=seen)


def test_the_newest_report_stands(anywhere: Leading, clock: Clock) -> None:
    given = anywhere.come("ann")
    sent = [anywhere.seal(given, value, turn) for turn, value in enumerate((0, 1, 1))]
    for turn in (0, 1):
        assert not anywhere.upload(given, sent[turn])
        assert anywhere.upload(given, sent[turn])  # as it came before
    assert stored(anywhere, given) == as_row(sent[1], clock.now)
    clock.now += 1
    assert anywhere.upload(given, sent[0])  # late on its way: a newer one stands
    with pytest.raises(Conflict, match="another report of this turn"):
        anywhere.upload(given, anywhere.seal(given, 0, 1))
    assert stored(anywhere, given) == as_row(sent[1], clock.now - 1)
    anywhere.reopen()
    assert anywhere.upload(given, sent[1])
    assert not anywhere.upload(given, sent[2])
    assert stored(anywhere, given) == as_row(sent[2], clock.now)


def test_several_reports_in_one_transaction(anywhere: Leading) -> None:
    """Each is compared with those before it, whether or not these were written yet."""
    given = anywhere.come("ann")
    sent = [anywhere.seal(given, 1, turn) for turn in range(3)]
    other = anywhere.seal(given, 0, 2)
    order = sent[1], sent[0], sent[2], sent[2], other
    done = anywhere.study.apply([("upload", given.ticket, *each) for each in order])
    assert [each.result and each.result.again for each in done] == [False, True, False, True, None]
    assert isinstance(done[-1].refusal, Conflict)
    assert stored(anywhere, given)[0] == sent[2].report.hex()
    new = anywhere.study.apply([("assign", "bob"), ("assign", "cy")])[0].result
    done = anywhere.study.apply(
        [("expose", new.ticket), ("assign", "bob"), ("upload", new.ticket, *(first := anywhere.seal(new, 1)))]
    )
    assert [each.refusal for each in done] == [None] * 3
    assert stored(anywhere, new)[0] == first.report.hex()


def test_when_a_report_counts(leading: Leading, clock: Clock) -> None:
    given = leading.do("assign", "ann")
    sent = leading.seal(given, 1)
    with pytest.raises(NotExposed):
        leading.upload(given, sent)
    leading.do("expose", given.ticket)
    clock.now += WINDOW + GRACE
    assert not leading.upload(given, sent)
    clock.now += 1
    for each in (sent, leading.seal(given, 1, 1)):
        with pytest.raises(Late):
            leading.upload(given, each)
    assert stored(leading, given)[0] == sent.report.hex()


def test_a_place_that_went_back_takes_no_report(leading: Leading, clock: Clock) -> None:
    given = leading.do("assign", "ann")
    clock.now += EXPOSURE + 1
    with pytest.raises(Late):
        leading.upload(given, leading.seal(given, 1))


def test_what_is_none_is_refused(leading: Leading) -> None:
    given = leading.come("ann")
    sent = leading.seal(given, 1)
    wrong: list[dict[str, Any]] = [
        {"report": sent.report[1:]},
        {"report": sent.report.hex()},
        {"turn": -1},
        {"turn": 2**32},
        {"turn": True},
        {"turn": "0"},
        {"leader": sent.leader + b"x"},
        {"leader": b""},
        {"helper": sent.leader},
        {"helper": None},
    ]
    for changes in wrong:
        with pytest.raises(PersonalValue, match="a report must be as every other one"):
            leading.upload(given, sent._replace(**changes))
    for ticket in ("0" * 32, "", "' OR 1", None, 7):
        with pytest.raises(UnknownTicket):
            leading.do("upload", ticket, *sent)
    assert stored(leading, given) is None


def test_the_leader_takes_no_outcome(leading: Leading) -> None:
    """Whoever reports in the clear, or in a study without a helper seals, is told so, and nothing is kept."""
    given = leading.come("ann")
    with pytest.raises(PersonalValue, match="sealed by the person's device"):
        leading.do("report", given.ticket, 1)
    assert leading.study.database.rows("SELECT * FROM reward") == []


def test_other_studies_take_no_uploads(tmp_path: Path, clock: Clock) -> None:
    with small_study(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock) as study:
        ticket = study.assign("ann").ticket
        study.expose(str(ticket))
        with pytest.raises(InvalidValue, match="upload is 'not shown': it must be left out"):
            study.apply([("upload", ticket, bytes(16), 0, bytes(9), bytes(80))])[0].value()


def test_whoever_is_erased_has_no_report(anywhere: Leading) -> None:
    given = anywhere.come("ann")
    sent = anywhere.seal(given, 1)
    anywhere.upload(given, sent)
    assert anywhere.study.erase("ann") == 1
    assert anywhere.study.database.rows("SELECT * FROM upload") == []
    with pytest.raises(UnknownTicket):
        anywhere.upload(given, sent)


def test_whoever_leaves_by_a_ticket_is_erased(leading: Leading) -> None:
    ann, bob = leading.come("ann"), leading.come("bob")
    for given in (ann, bob):
        leading.upload(given, leading.seal(given, 1))
    assert leading.do("leave", ann.ticket) == 1
    assert stored(leading, ann) is None
    assert stored(leading, bob) is not None
    assert [leading.do("leave", ticket) for ticket in (ann.ticket, "nobody", "")] == [0, 0, 0]
    assert leading.do("assign", "ann").ticket is None
    assert leading.do("assign", "bob").ticket == bob.ticket
    leading.reopen()
    with closing(open_database(leading.address)) as database:
        assert verify_study(database, find_witness(database, leading.folder), leading.protocol.name)


def test_erased_reports_are_in_no_file(tmp_path: Path, clock: Clock) -> None:
    leading = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock)
    given = leading.come("ann")
    marks = []
    for turn in range(3):
        sent = leading.seal(given, 1, turn)
        leading.upload(given, sent)
        marks += [part.hex().encode() for part in (sent.report, sent.leader, sent.helper)]
    files = list(tmp_path.glob("study.db*"))
    assert any(mark in path.read_bytes() for path in files for mark in marks)
    leading.study.erase("ann")
    assert not [mark for path in tmp_path.glob("study.db*") for mark in marks if mark in path.read_bytes()]
    leading.study.close()


def seen_after_a_report(leading: Leading, clock: Clock, unit: str) -> tuple[Any, int]:
    """How far the study has come after a report that came later than all else."""
    given = leading.come(unit)
    clock.now += 100
    leading.upload(given, leading.seal(given, 1))
    return leading.study.database.rows("SELECT reached FROM study"), leading.study.time


def test_a_report_moves_no_time(leading: Leading, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    start = clock.now
    assert seen_after_a_report(leading, clock, "ann") == ([(start,)], start)
    with closing(open_database(leading.address)) as database:
        verify_study(database, find_witness(database, leading.folder), "small")

    def loud(session: Any, *given: Any) -> Any:
        found = upload(session, *given)
        session.silent = False
        return found

    monkeypatch.setitem(leading.study.operations, "upload", loud)
    start = clock.now
    rows, time = seen_after_a_report(leading, clock, "bob")
    assert (rows, time) == ([(start + 100,)], start + 100)  # the twin tells when it came


def test_no_report_comes_after_a_batch(leading: Leading, clock: Clock) -> None:
    """By a clock that is behind, in another process: the helper was told which reports there are."""
    given = [leading.come(f"person {i}") for i in range(4)]
    clock.now += WINDOW + GRACE + 1
    leading.open_batch(0, 0)
    clock.now -= 1000
    leading.reopen()
    with pytest.raises(Late):
        leading.upload(given[0], leading.seal(given[0], 1))


def test_a_batch_that_moves_no_time_is_not_the_last_word(leading: Leading, clock: Clock) -> None:
    """The twin of the one before: what it has told the helper, another process does not know of."""
    given = [leading.come(f"person {i}") for i in range(4)]
    clock.now += WINDOW + GRACE + 1

    def silent(session: Any) -> Any:
        session.silent = True
        return read_batch(session, 0, 0)

    assert leading.do(silent).rows == []
    clock.now -= 1000
    leading.reopen()
    assert not leading.upload(given[0], leading.seal(given[0], 1))
