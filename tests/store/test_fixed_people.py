"""A stored study that asks for an answer with a fixed number of people: phases, the last rewards, and the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maskedbandit.study.protocol import Protocol
from tests.store.test_replay import CENTRAL, Stored

PEOPLE = 300


def protocol(policy: Any) -> Protocol:
    return Protocol.from_table(
        {
            "name": "study",
            "people": PEOPLE,
            "policy": policy,
            "channel": CENTRAL,
            "arms": [{"name": name} for name in "abc"],
            "budget": {"epsilon": 100, "delta": 1e-6},
            "reward": {"rule": "first", "window": "1 second", "exposure": "0 seconds"},
        }
    )


@pytest.mark.parametrize("policy", ["pooled_elimination", "equal_split", "sequential_halving"])
def test_it_has_the_best_arm_once_the_last_rewards_are_there(tmp_path: Path, policy: str) -> None:
    stored, came = Stored(tmp_path, protocol(policy)), 0
    while stored.study.answer is None and stored.now < 100_000:
        stored.apply([stored.study._session.driver.ask])
        while stored.study._session.driver.deck.left and came < PEOPLE:
            (given,) = stored.apply([lambda came=came: stored.study.op_assign(f"unit {came}")])
            stored.apply([lambda given=given: stored.study.op_report(given.ticket, int(given.arm == 1))])
            came += 1
        stored.now += 1001
        stored.study.tick()
    assert stored.study.answer == 1
    assert came <= PEOPLE
    assert stored.study.people == came
    stored.study.close()
