"""A study with a shuffler over HTTP to its answer: each person has a device, and one in twenty never comes back.

Afterwards all of it is held against what the devices sent: no place was dealt twice, each cohort has one mix and one
release, and what was published is in both ledgers, which verify. `python -m tests.service.test_shuffler_trial GAP`
plays a study whose arms differ by that much, and says what was found: the smaller, the more people it takes.
"""

import json
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from maskedbandit.store.shuffling import mixes
from tests.quick import QUICK
from tests.service.shuffler_inside import SPLIT, WINDOW, DeviceWire, LinkWire, ShuffledStudy, shuffled_study
from tests.service.shuffler_journal import SentBundle, hold_against_both

GONE = 20  # of so many people one never comes back
CONTACTS = 100  # after which whoever is not answered has something else than bad luck
GAP, DELTA = 0.3, 1e-6  # between arms, and the chance of a wrong answer
SEARCH = {"people": None, "delta": DELTA, "policy": {"name": "contemporaneous_elimination", "least": 64}}


class Trial:
    """People come to a study until it has its answer."""

    def __init__(self, study: ShuffledStudy, means: dict[str, float], seed: int) -> None:
        self.study, self.means, self.random, self.came, self.missing = study, means, Random(seed), 0, 0
        self.sent, self.seen = dict[str, SentBundle](), dict[int, float]()
        held: Any = study.service.host.held["small"]
        self.held = held.study

    def come(self) -> str:
        """A person comes, and has an outcome, which the device keeps."""
        unit, self.came = f"person {self.came}", self.came + 1
        place = self.study.take_place(unit)
        value = int(self.random.random() < self.means[place["arm"]])
        with_outcome = self.study.devices.pop(unit)
        assert with_outcome.record("small", value)
        with_outcome.close()
        here = self.random.randrange(GONE) > 0
        self.missing += not here
        if here:
            number = int(place["offer"].rpartition("position=")[2])
            self.sent[place["ticket"]] = SentBundle(place["terms"]["cohort"], number, value, True)
        return unit if here else ""

    def go_on(self) -> None:
        """All places are taken; after the window those who come back report, and after the grace it is released."""
        deck: Any = self.held._session.driver.deck
        back = [self.come()]
        while deck.left:
            back.append(self.come())
        self.study.clock.now += 1000 * WINDOW
        for unit in filter(None, back):
            device = self.study.make_device(unit)
            for _ in range(CONTACTS):
                device.contact()
                if [each.answer for each in device.show()[0].sent] in (["stored"], ["duplicate"]):
                    break
            else:
                raise AssertionError("nobody answers a device")
            device.close()
        self.study.release()
        for _ in range(CONTACTS):
            if not any(each.full for each in deck.unreleased()):
                break
            self.study.go(61)  # after the longest pause between two tries
        self.seen |= {each["cohort"]: each["total"] for each in self.study.release()}


def check_trial(folder: Path, gap: float = GAP, seed: int = 37, **changes: Any) -> dict[str, Any]:
    """Raise unless a study has the best arm as its answer, and all reports are in its releases: what was found."""
    means = {"plain": 0.5 - gap, "bold": 0.5, "kind": 0.5 + gap}
    with shuffled_study(folder, arms=[{"name": name} for name in means], **(SEARCH | changes)) as study:
        trial = Trial(study, means, seed)
        while trial.held.answer is None:
            trial.go_on()
        assert trial.held.answer == len(means) - 1
        parts = [(each.address, each.folder) for each in (study.service, study.shuffler)]
        found = hold_against_both("small", trial.sent, trial.seen, *parts)
    assert found.reports == len(trial.sent) == trial.came - trial.missing
    assert len(trial.seen) == found.releases >= len(means)
    assert (found.discarded, found.waiting) == (0, 0)
    return {"people": trial.came, "missing": trial.missing} | found._asdict()


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"channel": SPLIT}], ids=["coins", "shares"])
def test_a_study_to_its_answer(changes: dict[str, Any]) -> None:
    """With other bits another arm is the answer once in a million times."""
    with TemporaryDirectory(dir=QUICK) as folder:
        check_trial(Path(folder), **changes)


def lose_and_repeat(patch: pytest.MonkeyPatch, random: Random) -> Counter[str]:
    """Of what passes between devices and both operators, and between these, half is lost or repeated: how often."""
    fates, of_devices, of_service = Counter[str](), DeviceWire.handle_request, LinkWire.handle_async_request
    errors = {"on its way": httpx.ConnectError("lost"), "on the way back": httpx.ReadError("lost")}

    def draw() -> str:
        fate = random.choice((*errors, "repeated", "", "", ""))
        fates[fate] += 1
        if fate == "on its way":
            raise errors[fate]
        return fate

    def send(self: DeviceWire, request: httpx.Request) -> httpx.Response:
        fate = draw()
        found = [of_devices(self, request) for _ in range(2 if fate == "repeated" else 1)][-1]
        if fate in errors:
            raise errors[fate]
        return found

    async def ask(self: LinkWire, request: httpx.Request) -> httpx.Response:
        fate = draw()
        found = [await of_service(self, request) for _ in range(2 if fate == "repeated" else 1)][-1]
        if fate in errors:
            raise errors[fate]
        return found

    patch.setattr(DeviceWire, "handle_request", send)
    patch.setattr(LinkWire, "handle_async_request", ask)
    return fates


@pytest.mark.slow
def test_a_network_that_loses_and_repeats_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fates = lose_and_repeat(monkeypatch, Random(38))
    with TemporaryDirectory(dir=QUICK) as folder:
        check_trial(Path(folder), 0.45)
    assert min(fates[each] for each in ("on its way", "on the way back", "repeated")) > 100


@pytest.mark.slow
def test_a_shuffler_that_leaves_somebody_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No ledger says who is missing, but the devices know what they were answered."""
    real = mixes.mix_now
    leave_out = "DELETE FROM bundle WHERE cohort = ? AND place = (SELECT MIN(place) FROM bundle WHERE cohort = ?)"

    def mix(session: Any, cohort: int, *given: Any) -> Any:
        assert session.database.change(leave_out, cohort, cohort)
        return real(session, cohort, *given)

    monkeypatch.setattr(mixes, "mix_now", mix)
    with TemporaryDirectory(dir=QUICK) as folder, pytest.raises(AssertionError, match="a report was lost or doubled"):
        check_trial(Path(folder), 0.45)


if __name__ == "__main__":
    with TemporaryDirectory(dir=QUICK) as place:
        began = time.process_time()
        print(
            json.dumps(check_trial(Path(place), float(sys.argv[1])) | {"seconds": round(time.process_time() - began)})
        )
