"""The examples of the TypeScript package, as somebody uses them: pages of another site, against a live service."""

import re
import time
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from maskedbandit.device.own_place import read_place
from maskedbandit.secagg.prio3 import FIELD, HELPER, LEADER
from maskedbandit.secagg.uploads import ReportTerms, ShareReader
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.own_keys import read_own_keys, read_seal_key
from maskedbandit.store.pairing import write_pairing
from maskedbandit.store.studies import find_witness
from tests.service.browser import LOOKS, faults
from tests.service.live import Live
from tests.service.web_pages import PUBLIC, Site, make_device_key, open_page, sign_in, somebody
from tests.store.two_operators import Helper, name_operators

pytestmark = pytest.mark.slow
STUDY = {"people": 10_000, "policy": {"name": "successive_elimination", "least": 1}, "signed_by": PUBLIC}
HEADLINE = STUDY | {
    "name": "headline",
    "channel": {"name": "response", "epsilon": 1},
    "arms": [
        {"name": "plain", "payload": {"headline": "Ships come in"}},
        {"name": "warm", "payload": {"headline": "Meet the ships"}},
    ],
    "reward": {"window": "1 hour", "exposure": "1 hour", "grace": "1 hour", "rule": "first"},
    "budget": {"epsilon": 1},
}
REMINDER = STUDY | {
    "name": "reminder",
    "channel": {"name": "two_servers", "epsilon": 1, "backend": "prio3"},
    "arms": [
        {"name": "early", "payload": {"text": "Out before dark"}},
        {"name": "short", "payload": {"text": "Half an hour"}},
    ],
    "reward": {"window": "1 hour", "exposure": "1 hour", "grace": "1 hour"},
    "budget": {"epsilon": 1},
}


def say_who(site: Site, server: Live, study: str, unit: str, **more: object) -> None:
    """What the application's backend answers its own page."""
    key = make_device_key(server, study, site.url)
    site.me = {"service": server.url, "key": key, "unit": unit, "token": sign_in(study, unit, time.time()), **more}


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_a_plain_page(browser: Browser, site: Site, turned_server: Live, turned: Path, look: str) -> None:
    turned_server.start_study(HEADLINE)
    say_who(site, turned_server, "headline", "ann")
    with somebody(browser, **LOOKS[look]) as context:
        page, asked = open_page(context, f"{site.url}/examples/web-page/index.html"), list[str]()
        assert page.evaluate("indexedDB.databases()") == []
        page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
        page.click("text=Yes")
        expect(page.locator("h1")).to_have_text(re.compile("hips"))
        expect(page.locator("#facts")).to_contain_text("nothing yet")
        assert asked == ["assign", "expose"]
        page.click("text=Subscribe")
        expect(page.locator("#thanks")).to_contain_text("Thank you")
        assert faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert asked == ["assign", "expose"], "to subscribe sends nothing"
        headline = page.inner_text("h1")
        page.close()
        turned.write_text("1")
        context.clock.set_fixed_time(time.time() + 3601)
        page = open_page(context, f"{site.url}/examples/web-page/index.html")
        assert page.inner_text("h1") == headline
        expect(page.locator("#facts")).to_contain_text(re.compile(r"[01], on \d+/\d+/\d+"))
        page.click("text=Stop taking part")
        expect(page.locator("#facts")).to_contain_text("you have left")
        assert page.locator("#leave").is_hidden()
    database = open_database(turned_server.address)
    assert database.rows("SELECT COUNT(*) FROM place WHERE person IS NOT NULL") == [(0,)], (
        "whoever left is erased there, too"
    )
    database.close()


def test_a_plain_page_whose_reader_says_no(browser: Browser, site: Site, server: Live) -> None:
    server.start_study(HEADLINE)
    say_who(site, server, "headline", "ann")
    with somebody(browser) as context:
        page, asked = open_page(context, f"{site.url}/examples/web-page/index.html"), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        page.click("text=No, thank you")
        page.click("text=Subscribe")
        expect(page.locator("#thanks")).to_contain_text("Thank you")
        assert asked == []
        assert page.evaluate("indexedDB.databases()") == []
        page.close()
        page = open_page(context, f"{site.url}/examples/web-page/index.html")
        assert page.locator("#ask").is_hidden()


def pair_helper(server: Live) -> tuple[Helper, tuple[str, str]]:
    """A helper that the service knows, and the fingerprints of both."""
    helper = Helper()
    with closing(open_database(server.address)) as database:
        own = read_own_keys(find_witness(database, server.witness))
        with database.transaction():
            write_pairing(database, helper.keys, "helper", "University", "http://127.0.0.1:1", "secret", 0)
    server.start_study(REMINDER | {"operators": name_operators(own, helper.keys)})
    return helper, (own.fingerprint, helper.keys.fingerprint)


def read_report(server: Live, helper: Helper) -> int:
    """What both operators together read in the report of Ann that stands."""
    token = sign_in("reminder", "ann", time.time())
    place = read_place(server.study("assign", {"unit": "ann", "token": token}, name="reminder").json["device"])
    with closing(open_database(server.address)) as database:
        ((name, turn, *sealed),) = database.rows("SELECT report, turn, leader, helper FROM upload")
        own = read_seal_key(find_witness(database, server.witness))
    assert place.offer.position is not None
    assert place.cohort is not None
    terms = ReportTerms(place.protocol, place.cohort, place.offer.digest, place.offer.steps, place.offer.position)
    shares = [
        ShareReader(role, key, bytes(32)).read(terms, bytes.fromhex(name), turn, bytes.fromhex(share))
        for role, key, share in zip((LEADER, HELPER), (own, helper.private), sealed, strict=True)
    ]
    terms.range.check(*(share.verifier for share in shares))
    return sum(share.value for share in shares) % FIELD


def test_a_page_that_is_closed_and_opened_again(browser: Browser, site: Site, server: Live, tmp_path: Path) -> None:
    helper, pinned = pair_helper(server)
    say_who(site, server, "reminder", "ann", operators=list(pinned))
    address = f"{site.url}/examples/mobile-page/index.html"
    with somebody(browser, **LOOKS["phone"]) as context:
        page = open_page(context, address)
        page.click("text=Take part")
        expect(page.locator("#facts")).to_contain_text("Reports of this phone: 1")
        assert page.inner_text("h1") in ("Out before dark", "Half an hour")
        asked = list[str]()
        page.on("request", lambda request: asked.append(request.url))
        page.click("text=I did")
        expect(page.locator("#thanks")).to_have_text("Well done.")
        assert asked == [], "what she did sends nothing"
        assert faults(page) == []
        page.close()
        for opened in (2, 3):
            page = open_page(context, address)
            expect(page.locator("#facts")).to_contain_text(f"Reports of this phone: {opened}")
            page.close()
        assert read_report(server, helper) == 1
        database = open_database(server.address)
        rows = database.rows("SELECT ticket, turn FROM upload")
        assert [turn for _, turn in rows] == [2]
        page = open_page(context, address)
        page.click("text=Stop taking part")
        expect(page.locator("#facts")).to_contain_text("Nothing more is sent: left.")
        assert database.rows("SELECT COUNT(*) FROM upload") == [(0,)]
        database.close()
