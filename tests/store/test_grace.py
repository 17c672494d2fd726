"""Devices that report at the deadline: reports are taken until the grace is over, and the release is after that."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from maskedbandit.errors import Late
from maskedbandit.service.views.view import read_view
from maskedbandit.store.studies import find_witness
from maskedbandit.store.study import Study
from tests.store.small_study import WINDOW, Clock, small_protocol, small_study

GRACE = 3_600_000
REWARD = {"rule": "first", "window": "20 seconds", "exposure": "10 seconds", "grace": "1 hour"}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def study(tmp_path: Path, clock: Clock) -> Iterator[Study]:
    protocol = small_protocol(channel={"name": "response", "epsilon": 1}, reward=REWARD)
    with small_study(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock, protocol) as made:
        yield made


def test_reports_are_taken_until_the_grace_is_over(study: Study, clock: Clock, tmp_path: Path) -> None:
    tickets = [str(study.assign(f"person {i}").ticket) for i in range(4)]
    for ticket in tickets:
        study.expose(ticket)
    seen, clock.now = clock.now, clock.now + WINDOW + GRACE
    assert study.tick() == []
    assert not study.report(tickets[0], 1).again
    view = read_view(study.database, find_witness(study.database, tmp_path / "witness"), "small", clock.now)
    assert {each.deadline for each in view.counts.cohorts} == {seen + WINDOW + GRACE}
    clock.now += 1
    with pytest.raises(Late):
        study.report(tickets[1], 1)
    assert len(study.tick()) == 2
