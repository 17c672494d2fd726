"""The page of docs/tutorials/epsilon: its numbers are Python's, its sliders move them, and it asks nobody else."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import maskedbandit as mb
from maskedbandit.reports.plan.plan import TRUST
from tests.service.browser import LOOKS, chromium, faults
from tools.cost_of_epsilon import ARMS, BEGINNING, DIFFERENCES, EPSILONS, MODELS, PEOPLE, find_lost

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials" / "epsilon"
TABLE = json.loads((FOLDER / "table.js").read_text().removeprefix(BEGINNING).rstrip(";\n"))
SETTINGS = list(product(PEOPLE, ARMS, DIFFERENCES))
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(params=LOOKS)
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """The page as it is opened from a disk, in one of its looks."""
    shown = browser.new_page(**LOOKS[request.param])
    shown.goto((FOLDER / "index.html").as_uri())
    yield shown
    shown.close()


def move(page: Page, name: str, step: int) -> None:
    """Move a slider to one of its steps, as a hand does."""
    page.locator(f"#{name}").fill(str(step))


def lost(page: Page, kind: str) -> float:
    """How many good outcomes are lost, in a row of the table."""
    return float(page.locator(f"#{kind} td").first.inner_text().replace(",", ""))


def test_it_has_all_settings() -> None:
    assert TABLE["epsilons"] == list(EPSILONS)
    assert (TABLE["people"], TABLE["arms"], TABLE["differences"]) == (list(PEOPLE), list(ARMS), list(DIFFERENCES))
    assert len(TABLE["without"]) == len(SETTINGS)
    assert {name: [len(each) for each in found] for name, found in TABLE["lost"].items()} == {
        name: [len(SETTINGS)] * len(EPSILONS) for name in MODELS
    }


def test_its_numbers_are_those_of_python() -> None:
    """A few of each trust model, spread over all settings; the others are made in the same way."""
    for number, setting in list(enumerate(SETTINGS))[::17]:
        assert TABLE["without"][number] == find_lost(mb.channels.Raw(), *setting), setting
        for model, (place, epsilon) in product(MODELS, list(enumerate(EPSILONS))[number % 3 :: 3]):
            assert TABLE["lost"][model][place][number] == find_lost(TRUST[model](epsilon, 0.0), *setting), setting


def test_its_sliders_show_the_numbers_of_the_table(page: Page) -> None:
    names = "people", "arms", "difference"
    for steps in ((0, 0, 0), (2, 1, 1), (4, 3, 3), (1, 2, 0)):
        for name, step in zip(names, steps, strict=True):
            move(page, name, step)
        number = SETTINGS.index((PEOPLE[steps[0]], ARMS[steps[1]], DIFFERENCES[steps[2]]))
        for place in (0, 4, 7):
            move(page, "epsilon", place)
            for kind, model in (("central", "central"), ("two", "two servers"), ("local", "local")):
                assert abs(lost(page, kind) - TABLE["lost"][model][place][number]) <= 0.51, (steps, model)
            assert abs(lost(page, "without") - TABLE["without"][number]) <= 0.51
            assert page.locator("#epsilon-says").inner_text() == f"{EPSILONS[place]:g}"
    assert "73.2 of 100" not in page.locator("#said").inner_text()
    move(page, "epsilon", 4)
    assert "ε = 1, " in page.locator("#said").inner_text()
    assert "73.2 of 100" in page.locator("#said").inner_text()


def test_a_keyboard_moves_them(page: Page) -> None:
    before = lost(page, "local")
    page.locator("#epsilon").press("ArrowLeft")
    assert page.locator("#epsilon").get_attribute("aria-valuetext") == "0.5"
    assert lost(page, "local") > before


def test_everybody_can_read_it_on_any_screen(page: Page) -> None:
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def list_asked(browser: Browser, folder: Path) -> set[str]:
    """What the page in a folder asks for, there and elsewhere, when it is opened and used."""
    asked: list[str] = []
    page = browser.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto((folder / "index.html").as_uri())
    move(page, "people", 4)
    page.close()
    return {url.removeprefix(f"{folder.as_uri()}/") for url in asked if not url.startswith("data:")}


def test_it_asks_nobody_else(browser: Browser, tmp_path: Path) -> None:
    own = {"index.html", "page.js", "table.js"}
    assert list_asked(browser, FOLDER) == own
    elsewhere = "http://127.0.0.1:9/count.js"
    for name in own:
        text = (FOLDER / name).read_text().replace("</body>", f'<script src="{elsewhere}"></script></body>')
        (tmp_path / name).write_text(text)
    assert list_asked(browser, tmp_path) == {*own, elsewhere}  # a twin that is counted by others
