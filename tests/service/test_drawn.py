"""The pages as a browser draws them, whatever the stage of the study: readable, on the screen, and kept up to date."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route

from maskedbandit.service.page import visit
from maskedbandit.service.page.visit import SECURITY_POLICY
from maskedbandit.statement.page import STATEMENT_STYLE, TEMPLATE_FOLDER
from tests.service.all_pages import all_pages, all_views
from tests.service.browser import ALL_ELSE, COLOURS, LOOKS, faults
from tests.service.pictures import HOST, LOOKS_OF_PICTURES, SHOWN, serve, write_pictures

pytestmark = pytest.mark.slow
# the sizes of the letters in the pictures that are shown, on the screen
SIZES = """() => [...document.querySelectorAll("svg text")].filter((each) => each.checkVisibility()).map((each) => {
  const shown = each.ownerSVGElement.getBoundingClientRect().width / each.ownerSVGElement.viewBox.baseVal.width;
  return parseFloat(getComputedStyle(each).fontSize) * shown;
})"""
# words in the pictures that are shown and that reach beyond the screen
CUT = """() => [...document.querySelectorAll("svg text")].filter((each) => each.checkVisibility()).filter((each) => {
  const box = each.getBoundingClientRect();
  return box.left < -1 || box.right > innerWidth + 1;
}).map((each) => each.textContent)"""


@pytest.fixture(scope="module")
def pages() -> Iterator[dict[str, str]]:
    with all_views() as views:
        yield all_pages(views)


@pytest.mark.parametrize("look", ["light", "dark", "small"])
def test_every_stage_can_be_read(browser: Browser, pages: dict[str, str], look: str) -> None:
    how: dict[str, Any] = SMALL if look == "small" else LOOKS[look]
    page, text, errors = browser.new_page(**how), list[str](), list[str]()
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    serve(page, text, [])
    for name in SHOWN:
        text.append(pages[name])
        page.goto(f"{HOST}/studies/x")
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert faults(page, {"dark": COLOURS, "small": ALL_ELSE}.get(look)) == [], name  # small is dark, too
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
        assert min(page.evaluate(SIZES), default=12) >= 11, name
        assert page.evaluate(CUT) == [], name
    assert errors == []
    page.close()


def test_a_page_is_kept_up_to_date(browser: Browser, pages: dict[str, str]) -> None:
    """What changed is replaced; what was opened stays open, and the keyboard stays where it was."""
    page, text = browser.new_page(**LOOKS["light"]), [pages["study, early"]]
    said = ["retry: 100\n\n"]
    serve(page, text, said)
    page.goto(f"{HOST}/studies/newsletter")
    assert "Nothing was released yet" in page.inner_text(".state")
    page.click("#table-arrivals summary")
    page.focus("#table-health summary")
    text.append(pages["study, running"])
    said.append("event: changed\ndata: {}\n\n")
    page.wait_for_selector(".state:has-text('too early to tell which arm is best')")
    assert page.evaluate("[...document.querySelectorAll('details[open]')].map((each) => each.id)") == ["table-arrivals"]
    assert page.evaluate("document.activeElement.parentElement.id") == "table-health"
    page.close()


def test_the_key_behind_the_hash_signs_in(browser: Browser, pages: dict[str, str]) -> None:
    page, text = browser.new_page(), [pages["sign in"]]
    serve(page, text, [])
    with page.expect_request(lambda request: request.method == "POST") as sent:
        page.goto(f"{HOST}/sign-in#mb_owner_secret")
    assert "key=mb_owner_secret" in str(sent.value.post_data)
    assert "csrf=token" in str(sent.value.post_data)
    assert "#" not in page.url
    page.close()
