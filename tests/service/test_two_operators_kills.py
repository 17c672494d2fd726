"""Both operators as processes that are killed at random while devices upload: nothing is lost, doubled or redrawn."""

import json
import re
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Protocol

import pytest

from maskedbandit.store.databases.connection import open_database
from tests.service.live import COMMAND, Live
from tests.service.test_helper_processes import HELPS, do, say
from tests.service.two_operators_journal import TABLE, DeviceJournal, HeldAgainst, check_both
from tests.store.databases import fresh_postgresql

KILLS, PEOPLE_AT_ONCE = 20, 2
LONGEST = 120  # seconds that are waited for a number of answers


def make_operator(folder: Path, database: str | None, command: Sequence[str] = COMMAND) -> Live:
    """An operator, which has not begun."""
    folder.mkdir()
    return Live(folder, database, command)


def pair(leader: Live, helper: Live) -> dict[str, dict[str, str]]:
    """Both begin and are paired: the [operators] of their study."""
    helper.begin(*HELPS)
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


def count_releases(leader: Live) -> int:
    """How many cohorts were released."""
    database = open_database(leader.address)
    try:
        return int(database.rows("SELECT COUNT(*) FROM release WHERE study = ?", TABLE["name"])[0][0])
    finally:
        database.close()


def play(folder: Path, postgresql: bool, kills: int = KILLS, mutant: str = "", seed: int = 33) -> HeldAgainst:
    """Kills of either operator at random, under the load of devices; then both are held against the journal.

    A leader that is a mutant alone is killed.
    """
    leads, helps = (fresh_postgresql() if postgresql else None for _ in range(2))
    command = ("-m", "tests.service.mutant_server", mutant, "serve") if mutant else COMMAND
    leader = make_operator(folder / "leader", leads, command)
    helper = make_operator(folder / "helper", helps)
    random = Random(seed)
    try:
        # where what was told is lost, places that nobody reports of come back, and people find one
        reward = TABLE["reward"] | ({"exposure": "1 second"} if mutant else {})
        leader.start_study(TABLE | {"operators": pair(leader, helper), "reward": reward})
        journal = DeviceJournal(leader, folder / "journal")
        with ThreadPoolExecutor(PEOPLE_AT_ONCE) as people:
            tasks = [people.submit(journal.run, i) for i in range(PEOPLE_AT_ONCE)]
            try:
                for _ in range(kills):
                    wait_for(journal, journal.answered + random.randrange(1, 12))
                    if mutant or random.random() < 0.5:
                        leader.kill_and_begin()
                    else:
                        assert helper.end(signal.SIGKILL) == -signal.SIGKILL
                        helper.begin(*HELPS)
                wait_for(journal, journal.answered + 20)
            finally:
                journal.over = True
            for each in tasks:
                each.result()
        assert (leader.end(), helper.end()) == (0, 0)
        found = check_both(journal, leader, helper)
        assert "Traceback" not in leader.said() + helper.said()
        return found
    finally:
        leader.abandon()
        helper.abandon()


@pytest.mark.slow
@pytest.mark.parametrize("postgresql", [False, True], ids=["sqlite", "postgresql"])
def test_kills_of_either_operator_lose_and_double_nothing(tmp_path: Path, postgresql: bool) -> None:
    found = play(tmp_path, postgresql)
    print(json.dumps(found._asdict()))
    assert found.acknowledged > 100
    assert found.releases >= 4


@pytest.mark.slow
def test_a_leader_that_answers_before_it_has_stored_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="lost"):
        play(tmp_path, False, kills=6, mutant="told before the commit")
