"""What a helper, a device or a host may say wrongly when a cohort is settled: nothing is released, and nobody harmed.

Each check that refuses a helper's statement has a broken twin, without which such a statement would be published.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.errors import Conflict, Disagreement, Forged, Implausible, InvalidValue, MaskedBanditError, NotRunning
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.prio3 import FIELD, Range
from maskedbandit.service.views.status import write_ledger
from maskedbandit.store.batches import compare_proofs
from maskedbandit.store.settle import DueCohort
from maskedbandit.store.studies import find_witness, write_study
from maskedbandit.study.protocol import Protocol
from tests.store.small_study import WINDOW, Clock
from tests.store.two_operators import GRACE, Helper, Leading, name_operators

OVER = WINDOW + GRACE + 1
NAMES = "ann", "bob", "cy", "dan"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def leading(tmp_path: Path, clock: Clock) -> Iterator[Leading]:
    """Two cohorts of two are due; everybody's outcome is 1."""
    made = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock)
    for unit in NAMES:
        given = made.come(unit)
        made.upload(given, made.seal(given, 1))
    clock.now += OVER
    yield made
    made.study.close()


def stated(leading: Leading, cohort: int = 0) -> HelperTotal:
    """What the helper states of a cohort."""
    return leading.helper.state_total(leading.protocol, leading.list_cohort(cohort, 2))


SIGNED: dict[str, dict[str, Any]] = {  # what a helper may sign that is not what was agreed on
    "another study": {"study": "other"},
    "another protocol": {"protocol": "00" * 32},
    "another cohort": {"cohort": 1},
    "another n": {"n": 3},
    "another offer": {"offer": "00" * 32},
    "another list": {"digest": "00" * 32},
    "fewer reports": {"reports": 1},
}


@pytest.mark.sparing(2)
@pytest.mark.parametrize("lie", SIGNED)
def test_a_statement_of_something_else_is_refused(leading: Leading, lie: str) -> None:
    said = replace(stated(leading), **SIGNED[lie]).sign(leading.helper.signs)
    with pytest.raises(Disagreement, match="it must be"):
        leading.do("settle", 0, said)
    assert leading.study.releases() == []
    assert [each.cohort for each in leading.settle()] == [0, 1]  # what the helper stated before still holds


@pytest.mark.sparing(3)
@pytest.mark.parametrize("lie", SIGNED)
def test_without_the_comparison_it_would_be_released(
    leading: Leading, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    """The twin takes what is signed; opening the ledger refuses all but the list, which the leader alone knows."""
    monkeypatch.setattr(HelperTotal, "match", lambda self, **expected: None)
    monkeypatch.setattr("maskedbandit.store.settle.decode_total", lambda *given: 1.0)
    leading.do("settle", 0, replace(stated(leading), **SIGNED[lie]).sign(leading.helper.signs))
    assert len(leading.study.releases()) == 1


@pytest.mark.parametrize("change", [{"total": 7}, {"signature": ""}, {"signature": "00" * 64}, {"entry": 9}])
def test_a_statement_that_is_not_signed_so_is_refused(leading: Leading, change: dict[str, Any]) -> None:
    said = replace(stated(leading), **change)
    for each in (said, said.sign(Ed25519PrivateKey.generate())):
        with pytest.raises(Forged, match="is not signed by it"):
            leading.do("settle", 0, each)
    assert leading.study.releases() == []


def test_without_the_signature_anybody_may_state_a_total(leading: Leading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HelperTotal, "verify", lambda self, signs: None)
    leading.do("settle", 0, replace(stated(leading), signature=""))
    assert len(leading.study.releases()) == 1


def test_a_total_that_no_noise_explains_is_refused(leading: Leading) -> None:
    said = replace(stated(leading), total=FIELD // 2).sign(leading.helper.signs)
    with pytest.raises(Implausible):
        leading.do("settle", 0, said)
    assert leading.study.releases() == []


def test_others_in_the_transaction_do_not_fail_with_it(leading: Leading) -> None:
    said = replace(stated(leading), digest="00" * 32).sign(leading.helper.signs)
    done = leading.study.apply([("assign", "ann"), ("settle", 0, said), ("assign", "bob")])
    assert [type(each.refusal) for each in done] == [type(None), Disagreement, type(None)]


def test_cohorts_are_settled_one_after_the_other(leading: Leading, clock: Clock) -> None:
    for cohort in (0, 1):
        assert leading.list_cohort(cohort, 2).reports == 2
    for cohort in (-1, 2, 99, "0"):
        for operation in (("batch", cohort, 0), ("list", cohort, []), ("settle", cohort, None)):
            with pytest.raises(Conflict, match="is not the next one of its arm"):
                leading.do(*operation)
    assert len(leading.settle()) == 2
    with pytest.raises(Conflict):
        leading.do("settle", 0, leading.helper.said[0])


def test_the_second_cohort_of_an_arm_waits_for_the_first(tmp_path: Path, clock: Clock) -> None:
    where = f"sqlite:///{tmp_path}/study.db", tmp_path / "witness"
    leading = Leading(*where, clock, policy="contemporaneous_klucb")
    given = [done.value() for done in leading.study.apply([("assign", f"person {i}") for i in range(120)])]
    leading.study.apply([("expose", each.ticket) for each in given])
    clock.now += OVER
    due, cohorts = leading.do("due"), leading.study._session.driver.cohorts
    assert [cohorts[each.cohort].arm for each in due] == [0, 1, 0, 1]
    for cohort in (2, 3):
        with pytest.raises(Conflict, match="is not the next one of its arm"):
            leading.do("list", cohort, [])
    assert [each.cohort for each in leading.settle()] == [0, 1, 2, 3]
    leading.study.close()


def test_nothing_is_stated_of_a_cohort_without_a_list(leading: Leading) -> None:
    with pytest.raises(Conflict, match="has no list of reports yet"):
        leading.do("settle", 0, None)


def test_a_list_is_written_down_once(leading: Leading) -> None:
    found = leading.list_cohort(0, 2)
    assert leading.do("list", 0, []) == found  # whatever is asked for later
    leading.reopen()
    assert leading.do("due")[0] == DueCohort(0, 2, found)
    assert leading.list_cohort(0, 2) == found  # also the batches are as they were, for a helper that lost them
    assert len(leading.settle()) == 2


def test_batches_are_the_same_however_they_are_cut(leading: Leading) -> None:
    whole = leading.open_batch(0, 0)
    assert [each.place for each in whole.reports] == [0, 1]
    assert whole.next is None
    first = leading.open_batch(0, 0, 1)
    assert (first.reports, first.next) == (whole.reports[:1], 1)
    assert leading.open_batch(0, 1, 1).reports == whole.reports[1:]
    assert leading.open_batch(0, 2, 1).reports == []


# --- devices that lie -----------------------------------------------------------------------------------------------


FORGED: dict[str, Callable[[Leading, Any], Any]] = {
    "for another place": lambda leading, given: leading.seal(given, 1, place=given.offers[0].position + 1),
    "for another cohort": lambda leading, given: leading.seal(given, 1, cohort=given.cohort + 1),
    "for another study": lambda leading, given: leading.seal(given, 1, study=bytes(32)),
    "under another offer": lambda leading, given: leading.seal(given, 1, offer=bytes(32)),
    "with another turn": lambda leading, given: leading.seal(given, 1)._replace(turn=5),
    "of another name": lambda leading, given: leading.seal(given, 1)._replace(report=bytes(16)),
    "altered for the helper": lambda leading, given: leading.seal(given, 1)._replace(helper=bytes(80)),
    "altered for the leader": lambda leading, given: alter(leading.seal(given, 1)),
    "out of range": lambda leading, given: out_of_range(leading, given),
}


def alter(sent: Any) -> Any:
    return sent._replace(leader=bytes(len(sent.leader)))


def out_of_range(leading: Leading, given: Any) -> Any:
    """A device that claims 1,000,000 where 1 is the most: the proof is of another number."""
    real = Range.encode
    Range.encode = lambda self, value: [1_000_000]
    try:
        return leading.seal(given, 1)
    finally:
        Range.encode = real


@pytest.mark.sparing(3)
@pytest.mark.parametrize("how", FORGED)
def test_a_report_that_does_not_hold_counts_as_none(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(DiscreteLaplace, "noise_share", lambda self, honest, bits: 0)
    leading = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock)
    liar = leading.come("liar")
    leading.upload(liar, FORGED[how](leading, liar))
    for unit in NAMES[1:]:
        given = leading.come(unit)
        leading.upload(given, leading.seal(given, 1))
    clock.now += OVER
    found = {each.cohort: each.total for each in leading.settle()}
    assert found == {cohort: 1 if cohort == liar.cohort else 2 for cohort in (0, 1)}
    assert liar.ticket not in {ticket for (ticket,) in leading.study.database.rows("SELECT ticket FROM upload")}
    leading.study.close()


def test_without_the_proofs_a_device_moves_a_sum_at_will(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DiscreteLaplace, "noise_share", lambda self, honest, bits: 0)
    leading = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock)
    liar = leading.come("liar")
    sent = out_of_range(leading, liar)
    monkeypatch.setattr(Range, "check", lambda self, leader, helper: None)
    leading.upload(liar, sent)
    for unit in NAMES[1:]:
        leading.come(unit)
    clock.now += OVER
    with pytest.raises(MaskedBanditError):  # here the margin for noise notices it
        leading.settle()
    leading.study.close()


def test_a_report_that_the_helper_refuses_counts_as_none(leading: Leading) -> None:
    batch = leading.open_batch(0, 0)
    shown = leading.helper.show_proofs(leading.protocol, 0, 2, batch)
    assert compare_proofs(batch, {}) == compare_proofs(batch, {0: b"", 1: bytes(32), 7: shown[0]}) == []
    assert compare_proofs(batch, {0: shown[1], 1: shown[0]}) == []
    assert [each.place for each in compare_proofs(batch, {1: shown[1]})] == [1]


# --- people who leave meanwhile -------------------------------------------------------------------------------------


@pytest.mark.parametrize("listed", [False, True], ids=["before the list", "after it"])
def test_whoever_leaves_while_a_cohort_is_settled_does_not_stop_it(
    leading: Leading, monkeypatch: pytest.MonkeyPatch, listed: bool
) -> None:
    """Before the list is written down the outcome is the default; after it, it is in the sum, as after a release."""
    monkeypatch.setattr(DiscreteLaplace, "noise_share", lambda self, honest, bits: 0)
    batch = leading.open_batch(0, 0)
    accepted = compare_proofs(batch, leading.helper.show_proofs(leading.protocol, 0, 2, batch))
    if listed:
        leading.do("list", 0, accepted)
    for unit in NAMES:
        if leading.do("assign", unit).cohort == 0:
            leading.study.erase(unit)
            break
    found = leading.do("list", 0, accepted)
    released = leading.do("settle", 0, leading.helper.state_total(leading.protocol, found))
    assert (released.total, found.reports, len(found.left_out)) == ((2, 2, 0) if listed else (1, 1, 1))
    assert len(leading.settle()) == 1
    leading.reopen()


def test_a_share_that_is_not_kept_is_gone_with_whoever_leaves(leading: Leading) -> None:
    """The twin adds up what is stored when the helper has stated its total: then both shares do not fit."""
    found = leading.list_cohort(0, 2)
    batch = leading.open_batch(0, 0)
    own = sum(each.value for each in batch.reports) % FIELD
    assert own == found.total
    for unit in NAMES:
        if leading.do("assign", unit).cohort == 0:
            leading.study.erase(unit)
            break
    left = leading.open_batch(0, 0)
    assert sum(each.value for each in left.reports) % FIELD != found.total


# --- a helper that is away ------------------------------------------------------------------------------------------


def test_a_study_whose_helper_is_away_gives_places_and_waits(leading: Leading, clock: Clock) -> None:
    for _ in range(3):
        clock.now += OVER
        assert leading.do("tick") == []
        assert [each.cohort for each in leading.do("due")] == [0, 1]
    assert leading.do("assign", "eve").ticket is None  # the policy waits for these releases
    leading.study.stop()
    with pytest.raises(NotRunning, match="waits for rewards"):
        leading.study.archive()
    assert len(leading.settle()) == 2  # it is back
    leading.study.archive()


def test_a_helper_that_is_lost_is_given_up(leading: Leading) -> None:
    leading.list_cohort(0, 2)
    leading.do("give_up_helper")
    for _ in range(2):
        assert leading.study.state == "stopped"
        assert leading.do("due") == []
        for operation in (("batch", 0, 0), ("list", 0, []), ("settle", 0, None)):
            with pytest.raises(Conflict):
                leading.do(*operation)
        with pytest.raises(NotRunning, match="has no helper"):
            leading.do("give_up_helper")
        leading.reopen()
    database, witness = leading.study.database, find_witness(leading.study.database, leading.folder)
    said = write_ledger(database, witness, "small")[-2]
    assert said.endswith("without its helper 2 full cohorts will never be released")
    bodies = [body for (body,) in database.rows("SELECT body FROM entry ORDER BY number")]
    assert '"cohorts":[0,1]' in bodies[-2]
    assert '"kind":"helper_lost"' in bodies[-2]
    assert '"kind":"stopped"' in bodies[-1]
    assert database.rows("SELECT * FROM upload") == database.rows("SELECT * FROM listed") == []
    leading.study.archive()


# --- the start ------------------------------------------------------------------------------------------------------


def test_a_study_starts_with_the_operators_of_its_protocol(tmp_path: Path, clock: Clock) -> None:
    made = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock)
    made.study.close()
    for name, changes, says in (
        ("second", {"helper": Helper(2).keys}, "is not paired with University, the helper of second"),
        ("third", {"leader": Helper(3).keys}, "the fingerprint of this operator"),
    ):
        keys = {"leader": made.keys, "helper": made.helper.keys} | changes
        made.protocol = Protocol.from_table(made.protocol.table | {"name": name, "operators": name_operators(**keys)})
        write_study(made.protocol, made.address, made.folder)
        study = made.open()
        with pytest.raises((NotRunning, InvalidValue), match=says):
            study.start()
        assert study.state == "draft"
        if name == "second":
            made.helper = Helper(2)
            made.pair()
            study.start()
        study.close()
