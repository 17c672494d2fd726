"""A restored copy of the leader's database: what came after it is brought back, or burned; nothing is settled twice."""

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import BehindWitness
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.reconcile import bring_back, burn_missing, export_ledger
from maskedbandit.store.studies import find_witness
from tests.store.small_study import WINDOW, Clock
from tests.store.two_operators import GRACE, Leading

OVER = WINDOW + GRACE + 1


class Restored:
    """A study of which a copy was made before its first release; it went on, and then the copy came back."""

    def __init__(self, folder: Path, listed: bool) -> None:
        self.folder, self.clock = folder, Clock()
        self.leading = leading = Leading(f"sqlite:///{folder}/study.db", folder / "witness", self.clock)
        self.come(0, 4)
        self.clock.now += OVER
        if listed:
            leading.list_cohort(0, 2)
        leading.study.close()
        shutil.copy(folder / "study.db", folder / "kept.db")
        leading.study = leading.open()
        self.released = leading.settle()
        self.come(4, 12)
        leading.study.erase("person 0")
        leading.study.close()
        with closing(open_database(leading.address)) as database:
            lines = export_ledger(database, self.witness(database), "small")
            (folder / "exported").write_text("".join(f"{line}\n" for line in lines))
        for path in folder.glob("study.db*"):
            path.unlink()
        shutil.copy(folder / "kept.db", folder / "study.db")

    def come(self, first: int, last: int) -> None:
        """These people come, and all of them upload an outcome of 1."""
        for i in range(first, last):
            given = self.leading.come(f"person {i}")
            if given.ticket:
                self.leading.upload(given, self.leading.seal(given, 1))

    def witness(self, database: Any) -> Any:
        return find_witness(database, self.leading.folder)

    def reconcile(self, how: Any, *given: Any) -> None:
        """What the operator does about it, and whether all fits after it."""
        with closing(open_database(self.leading.address)) as database:
            how(database, self.witness(database), "small", *given)
            verify_study(database, self.witness(database), "small")


@pytest.mark.parametrize("listed", [False, True])
def test_a_copy_is_not_used(tmp_path: Path, listed: bool) -> None:
    restored = Restored(tmp_path, listed)
    with pytest.raises(BehindWitness):
        restored.leading.open()


@pytest.mark.sparing(1)
@pytest.mark.parametrize("listed", [False, True])
def test_what_is_missing_is_brought_back(tmp_path: Path, listed: bool) -> None:
    restored = Restored(tmp_path, listed)
    restored.reconcile(bring_back, tmp_path / "exported")
    leading = restored.leading
    leading.study = leading.open()
    assert leading.study.releases() == restored.released
    assert leading.do("due") == []
    assert leading.study.database.rows("SELECT * FROM listed") == []
    restored.come(20, 28)
    restored.clock.now += OVER
    leading.helper.said, leading.helper.taken = {}, {}  # it forgets what it was offered of cohorts that are lost
    assert len(leading.settle()) == 2
    leading.study.close()


@pytest.mark.parametrize("listed", [False, True])
def test_what_is_missing_is_burned(tmp_path: Path, listed: bool) -> None:
    """Places are dealt anew; the helper has stated its totals of these cohorts, so the study ends without them."""
    restored = Restored(tmp_path, listed)
    restored.reconcile(burn_missing)
    leading = restored.leading
    leading.study = leading.open()
    assert leading.do("due") == []
    assert leading.study.database.rows("SELECT * FROM listed") == []
    restored.clock.now += 1
    assert leading.do("assign", "somebody").why == "budget_exceeded"  # everybody was charged
    leading.do("give_up_helper")
    assert leading.study.state == "stopped"
    leading.study.close()


def test_a_copy_that_is_open_settles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clone that does not know of its twin would ask the helper for its total once more."""
    clock = Clock()
    leading = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock)
    for i in range(4):
        leading.come(f"person {i}")
    clock.now += OVER
    leading.list_cohort(0, 2)
    leading.study.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(tmp_path / "study.db", tmp_path / "clone.db")
    first, leading.address = leading.study, f"sqlite:///{tmp_path}/clone.db"
    clone = leading.open()
    leading.study = first
    said = leading.helper.state_total(leading.protocol, leading.list_cohort(0, 2))
    leading.do("settle", 0, said)
    leading.study = clone
    with monkeypatch.context() as twin:  # which does not ask the witness
        twin.setattr("maskedbandit.store.settle.check_newest", lambda session: None)
        leading.open_batch(0, 0)
    for operation in (("due",), ("batch", 0, 0), ("list", 0, []), ("settle", 0, said)):
        with pytest.raises(BehindWitness):
            leading.do(*operation)
    for study in (first, clone):
        study.close()
