"""A folder of the version before goes on: what was drawn stands, and who had a place in it may be drawn once."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.channels.local import Local
from maskedbandit.client import outbox
from maskedbandit.client.local_noise import NoisyReport
from maskedbandit.client.outbox import Outbox
from maskedbandit.client.places import KnownArms, hash_unit, read_held_places
from maskedbandit.errors import AlreadySpent, StorageFailed
from maskedbandit.private_files import PrivateFile, name_service_files
from tests.client.conftest import Made
from tests.client.fake_service import STUDY, URL, FakeService, Network

CHANNEL = Local(epsilon="1/1000000")
OFFER = CHANNEL.offer(50).at(7).to_text()

# the tables as they were, word for word
OUTBOX = """
PRAGMA journal_mode = TRUNCATE;
CREATE TABLE IF NOT EXISTS message (
    id INTEGER PRIMARY KEY AUTOINCREMENT, study TEXT NOT NULL, ticket TEXT NOT NULL, kind TEXT NOT NULL,
    event TEXT NOT NULL, value REAL);
CREATE INDEX IF NOT EXISTS message_of_ticket ON message (study, ticket, id);
CREATE TABLE IF NOT EXISTS device_report (
    study TEXT, person TEXT, metric TEXT, ticket TEXT NOT NULL, value REAL NOT NULL, epsilon TEXT NOT NULL,
    PRIMARY KEY (study, person, metric));
CREATE INDEX IF NOT EXISTS device_report_of_ticket ON device_report (study, ticket);
"""
KNOWN = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS arm (
    study TEXT, unit TEXT, arm TEXT NOT NULL, payload TEXT NOT NULL, ticket TEXT, propensity TEXT NOT NULL, offer TEXT,
    until REAL NOT NULL, PRIMARY KEY (study, unit)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS holder (
    study TEXT, ticket TEXT, unit TEXT NOT NULL, PRIMARY KEY (study, ticket)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS arm_of_unit ON arm (unit, until);
CREATE INDEX IF NOT EXISTS arm_of_ticket ON arm (ticket);
CREATE INDEX IF NOT EXISTS arm_until ON arm (until);
"""
ANN, BOB, CYD, DAN, EVE = (hash_unit(unit) for unit in ("ann", "bob", "cyd", "dan", "eve"))
FAY = "0" * 64  # she comes before ann in all tables
# Ann and Dan have drawn, and what Dan's device said waits. The others had a place: Bob with two tickets, Cyd so long
# ago that her arm is gone, Fay with the ticket of Ann, and Eve without a ticket.
DRAWS = [(ANN, "", "ticket0", 41.0, "1/2"), (ANN, "harm", "ticket0", 42.0, "1/2"), (DAN, "", "ticket3", 43.0, "1")]
WAITING = [("ticket3", "expose", "", None), ("ticket3", "report", "", 43.0)]
ARMS = [(ANN, "ticket0"), (BOB, "ticket1"), (DAN, "ticket3"), (EVE, None), (FAY, "ticket0")]
HOLDERS = [("ticket0", ANN), ("ticket1", BOB), ("ticket10", BOB), ("ticket2", CYD), ("ticket3", DAN)]


def of_before(folder: Path, arms: Sequence[tuple[str, str | None]] = ARMS) -> Path:
    """A folder as the version before left it: the path of its outbox."""
    path = folder / f"{name_service_files(URL)}.outbox"
    folder.mkdir(exist_ok=True, mode=0o700)
    connection = sqlite3.connect(path)
    connection.executescript(OUTBOX)
    connection.executemany(f"INSERT INTO device_report VALUES ('{STUDY}', ?, ?, ?, ?, ?)", DRAWS)
    connection.executemany(f"INSERT INTO message VALUES (NULL, '{STUDY}', ?, ?, ?, ?)", WAITING)
    connection.commit()
    connection.close()
    connection = sqlite3.connect(path.with_suffix(".known"))
    connection.executescript(KNOWN)
    arm = f"INSERT INTO arm VALUES ('{STUDY}', ?, 'bold', 'null', ?, '1/2', ?, 1e18)"
    connection.executemany(arm, ((unit, ticket, OFFER if ticket else None) for unit, ticket in arms))
    connection.executemany(f"INSERT INTO holder VALUES ('{STUDY}', ?, ?)", HOLDERS)
    connection.commit()
    connection.close()
    return path


def content(path: Path) -> list[str]:
    """All that is in a file, without what is drawn at random when it is opened."""
    connection = sqlite3.connect(path)
    lines = [line for line in connection.iterdump() if '"secret"' not in line]
    connection.close()
    return lines


def drawn(path: Path) -> dict[tuple[str, str], set[float]]:
    """What is sent of each person and metric, if a service asks for it under all tickets that it ever named."""
    sent = {(person, metric): {value} for person, metric, _, value, _ in DRAWS}
    fresh = iter(range(1000))
    for _ in range(2):
        box = Outbox(path)
        people = [(person, ticket) for person in (ANN, BOB, CYD, DAN, FAY) for ticket, _ in HOLDERS]
        for (person, ticket), metric in ((each, metric) for each in people for metric in ("", "harm")):
            box.take_place(STUDY, person, ticket, again=True)
            before = len(box._file.rows("SELECT id FROM message"))
            with suppress(AlreadySpent):
                box.put_device_report(
                    STUDY, person, ticket, metric, lambda spent: NoisyReport(next(fresh), Fraction(1))
                )
            for (value,) in box._file.rows("SELECT value FROM message ORDER BY id LIMIT -1 OFFSET ?", before):
                sent.setdefault((person, metric), set()).add(value)
        box.close()
    return sent


ONCE = {(person, metric) for person in (ANN, BOB, CYD, DAN) for metric in ("", "harm")}


def test_what_was_drawn_stands_and_who_had_a_place_is_drawn_once(tmp_path) -> None:
    sent = drawn(of_before(tmp_path))
    assert set(sent) == ONCE  # fay has no ticket but one under which ann had drawn
    assert {key: len(values) for key, values in sent.items()} == dict.fromkeys(ONCE, 1)
    assert [sent[person, metric] for person, metric, *_ in DRAWS] == [{41.0}, {42.0}, {43.0}]


def test_what_was_spent_before_counts(tmp_path) -> None:
    box, spent = Outbox(of_before(tmp_path)), []
    box.put_device_report(STUDY, DAN, "ticket3", "harm", lambda before: spent.append(before) or NoisyReport(1, before))
    assert spent == [Fraction(1)]
    box.close()


def forget_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_KEEP_DRAWS", [each for each in outbox._KEEP_DRAWS if "INSERT" not in each])


def give_tickets_of_draws_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_PLACES_OF_DRAWS", "SELECT 1")


def keep_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "read_held_places", lambda path: [])


@pytest.mark.parametrize("mutant", [forget_draws, give_tickets_of_draws_away, keep_no_place])
def test_another_way_to_go_on_is_found(tmp_path, monkeypatch, mutant) -> None:
    mutant(monkeypatch)
    sent = drawn(of_before(tmp_path))
    assert set(sent) != ONCE or any(len(values) > 1 for values in sent.values())


def test_whoever_had_two_tickets_keeps_the_last_one(tmp_path) -> None:
    box = Outbox(of_before(tmp_path))
    assert [box.take_place(STUDY, BOB, ticket, again=True) for ticket in ("ticket1", "ticket10")] == [True, False]
    box.close()


def after_a_loss(folder: Path) -> set[float]:
    """What is drawn in a folder of before whose outbox was lost, and with it all that it knew of draws."""
    path = of_before(folder)
    path.unlink()
    return set().union(*drawn(path).values()) - {41.0, 42.0, 43.0}


def test_an_outbox_that_is_new_takes_no_places_of_before(tmp_path) -> None:
    assert after_a_loss(tmp_path) == set()


def test_an_outbox_that_takes_places_without_draws_is_found(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(outbox, "_OF_BEFORE", "SELECT 1")
    monkeypatch.setattr(outbox, "_PLACES_OF_DRAWS", "SELECT 1")
    monkeypatch.setattr(outbox, "_KEEP_DRAWS", ())
    assert after_a_loss(tmp_path) != set()


def test_the_version_before_refuses_the_folder_afterwards(tmp_path) -> None:
    """It would draw for whoever comes, and does not know of places."""
    path = of_before(tmp_path)
    Outbox(path).close()
    with pytest.raises(StorageFailed, match="no such column: ticket"):
        PrivateFile(path, "", OUTBOX)


# --- one transaction, once


def opened(path: Path) -> tuple[list[str], list[str]]:
    """What is in both files after they were opened, in this order, as a client does."""
    Outbox(path).close()
    KnownArms(path.with_suffix(".known")).close()
    return content(path), content(path.with_suffix(".known"))


def test_what_is_up_to_date_is_left_as_it_is(tmp_path) -> None:
    path = of_before(tmp_path)
    after = opened(path)
    assert opened(path) == after
    assert not [line for line in chain(*after) if "holder" in line or "of_before" in line]


def test_another_process_may_be_faster(tmp_path, monkeypatch) -> None:
    path, slow = of_before(tmp_path / "one"), of_before(tmp_path / "other")
    after, real = opened(path), iter([opened])

    def late(known: Path) -> list[tuple[str, str, str]]:
        for do in real:  # the other process comes here too
            do(slow)
        return read_held_places(known)

    monkeypatch.setattr(outbox, "read_held_places", late)
    assert opened(slow) == after


class Stopping:
    """A connection on which a process stops, after so many statements of a transaction."""

    def __init__(self, connection: sqlite3.Connection, statements: int) -> None:
        self._connection, self._left = connection, statements

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if self._left == 0:
            raise KeyboardInterrupt
        self._left -= 1
        return getattr(self._connection, name)


@contextmanager
def apart(self: PrivateFile) -> Iterator[sqlite3.Connection]:
    """The mutant that is a transaction of each statement."""
    with self._used() as connection:
        yield connection


def left(path: Path, monkeypatch: pytest.MonkeyPatch, statements: int, transaction: Any) -> tuple[bool, bool]:
    """Whether all that was there is there, and nothing else, after a process stopped; and whether the next goes on."""
    before, whole = set(content(path)), opened(of_before(path.parent / "whole"))

    @contextmanager
    def stopping(self: PrivateFile) -> Iterator[Stopping]:
        with transaction(self) as connection:
            yield Stopping(connection, statements)
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(PrivateFile, "transaction", stopping)
        with pytest.raises(KeyboardInterrupt):
            Outbox(path)
    more = [line for line in set(content(path)) - before if line.startswith("INSERT")]
    return before <= set(content(path)) and not more, opened(path) == whole


STATEMENTS = 3 + len(outbox._KEEP_DRAWS)


@pytest.mark.sparing(3)
@pytest.mark.parametrize("statements", range(STATEMENTS + 1))
def test_who_stops_in_the_middle_leaves_everything_as_it_was(tmp_path, monkeypatch, statements) -> None:
    """Before each statement, and after the last one."""
    assert left(of_before(tmp_path), monkeypatch, statements, PrivateFile.transaction) == (True, True)


def test_statements_that_are_apart_are_found(tmp_path, monkeypatch) -> None:
    """Stopped after the old table has another name, nobody has drawn anything."""
    assert left(of_before(tmp_path), monkeypatch, STATEMENTS - 2, apart) == (False, False)


# --- the whole client


def test_a_client_goes_on_in_a_folder_of_before(client: Made, network: Network, tmp_path: Path) -> None:
    """What waits is sent with a proof; who had drawn says the same again; the others are drawn once."""
    network.service = service = FakeService(offer=OFFER)
    for unit in ("ann", "bob", "cyd", "dan"):
        service.assign(STUDY, unit)
    of_before(tmp_path, ARMS[:-1])
    for _ in range(2):
        one = client(channel=CHANNEL)
        assert one.flush()
        for unit in ("ann", "bob", "cyd", "gil"):
            ticket = one.assign(unit).ticket
            one.expose(ticket)
            one.report(ticket, 1)
        assert one.flush()
        assert not one.refused
        one.close()
    assert len(service.told) == len(service.reports) == 5
    assert service.reports["ticket0", ""] == 41.0
    assert service.reports["ticket3", ""] == 43.0
