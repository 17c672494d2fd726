"""A browser at a live service: pages of other sites that take part, and the page on which a person looks and leaves."""

import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page

import maskedbandit as mb
from tests.service.browser import LOOKS, faults
from tests.service.inside import TABLE
from tests.service.live import LATE, PATIENT, Live, live
from tests.service.test_people import PUBLIC, SIGNERS
from tests.threaded_server import serve_in_thread

pytestmark = pytest.mark.slow
ASK = """async ([url, key, body]) => {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  try {
    const answer = await fetch(url, { method: "POST", headers, body });
    return [answer.status, await answer.json()];
  } catch (why) { return [0, String(why)]; }
}"""


class Shop(BaseHTTPRequestHandler):
    """A site with one page."""

    def do_GET(self) -> None:
        """The page."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><link rel='icon' href='data:,'><title>A shop</title>")

    def log_message(self, *said: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    """The origin of a site of its own."""
    with serve_in_thread(Shop) as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, shop: str) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("person")) as found:
        found.start_study(TABLE | {"signed_by": PUBLIC[0], "reward": PATIENT, "about": "which letter is answered"})
        body = {"role": "device", "study": "small", "origins": [shop]}
        found.keys["device"] = found.ask("POST", "/v1/keys", body, "owner").json["key"]
        yield found


def sign(unit: str, seconds: int = 3600) -> str:
    """A token of the application's backend."""
    return mb.sign_person(SIGNERS[0].private_bytes_raw().hex(), "small", unit, int(time.time()) + seconds)


def open_page(browser: Browser, look: str = "light") -> Page:
    """An empty page."""
    page = browser.new_page(**LOOKS[look])
    page.set_default_timeout(1000 * LATE)
    return page


def test_pages_of_named_sites_take_part_and_others_do_not(browser: Browser, server: Live, shop: str) -> None:
    page = open_page(browser)

    def ask(verb: str, **body: object) -> tuple[int, Any]:
        said = [f"{server.url}/v1/studies/small/{verb}", server.keys["device"], json.dumps(body)]
        status, found = page.evaluate(ASK, said)
        return status, found

    page.goto(shop)
    status, given = ask("assign", unit="zoe", token=sign("zoe"))
    assert status == 200
    assert ask("expose", ticket=given["ticket"]) == (200, {"status": "exposed"})
    status, said = ask("assign", unit="zoe", token=sign("bob"))
    assert (status, said["code"]) == (401, "token_forged")
    assert ask("person", unit="zoe", token=sign("zoe"))[0] == 0  # the browser does not even ask
    with serve_in_thread(Shop) as other:
        page.goto(other)
        assert ask("assign", unit="eve", token=sign("eve"))[0] == 0
    assert server.study("erase", {"unit": "eve"}, "officer").json == {"places": 0}
    page.close()


def link(server: Live, unit: str, token: str) -> str:
    """Where an application sends a person."""
    said = {"study": "small", "unit": unit, "key": server.keys["device"], "token": token}
    return f"{server.url}/person#{urlencode(said)}"


@pytest.mark.parametrize("look", LOOKS)
def test_a_person_looks_and_leaves(browser: Browser, server: Live, look: str) -> None:
    unit = f"ann müller & co, {look}"
    ticket = server.study("assign", {"unit": unit, "token": sign(unit)}).json["ticket"]
    assert server.study("expose", {"ticket": ticket}).status == 200
    page, errors = open_page(browser, look), list[str]()
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(link(server, unit, sign(unit)))
    page.get_by_text("You take part.").wait_for()
    assert page.url == f"{server.url}/person"
    assert "which letter is answered" in page.inner_text("#facts")
    assert "ε = 1, of at most ε = 1" in page.inner_text("#facts")
    assert ticket not in page.content()
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Leave this study").click()
    page.get_by_role("button", name="No").click()
    page.get_by_role("button", name="Leave this study").click()
    page.get_by_role("button", name="Yes, erase it").click()
    page.get_by_text("You have no place in this study").wait_for()
    assert not page.get_by_role("button", name="Leave this study").is_visible()
    assert server.study("report", {"ticket": ticket, "value": 1}).code == "unknown_ticket"
    assert errors == []
    page.close()


def test_a_link_that_does_not_hold_shows_nothing(browser: Browser, server: Live) -> None:
    unit = "somebody"
    assert server.study("assign", {"unit": unit, "token": sign(unit)}).status == 200
    page = open_page(browser)
    for where, said in (
        (link(server, unit, sign(unit, seconds=-1)), "too old"),
        (link(server, unit, sign("other")), "does not hold"),
        (f"{server.url}/person", "Open this page from the application"),
    ):
        page.goto("about:blank")
        page.goto(where)
        page.get_by_text(said).wait_for()
        assert not page.locator("#shown").is_visible()
    page.close()
