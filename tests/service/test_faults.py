"""What was acknowledged over HTTP stays, once, whatever becomes of the requests, and of a server among them.

That many kills of a server alone harm nothing is in test_durability.py, where clients keep journals, too.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.service.live import COMMAND, Live, live
from tests.service.load import TABLE, Fault, Load
from tests.store.databases import fresh_postgresql

NONE, ALL = Fault(), Fault(request=0.1, answer=0.1, twice=0.1)


def run(
    folder: Path, address: str | None, people: int, kills: int, fault: Fault, command: Sequence[str] = COMMAND
) -> Load:
    """A load on a server of its own, and what came of it."""
    with live(folder, address, command) as server:
        server.start_study(TABLE)
        load = Load(server, fault, seed=15)
        load.run(people, kills)
        ended = server.end()
        load.check()
        assert ended == 0, server.said()
        assert "Traceback" not in server.said()
    print(f"{load.answered} answers, {load.unknown} lost, {kills} kills, {load.releases} releases")
    return load


@pytest.mark.slow
def test_a_load_with_faults(tmp_path: Path) -> None:
    load = run(tmp_path, None, 60, 1, ALL)
    assert load.unknown > 5


@pytest.mark.slow
def test_the_server_ends_under_load(tmp_path: Path) -> None:
    """Every request that was begun is answered, none is done without an answer, and the process ends by itself."""
    with live(tmp_path) as server:
        server.start_study(TABLE | {"policy": {"name": "successive_elimination", "least": 10**5}})
        load = Load(server, NONE, seed=15)
        assert load.run_until_the_end(300) == 0
        load.check()
        assert "Traceback" not in server.said()
        assert '"level": "error"' not in server.said()


@pytest.mark.slow
def test_two_processes_of_which_one_is_killed(tmp_path: Path) -> None:
    """Either may be asked; one holds the study, and the other takes it over. All that befalls requests does so here."""
    first = Live(tmp_path, fresh_postgresql())
    (tmp_path / "second").mkdir()
    second = Live(tmp_path / "second", first.address)
    second.witness, second.keys = first.witness, first.keys
    try:
        first.begin()
        first.start_study(TABLE)
        second.begin()
        load = Load(first, Fault(request=0.05, answer=0.05, twice=0.1), seed=15, others=[second])
        load.run(600, 4)
        load.check()
        for each in (second, first):
            assert each.end() == 0
            assert "Traceback" not in each.said()
            assert "server_error" not in each.said()
    finally:
        for each in (first, second):
            each.abandon()
    assert load.releases > 3


@pytest.mark.slow
def test_lost_doubled_and_overtaken_requests(tmp_path: Path) -> None:
    load = run(tmp_path, None, 600, 1, Fault(request=0.15, answer=0.15, twice=0.2))
    assert load.unknown > 300
    assert load.releases > 5


@pytest.mark.slow
@pytest.mark.parametrize("mutant", ["told before the commit", "places in memory"])
def test_mutants_are_caught(tmp_path: Path, mutant: str) -> None:
    """A single kill was enough in 4 of 5 loads for the first, and in 3 of 5 for the second; there are up to thirty."""
    command = "-m", "tests.service.mutant_server", mutant, "serve"

    def run_ten() -> None:
        for number in range(10):
            run(tmp_path / str(number), None, 90, 3, ALL, command)

    with pytest.raises(AssertionError):
        run_ten()
