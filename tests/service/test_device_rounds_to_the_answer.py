"""A study of devices that stay, of which one in twenty leaves for ever, over HTTP to its answer, and what was kept.

Of those who leave some never come back, and some are in contact a few times after their window; whoever leaves after
the masked value was sent is in the sum. The test has 480 people; `play(folder, 3200)` takes about two minutes of CPU.
"""

from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.store.databases.connection import open_database
from maskedbandit.study.cohort_numbers import find_cohort
from tests.service.adding_devices import BETWEEN, CHANNEL, WINDOW, AddingDevices, read_place_of

PEOPLE, SIZE, PHASES = 480, 40, 4
MEANS = {"a": 0.1, "b": 0.2, "c": 0.2, "d": 0.9}
LEAVES, CONTACTS = 0.05, 6  # so many leave, before a contact that is drawn at random of so many after the window
STAYS = 10**9


class DeviceTrial(AddingDevices):
    """The study, and when its people leave."""

    def __init__(self, folder: Path, people: int) -> None:
        policy: dict[str, Any] = {"name": "successive_elimination", "least": SIZE, "base": 1.000001}
        arms, channel = [{"name": name} for name in MEANS], CHANNEL | {"honest": "1/2"}
        more = SIZE // 2  # too few for a cohort: the first of them has the policy answer
        super().__init__(folder, people=people + more, policy=policy, arms=arms, channel=channel)
        self.people, self.random = people, Random(37)
        self.contacts = list[int]()  # of each person, after the window

    def play(self) -> None:
        """From the first person to the answer."""
        while self.study.answer is None:
            assert not self.served, "the policy has no answer"
            self.fill_cohorts(lambda arm: float(self.random.random() < MEANS[arm]), self.people + 1)
            before = len(self.contacts)
            for _ in self.devices[before:]:
                self.contacts.append(self.random.randrange(CONTACTS) if self.random.random() < LEAVES else STAYS)
            self.service.tick(WINDOW + 1)
            for times in range(2 * PHASES + 1):
                lost = [i for i, contacts in enumerate(self.contacts) if contacts <= times]
                self.contact(lost={*range(before), *lost})
                self.service.tick(BETWEEN)


def play(folder: Path, people: int = PEOPLE) -> DeviceTrial:
    """The study at its end."""
    trial = DeviceTrial(folder, people)
    trial.play()
    return trial


def check_trial(trial: DeviceTrial) -> dict[str, int]:
    """Nobody has the place of another one, releases are in the ledger, and all that is stored fits together."""
    releases, places = trial.read_releases(), [read_place_of(device) for device in trial.devices]
    check_dealt([(place.cohort, place.offer.position) for place in places])
    with closing(open_database(trial.service.address)) as database:
        find = "SELECT person, cohort, place FROM place WHERE study = ? AND returned IS NULL"
        rows = database.rows(find, trial.name)
    check_dealt([row[1:] for row in rows])
    check_dealt([row[:1] for row in rows])
    assert len(rows) == len(places) == trial.people
    names, said = list(MEANS), trial.read_bodies("released")
    published = [(each["cohort"], each["arm"], each["n"], each["total"]) for each in releases]
    assert published == [(each["cohort"], names[each["arm"]], each["n"], float.fromhex(each["total"])) for each in said]
    assert {find_cohort(place.cohort or 0) for place in places} == {each["cohort"] for each in said}
    assert [each.get("size", each["n"]) for each in said] == [SIZE] * (trial.people // SIZE)
    trial.verify()
    assert trial.study.answer == names.index("d")
    lost = sum(contacts < STAYS for contacts in trial.contacts)
    counted = sum(each["n"] for each in said)
    assert trial.people - lost <= counted < trial.people  # whoever leaves late is counted
    return {"people": len(places), "left": lost, "counted": counted, "releases": len(said)}


def check_dealt(places: list[tuple[Any, ...]]) -> None:
    """No place is dealt twice."""
    twice = [place for place, times in Counter(places).items() if times > 1]
    assert not twice, f"dealt twice: {twice}"


@pytest.mark.slow
def test_a_study_comes_to_its_answer_while_people_leave(tmp_path: Path) -> None:
    """The answer is another one with other bits with a chance below 10^-10: means differ by 7 standard deviations."""
    with closing(play(tmp_path)) as trial:
        found = check_trial(trial)
        assert found["left"] > 10
        assert {noise.people for noise in trial.measure_noise()} > {SIZE}


def test_a_place_that_is_dealt_twice_is_found() -> None:
    with pytest.raises(AssertionError, match="dealt twice"):
        check_dealt([(0, 1), (0, 2), (1, 1), (0, 2)])
