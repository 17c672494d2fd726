"""Releases of live rounds of sites, with unequal weights and sites that drop out, have the law of the lab.

The noise of a release is that of the people of the sites that are in it: of shape n / counted_on, n of them.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.sampling import Bits
from tests.statistics import same_distribution
from tests.store.site_scene import Sites
from tests.store.small_study import WINDOW, Clock

ARMS, WAVES, SIZE, CELLS = 40, 5, 8, 5
SHARES = ("1/2", "3/8", "1/4", "1/4", "1/4")
AWAY = (None, 1, 4)  # in turn


class NoisyRelease(NamedTuple):
    """How far a release is from the outcomes of the people in it, in steps, and how many they are."""

    noise: int
    people: int


def play(folder: Path, waves: int) -> tuple[list[NoisyRelease], Any]:
    """So many cohorts of each arm; in each wave another site is away from the round, or none."""
    clock, random = Clock(), Random(9)
    policy = {"name": "successive_elimination", "least": SIZE, "base": 1.000001, "failure": 1e-200}
    table: dict[str, Any] = {"policy": policy, "arms": [{"name": f"arm{i}"} for i in range(ARMS)], "people": 10**6}
    table |= {"backend": {"lost": 1}, "channel": {"epsilon": "1/4", "honest": "1/4"}}
    scene = Sites(f"sqlite:///{folder}/study.db", folder, clock, SHARES, **table)
    told, came, found = dict[tuple[int, int], int](), 0, list[NoisyRelease]()
    offer, channel = scene.protocol.offers(SIZE)[0], scene.protocol.channel
    for wave in range(waves):
        dealt = len(scene.study._session.exposed)
        while scene.study._session.driver.deck.left or len(scene.study._session.exposed) == dealt:
            site, came, value = came % len(SHARES), came + 1, random.randrange(2)
            given = scene.come(site, f"person {came}", float(value))
            if given.ticket is not None:
                assert given.cohort is not None
                told[given.cohort, site] = told.get((given.cohort, site), 0) + value
        clock.now += WINDOW + 1
        gone = [site for site in (AWAY[wave % len(AWAY)],) if site is not None]
        for _ in range(6):  # phases
            clock.now += 60_001
            for each in scene.go_round(away=gone):
                sum_of_all = sum(told.get((each.cohort, site), 0) for site in each.sites)
                found.append(NoisyRelease(round((each.total - sum_of_all) * offer.steps), each.n))
    scene.close()
    return found, channel


def check_noise(releases: list[NoisyRelease], channel: Any, size: int = SIZE) -> None:
    """Noise has its law: where each stands in the distribution of its shape is uniform. False alarm 1e-9.

    All cohorts are of this size, and some have lost people.
    """
    noise, counted, random, cells = channel.release_noise(size), channel.counted_on(size), Random(3), list[int]()
    for each in releases:
        values = np.arange(-400, each.noise + 1)
        law = noise.pmf(values, each.people / counted)
        cells.append(min(CELLS - 1, int(CELLS * (law[:-1].sum() + random.random() * law[-1]))))
    assert {each.people for each in releases} > {size}, "nobody was ever away"
    same_distribution(cells, lambda values: np.where((values >= 0) & (values < CELLS), 1 / CELLS, 0.0))


@pytest.mark.slow
def test_live_rounds_have_the_law_of_the_lab(tmp_path: Path) -> None:
    releases, channel = play(tmp_path, WAVES)
    assert len(releases) == WAVES * ARMS
    check_noise(releases, channel)


REAL = DiscreteLaplace.sum_of_shares
Shares = Callable[[DiscreteLaplace, int, int, Bits], int]


def leave_noise_out(self: DiscreteLaplace, people: int, n: int, bits: Bits) -> int:
    """Sites of two people and more add no noise."""
    return REAL(self, people, n, bits) if people < 2 else 0


def divide_by_all(self: DiscreteLaplace, people: int, n: int, bits: Bits) -> int:
    """Shares are of the order of all people, and not of those who are counted on."""
    return REAL(self, people, SIZE, bits)


def leave_it_to_one(self: DiscreteLaplace, people: int, n: int, bits: Bits) -> int:
    """The largest site draws for all."""
    return REAL(self, n, n, bits) if people >= 3 else 0


@pytest.mark.slow
@pytest.mark.parametrize(("twin", "waves"), [(leave_noise_out, 3), (divide_by_all, WAVES), (leave_it_to_one, 2)])
def test_shares_of_another_law_are_found(
    tmp_path: Path, twin: Shares, waves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In none of 300 samples of each of their laws, of as many releases, were they missed."""
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", twin)
    with pytest.raises(AssertionError, match="another distribution"):
        check_noise(*play(tmp_path, waves))
