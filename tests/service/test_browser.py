"""The page in a real browser: the first five minutes, who can read it, and how it looks."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pytest
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.track import TrackingEventDetails
from PIL import Image
from playwright.sync_api import Browser, Page

from maskedbandit.cli import main
from maskedbandit.client.openfeature import MaskedBanditProvider
from tests.service.browser import ALL_ELSE, COLOURS, LOOKS, contrast, faults
from tests.service.live import LATE, Live, live

pytestmark = pytest.mark.slow
FORM = {
    "name": "greeting",
    "about": "which greeting is answered",
    "arms.0.name": "hello",
    "arms.1.name": "welcome",
    "people": "5000",
    "per_day": "1000",
    "baseline": "0.3",
    "difference": "0.1",
    "reward.window": "1 day",
    "channel.epsilon": "1",
}
TEXTS = "h1, h2, h3, p, td, th, dt, dd, li, label, button, summary, svg text"
# the text of each visible element, and where its letters are on the page
BOXES = """names => [...document.querySelectorAll(names)]
  .filter(each => each.checkVisibility() && each.textContent.trim() && !each.closest(".hidden"))
  .map(each => { const letters = document.createRange(); letters.selectNodeContents(each); return [each, letters]; })
  .map(([each, letters]) => [each.textContent.trim().slice(0, 60), letters.getBoundingClientRect()])
  .filter(([text, box]) => box.width > 2 && box.height > 2)
  .map(([text, box]) => [text, box.x + scrollX, box.y + scrollY, box.width, box.height])"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("demo"), more=("--demo",)) as server:
        yield server


@contextmanager
def signed_in(browser: Browser, server: Live, look: str = "light", role: str = "owner") -> Iterator[Page]:
    """A page of somebody who has signed in; no script fails, and nothing is missing or against the page's policy."""
    page, said = browser.new_page(**LOOKS[look]), list[str]()
    page.set_default_timeout(1000 * LATE)
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{server.url}/sign-in#{server.keys[role]}")
    page.wait_for_url(f"{server.url}/")
    try:
        yield page
        expected = (
            "net::ERR",
            "422 (Unprocessable Entity)",
        )  # the server was away for a while; a form was filled in wrong
        assert [each for each in said if not any(part in each for part in expected)] == []
    finally:
        page.close()


def assigned(provider: MaskedBanditProvider, people: list[str]) -> dict[str, str]:
    """The arms of these people, as an application asks for them."""
    api.set_provider_and_wait(provider)
    client = api.get_client()
    return {
        person: client.get_string_value("greeting", "none", EvaluationContext(targeting_key=person))
        for person in people
    }


def test_the_first_five_minutes(
    browser: Browser, demo: Live, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with signed_in(browser, demo) as page, signed_in(browser, demo, role="officer") as officer:
        five_minutes(page, officer, demo, tmp_path)
        out = capsys.readouterr().out
        assert "greeting: 1 entries" in out


def five_minutes(page: Page, officer: Page, demo: Live, tmp_path: Path) -> None:
    """From the demo to the statement of a study of one's own."""
    page.goto(f"{demo.url}/studies/demo")
    assert "A simulation" in page.inner_text("main")
    assert page.locator("main svg").count() >= 3
    # a new study, with what is expected of it
    page.goto(f"{demo.url}/new")
    for name, value in FORM.items():
        page.fill(f'[name="{name}"]', value)
    page.check("text=The server, which is trusted")
    page.click("text=Say what it would mean")
    page.wait_for_selector("#preview")
    said = page.inner_text("section[aria-labelledby=preview]")
    assert "5\u202f000" in said or "5 000" in said
    assert "at 1,000 people a day" in said
    assert "an equal split would lose 250" in said
    page.click("text=Write it down as a draft")
    page.wait_for_url("**/studies/greeting")
    page.click("#ask-start")
    page.wait_for_selector("text=An officer of privacy is to approve this protocol first")
    # an officer looks at the protocol that is to be started
    officer.goto(f"{demo.url}/studies/greeting")
    officer.click("#ask-approve")
    officer.click("#do-approve")
    officer.wait_for_selector("text=An officer of privacy has approved the protocol")
    page.goto(f"{demo.url}/studies/greeting")
    page.click("#ask-start")
    for part in ("5\u202f000 people", "1 day", "This cannot be undone", 'name = "greeting"'):
        assert part in page.inner_text("main")
    page.click("#do-start")
    page.wait_for_selector("text=Pause")
    # the application
    people = [f"person {number}" for number in range(40)]  # who get one arm all with a probability below 1e-11
    provider = MaskedBanditProvider(demo.url, demo.keys["client"], folder=tmp_path / "outbox", deadline=LATE)
    arms = assigned(provider, people)
    assert set(arms.values()) == {"hello", "welcome"}
    for person in people[:6]:
        api.get_client().track("thanked", EvaluationContext(targeting_key=person), TrackingEventDetails(value=1))
    api.clear_providers()
    # the server dies, and comes back
    demo.end(signal.SIGKILL)
    demo.begin("--demo")
    provider = MaskedBanditProvider(demo.url, demo.keys["client"], folder=tmp_path / "outbox", deadline=LATE)
    assert assigned(provider, people) == arms
    api.clear_providers()
    page.goto(f"{demo.url}/studies/greeting")
    assert "40" in page.inner_text("main")
    assert main(["ledger", "verify", "--database", demo.address, "--witness", str(demo.witness)]) == 0
    page.click("text=Verify the ledger")
    page.wait_for_selector(".notice.good")
    with page.expect_download() as download:
        page.goto(f"{demo.url}/studies/greeting")
        page.click("text=Privacy statement (JSON)")
    statement = json.loads(download.value.path().read_text())
    assert statement["name"] == "greeting"
    assert statement["simulated"] is False


PAGES = (
    "/",
    "/studies/demo",
    "/studies/demo/stop",
    "/studies/demo/start",
    "/studies/demo/ledger",
    "/studies/demo/statement",
    "/new",
    "/sign-in",
)


@pytest.mark.parametrize("look", LOOKS)
def test_everybody_can_read_the_pages(browser: Browser, demo: Live, look: str) -> None:
    with signed_in(browser, demo, look) as page:
        for path in PAGES:
            page.goto(demo.url + path)
            assert faults(page, {"dark": COLOURS, "phone": ALL_ELSE}.get(look)) == [], path  # phones are light, too
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{path} is wider than the screen"


def test_what_cannot_be_read_is_found(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content(
        "<html lang=en><title>x</title><main><p style='color: #999; background: #aaa'>Hardly</p><img></main>"
    )
    assert {each.partition(":")[0] for each in faults(page)} >= {"color-contrast", "image-alt"}
    assert faint(page) != []
    page.close()


def faint(page: Page) -> list[str]:
    """The visible texts whose contrast on a screenshot is below 4.5."""
    boxes = page.evaluate(BOXES, TEXTS)
    picture = Image.open(BytesIO(page.screenshot(full_page=True))).convert("RGB")
    found = []
    for text, x, y, width, height in boxes:
        measured = contrast(picture.crop((round(x), round(y), round(x + width), round(y + height))))
        if measured < 4.5:
            found.append(f"{text}: {measured:.2f}")
    return found


@pytest.mark.parametrize("look", ["light", "dark"])
def test_texts_stand_out_on_the_screen(browser: Browser, demo: Live, look: str) -> None:
    with signed_in(browser, demo, look) as page:
        page.route("**/events", lambda route: route.abort())  # so that the page stays as it is on the picture
        page.goto(f"{demo.url}/studies/demo")
        assert faint(page) == []
