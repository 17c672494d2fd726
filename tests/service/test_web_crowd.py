"""A study under local trust, whole: as many people with pages in Chromium as with devices in Python.

What was published is what the devices said, and what they said is what became of their people, as often as was agreed.
"""

import math
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from maskedbandit.device import Agreed, Device
from tests.service.browser import chromium
from tests.service.live import Live, live
from tests.service.test_javascript import wait_for_releases
from tests.service.web_pages import (
    PUBLIC,
    Site,
    build_package,
    make_device_key,
    open_page,
    serve_site,
    sign_in,
    somebody,
)
from tests.statistics import at_most

PEOPLE = 200  # half of them with pages
EPSILON = 1
FLIP = 1 / (1 + math.exp(EPSILON))  # the chance that a bit is not what became of the person
COME = """async ([url, key, unit, token, value]) => {
  const device = new Device(unit, url, new Agreed(1), { key });
  await device.consent(true);
  const { arm } = await device.assign("crowd", unit, token);
  await device.expose("crowd");
  await device.record("crowd", value);
  await device.close();
  return arm;
}"""
REPORT = """async ([url, key, unit, ahead]) => {
  const device = new Device(unit, url, new Agreed(1), { key, clock: () => Date.now() + ahead });
  await device.contact();
  const [{ sent: [{ says, answer }] }] = await device.show();
  await device.close();
  return [says, answer];
}"""


class SaidBit(NamedTuple):
    """What became of a person, and what the device said."""

    kind: str
    arm: str
    outcome: int
    says: int


def make_table(people: int) -> dict[str, Any]:
    """A study whose first two cohorts have so many people."""
    return {
        "name": "crowd",
        "people": 10 * people,
        "policy": {"name": "successive_elimination", "least": people // 2},
        "channel": {"name": "response", "epsilon": EPSILON},
        "arms": [{"name": "a"}, {"name": "b"}],
        "reward": {"window": "1 hour", "exposure": "1 hour", "grace": "1 hour", "rule": "first"},
        "budget": {"epsilon": EPSILON},
        "signed_by": PUBLIC,
    }


def play(server: Live, site: Site, turned: Path, folder: Path, people: int) -> list[SaidBit]:
    """Everybody comes, something becomes of most of them, and all report when their windows are over."""
    server.start_study(make_table(people))
    key, said = make_device_key(server, "crowd", site.url), list[SaidBit]()
    half, devices = people // 2, list[Device]()
    ahead, arms = 0, list[str]()
    with chromium() as browser, somebody(browser) as context, ExitStack() as stack:
        page = open_page(context, f"{site.url}/")
        for i in range(half):
            page.goto(f"{site.url}/")  # each has a page of her own
            unit = f"page {i}"
            token = sign_in("crowd", unit, time.time())
            page.wait_for_selector("body[data-ready]", state="attached")
            arms.append(page.evaluate(COME, [server.url, key, unit, token, int(i % 3 > 0)]))
        for i in range(half):
            device = Device(folder / f"{i}", server.url, Agreed(1), key=key, clock=lambda: time.time() + ahead)
            stack.callback(device.close)
            device.consent(True)
            arms.append(device.assign("crowd", f"python {i}", sign_in("crowd", f"python {i}", time.time())).arm)
            assert device.expose("crowd")
            assert device.record("crowd", int(i % 3 > 0))
            devices.append(device)
        turned.write_text("1")
        ahead = 3601
        for i in range(half):
            page.goto(f"{site.url}/")
            page.wait_for_selector("body[data-ready]", state="attached")
            says, answer = page.evaluate(REPORT, [server.url, key, f"page {i}", 1000 * ahead])
            assert answer == "accepted"
            said.append(SaidBit("page", arms[i], int(i % 3 > 0), says))
        for i, device in enumerate(devices):
            device.contact()
            ((report,),) = [each.sent for each in device.show()]
            assert report.answer == "accepted"
            said.append(SaidBit("python", arms[half + i], int(i % 3 > 0), report.says))
    turned.write_text("3")
    wait_for_releases(server, 2, "crowd")
    return said


def check_flips(said: list[SaidBit]) -> None:
    """Devices of either kind flip bits as often as was agreed: four assertions, each wrong with a chance of 1e-9."""
    for kind in ("page", "python"):
        bits = [each for each in said if each.kind == kind]
        flipped = sum(each.says != each.outcome for each in bits)
        at_most(flipped, len(bits), FLIP)
        at_most(len(bits) - flipped, len(bits), 1 - FLIP)


@pytest.mark.slow
def test_a_whole_study_of_pages_and_devices(tmp_path: Path) -> None:
    turned = tmp_path / "turned"
    build_package(tmp_path / "site")
    command = ("-m", "tests.service.turned_server", str(turned), "serve")
    with live(tmp_path / "live", command=command) as server, serve_site(tmp_path / "site") as site:
        said = play(server, site, turned, tmp_path, PEOPLE)
        releases = server.ask("GET", "/v1/studies/crowd/releases", key="owner").json["releases"]
    check_flips(said)
    ones, came = Counter[str](), Counter(each.arm for each in said)
    for each in said:
        ones[each.arm] += each.says
    assert {each["arm"]: each["n"] for each in releases} == came
    for each in releases:  # what the service makes of so many ones, without a bias
        assert each["total"] == pytest.approx((ones[each["arm"]] - each["n"] * FLIP) / (1 - 2 * FLIP))


def test_bits_that_are_not_flipped_are_found() -> None:
    """As those of a device that rounds the chance of a flip to none, or reports what happened."""
    said = [SaidBit("page", "a", i % 2, i % 2) for i in range(PEOPLE // 2)]
    with pytest.raises(AssertionError):
        check_flips(said)
