"""Local trust over HTTP: devices ask for their arms, and report at the end of the window what only they have seen."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from maskedbandit.device import Agreed, Device
from maskedbandit.device.own_place import read_place
from maskedbandit.errors import Forbidden, Unauthorized
from tests.service.inside import Inside
from tests.service.test_people import PUBLIC, rows, sign
from tests.service.two_operators_inside import ServiceWire

WINDOW, GRACE = 20, 3600  # seconds
REWARD = {"rule": "first", "window": "20 seconds", "exposure": "10 seconds", "grace": "1 hour"}
SURE = {"name": "response", "epsilon": 700}  # what a device says is what holds
HARM = {"name": "harm", "harm": {"above": 0.2}, "rule": "first", "default": 1}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    made = Inside(f"sqlite:///{tmp_path}/service.db", tmp_path / "service")
    yield made
    made.close()


def make_device(service: Inside, folder: Path, unit: str, epsilon: float = 1, key: str = "client") -> Device:
    """A device whose person agreed."""
    device = Device(
        folder / unit,
        "http://service.test",
        Agreed(epsilon),
        key=service.keys[key],
        clock=lambda: service.clock() / 1000,
        transport=lambda: ServiceWire(service),
    )
    device.consent(True)
    return device


def read_releases(service: Inside) -> list[dict[str, float]]:
    """What was released."""
    return list(service.ask("GET", "/v1/studies/small/releases", key="owner").json["releases"])


def test_a_study_to_its_release(service: Inside, tmp_path: Path) -> None:
    service.begin(channel=SURE, budget={"epsilon": 700}, reward=REWARD)
    devices, arms = [], {}
    for number in range(4):
        device = make_device(service, tmp_path, f"person {number}", 700)
        arms[number] = device.assign("small", f"person {number}", "").arm
        assert device.expose("small")
        if number != 3:  # of whom nothing is recorded
            assert device.record("small", number % 2)
        devices.append(device)
    service.tick(WINDOW + 1)
    assert read_releases(service) == []
    for device in devices[:3]:
        device.contact()
    service.tick(GRACE - 2)
    devices[3].contact()
    assert [[each.answer for each in device.show()[0].sent] for device in devices] == [["accepted"]] * 4
    assert read_releases(service) == []
    service.tick(2)
    expected = {arm: sum(number % 2 for number in range(3) if arms[number] == arm) for arm in "ab"}
    found = read_releases(service)
    assert {each["arm"]: round(each["total"]) for each in found} == expected
    for device in devices:
        device.close()


def test_with_a_device_key_and_the_token_of_a_person(service: Inside, tmp_path: Path) -> None:
    """All that a device may be refused is refused by name, and then it has no place."""
    service.begin(channel={"name": "response", "epsilon": 1}, reward=REWARD, signed_by=PUBLIC[0])
    service.begin(name="other", signed_by=PUBLIC[0])
    for name, study, origins in (("device", "small", []), ("other", "other", ["a://b"])):
        body = {"role": "device", "study": study, "origins": origins}
        service.keys[name] = service.ask("POST", "/v1/keys", body, "owner").json["key"]
    good = sign(service)
    _, expires, signature = good.split(".")
    refused = {
        "token_missing": "",
        "token_malformed": "token",
        "token_unknown_key": f"{'0' * 16}.{expires}.{signature}",
        "token_forged": sign(service, "bob"),
        "token_expired": sign(service, seconds=0),
        "token_expires_too_late": sign(service, seconds=40 * 86_400),
    }
    device = make_device(service, tmp_path, "ann", key="device")
    for code, token in refused.items():
        with pytest.raises(Unauthorized) as wrong:
            device.assign("small", "ann", token)
        assert wrong.value.code == code
    other = make_device(service, tmp_path, "ann of another key", key="other")
    with pytest.raises(Forbidden):
        other.assign("small", "ann", good)
    assert rows(service, "SELECT * FROM place") == []
    for each in (device, other):
        assert each.show() == []
    assert device.assign("small", "ann", good).why == ""
    assert device.expose("small")
    service.tick(WINDOW)
    device.contact()
    assert device.show()[0].sent[0].answer == "accepted"
    device.leave("small")
    assert device._book.farewells() == []
    for each in (device, other):
        each.close()


def test_after_the_grace_a_report_is_late(service: Inside, tmp_path: Path) -> None:
    service.begin(channel={"name": "response", "epsilon": 1}, reward=REWARD)
    device = make_device(service, tmp_path, "ann")
    assert device.assign("small", "ann", "").payload in ({"text": "A"}, None)
    device.expose("small")
    device._clock = lambda: service.clock() / 1000 - 60  # a minute behind
    service.tick(WINDOW + GRACE + 1)
    device.contact()
    assert device.show()[0].ended == "late"
    device.close()


def test_a_place_that_nobody_saw_goes_to_somebody_else(service: Inside, tmp_path: Path) -> None:
    service.begin(channel={"name": "response", "epsilon": 1}, reward=REWARD)
    device = make_device(service, tmp_path, "ann")
    device.assign("small", "ann", "")
    service.tick(11)
    assert device.expose("small") is False
    assert device.show()[0].ended == "late"
    device.close()


def test_another_device_of_the_person_sends_nothing(service: Inside, tmp_path: Path) -> None:
    service.begin(channel={"name": "response", "epsilon": 1}, reward=REWARD)
    one, two = (make_device(service, tmp_path / name, "ann") for name in ("phone", "tablet"))
    first, second = (device.assign("small", "ann", "") for device in (one, two))
    assert (first.arm, first.why) == (second.arm, "")
    assert second.why == "elsewhere"
    assert one.expose("small")
    assert not two.expose("small")
    service.tick(WINDOW + 1)
    for device in (one, two):
        device.contact()
    assert [len(device.show()[0].sent) for device in (one, two)] == [1, 0]
    for device in (one, two):
        device.close()


def test_the_person_leaves(service: Inside, tmp_path: Path) -> None:
    service.begin(channel={"name": "response", "epsilon": 1}, reward=REWARD)
    device = make_device(service, tmp_path, "ann")
    device.assign("small", "ann", "")
    device.expose("small")
    ticket = device._book.find("small").place.ticket
    device.leave("small")
    assert device._book.farewells() == []
    assert service.study("report", {"ticket": ticket, "value": 1}).code == "unknown_ticket"
    device.close()


def test_what_devices_are_handed(service: Inside) -> None:
    """With a cap and a guardrail; and nothing under central trust."""
    reward = {"window": "20 seconds", "exposure": "10 seconds", "grace": "1 hour", "cap": 3, "most": 2}
    service.begin(channel={"name": "local", "epsilon": 1, "grid": 5}, reward=reward, guardrail=HARM)
    given = service.assign("ann")
    place = given["device"]
    assert place["offer"] == given["offer"]
    assert place.keys() == {
        *("study", "arm", "ticket", "again", "exposed", "offer", "terms", "window", "grace"),
        *("least", "most", "default", "cap", "further"),
    }
    assert (place["cap"], place["most"], place["exposed"], place["grace"]) == (3, 2.0, None, 3_600_000)
    assert place["further"] == [{"name": "harm", "least": 0.0, "most": 1.0, "default": 1.0}]
    assert place["terms"].keys() == {"protocol"}
    read = read_place(place)
    assert [outcome.metric for outcome in read.outcomes] == ["", "harm"]
    assert Agreed(1).check(read, 0) == 1
    assert service.assign("ann")["device"] == place | {"again": True}
    context = {"context": {"targetingKey": "bob"}}
    flag = service.ask("POST", "/ofrep/v1/evaluate/flags/small", context).json["metadata"]
    assert json.loads(flag["device"])["offer"] == flag["offer"]


def test_nothing_is_handed_out_under_central_trust(service: Inside) -> None:
    service.begin()
    assert service.assign("ann")["device"] is None


def test_further_outcomes_and_several_rewards_arrive(service: Inside, tmp_path: Path) -> None:
    reward = {"window": "20 seconds", "exposure": "10 seconds", "grace": "1 hour", "cap": 3}
    channel = {"name": "response", "epsilon": 1400}
    spent = {"name": "spent", "most": 50, "cap": 2, "share": "1/4"}
    service.begin(channel=channel, reward=reward, guardrail=HARM, metrics=[spent], budget={"epsilon": 1400})
    devices = []
    for number in range(4):
        device = make_device(service, tmp_path, f"person {number}", 1400)
        device.assign("small", f"person {number}", "")
        device.expose("small")
        for _ in range(3):
            device.record("small", 1)
        if number != 1:
            device.record("small", 0, "harm")
        for _ in range(2 * (number == 2)):
            device.record("small", 50, "spent")
        devices.append(device)
    service.tick(WINDOW)
    for device in devices:
        device.contact()
        assert [report.says for report in device.show()[0].sent] == [
            1,
            int(device is devices[1]),
            int(device is devices[2]),
        ]
        device.close()
    service.tick(GRACE + 1)
    assert {round(each["total"] / each["n"], 6) for each in read_releases(service)} == {1.0}  # in units of the cap
    assert round(sum(each["further"]["spent"] for each in read_releases(service)), 6) == 1.0
