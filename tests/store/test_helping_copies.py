"""A copy of a helper's database that is behind its witness is refused, and reconciled with an export or without one."""

import shutil
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from maskedbandit.errors import BehindWitness, Corrupted, FencedOff, InvalidValue, NotRunning
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.helping.reconcile import bring_back_help, end_help, export_help
from tests.store.databases import copied_postgresql
from tests.store.helper_scene import HelpedCohorts, N, Operators, ask_total, digest_sent, take


class Copied:
    """A helper, and a copy of its database from before its second total."""

    def __init__(self, folder: Path, address: str) -> None:
        self.helped = HelpedCohorts(Operators(folder, address))
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
        ask_total(clone, 1, N, [], digest_sent(copied.helped.waiting))


def test_a_clone_makes_no_total(copied: Copied) -> None:
    with pytest.raises(BehindWitness, match="another copy of this database is in use"):
        make_both(copied)


def test_a_clone_whose_witness_looks_away_makes_one(copied: Copied, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Witness, "watching", lambda *given: nullcontext())
    make_both(copied)


def test_whoever_was_replaced_makes_no_total(copied: Copied) -> None:
    with copied.operators.open() as first, copied.operators.open() as second:
        with pytest.raises(FencedOff):
            ask_total(first, 1, N, [], digest_sent(copied.helped.waiting))
        assert ask_total(second, 1, N, [], digest_sent(copied.helped.waiting)).entry == 2


def test_a_restored_copy_is_brought_back(copied: Copied, tmp_path: Path) -> None:
    helped = copied.helped
    with copied.operators.open() as study:
        answers = take(study, 1, N, helped.waiting)
        said = ask_total(study, 1, N, [], digest_sent(helped.waiting))
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
        assert ask_total(study, 1, N, [], digest_sent(helped.waiting)) == said
        assert ask_total(study, 0, N, [], digest_sent(helped.done)) == helped.said
        assert ask_total(study, 2, N, [], digest_sent({})).entry == 3
    with pytest.raises(InvalidValue, match="nothing is missing here"):
        copied.reconcile(bring_back_help, export)


def test_what_was_erased_at_the_end_does_not_come_back(copied: Copied, tmp_path: Path) -> None:
    """The copy has the shares of a cohort without a total, which were erased when the study ended."""
    with copied.operators.open() as study:
        study.close_help()
    copied.reconcile(bring_back_help, copied.export(tmp_path / "export"))
    copied.use(copied.copy)
    assert copied.operators.verify() == (1, 6)
    with copied.operators.open() as study:
        assert study.state == "stopped"
        assert study.database.rows("SELECT COUNT(*) FROM helped_report WHERE locked IS NOT NULL") == [(0,)]


def test_without_an_export_no_more_totals_are_made(copied: Copied) -> None:
    copied.helped.make_second()
    assert "1 entries are missing here" in copied.reconcile(end_help)
    copied.use(copied.copy)
    assert copied.operators.verify() == (1, 6)
    fresh = copied.operators.send(copied.operators.terms(2, N, 0), 1)
    with copied.operators.open() as study:
        assert study.state == "stopped"
        assert ask_total(study, 0, N, [], digest_sent(copied.helped.done)) == copied.helped.said
        for cohort, sent in ((1, copied.helped.waiting), (2, {})):
            with pytest.raises(NotRunning, match="no total is made any more"):
                ask_total(study, cohort, N, [], digest_sent(sent))
        with pytest.raises(NotRunning, match="no report is taken any more"):
            study.take_reports(2, N, [fresh.offered])
        assert study.database.rows("SELECT COUNT(*) FROM helped_report WHERE locked IS NOT NULL") == [(0,)]
