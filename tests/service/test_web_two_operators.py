"""Two operators as processes, and devices that seal for both: in Chromium, on pages of another site, and in Python."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from maskedbandit.device import Agreed, Device
from tests.service.browser import chromium
from tests.service.live import Live
from tests.service.test_javascript import wait_for_releases
from tests.service.test_two_operators_kills import make_operator, pair
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

EPSILON = 200  # so little noise that each outcome is seen in the sum
TABLE: dict[str, Any] = {
    "name": "reminder",
    "people": 10_000,
    "policy": {"name": "successive_elimination", "least": 3},
    "channel": {"name": "two_servers", "epsilon": EPSILON, "backend": "prio3"},
    "arms": [{"name": "early"}, {"name": "short"}],
    "reward": {"window": "1 hour", "exposure": "1 hour", "grace": "1 hour"},
    "budget": {"epsilon": EPSILON},
    "signed_by": PUBLIC,
}
MAKE = """([url, key, operators, ahead, epsilon]) => {
  const clock = () => Date.now() + ahead;
  globalThis.device = new Device("me", url, new Agreed(epsilon, { operators }), { key, clock });
}"""
COME = """async ([unit, token]) => {
  await device.consent(true);
  const { arm } = await device.assign("reminder", unit, token);
  await device.expose("reminder");
  return arm;
}"""


@pytest.fixture
def operators(tmp_path: Path) -> Iterator[tuple[Live, Live]]:
    """A leader and a helper, whose clocks a file in the folder turns."""
    command = ("-m", "tests.service.turned_server", str(tmp_path / "turned"), "serve")
    leader, helper = (make_operator(tmp_path / role, None, command) for role in ("leader", "helper"))
    try:
        yield leader, helper
    finally:
        leader.abandon()
        helper.abandon()


class People:
    """Those who come with a page, and those whose device is in Python, each with an outcome."""

    def __init__(self, site: Site, leader: Live, pinned: tuple[str, str]) -> None:
        self.site, self.url, self.pinned = site, leader.url, pinned
        self.key = make_device_key(leader, "reminder", site.url)
        self.told = {"early": 0.0, "short": 0.0}

    def open(self, context: BrowserContext, ahead: int = 0) -> Page:
        """A page, whose clock is so many seconds ahead."""
        page = open_page(context, f"{self.site.url}/")
        page.evaluate(MAKE, [self.url, self.key, list(self.pinned), 1000 * ahead, EPSILON])
        return page

    def come_with_a_page(self, context: BrowserContext, unit: str, value: float) -> str:
        """The arm of somebody whose page is closed after the outcome."""
        page = self.open(context)
        arm = str(page.evaluate(COME, [unit, sign_in("reminder", unit, time.time())]))
        assert page.evaluate("value => device.record('reminder', value)", value)
        page.close()
        return arm

    def come_with_a_device(self, folder: Path, unit: str, value: float) -> Device:
        """The device of somebody who stays."""
        device = Device(folder / unit, self.url, Agreed(EPSILON, self.pinned), key=self.key)
        device.consent(True)
        arm = device.assign("reminder", unit, sign_in("reminder", unit, time.time())).arm
        assert device.expose("reminder")
        assert device.record("reminder", value)
        self.told[arm] += value
        return device


@pytest.mark.slow
def test_pages_and_python_are_in_one_sum(operators: tuple[Live, Live], tmp_path: Path) -> None:
    """Whoever never comes back has reported the default already; of all others the last outcome counts."""
    leader, helper = operators
    named = pair(leader, helper)
    leader.start_study(TABLE | {"operators": named})
    build_package(tmp_path / "site")
    with chromium() as browser, serve_site(tmp_path / "site") as site, ExitStack() as stack:
        people = People(site, leader, (named["leader"]["key"], named["helper"]["key"]))
        contexts = [stack.enter_context(somebody(browser)) for _ in range(4)]
        arms = [people.come_with_a_page(context, f"page {i}", 1) for i, context in enumerate(contexts)]
        devices = [people.come_with_a_device(tmp_path, f"python{i}", i) for i in range(2)]
        for device in devices:
            device.contact()
            assert [each.answer for each in device.show()[0].sent] == ["stored"] * 2
            device.close()
        page = people.open(contexts[0])
        page.evaluate("device.record('reminder', 0)")
        (tmp_path / "turned").write_text("1")
        for context, arm, value in zip(contexts[:3], arms, (0, 1, 1), strict=False):  # the fourth never comes back
            people.told[arm] += value
            page = people.open(context, 3601)
            page.evaluate("device.contact()")
            (shown,) = page.evaluate("device.show()")
            assert [(each["turn"], each["answer"]) for each in shown["sent"]] == [(0, "stored"), (1, "stored")]
            assert shown["sent"][-1]["says"] == value
        (tmp_path / "turned").write_text("3")
        wait_for_releases(leader, 2, "reminder")
        found = leader.ask("GET", "/v1/studies/reminder/releases", key="owner").json["releases"]
        assert {each["arm"]: (each["n"], round(each["total"])) for each in found} == {
            arm: (3, total) for arm, total in people.told.items()
        }
    assert (leader.end(), helper.end()) == (0, 0)
