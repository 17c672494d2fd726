"""Both operators as processes that are killed at random while devices upload: nothing is lost, doubled or redrawn."""

import json
import re
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, Protocol

import pytest

from tests.service.live import COMMAND, Live
from tests.service.test_helper_processes import HELPS, do, say
from tests.service.two_operators_journal import DeviceJournal
from tests.store.databases import fresh_postgresql

KILLS, PEOPLE_AT_ONCE = 8, 2
LONGEST = 120  # seconds that are waited for a number of answers


def make_operator(folder: Path, database: str | None, command: Sequence[str] = COMMAND) -> Live:
    """An operator, which has not begun."""
    folder.mkdir()
    return Live(folder, database, command)


def pair(leader: Live, helper: Live, role: Sequence[str] = HELPS) -> dict[str, dict[str, str]]:
    """Both begin and are paired: the [operators] of their study."""
    helper.begin(*role)
    (invited,) = say(helper, "helper", "invite")
    found = do(leader, "helper", "pair", helper.url, invited["invitation"], "--name", "Clinic")
    assert found.returncode == 0, found.stderr
    own, his, *_ = re.findall(r"\b[0-9a-f]{64}\b", found.stdout)
    leader.begin()
    return {
        "leader": {"name": "Clinic", "key": own},
        "helper": {"name": "University", "key": his, "address": helper.url},
    }


class Answered(Protocol):
    """People whom a service answers, while others look on."""

    answered: int
    wrong: list[BaseException]


def wait_for(journal: Answered, answers: int) -> None:
    """Until so much was answered."""
    end = time.monotonic() + LONGEST
    while journal.answered < answers:
        assert not journal.wrong, journal.wrong
        assert time.monotonic() < end, "nothing is answered any more"
        time.sleep(0.005)


def play(
    folder: Path,
    postgresql: bool,
    kills: int = KILLS,
    mutant: str = "",
    seed: int = 33,
    kind: type[DeviceJournal] = DeviceJournal,
) -> Any:
    """Kills of the operators in turn, at random times of the load of devices; then both are held against the journal.

    If there is a mutant, it is whom the devices report to, and is killed alone.
    """
    leads, helps = (fresh_postgresql() if postgresql else None for _ in range(2))
    mutated = ("-m", "tests.service.mutant_server", mutant, "serve") if mutant else COMMAND
    leader = make_operator(folder / "leader", leads, mutated if kind.stores == "leader" else COMMAND)
    helper = make_operator(folder / "helper", helps, mutated if kind.stores == "helper" else COMMAND)
    random = Random(seed)
    try:
        # where what was told is lost, places that nobody reports of come back, and people find one
        reward = kind.table["reward"] | ({"exposure": "1 second"} if mutant else {})
        leader.start_study(kind.table | {"operators": pair(leader, helper, kind.second), "reward": reward})
        journal = kind(leader, helper, folder / "journal")
        with ThreadPoolExecutor(PEOPLE_AT_ONCE) as people:
            tasks = [people.submit(journal.run, i) for i in range(PEOPLE_AT_ONCE)]
            try:
                for number in range(kills):
                    wait_for(journal, journal.answered + random.randrange(1, 12))
                    if (kind.stores if mutant else ("leader", "helper")[number % 2]) == "leader":
                        leader.kill_and_begin()
                    else:
                        assert helper.end(signal.SIGKILL) == -signal.SIGKILL
                        helper.begin(*kind.second)
                wait_for(journal, journal.answered + 20)
            finally:
                journal.over = True
            for each in tasks:
                each.result()
        assert (leader.end(), helper.end()) == (0, 0)
        found = journal.hold()
        assert "Traceback" not in leader.said() + helper.said()
        return found
    finally:
        leader.abandon()
        helper.abandon()


@pytest.mark.slow
@pytest.mark.parametrize(("postgresql", "kills"), [(False, KILLS), (True, KILLS // 2)], ids=["sqlite", "postgresql"])
def test_kills_of_either_operator_lose_and_double_nothing(tmp_path: Path, postgresql: bool, kills: int) -> None:
    """Four kills of the leader miss the broken one with a chance of 1 %, as two kills do in one of 12 loads."""
    found = play(tmp_path, postgresql, kills)
    print(json.dumps(found._asdict()))
    assert found.acknowledged > 50
    assert found.releases >= 2


@pytest.mark.slow
def test_a_leader_that_answers_before_it_has_stored_is_noticed(tmp_path: Path) -> None:
    """Two kills were enough in 22 of 24 loads, and there are up to eight."""

    def play_loads() -> None:
        for number in range(8):
            (tmp_path / str(number)).mkdir()
            play(tmp_path / str(number), False, kills=2, mutant="told before the commit", seed=number)

    with pytest.raises(AssertionError, match="lost"):
        play_loads()
