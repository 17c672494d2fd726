"""The audit of a study whose devices add up, over HTTP: as the public sees it, and as a service with devices does.

In every cohort of three one device works with the service, as the protocol allows for: it takes its own value, with its
noise, off the sum of all. Of the others one has the highest reward in every other cohort; all else have the lowest.
"""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import numpy as np
import pytest

from maskedbandit.channels.offers import NoiseShare
from maskedbandit.device import Agreed, adding_up
from maskedbandit.device.booked_place import BookedPlace
from maskedbandit.privacy.sampling import Bits
from maskedbandit.reports.audit.audit import AuditPart
from maskedbandit.secagg.kept_round import RoundTerms
from tests.service.adding_devices import WINDOW, AddingDevices, read_place_of
from tests.service.sums_as_seen import audit_sums

ARMS, SIZE, PHASES = 50, 3, 4
CORRUPTED = "1/3"
SECAGG = {"name": "secagg", "corrupted": CORRUPTED, "smallest": 2}
TABLE: dict[str, Any] = {
    "people": 10**6,  # as many as may be in rounds
    "policy": {"name": "successive_elimination", "least": SIZE, "base": 1.000001, "failure": 1e-200},
    "channel": {"name": "distributed", "epsilon": "1/2", "honest": "2/3", "backend": SECAGG},
    "arms": [{"name": f"arm{i}"} for i in range(ARMS)],
}
PARTIES = {"the public": (0,), "the service with a device": (0, 1)}
CORRUPT, CHOSEN = 0, 1  # places of a cohort
# A quarter of those of a world choose the event, and fewer than 32 cannot. In each of 400 draws of other bits the twin
# with a thousandth of the noise, which is the nearest, has a bound of at least .8, where 1/2 is promised.
SAMPLES = 300


class AuditedDevices(AddingDevices):
    """A study of many arms, each cohort of which is a sample."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        super().__init__(folder, agreed=Agreed(1, corrupted=CORRUPTED), **TABLE)
        self.own, self.worlds = dict[int, int](), dict[int, int]()
        patch.setattr(adding_up, "join_round", partial(self._join, adding_up.join_round))

    def _join(self, real: Any, connection: Connection, booked: BookedPlace, terms: RoundTerms) -> None:
        real(connection, booked, terms)
        if booked.place.offer.position == CORRUPT:  # it tells the service
            ((value,),) = connection.execute("SELECT value FROM own_round").fetchall()
            self.own[terms.cohort] = int(value)

    def go_round(self) -> None:
        """All cohorts are filled once, and added up."""
        since = len(self.devices)
        while self.meet(lambda arm: None) and self.study._session.driver.deck.left:
            pass
        for device in self.devices[since:]:
            place = read_place_of(device)
            if place.offer.position == CHOSEN:
                assert place.cohort is not None
                self.worlds[place.cohort] = len(self.worlds) % 2
                device.record(self.name, self.worlds[place.cohort])
        self.service.tick(WINDOW + 1)
        self.contact(PHASES + 1, lost=range(since))

    def look(self, samples: int) -> tuple[np.ndarray, np.ndarray]:
        """What is seen of cohorts of either world."""
        while len(self.worlds) < samples:
            self.go_round()
        views: tuple[list[Any], list[Any]] = [], []
        (offer,) = self.study.protocol.offers(SIZE)
        releases, half = self.study.releases(), offer.modulus // 2
        assert {each.cohort for each in releases} == self.worlds.keys()
        for each in releases:
            others = (round(each.total * offer.steps) - self.own[each.cohort] + half) % offer.modulus - half
            views[self.worlds[each.cohort]].append([each.total, others / offer.steps])
        return np.array(views[0]), np.array(views[1])


def audit(folder: Path, samples: int, patch: pytest.MonkeyPatch) -> dict[str, AuditPart]:
    """What an audit finds, as each party; it is wrong with a probability of at most 1e-9 for each."""
    with closing(AuditedDevices(folder, patch)) as devices:
        return audit_sums(devices.look(samples), devices.study.protocol.price(SIZE), PARTIES)


@pytest.mark.slow
def test_devices_keep_the_promise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That as many samples show something, the broken twins say: as many show each of them."""
    found = audit(tmp_path, SAMPLES, monkeypatch)
    assert [each.violation for each in found.values()] == [False, False]


Draw = Callable[[NoiseShare, Bits], int]
REAL = adding_up.draw_noise_share


def leave_noise_out(noise: NoiseShare, bits: Bits) -> int:
    """Devices add no noise."""
    return 0


def divide_by_a_thousand(noise: NoiseShare, bits: Bits) -> int:
    """Shares of the wrong order: of a draw that a thousand devices make together."""
    return REAL(noise._replace(least=1000), bits)


@pytest.mark.slow
@pytest.mark.parametrize("twin", [leave_noise_out, divide_by_a_thousand])
def test_each_broken_draw_is_noticed(tmp_path: Path, twin: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding_up, "draw_noise_share", twin)
    found = audit(tmp_path, SAMPLES, monkeypatch)
    assert found["the service with a device"].violation
