"""Devices and the leader's store: what people's devices send is what both operators add up."""

import json
from base64 import urlsafe_b64decode

import httpx
import pytest

from maskedbandit.device import Agreed, Device
from maskedbandit.errors import MaskedBanditError
from tests.store.small_study import WINDOW, Clock
from tests.store.test_settle import no_noise
from tests.store.two_operators import CHANNEL, GRACE, REWARD, Leading

NAMES = ("Clinic", ""), ("University", "https://helper.example")


class StoreWire(httpx.BaseTransport):
    """Carries uploads to the store of a leader."""

    def __init__(self, leading):
        self.leading = leading

    def handle_request(self, request):
        body = json.loads(request.read())
        seals = (urlsafe_b64decode(body[name]) for name in ("leader", "helper"))
        try:
            done = self.leading.do("upload", body["ticket"], bytes.fromhex(body["report"]), body["turn"], *seals)
        except MaskedBanditError as why:
            return httpx.Response(409, json={"code": why.code})
        return httpx.Response(200, json={"status": "duplicate" if done.again else "stored"})


def make_place(leading, given, exposed):
    """What an application's backend hands over."""
    (offer,), reward = given.offers, leading.protocol.reward
    operators = [
        {"name": name, "address": address, "seals": keys.seals.hex(), "signs": keys.signs.hex()}
        for (name, address), keys in zip(NAMES, (leading.keys, leading.helper.keys), strict=True)
    ]
    place = {"study": leading.protocol.name, "ticket": given.ticket, "again": given.again, "offer": offer.to_text()}
    place |= {"terms": {"protocol": leading.protocol.digest, "cohort": given.cohort}, "operators": operators}
    place |= {"exposed": exposed, "window": reward.window, "grace": reward.grace}
    return place | {"least": reward.least, "most": reward.most, "default": reward.default, "cap": reward.cap}


@pytest.mark.sparing(1)
@pytest.mark.parametrize("reports", ["standing", "deadline"])
@pytest.mark.parametrize("grid", [1, 255])
def test_sums_are_those_of_the_outcomes(reports, grid, tmp_path, monkeypatch) -> None:
    """Outcomes are such that rounding is exact; who comes back after the deadline, or never, counts as the default."""
    no_noise(monkeypatch)
    clock = Clock()
    changes = {"channel": CHANNEL | {"grid": grid}, "reward": REWARD | {"least": -1, "most": 4, "default": 4}}
    leading = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock, **changes)
    agreed, devices, expected = Agreed(1, (leading.keys.fingerprint, leading.helper.keys.fingerprint)), [], {}
    values = [-1, 4, None, -1]  # the last one never comes back within the time
    begun = clock.now
    for number, value in enumerate(values):
        given = leading.do("assign", f"person {number}")
        exposed = leading.do("expose", given.ticket)
        assert exposed == clock.now
        device = Device(
            tmp_path / f"device {number}",
            "http://leader.test",
            agreed,
            reports=reports,
            clock=lambda: clock.now / 1000,
            transport=lambda: StoreWire(leading),
        )
        device.consent(True)
        device.join(make_place(leading, given, exposed))
        if value is not None:
            assert device.record(leading.protocol.name, value)
        devices.append(device)
        comes_back = number != 3
        held = value if value is not None and comes_back else 4
        expected[given.cohort] = expected.get(given.cohort, 0) + (held + 1) / 5
    for moment in (begun + WINDOW // 2, begun + WINDOW + GRACE // 2):
        clock.now = moment
        for number, device in enumerate(devices):
            if number != 3:
                device.contact()
    clock.now = begun + WINDOW + GRACE + 1
    released = leading.settle()
    assert len(released) == 2
    for release in released:
        assert release.total == pytest.approx(expected[release.cohort])
    devices[3].contact()  # too late
    assert [turn.answer for turn in devices[0].show()[0].sent][-1] == "stored"
    for device in devices:
        device.close()
    leading.study.close()


def test_capped_sums_are_added_up(tmp_path, monkeypatch) -> None:
    """Of each person at most three rewards count, whenever they come; who has none counts as none."""
    no_noise(monkeypatch)
    clock = Clock()
    changes = {"channel": CHANNEL | {"grid": 255}, "reward": REWARD | {"cap": 3}}
    leading = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock, **changes)
    agreed, expected = Agreed(1, (leading.keys.fingerprint, leading.helper.keys.fingerprint)), {}
    for number, rewards in enumerate([[1, 1], [1, 0.5, 1, 1], [], [1]]):
        given = leading.do("assign", f"person {number}")
        device = Device(
            tmp_path / f"device {number}",
            "http://leader.test",
            agreed,
            clock=lambda: clock.now / 1000,
            transport=lambda: StoreWire(leading),
        )
        device.consent(True)
        device.join(make_place(leading, given, leading.do("expose", given.ticket)))
        for reward in rewards:
            assert device.record(leading.protocol.name, reward)
            device.contact()
        device.close()
        expected[given.cohort] = expected.get(given.cohort, 0) + min(sum(rewards), 3) / 3
    clock.now += WINDOW + GRACE + 1
    released = leading.settle()
    assert len(released) == 2
    for release in released:
        assert (release.total, release.cap) == (pytest.approx(expected[release.cohort]), 3)
    leading.study.close()
