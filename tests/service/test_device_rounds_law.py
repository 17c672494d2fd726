"""Studies of devices that add up have the law of the lab, over HTTP, with people who never come back.

Releases are the sums of what the devices of a cohort masked, with noise of the law of the lab, and decisions follow
from the releases.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from maskedbandit.channels.offers import NoiseShare
from maskedbandit.device import Agreed, adding_up
from maskedbandit.privacy.sampling import Bits
from tests.service.adding_devices import BETWEEN, WINDOW, AddingDevices
from tests.service.inside import inside
from tests.service.test_two_operators_law import GONE, MEANS, check_both_ways
from tests.store.test_rounds_law import NoisyRelease, check_noise

STUDIES, PEOPLE, SIZE, EPSILON, HONEST = 14, 66, 9, 1, "1/3"
PHASES = 4
POLICY = {"least": SIZE, "base": 1.2, "failure": 0.95}
SECAGG = {"name": "secagg", "smallest": 3}
TABLE: dict[str, Any] = {
    "people": PEOPLE,
    "policy": {"name": "successive_elimination"} | POLICY,
    "channel": {"name": "distributed", "epsilon": EPSILON, "honest": HONEST, "backend": SECAGG},
    "arms": [{"name": name} for name in MEANS],
    "budget": {"epsilon": EPSILON},
}


class PlayedStudies(NamedTuple):
    """What came of some studies."""

    pulls: np.ndarray  # people of each arm, in each study
    last: list[dict[int, float]]  # in each study, the mean of the last release of each arm
    releases: list[NoisyRelease]
    channel: Any


def play(folder: Path, studies: int) -> PlayedStudies:
    """So many studies, from their first person to their last."""
    random, agreed = Random(37), Agreed(EPSILON, corrupted=0)
    with inside(f"sqlite:///{folder}/service.db", folder / "service") as service:
        begun = [AddingDevices(folder / f"s{i}", service, f"s{i}", agreed, **TABLE) for i in range(studies)]
        away = [set[int]() for _ in begun]  # people of each study: gone, or their rounds are over
        while any(count_people(each) < PEOPLE for each in begun):
            for study, lost in zip(begun, away, strict=True):
                lost |= {i for i, device in enumerate(study.devices) if i not in lost and device.show()[0].ended}
                before = len(study.devices)
                study.fill_cohorts(lambda arm: float(random.random() < MEANS[arm]), PEOPLE)
                lost |= {i for i in range(before, len(study.devices)) if random.random() < GONE}
            service.tick(WINDOW + 1)
            for _ in range(PHASES + 2):
                for study, lost in zip(begun, away, strict=True):
                    study.contact(lost=lost)
                service.tick(BETWEEN)
        pulls = np.array([[(each.arms + each.served).count(name) for name in MEANS] for each in begun])
        names = [*MEANS]
        last = [{names.index(r["arm"]): r["total"] / r["n"] for r in each.read_releases()} for each in begun]
        releases = [release for each in begun for release in each.measure_noise()]
        for each in begun:
            each.close()
        return PlayedStudies(pulls, last, releases, begun[0].study.protocol.channel)


def count_people(study: AddingDevices) -> int:
    """How many have come."""
    return len(study.arms) + len(study.served)


@pytest.mark.slow
def test_nine_hundred_people_have_the_law_of_the_lab(tmp_path: Path) -> None:
    """Of 14 studies, with 66 people each; it fails with other bits with a chance of at most 1e-9."""
    found = play(tmp_path, STUDIES)
    check_noise(found.releases, found.channel, SIZE)
    check_both_ways(found.pulls, found.last)
    assert len(found.releases) > 5 * STUDIES, "hardly anything is released"


# --- broken twins ---------------------------------------------------------------------------------------------------

Draw = Callable[[NoiseShare, Bits], int]
REAL = adding_up.draw_noise_share


def leave_noise_out(noise: NoiseShare, bits: Bits) -> int:
    """Devices add no noise."""
    return 0


def count_on_others(noise: NoiseShare, bits: Bits) -> int:
    """Shares are those of four cohorts together."""
    return REAL(noise._replace(least=4 * SIZE), bits)


def draw_one_sided(noise: NoiseShare, bits: Bits) -> int:
    """The difference of two numbers of which the second was forgotten."""
    return abs(REAL(noise, bits))


@pytest.mark.slow
@pytest.mark.parametrize(("twin", "studies"), [(leave_noise_out, 7), (count_on_others, 13), (draw_one_sided, 11)])
def test_shares_of_another_law_are_found(
    tmp_path: Path, twin: Draw, studies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 1000 samples of each of their laws, of as many releases, one was missed at most."""
    monkeypatch.setattr(adding_up, "draw_noise_share", twin)
    found = play(tmp_path, studies)
    with pytest.raises(AssertionError, match="another distribution"):
        check_noise(found.releases, found.channel, SIZE)
