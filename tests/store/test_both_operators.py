"""A study of two operators, each with a database and a witness of its own: to its releases, whoever ends in between."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.total_request import TotalRequest
from maskedbandit.store.batches import Batch
from maskedbandit.store.book.entries import read_entries
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.helping.reports import OfferedReport
from maskedbandit.store.helping.study import HelperStudy, register_study
from maskedbandit.store.helping.verify import verify_help
from maskedbandit.store.lease import LEASE_LENGTH
from maskedbandit.store.own_keys import derive_verify_key, read_own_keys
from maskedbandit.store.pairing import write_pairing
from maskedbandit.store.settle import ListedReports
from maskedbandit.store.studies import prepare_witness
from maskedbandit.study.protocol import Protocol
from tests.store.small_study import WINDOW, Clock
from tests.store.two_operators import GRACE, Leading

OVER = WINDOW + GRACE + 1


class StoredHelper:
    """The helper, as its process has it; it begins anew whenever it is told to."""

    def __init__(self, address: str, folder: Path, clock: Clock) -> None:
        self.address, self.clock = address, clock
        database = open_database(address)
        self.witness = prepare_witness(database, folder)
        database.close()
        self.keys = read_own_keys(self.witness)

    def begin(self, protocol: Protocol, leader: Witness) -> None:
        """Help this leader with this study."""
        self.sign = leader.signing_key()
        database, keys = open_database(self.address), read_own_keys(leader)
        with database.transaction():
            write_pairing(database, keys, "leader", "Clinic", "", "hash", 0)
        register_study(database, self.witness, protocol.text, keys.fingerprint)
        self.study = HelperStudy(database, self.witness, protocol.name, self.clock, "tester")
        self.key = derive_verify_key(leader, self.keys, protocol.digest)  # as the leader finds it

    def show_proofs(self, protocol: Protocol, cohort: int, n: int, batch: Batch) -> dict[int, bytes]:
        """What its shares show of the proofs of a batch, of those reports that it accepts."""
        offered = [
            OfferedReport(each.place, each.report, each.turn, each.sealed, each.verifier) for each in batch.reports
        ]
        answers = self.study.take_reports(cohort, n, offered) if offered else []
        return {each.place: answer.verifier for each, answer in zip(offered, answers, strict=True) if answer.ok}

    def state_total(self, protocol: Protocol, listed: ListedReports) -> HelperTotal:
        """Its share of the sum of these reports, with its noise, as it was sent."""
        told = {"cohort": listed.cohort, "n": listed.n, "digest": listed.digest}
        asked = TotalRequest(study=protocol.name, protocol=protocol.digest, **told).sign(self.sign)
        said = self.study.make_total(listed.cohort, listed.n, listed.left_out, listed.digest, asked.signature)
        return HelperTotal.from_text(said.to_text())


@pytest.fixture
def both(address: str, tmp_path: Path) -> Iterator[Leading]:
    """The leader in a database of this kind, the helper in a file."""
    clock = Clock()
    helper = StoredHelper(f"sqlite:///{tmp_path}/helper.db", tmp_path / "helper", clock)
    leading = Leading(address, tmp_path / "witness", clock, helper)
    helper.begin(leading.protocol, leading.study._session.witness)
    yield leading
    leading.study.close()
    helper.study.close()


def play(both: Leading, people: int, start: int = 0) -> dict[int, int]:
    """So many people come, of whom each third reports nothing, and each other one 1: the sums of the cohorts."""
    sums = dict[int, int]()
    for i in range(start, start + people):
        given = both.come(f"person {i}")
        assert given.cohort is not None
        sums.setdefault(given.cohort, 0)
        if i % 3:
            both.upload(given, both.seal(given, 1))
            sums[given.cohort] += 1
    both.clock.now += OVER
    return sums


def test_both_databases_fit_each_other(both: Leading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DiscreteLaplace, "noise_share", lambda self, honest, bits: 0)
    helper = both.helper
    sums, released = play(both, 4), both.settle()
    assert {each.cohort: each.total for each in released} == sums
    sums = play(both, 8, 4)
    (first, second) = both.do("due")
    listed = both.list_cohort(first.cohort, first.n)
    both.reopen()  # the leader ends before it has asked, and asks for another list first
    assert both.list_cohort(first.cohort, first.n) == listed
    said = helper.state_total(both.protocol, listed)
    helper.study.close()  # the helper ends after it has stated its total, and the leader before it has settled it
    helper.begin(both.protocol, both.study._session.witness)
    both.reopen()
    assert helper.state_total(both.protocol, listed) == said
    found = both.settle()
    assert {each.cohort: each.total for each in found} == sums
    assert found[0].helper == said
    assert [each.helper.entry for each in (*released, *found) if each.helper] == [1, 2, 3, 4]
    database = open_database(helper.address)
    verified = verify_help(database, helper.witness, "small")
    database.close()
    assert (verified.totals, verified.reports) == (4, 8)
    assert second.cohort in sums


def test_a_leader_that_was_restored_goes_on_without_the_places_whose_newer_reports_are_lost(tmp_path: Path) -> None:
    """The helper was offered them, and a place has one report."""
    clock = Clock()
    helper = StoredHelper(f"sqlite:///{tmp_path}/helper.db", tmp_path / "helper", clock)
    leading = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock, helper)
    helper.begin(leading.protocol, leading.study._session.witness)
    people = [leading.come(f"person {i}") for i in range(4)]
    for each in people:
        leading.upload(each, leading.seal(each, 0))
    leading.study.close()
    shutil.copy(tmp_path / "study.db", tmp_path / "kept.db")
    leading.study = leading.open()
    leading.upload(people[0], leading.seal(people[0], 1, turn=1))
    clock.now += OVER
    for due in leading.do("due"):
        helper.show_proofs(leading.protocol, due.cohort, due.n, leading.open_batch(due.cohort, 0))
    leading.study.close()
    for path in tmp_path.glob("study.db*"):
        path.unlink()
    shutil.copy(tmp_path / "kept.db", tmp_path / "study.db")
    clock.now += LEASE_LENGTH
    leading.study = leading.open()
    assert len(leading.settle()) == 2
    helped = read_entries(open_database(helper.address), "small", "helped")
    assert sorted(each.reports for each in helped) == [1, 2]
