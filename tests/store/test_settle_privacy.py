"""What the leader of two operators sees of an outcome: nothing, in no row, size, order, time or answer.

Two studies are the same but for one person's outcome. What is drawn is the same in both, but for what seals draw; and
the noise of each release makes both totals equal. Devices send a standing report: at each contact what holds by then.
"""

import re
import struct
from ast import literal_eval
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.prio3 import FIELD
from maskedbandit.secagg.uploads import Upload
from maskedbandit.store import lease, settle
from maskedbandit.store.batches import open_batch
from maskedbandit.store.book import shares
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.settle import read_batch
from maskedbandit.store.study import Study
from tests.store.small_study import WINDOW, Clock
from tests.store.two_operators import CHANNEL, GRACE, Helper, Leading

SECRET = re.compile(r"[0-9a-f]{64,}|\b[0-9]{15,20}\b|\bb'(?:[^'\\]|\\.)*'|\bb\"(?:[^\"\\]|\\.)*\"")
PEOPLE, VICTIM, CONTACTS, APART = 8, 3, 3, 3000  # contacts of each device, milliseconds apart
HAPPENS = 2000  # milliseconds after the arm was seen


def hidden(said: Any) -> str:
    """What is said: of seals and hashes their sizes alone, and of uniform numbers nothing."""

    def hide(found: re.Match[str]) -> str:
        text = found[0]
        if text[1] in "'\"":
            return f"#{len(literal_eval(text))}"
        return f"#{len(text)}" if len(text) >= 64 else "#"

    return SECRET.sub(hide, repr(said))


class Watched:
    """All that a study asks of its database, and what its operations answer."""

    def __init__(self, leading: Leading) -> None:
        self.leading, self.seen = leading, list[str]()
        for name in ("rows", "change", "rows_in", "rows_by", "each", "insert", "insert_missing", "commit", "begin"):
            real = getattr(leading.study.database, name)
            setattr(leading.study.database, name, partial(self._heard, name, real))

    def _heard(self, name: str, real: Any, *given: Any, **keys: Any) -> Any:
        self.seen.append(f"{name} {hidden(given)} {hidden(keys)}")
        return real(*given, **keys)

    def do(self, *operation: Any) -> Any:
        """An operation, with its answer, and the time afterwards."""
        done = self.leading.study.apply([operation])[0]
        self.seen.append(f"{operation[0]}: {hidden(done)} at {self.leading.study.time}")
        return done.value()

    def open_batch(self, *which: Any) -> Any:
        """A batch, with what was opened."""
        opened = Leading.open_batch(self.leading, *which)
        self.seen.append(f"opened: {hidden(opened)}")
        return opened


def fix_draws(patch: pytest.MonkeyPatch, clock: Clock) -> None:
    """What is drawn is the same each time, and the totals are whatever the noise is."""
    drawn = Random(5).randbytes
    patch.setattr(Bits.__init__, "__defaults__", (drawn,))
    for module in ("people", "rows"):
        patch.setattr(f"maskedbandit.store.{module}.urandom", drawn)
    names = SimpleNamespace(token_hex=lambda n: drawn(n).hex())
    for name in ("studies", "erasure", "book.witness", "databases.migrate"):
        patch.setattr(f"maskedbandit.store.{name}.secrets", names)
    patch.setattr(lease, "read_clock", clock)
    for each in (settle, shares):
        patch.setattr(each, "decode_total", lambda protocol, own, said: float(said.cohort))


def play(folder: Path, outcome: float, seal: Any = Leading.seal) -> list[str]:
    """A study in which somebody has this outcome: all that is seen of it."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        fix_draws(patch, clock := Clock())
        leading = Leading(f"sqlite:///{folder}/study.db", folder / "witness", clock, people=40)
        watched = Watched(leading)
        patch.setattr(leading, "do", watched.do)
        patch.setattr(leading, "open_batch", watched.open_batch)
        devices = [leading.come(f"person {i}") for i in range(PEOPLE)]
        start = clock.now
        for contact in range(CONTACTS):
            clock.now = start + contact * APART
            for i, given in enumerate(devices):
                if given.ticket is not None:
                    value = (outcome if i == VICTIM else i % 2) * (contact * APART >= HAPPENS)
                    watched.do("upload", given.ticket, *seal(leading, given, value, contact, Bits(Random(7).randbytes)))
        clock.now = start + WINDOW + GRACE + 1
        watched.do("tick")
        assert len(leading.settle()) == 2
        watched.do("erase", f"person {VICTIM}")
        database = leading.study.database
        for name in sorted(database.tables() - {"sqlite_stat1"}):
            watched.seen.append(f"{name}: {sorted(map(hidden, database.rows(f'SELECT * FROM {name}')))}")
        leading.study.close()
    return watched.seen


def check_same(first: list[str], second: list[str]) -> None:
    """Raise unless both saw the same, in the same order."""
    for i, (a, b) in enumerate(zip(first, second, strict=False)):
        assert a == b, f"it is seen at {i}: {a} or {b}"
    assert len(first) == len(second), "it is seen in how much there is"


def test_nobody_sees_an_outcome(tmp_path: Path) -> None:
    first, second = (play(tmp_path / str(outcome), outcome) for outcome in (0, 1))
    assert sum(each.startswith("upload: ") for each in first) >= 4 * CONTACTS
    assert [each for each in first if each.startswith("settle: ") and "Release(" in each]
    check_same(first, second)


# --- broken twins ---------------------------------------------------------------------------------------------------


def unpadded(leading: Leading, given: Any, value: float, turn: int, bits: Bits) -> Upload:
    """A device whose report of nothing is shorter; the leader stores what it is sent."""
    sent = leading.seal(given, value, turn, bits)
    return sent if value else sent._replace(leader=sent.leader[1:])


def eager(leading: Leading, given: Any, value: float, turn: int, bits: Bits) -> Upload:
    """A device whose turn says that there was an outcome."""
    return leading.seal(given, value, turn + 5 * (value > 0), bits)


def early(leading: Leading, given: Any, value: float, turn: int, bits: Bits) -> Upload:
    """A device that is in contact once more if there was an outcome."""
    if value:
        leading.do("upload", given.ticket, *leading.seal(given, 0, turn, bits))
    return leading.seal(given, value, turn, bits) if not value else leading.seal(given, value, turn + 5, bits)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("twin", [unpadded, eager, early])
def test_devices_that_tell_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twin: Any) -> None:
    monkeypatch.setattr(Upload, "check", lambda self, largest: None)  # the leader takes reports of any size
    seen = [play(tmp_path / str(outcome), outcome, twin) for outcome in (0, 1)]
    with pytest.raises(AssertionError, match="it is seen"):
        check_same(*seen)


@pytest.mark.parametrize("notes", [True, False], ids=["in a row", "in an answer"])
def test_a_leader_that_has_both_shares_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, notes: bool) -> None:
    """If it could open the share of the helper too, that would be seen here."""

    def tells(session: Any, *given: Any) -> Any:
        sealed = read_batch(session, *given)
        opened = open_batch(leading[-1].reader, sealed).reports
        both = [each.value + helper.read_share(session.protocol, given[0], 2, each).value for each in opened]
        told = sum(both) % FIELD
        if notes:
            session.database.change("UPDATE project SET period = ?", told)
        return sealed if notes else (*sealed, told)

    def ask(self: Leading, cohort: int, n: int) -> Any:
        leading.append(self)
        return self.do("batch", cohort, 0)

    helper, seen, leading = Helper(), list[list[str]](), list[Leading]()
    monkeypatch.setitem(Study.operations, "batch", tells)
    monkeypatch.setattr(Leading, "list_cohort", ask)
    monkeypatch.setattr(Leading, "settle", lambda self: [self.list_cohort(each.cohort, 2) for each in self.do("due")])
    for outcome in (0, 1):
        seen.append(play(tmp_path / str(outcome), outcome))
    with pytest.raises(AssertionError, match="it is seen"):
        check_same(*seen)


# --- canaries -------------------------------------------------------------------------------------------------------

STEPS = 2**19  # in one reward, so that an outcome is a number that comes by chance nowhere else
CANARY = 366_503


def find_canary(folder: Path, at: float) -> list[str]:
    """Where the outcome stands, in any form: as a number, or as the bytes of one."""
    found, whole = list[str](), re.compile(rf"(?<![0-9a-f.]){CANARY}(?![0-9a-f])|{re.escape(repr(at))}")
    packed = [struct.pack(form, number) for form in ("<Q", ">Q") for number in (CANARY,)]
    packed += [struct.pack(form, at) for form in ("<d", ">d")]
    with closing(open_database(f"sqlite:///{folder}/study.db")) as database:
        for name in database.tables():
            for row in database.rows(f"SELECT * FROM {name}"):
                text = repr(row)
                if whole.search(text) or any(each.hex() in text for each in packed):
                    found.append(name)
    with closing(apsw.Connection(f"{folder}/study.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for path in folder.glob("study.db*"):
        found += [path.name for each in packed if each in path.read_bytes()]
    return found


def with_canaries(folder: Path, clear: bool = False) -> list[str]:
    """Everybody has one outcome, and tells it to the devices, or to the leader: where it stands before and after."""
    folder.mkdir(exist_ok=True)
    clock, at = Clock(), CANARY / STEPS
    channel = CHANNEL | {"grid": STEPS}
    leading = Leading(f"sqlite:///{folder}/study.db", folder / "witness", clock, channel=channel)
    for i in range(4):
        given = leading.come(f"person {i}")
        leading.upload(given, leading.seal(given, at))
        if clear:
            leading.do("report", given.ticket, at)
    found = find_canary(folder, at)
    clock.now += WINDOW + GRACE + 1
    for due in leading.do("due"):
        leading.list_cohort(due.cohort, due.n)
    found += find_canary(folder, at)
    assert len(leading.settle()) == 2
    leading.study.close()
    return found + find_canary(folder, at)


def test_no_row_and_no_file_of_the_leader_has_an_outcome(tmp_path: Path) -> None:
    assert with_canaries(tmp_path / "one") == []


def test_an_outcome_that_the_leader_was_told_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maskedbandit.store.people.check_report", lambda *given: None)
    found = with_canaries(tmp_path / "one", clear=True)
    assert "reward" in found
    assert "study.db" in found
