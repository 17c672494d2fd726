"""People's devices in Chromium, on pages of another site than the service, and devices in Python beside them."""

import re
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from maskedbandit.device import Agreed, Device
from tests.document_code import FENCED
from tests.service.live import ROOT, Live
from tests.service.test_javascript import wait_for_releases
from tests.service.web_pages import PUBLIC, Site, make_device_key, open_page, sign_in, somebody

pytestmark = pytest.mark.slow
EPSILON = 200  # so little noise that each outcome is seen in the sum
TABLE: dict[str, Any] = {
    "name": "headline",
    "people": 10_000,
    "policy": {"name": "successive_elimination", "least": 3},
    "channel": {"name": "local", "epsilon": EPSILON},
    "arms": [{"name": "plain", "payload": {"headline": "Plain"}}, {"name": "bold", "payload": {"headline": "Bold"}}],
    "reward": {"window": "1 hour", "exposure": "1 hour", "grace": "1 hour", "rule": "first"},
    "budget": {"epsilon": EPSILON},
    "signed_by": PUBLIC,
}
MAKE = """([url, key, ahead, epsilon]) => {
  globalThis.device = new Device("me", url, new Agreed(epsilon), { key, clock: () => Date.now() + ahead });
}"""


@pytest.fixture
def server(turned_server: Live) -> Live:
    turned_server.start_study(TABLE)
    return turned_server


def make_web_device(context: BrowserContext, site: Site, server: Live, key: str, ahead: int = 0) -> Page:
    """A page with a device, whose clock is so many seconds ahead."""
    page = open_page(context, f"{site.url}/")
    page.evaluate(MAKE, [server.url, key, 1000 * ahead, EPSILON])
    return page


def come(page: Page, unit: str, token: str) -> str:
    """The arm that somebody sees."""
    ask = """async ([unit, token]) => {
      await device.consent(true);
      const { arm, why } = await device.assign("headline", unit, token);
      if (why || !(await device.expose("headline"))) throw new Error(why);
      return arm;
    }"""
    return str(page.evaluate(ask, [unit, token]))


def test_pages_and_python_are_in_one_release(
    browser: Browser, site: Site, server: Live, turned: Path, tmp_path: Path
) -> None:
    """Four people in Chromium, whose pages are closed and opened again, and two with devices in Python."""
    key, told, ahead = make_device_key(server, "headline", site.url), {"plain": 0, "bold": 0}, 0
    devices = [
        Device(tmp_path / f"p{i}", server.url, Agreed(EPSILON), key=key, clock=lambda: time.time() + ahead)
        for i in range(2)
    ]
    with ExitStack() as stack:
        people = [stack.enter_context(somebody(browser)) for _ in range(4)]
        for number, context in enumerate(people):
            page, unit = make_web_device(context, site, server, key), f"page {number}"
            arm = come(page, unit, sign_in("headline", unit, time.time()))
            assert page.evaluate("value => device.record('headline', value)", number % 2)
            told[arm] += number % 2
            page.close()
        for number, device in enumerate(devices):
            device.consent(True)
            unit = f"python {number}"
            arm = device.assign("headline", unit, sign_in("headline", unit, time.time())).arm
            assert device.expose("headline")
            assert device.record("headline", 1)
            told[arm] += 1
        turned.write_text("1")
        ahead = 3601
        for context in people:
            page = make_web_device(context, site, server, key, ahead)
            for _ in range(2):
                page.evaluate("device.contact()")
            (shown,) = page.evaluate("device.show()")
            assert [(each["answer"], each["turn"]) for each in shown["sent"]] == [("accepted", 0)]
        for device in devices:
            device.contact()
            assert [each.answer for each in device.show()[0].sent] == ["accepted"]
            device.close()
    turned.write_text("3")
    wait_for_releases(server, 2, "headline")
    found = server.ask("GET", "/v1/studies/headline/releases", key="owner").json["releases"]
    released = {each["arm"]: (each["n"], round(each["total"])) for each in found}
    assert released == {arm: (3, total) for arm, total in told.items()}


def test_a_page_of_no_named_site_learns_and_writes_nothing(browser: Browser, site: Site, server: Live) -> None:
    key = make_device_key(server, "headline", "https://shop.example")
    with somebody(browser) as context:
        page = make_web_device(context, site, server, key)
        token = sign_in("headline", "ann", time.time())
        page.evaluate("device.consent(true)")
        assert page.evaluate("token => refusal(device.assign('headline', 'ann', token))", token) == "unreachable"
        assert page.evaluate("device.show()") == []
    assert server.study("assign", {"unit": "ann", "token": token}, name="headline").json["again"] is False


def test_tokens_are_refused_by_name_and_nothing_is_kept(browser: Browser, site: Site, server: Live) -> None:
    key, now = make_device_key(server, "headline", site.url), time.time()
    wrong = {
        "token_expired": sign_in("headline", "ann", now, -1),
        "token_expires_too_late": sign_in("headline", "ann", now, 31 * 86_400),
        "token_forged": sign_in("headline", "bob", now),
        "token_malformed": "ann",
        "token_missing": "",
    }
    with somebody(browser) as context:
        page = make_web_device(context, site, server, key)
        page.evaluate("device.consent(true)")
        for code, token in wrong.items():
            assert page.evaluate("token => refusal(device.assign('headline', 'ann', token))", token) == code
        assert page.evaluate("device.show()") == []


def test_a_browser_that_was_cleared_shows_the_arm_and_sends_nothing(browser: Browser, site: Site, server: Live) -> None:
    key, token = make_device_key(server, "headline", site.url), sign_in("headline", "ann", time.time())
    with somebody(browser) as context, somebody(browser) as cleared:
        arm = come(make_web_device(context, site, server, key), "ann", token)
        page, asked = make_web_device(cleared, site, server, key, 3601), list[str]()
        page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
        page.evaluate("device.consent(true)")
        given = page.evaluate("token => device.assign('headline', 'ann', token)", token)
        assert (given["arm"], given["why"]) == (arm, "elsewhere")
        assert page.evaluate("device.expose('headline')") is False
        assert page.evaluate("device.record('headline', 1)") is False
        page.evaluate("device.contact()")
        assert asked == ["assign"]
        assert [each["ended"] for each in page.evaluate("device.show()")] == ["elsewhere"]


def test_two_pages_at_once_take_one_place_and_make_one_draw(
    browser: Browser, site: Site, server: Live, turned: Path
) -> None:
    key, token = make_device_key(server, "headline", site.url), sign_in("headline", "ann", time.time())
    bodies = []
    with somebody(browser) as context:
        pages = [make_web_device(context, site, server, key) for _ in range(3)]
        context.on("request", lambda request: bodies.append((request.url.rpartition("/")[2], request.post_data)))
        start = (
            "token => { globalThis.given = device.consent(true).then(() => device.assign('headline', 'ann', token)) }"
        )
        for page in pages:
            page.evaluate(start, token)
        assert [page.evaluate("given.then((shown) => shown.why)") for page in pages] == ["", "", ""]
        assert [name for name, _ in bodies] == ["assign"]
        pages[0].evaluate("device.expose('headline')")
        turned.write_text("1")
        for page in pages:
            page.evaluate(MAKE, [server.url, key, 3_601_000, EPSILON])
        bodies.clear()
        for page in pages:
            page.evaluate("() => { globalThis.done = device.contact() }")
        for page in pages:
            page.evaluate("done")
        assert {name for name, _ in bodies} == {"report"}
        assert len({body for _, body in bodies}) == 1
        (shown,) = pages[0].evaluate("device.show()")
        assert [each["answer"] for each in shown["sent"]] in (["accepted"], ["duplicate"])


def test_before_consent_the_site_has_no_storage_and_nothing_is_asked(
    browser: Browser, site: Site, server: Live
) -> None:
    key = make_device_key(server, "headline", site.url)
    with somebody(browser) as context:
        page, asked = make_web_device(context, site, server, key), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        assert page.evaluate("refusal(device.assign('headline', 'ann', ''))") == "no_consent"
        assert page.evaluate("refusal(device.record('headline', 1))") == "no_consent"
        page.evaluate("device.contact()")
        page.evaluate("device.consent(false)")
        assert page.evaluate("device.show()") == []
        assert page.evaluate("indexedDB.databases()") == []
        assert asked == []
        page.evaluate("device.consent(true)")
        assert [each["name"] for each in page.evaluate("indexedDB.databases()")] == ["me"]


def test_the_programs_of_the_document(browser: Browser, site: Site, server: Live) -> None:
    """A page of a device, and one that knows OpenFeature: both show the arm, and say that it was seen."""
    programs = [text for kind, text in FENCED.findall((ROOT / "docs" / "javascript.md").read_text()) if kind == "js"]
    assert len(programs) == 2
    key = make_device_key(server, "headline", site.url)
    for number, site.program in enumerate(programs):
        unit = f"reader {number}"
        token = sign_in("headline", unit, time.time())
        site.me = {"service": server.url, "key": key, "unit": unit, "token": token}
        site.program = site.program.replace("new Agreed(1)", f"new Agreed({EPSILON})")
        with somebody(browser) as context:
            asked = list[str]()
            context.on("request", lambda request, asked=asked: asked.append(request.url.rpartition("/")[2]))
            with context.expect_event("response", lambda response: response.url.endswith("expose")):
                page = open_page(context, f"{site.url}/")
            expect(page).to_have_title(re.compile("Plain|Bold"))
        assert [each for each in asked if each in ("assign", "expose", "report")] == ["assign", "expose"]
