"""A service and its shuffler as processes that are killed at random while devices report.

No report is lost, doubled or redrawn, no place is dealt twice, and no cohort is mixed twice; what was published is in
the ledgers of both.
"""

import json
from pathlib import Path

import pytest

from tests.service.shuffler_journal import ShuffledJournal, TossedJournal
from tests.service.test_two_operators_kills import play

KILLS = 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "postgresql", "kills"),
    [(ShuffledJournal, False, KILLS), (TossedJournal, False, KILLS // 2), (ShuffledJournal, True, KILLS // 2)],
    ids=["shares", "coins", "postgresql"],
)
def test_kills_of_either_lose_and_double_nothing(
    tmp_path: Path, kind: type[ShuffledJournal], postgresql: bool, kills: int
) -> None:
    found = play(tmp_path, postgresql, kills, kind=kind)
    print(json.dumps(found._asdict()))
    assert found.reports > 20
    assert found.releases >= 2
    assert found.waiting <= 2  # what the shuffler mixed as the service was killed: one of each arm


@pytest.mark.slow
def test_a_shuffler_that_answers_before_it_has_stored_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"lost|forgotten"):
        play(tmp_path, False, kills=6, mutant="told before the commit", kind=ShuffledJournal)
