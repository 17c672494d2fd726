"""A helper as it is run: its commands, processes that are killed while totals are made, and a restored copy."""

import json
import shutil
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess, run
from typing import Any

import pytest

from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.prio3 import FIELD
from tests.service.helper_inside import PlayedLeader
from tests.service.live import ROOT, Live

HELPS = "--role", "helper", "--name", "University"


def do(live: Live, *words: str) -> CompletedProcess[str]:
    """A command about the database of the helper."""
    place = ["--database", live.address, "--witness", str(live.witness)]
    command = [sys.executable, "-m", "maskedbandit", *words, *place]
    return run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=120)


def say(live: Live, *words: str) -> list[dict[str, Any]]:
    """The lines of JSON of a command."""
    found = do(live, *words)
    assert found.returncode == 0, found.stderr
    return [json.loads(line) for line in found.stdout.splitlines()]


@pytest.mark.slow
def test_a_total_outlives_processes_that_are_killed(address: str, tmp_path: Path) -> None:
    live = Live(tmp_path, address)
    live.begin(*HELPS)
    try:
        leader = PlayedLeader(live, tmp_path / "leader")
        (invited,) = say(live, "helper", "invite")
        assert invited["fingerprint"] == leader.card["fingerprint"]
        assert leader.pair(invited["invitation"]).status == 200
        assert leader.pair(invited["invitation"]).code == "unauthorized"
        assert leader.register().status == 200
        said = dict[int, HelperTotal]()
        for cohort in range(4):
            offered, shares = leader.send_all(cohort)
            assert [each["ok"] for each in leader.offer(cohort, offered).json["answers"]] == [True] * 3
            body = leader.write_request(cohort, offered)
            with ThreadPoolExecutor(1) as other:  # what is asked while the process is killed is answered or not
                asked = other.submit(try_to_ask, leader, cohort, body)
                live.end(signal.SIGKILL)
                early = asked.result()
            live.begin(*HELPS)
            said[cohort] = leader.total(cohort, offered)
            assert early in (None, said[cohort]), "another total was told before"
            total = (said[cohort].total + shares) % FIELD
            assert abs(total if total < FIELD // 2 else total - FIELD) < 200
        assert leader.register().json["entries"] == 5
        own, paired, helped = say(live, "helper", "show")
        assert own == {"fingerprint": leader.card["fingerprint"]}
        assert (paired["role"], paired["fingerprint"]) == ("leader", leader.keys.fingerprint)
        assert helped == {"study": "small", "state": "running"}
        found = do(live, "ledger", "verify")
        assert "small, helped: 5 entries" in found.stdout, found.stderr
        assert "4 totals, 12 reports" in found.stdout
        assert live.end() == 0
    finally:
        live.abandon()
    assert not [path for path in live.outputs if "Traceback" in path.read_text()]


def try_to_ask(leader: PlayedLeader, cohort: int, body: dict[str, Any]) -> HelperTotal | None:
    """The total, if it was told."""
    try:
        found = leader.ask("POST", f"/cohorts/{cohort}/total", body)
    except OSError:
        return None
    return HelperTotal.from_table(found.json) if found.status == 200 else None


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    made = Live(tmp_path)
    yield made
    made.abandon()


@pytest.mark.slow
def test_a_helper_is_no_leader_and_a_copy_is_reconciled(live: Live, tmp_path: Path) -> None:
    live.begin(*HELPS)
    leader = PlayedLeader(live, tmp_path / "leader")
    assert leader.pair(say(live, "helper", "invite")[0]["invitation"]).status == 200
    assert leader.register().status == 200
    live.end()
    shutil.copy(tmp_path / "studies.db", tmp_path / "copy.db")
    live.begin(*HELPS)
    offered, _ = leader.send_all(0)
    leader.offer(0, offered)
    said = leader.total(0, offered)
    live.end()
    exported = do(live, "ledger", "export")
    assert exported.returncode == 0, exported.stderr
    (tmp_path / "export").write_text(exported.stdout)
    for path in tmp_path.glob("studies.db*"):
        path.unlink()
    (tmp_path / "copy.db").rename(tmp_path / "studies.db")
    live.begin(*HELPS)
    assert leader.ask("POST", "/cohorts/0/total", leader.write_request(0, offered)).code == "behind_witness"
    assert live.ask("GET", "/readyz", key=None).code == "behind_witness"
    live.end()
    assert "1 entries were brought back" in do(live, "study", "reconcile", str(tmp_path / "export")).stdout
    live.begin(*HELPS)
    assert leader.total(0, offered) == said
    live.end()
    refused = do(live, "serve", "--port", "0")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "role is 'leader'" in refused.stderr
    for words in (("--role", "helper"), ("--name", "x"), (*HELPS, "--demo"), ("--role", "other"), (*HELPS[:3], "\n")):
        assert do(live, "serve", "--port", "0", *words).returncode == 2


@pytest.mark.slow
def test_two_processes_serve_one_helper(live: Live, tmp_path: Path) -> None:
    live.begin(*HELPS)
    leader = PlayedLeader(live, tmp_path / "leader")
    assert leader.pair(say(live, "helper", "invite")[0]["invitation"]).status == 200
    assert leader.register().status == 200
    (tmp_path / "second").mkdir()
    second = Live(tmp_path / "second", live.address)
    second.witness = live.witness
    second.begin(*HELPS)
    try:
        offered, _ = leader.send_all(0)
        leader.helper = second
        assert leader.register().status == 200
        assert leader.offer(0, offered).status == 200
        said = leader.total(0, offered)
        assert live.end(signal.SIGKILL) == -signal.SIGKILL
        for _ in range(100_000):  # until the second process has taken the study over
            found = leader.ask("POST", "/cohorts/0/total", leader.write_request(0, offered))
            if found.status != 503:
                break
        assert HelperTotal.from_table(found.json) == said
    finally:
        second.abandon()
