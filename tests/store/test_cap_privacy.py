"""All that a person ever reports enters one release, as one number in [0, 1], and nothing else that is published."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.channels.central import Central
from maskedbandit.errors import Conflict, Late, PersonalValue, UnknownTicket
from maskedbandit.store.book.chain import read_links
from tests.statistics import seeded
from tests.store.small_study import EXPOSURE, WINDOW, Clock, small_protocol, small_study

GUARDRAIL = {"name": "harm", "harm": {"above": 0.5}, "rule": "sum"}
WORLDS: dict[str, list[Any]] = {  # what ann reports, with the event
    "nothing": [],
    "one": [(2, "a")],
    "many": [(2, str(i)) for i in range(15)],
    "retries": [(2, "a")] * 5,
    "conflicts": [(1, "a"), (2, "a"), (0, "a")],
    "refused": [(-1, "a"), (float("nan"), "b"), (float("inf"), "c"), (7, "d"), (True, "e"), (2, "f")],
    "fractions": [(0.3, str(i)) for i in range(12)],
    "harm": [(1, "a", "harm"), (1, "b", "harm"), (2, "a")],
}


Played = tuple[list[list[Any]], list[float]]  # what is published but for the sums, and what goes into these


def played(folder: Path, reports: list[Any]) -> Played:
    """What is published but for the sums, and all that goes into these, if this is what ann reports."""
    told, clock, published = list[float](), Clock(), list[list[Any]]()

    def randomize(self: Central, reward: float, *others: Any) -> int:
        told.append(reward)
        return 0

    reward = {"cap": 3, "most": 2, "default": 0.5, "window": "20 seconds", "exposure": "10 seconds"}
    protocol = small_protocol(reward=reward, guardrail=GUARDRAIL)
    where = f"sqlite:///{folder}/s.db", folder / "witness"
    with pytest.MonkeyPatch.context() as patch, small_study(*where, clock, protocol) as study:
        patch.setattr(Central, "randomize", randomize)
        patch.setattr(Central, "analyze", lambda *given, **more: 0.0)
        ticket, study._session.bits = "", seeded(3)  # people are dealt the same places in all worlds

        def say() -> None:
            for value, *which in reports:
                with suppress(Conflict, Late, PersonalValue, UnknownTicket):
                    study.report(ticket, value, *which)

        for stage in range(6):
            for unit in ("ann", *(f"person {stage} {i}" for i in range(5))):
                given = study.assign(unit)
                if unit == "ann":
                    ticket = given.ticket or ticket
                if given.ticket is not None:
                    study.expose(given.ticket)
            say()
            if stage == 4:
                assert study.erase("ann") == 1
            clock.now += WINDOW + EXPOSURE + 1
            study.tick()
        for link in read_links(study.database, study.name):
            hidden = ("members", "memory", "seed", "protocol")
            published.append([(name, said) for name, said in json.loads(link.body).items() if name not in hidden])
        assert len(study.releases()) >= 4
    return published, told


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The world in which ann reports nothing."""
    return played(tmp_path_factory.mktemp("silent"), [])


@pytest.mark.sparing(2)
@pytest.mark.parametrize("world", WORLDS)
def test_all_reports_of_a_person_are_one_number_of_one_release(world: str, tmp_path: Path, silent: Played) -> None:
    published, told = played(tmp_path, WORLDS[world])
    others, without = silent
    assert len(told) == len(without)
    assert all(0 <= reward <= 1 for reward in told)
    changed = [reward for reward, other in zip(told, without, strict=True) if reward != other]
    assert len(changed) <= 1 + (world == "harm")  # the reward, and the guardrail, which has an ε of its own
    assert [[name for name, _ in each] for each in published] == [[name for name, _ in each] for each in others]
    assert published == others
