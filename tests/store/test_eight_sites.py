"""A trial of eight sites of unequal size to its answer: two are lost for a day, one for ever, and nothing else is."""

from pathlib import Path
from random import Random

import pytest

from tests.store.site_scene import Sites
from tests.store.small_study import WINDOW, Clock

PEOPLE, DAY, LOST_FOR_EVER, LOST_FOR_A_DAY = 1200, 86_400_000, 6, (3, 5)
SIZES = (30, 20, 15, 10, 10, 5, 5, 5)  # of a hundred people
SHARES = (
    "7/20",
    "1/4",
    "1/5",
    "3/20",
    "3/20",
    "1/10",
    "1/20",
    "1/20",
)  # enough for a cohort without those that are lost
MEANS = (0.2, 0.8)


@pytest.mark.slow
def test_a_trial_of_eight_sites(tmp_path: Path) -> None:
    """False alarm below 10^-5: means of .2 and .8, of 80 people at least, with noise of 3 people in a sum."""
    clock, random = Clock(), Random(11)
    policy = {"name": "successive_elimination", "least": 100}
    channel = {"name": "distributed", "epsilon": 1, "honest": "1/5", "backend": {"name": "sites", "lost": 3}}
    address = f"sqlite:///{tmp_path}/study.db"
    scene = Sites(address, tmp_path, clock, SHARES, channel=channel, policy=policy, people=PEOPLE)
    released, i, away = [], 0, {LOST_FOR_EVER, *LOST_FOR_A_DAY}
    began = clock.now
    while scene.study.answer is None and i < 4 * PEOPLE:
        if clock.now > began + DAY:
            away = {LOST_FOR_EVER}
        for _ in range(100):
            site = random.choices(range(8), SIZES)[0]
            if site not in away:  # a site that is away gives nobody a place
                person = f"person {i}"
                at = scene.sites[site]
                given_place = scene.come(site, person)
                if given_place.ticket is not None:
                    at.do("report", given_place.ticket, float(random.random() < MEANS[given_place.arm]))
            i += 1
        clock.now += WINDOW + 1
        for _ in range(8):  # phases, and a wait for whoever is away in each
            clock.now += 60_001
            if random.random() < 0.3:
                scene.study.close()
                scene.study = scene.open()
            released += scene.go_round(away=sorted(away))
        clock.now += DAY // 12
    assert released
    assert all(LOST_FOR_EVER not in each.sites for each in released)
    assert {len(each.sites) for each in released} >= {5}
    totals = [[(each.total, each.n) for each in released if each.arm == arm] for arm in (0, 1)]
    plain, bold = (sum(total for total, _ in of) / sum(n for _, n in of) for of in totals)
    assert plain < 0.5 < bold
    scene.verify()
    scene.close()
