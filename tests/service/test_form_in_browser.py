"""The form of a study in a real browser, where no script helps: everybody can fill it in, and read what is wrong."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.for_each import for_each
from tests.service.browser import faults
from tests.service.live import LATE, Live, live
from tests.service.test_browser import LOOKS

pytestmark = pytest.mark.slow
LINES = "\n".join(f'a-long-name-of-an-arm-number-{arm:02} {{"template": {arm}}}' for arm in range(40))
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
CUT = """() => [...document.querySelectorAll("label, .hint, .fault, legend, summary, .problems li, dd")]
  .filter(each => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1
    && getComputedStyle(each).display !== "inline").map(each => each.textContent.trim())"""
TOML = b"""name = "uploaded"
people = 400
policy = "pooled_elimination"
arms = [{ name = "a" }, { name = "b", payload = [1, 2.5] }]
channel = { name = "response", epsilon = 2 }
reward = { rule = "first", window = "2 days" }
budget = { epsilon = 2 }
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("form")) as server:
        yield server


@pytest.fixture
def page(browser: Browser, running: Live, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The form of a new study for an owner, without its script: 390 pixels wide, or as the test says."""
    look = getattr(request, "param", {"viewport": {"width": 390, "height": 844}})
    found = browser.new_page(**look)
    found.set_default_timeout(1000 * LATE)
    found.goto(f"{running.url}/sign-in#{running.keys['owner']}")
    found.wait_for_url(f"{running.url}/")
    found.route("**/*.js", lambda route: route.abort())
    found.goto(f"{running.url}/new")
    yield found
    found.close()


def looks_right(page: Page) -> None:
    """Nothing is sideways, nothing is cut off, and the accessibility checker finds nothing."""
    assert page.evaluate(WIDER) == 0
    assert page.evaluate(CUT) == []
    assert faults(page) == []


@pytest.mark.parametrize("page", [LOOKS["light"], LOOKS["dark"], LOOKS["phone"]], indirect=True)
def test_an_empty_form_says_all_that_is_missing_at_its_fields(page: Page) -> None:
    looks_right(page)
    page.focus("#name")
    page.keyboard.press("Enter")  # which says what it would mean, and writes nothing down
    page.wait_for_selector("text=5 things are to be put right")
    links = page.locator(".problems a")
    for number in range(links.count()):
        link = links.nth(number)
        name = str(link.get_attribute("href"))[1:]
        at = page.locator(f'[id="{name}"]')
        described = at if name != "channel.name" else page.locator("fieldset[aria-invalid]")
        assert described.get_attribute("aria-invalid") == "true"
        ids = str(described.get_attribute("aria-describedby")).split()
        said = [page.locator(f'[id="{each}"]').inner_text() for each in ids]
        assert link.inner_text() in said
        link.click()
        assert at.is_visible()
        assert page.evaluate("document.activeElement.name") == name
    looks_right(page)


def test_a_study_is_made_with_the_keyboard_alone(page: Page, running: Live) -> None:
    def go(name: str) -> None:
        for _ in range(80):
            if page.evaluate("document.activeElement.name") == name:
                return
            page.keyboard.press("Tab")
        raise AssertionError(name)

    def type_in(name: str, text: str) -> None:
        go(name)
        page.keyboard.type(text)

    type_in("name", "typed")
    type_in("arms.0.name", "a")
    type_in("arms.1.name", "b")
    type_in("arms.1.payload", '{"n": 1}')
    go("policy")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    type_in("people", "2000")
    go("channel.name")
    page.keyboard.press("Space")
    type_in("channel.epsilon", "1")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=What it would mean")
    assert 'policy = "pooled_elimination"' in page.inner_text(".toml")
    looks_right(page)
    page.focus("text=Write it down as a draft")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{running.url}/studies/typed")
    with page.expect_download() as download:
        page.click("text=The protocol as TOML")
    assert "payload = { n = 1 }" in download.value.path().read_text()


def test_a_file_is_taken_and_what_the_fields_cannot_say_stays_in_it(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    for text, in_fields in ((TOML, True), (TOML + b'simulation = { every = "1 minute" }\n', False)):
        file.write_bytes(text)
        page.set_input_files("#file", file)
        page.click("text=Take it")
        page.wait_for_selector("text=What it would mean")
        assert (page.locator("#people").count() == 1) == in_fields
        if in_fields:
            assert page.input_value('[name="arms.1.payload"]') == "[1, 2.5]"
            assert page.is_checked("text=Each device, in a random bit")
        else:
            assert page.input_value("#protocol") == text.decode().strip()
        looks_right(page)


def test_forty_arms_fit_a_phone(page: Page) -> None:
    page.click("text=Add rows for five more arms")
    page.wait_for_selector("text=Name of arm 8")
    page.click("#many-arms summary")
    page.fill("#more_arms", LINES)
    page.click("main button:has-text('Say what it would mean')")
    page.wait_for_selector("text=Name of arm 40")
    assert page.input_value('[name="arms.39.name"]') == "a-long-name-of-an-arm-number-39"
    looks_right(page)


def test_an_example_is_filled_in_when_asked_for(page: Page) -> None:
    assert page.locator("input[type=text]").evaluate_all("all => all.map(each => each.value).join('')") == ""
    page.click("text=Fill in an example")
    page.wait_for_selector("input[value=newsletter]")
    looks_right(page)


@for_each("look", ["overflow", "contrast"])
def test_a_page_that_looks_wrong_is_found(browser: Browser, look: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    wrong = {
        "overflow": "<label style='display: block; width: 900px'>wide</label>",
        "contrast": "<main><h1>x</h1><p style='color: #ccc; background: #fff'>pale</p></main>",
    }[look]
    page.set_content(f"<!doctype html><html lang=en><title>t</title><body>{wrong}</body></html>")
    with pytest.raises(AssertionError):
        looks_right(page)
    page.close()
