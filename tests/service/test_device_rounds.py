"""Devices that add up by themselves, over HTTP: no outcome leaves one, and a round gives their sum."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from maskedbandit.device import adding_up
from tests.service.adding_devices import WINDOW, AddingDevices


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[AddingDevices]:
    made = AddingDevices(tmp_path)
    yield made
    made.close()


def test_a_study_to_its_release(scene: AddingDevices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding_up, "polya", lambda shape, rate, bits: 0)
    scene.fill()
    scene.contact()
    assert scene.read_releases() == []
    scene.service.tick(WINDOW + 1)
    scene.contact(5)
    found = scene.read_releases()
    assert {each["arm"]: each["total"] for each in found} == scene.sums
    assert {each["n"] for each in found} == {10}
    assert {device.show()[0].ended for device in scene.devices} == {"over"}
