"""The audit of a study of sites over HTTP: as the public sees it, and as the coordinator does with the heaviest site.

In every other cohort of four the first person has the highest reward, and all else have the lowest, which is what
counts of whoever reports nothing. Site 0 works with the coordinator, and has half of the people: it takes its own part,
with its noise, off the sum of all.
"""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.sampling import Bits
from maskedbandit.reports.audit.audit import AuditPart
from maskedbandit.store.databases.connection import open_database
from tests.service.sites_inside import SitesInside
from tests.service.sums_as_seen import audit_sums

ARMS, SIZE = 75, 4  # more than the rounds of which a site is told at once
TABLE: dict[str, Any] = {
    "people": 10**9,
    "policy": {"name": "successive_elimination", "least": SIZE, "base": 1.000001, "failure": 1e-200},
    "channel": {"name": "distributed", "epsilon": "1/2", "honest": "1/2", "backend": {"name": "sites", "colluding": 1}},
    "arms": [{"name": f"arm{i}"} for i in range(ARMS)],
    "reward": {"window": "1 second", "exposure": "1 hour"},
}
IN_TURN = 0, 1, 0, 2  # to which site people come, by the shares of these
PARTIES = {"the public": (0,), "the coordinator with site 0": (0, 1)}
# A quarter of those of a world choose the event, and fewer than 32 cannot. In each of 400 draws of other bits the twin
# with a thousandth of the noise, which is the nearest, has a bound of at least .8, where 1/2 is promised.
SAMPLES = 300


class AuditedSites(SitesInside):
    """A study of many arms, each cohort of which is a sample."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 3, shares=("1/2", "1/4", "1/4"), **TABLE)
        self.came, self.own = 0, dict[int, int]()
        writer: Any = self.coordinator.host.held["small"]
        self.study = writer.study
        self.databases = [open_database(address) for address in self.addresses]

    def people_come(self) -> dict[int, int]:
        """All cohorts are filled once: the world of each."""
        worlds = dict[int, int]()
        while self.study._session.driver.deck.left or not worlds:
            site = IN_TURN[self.came % len(IN_TURN)]
            unit, self.came = f"person {self.came}", self.came + 1
            given = self.sites[site].assign(unit)
            if given["ticket"] is None:
                continue
            assert self.sites[site].study("expose", {"ticket": given["ticket"]}).status == 200
            cohort = self.cohort_of(site, given["ticket"])
            if cohort in worlds or site == 0:  # one of each cohort is chosen, at an honest site
                continue
            worlds[cohort] = len(worlds) % 2
            report = {"ticket": given["ticket"], "value": worlds[cohort]}
            assert self.sites[site].study("report", report).status == 200
        return worlds

    def cohort_of(self, site: int, ticket: str) -> int:
        """In which cohort a place is."""
        return int(self.databases[site].rows("SELECT cohort FROM site_place WHERE ticket = ?", ticket)[0][0])

    def add_up(self) -> None:
        """The window is over, and the rounds go on until all is released; what site 0 sent is noted."""
        self.clock.now += 2000
        before = len(self.study.releases())
        while len(self.study.releases()) < before + ARMS:
            self.go_round(rounds=1)
            own = self.databases[0].rows("SELECT cohort, value FROM site_round WHERE value IS NOT NULL")
            self.own |= {cohort: int(value) for cohort, value in own}

    def close(self) -> None:
        """Give everything back."""
        for database in self.databases:
            database.close()
        super().close()

    def look(self, samples: int) -> tuple[np.ndarray, np.ndarray]:
        """What is seen of cohorts of either world."""
        worlds = dict[int, int]()
        while len(worlds) < samples:
            worlds |= self.people_come()
            self.add_up()
        views: tuple[list[Any], list[Any]] = [], []
        (offer,) = self.study.protocol.offers(SIZE)
        for each in self.study.releases():
            steps, half = round(each.total * offer.steps), offer.modulus // 2
            others = (steps - self.own[each.cohort] + half) % offer.modulus - half
            if each.cohort in worlds:
                views[worlds[each.cohort]].append([each.total, others / offer.steps])
        return np.array(views[0]), np.array(views[1])


def audit(folder: Path, samples: int) -> dict[str, AuditPart]:
    """What an audit finds, as each party; it is wrong with a probability of at most 1e-9 for each."""
    folder.mkdir()
    with closing(AuditedSites(folder)) as sites:
        return audit_sums(sites.look(samples), sites.study.protocol.price(SIZE), PARTIES)


@pytest.mark.slow
def test_sites_keep_the_promise(tmp_path: Path) -> None:
    """That as many samples show something, the broken twins say: as many show each of them."""
    found = audit(tmp_path / "sound", SAMPLES)
    assert [each.violation for each in found.values()] == [False, False]


Shares = Callable[[DiscreteLaplace, int, int, Bits], int]
REAL = DiscreteLaplace.sum_of_shares


def leave_noise_out(self: DiscreteLaplace, people: int, n: int, bits: Bits) -> int:
    """Sites add no noise."""
    return 0


def divide_by_a_thousand(self: DiscreteLaplace, people: int, n: int, bits: Bits) -> int:
    """Shares of the wrong order: of a draw that a thousand people make together."""
    return REAL(self, people, 1000, bits)


def leave_it_to_one(self: DiscreteLaplace, people: int, n: int, bits: Bits) -> int:
    """Whoever has half of the people draws all of the noise, and the others none."""
    return REAL(self, n, n, bits) if 2 * people >= SIZE else 0


@pytest.mark.slow
@pytest.mark.parametrize("twin", [leave_noise_out, divide_by_a_thousand, leave_it_to_one])
def test_each_broken_draw_is_noticed(tmp_path: Path, twin: Shares, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", twin)
    found = audit(tmp_path / "broken", SAMPLES)
    assert found["the coordinator with site 0"].violation
