"""A coordinator and its sites as processes that are killed at random: nothing is lost, doubled or left out of a sum."""

import json
import signal
import time
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.cli.parts.sites import STUDY, SitesOfDemo
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from tests.service.sites_journal import hold_against_sites

KILLS, PEOPLE, SITES = 6, 60, 4
LONGEST = 240  # seconds


class KilledSites(SitesOfDemo):
    """The demo with so little noise that none is seen: 0 but for one release in 10^25."""

    def _table(self, named: list[dict[str, str]]) -> dict[str, Any]:
        table = super()._table(named)
        table["people"] = 10**6
        table["policy"] = {"name": "successive_elimination", "least": 16}
        table["channel"] = {**table["channel"], "epsilon": 60}
        table["budget"] = {"epsilon": 60}
        table["reward"] = {"window": "3 seconds", "exposure": "2 seconds"}
        return table

    def kill(self, number: int) -> None:
        """Kill one of the processes, and start it again."""
        name = ["coordinator", *self.names][number]
        process = self.processes.begun[name]
        process.send_signal(signal.SIGKILL)
        process.wait()
        role = () if name == "coordinator" else ("--role", "site")
        self.processes.start(name, self.urls[name], *role, "--rate", "1e9")

    def come(self, i: int) -> tuple[str, int] | None:
        """A person comes to a site: the ticket and the outcome, once the client has them."""
        client = self._clients[self.names[i % len(self.names)]]
        person = client.assign(f"person {i}")
        if person.ticket is None:
            return None
        client.expose(person.ticket)
        outcome = int(Random(i).random() < 0.5)
        client.report(person.ticket, outcome)
        return person.ticket, outcome


def play(folder: Path, kills: int = KILLS, seed: int = 5) -> tuple[dict[str, int], list[dict[str, Any]], list[Path]]:
    """People come while processes are killed: what clients took, what was released, and where the sites are."""
    demo, random, told = KilledSites(folder, SITES, PEOPLE), Random(seed), dict[str, int]()
    end = time.monotonic() + LONGEST
    try:
        demo.begin(lambda: None)
        i = 0
        for _ in range(kills):
            for _ in range(PEOPLE // kills):
                if (found := demo.come(i)) is not None:
                    told.setdefault(*found)
                i += 1
            demo.kill(random.randrange(SITES + 1))
        while True:
            entries = demo._ask("GET", f"/v1/studies/{STUDY}/ledger")["entries"]
            releases = [body for body in (json.loads(each["body"]) for each in entries) if body["kind"] == "released"]
            if len(releases) >= 2 or time.monotonic() > end:
                break
            if (found := demo.come(i)) is not None:
                told.setdefault(*found)
            i += 1
            time.sleep(0.02)
    finally:
        demo.end()
    return told, releases, [folder / name for name in ("coordinator", *demo.names)]


@pytest.mark.slow
def test_killed_at_random(tmp_path: Path) -> None:
    told, releases, (coordinator, *sites) = play(tmp_path / "demo")
    assert len(releases) >= 2
    hold_against_sites(told, releases, [f"sqlite:///{each}/studies.db" for each in sites])
    assert all(each["sites"] == list(range(SITES)) for each in releases)
    with closing(open_database(f"sqlite:///{coordinator}/studies.db", create=False)) as database:
        verify_study(database, find_witness(database, coordinator / "witness"), STUDY)
