"""A trial of eight sites of unequal size to its answer: two are lost for a day, one for ever, and nothing else is."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.store.book.entries import Release
from tests.store.site_scene import Sites
from tests.store.small_study import WINDOW, Clock

PEOPLE, HOUR, DAY = 20_000, 3_600_000, 86_400_000
LOST_FROM, LOST_FOR_EVER, LOST_FOR_A_DAY = 1000, 6, (3, 5)  # after so many people
SIZES = (30, 20, 15, 10, 10, 5, 5, 5)  # of a hundred people
SHARES = ("7/20", "1/4", "1/5", "3/20", "3/20", "1/10", "1/20", "1/20")  # enough without those that are lost
MEANS = (0.3, 0.35, 0.4, 0.5)
TABLE: dict[str, Any] = {
    "channel": {"epsilon": 1, "honest": "1/6"},
    "backend": {"lost": 3},
    "policy": "pooled_elimination",
    "arms": [{"name": f"arm{i}"} for i in range(len(MEANS))],
    "people": PEOPLE,
}


class Trial:
    """The sites, and who comes to them."""

    def __init__(self, folder: Path) -> None:
        self.clock, self.random, self.came, self.killed = Clock(), Random(11), 0, 0
        self.scene = Sites(f"sqlite:///{folder}/study.db", folder, self.clock, SHARES, **TABLE)
        self.lost_at: int | None = None
        self.released = list[Release]()

    @property
    def away(self) -> set[int]:
        """The sites that are away now."""
        if self.came < LOST_FROM:
            return set()
        self.lost_at = self.lost_at or self.clock.now
        back = self.clock.now > self.lost_at + DAY
        return {LOST_FOR_EVER} if back else {LOST_FOR_EVER, *LOST_FOR_A_DAY}

    def hour(self, people: int) -> None:
        """So many people come within an hour, and sites and coordinator do what is due."""
        coming = list[tuple[int, str]]()
        for site in self.random.choices(range(8), SIZES, k=people):
            self.came += 1
            if site not in self.away:  # one that is gives nobody a place
                coming.append((site, f"person {self.came}"))
        self.scene.come_all(coming, lambda arm: float(self.random.random() < MEANS[arm]))
        self.clock.now += WINDOW + 1
        for _ in range(6):  # phases, and a wait for whoever is away in each
            self.clock.now += HOUR // 7
            if self.random.random() < 0.2:
                self.killed += 1
                self.scene.study.close()
                self.scene.study = self.scene.open()
            self.released += self.scene.go_round(away=sorted(self.away))


@pytest.mark.slow
def test_a_trial_of_eight_sites(tmp_path: Path) -> None:
    """False alarm below 10^-5: means of .5 and .4, of 3000 people each at least, with noise of 10 people in a sum."""
    trial = Trial(tmp_path)
    while trial.scene.study.answer is None:
        assert trial.came < 2 * PEOPLE, "the trial has no answer"
        trial.hour(1000)  # so that the first cohorts are full within the day
    assert trial.scene.study.answer == 3
    assert trial.killed > 10
    first, last = trial.released[0], trial.released[-1]
    assert first.n < first.size, "people of sites that are lost are not in the sum"
    assert {len(each.sites) for each in trial.released} == {5, 7}
    assert (LOST_FOR_EVER in last.sites, set(LOST_FOR_A_DAY) <= set(last.sites)) == (False, True)
    for each in trial.released:
        mean = each.total / each.n
        assert abs(mean - MEANS[each.arm]) < 0.1
    trial.scene.verify()
    trial.scene.close()
