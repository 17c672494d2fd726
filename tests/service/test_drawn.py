"""The pages as a browser draws them, whatever the stage of the study: readable, on the screen, and kept up to date."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.service.all_pages import all_pages, all_views
from tests.service.browser import ALL_ELSE, COLOURS, LOOKS, faults
from tests.service.pictures import HOST, LOOKS_OF_PICTURES, serve, write_pictures

pytestmark = pytest.mark.slow
# the sizes of the letters in the pictures that are shown, on the screen
SIZES = """() => [...document.querySelectorAll("svg text")].filter((each) => each.checkVisibility()).map((each) => {
  const shown = each.ownerSVGElement.getBoundingClientRect().width / each.ownerSVGElement.viewBox.baseVal.width;
  return parseFloat(getComputedStyle(each).fontSize) * shown;
})"""
# words in the pictures that are shown and that reach beyond the screen
BEYOND = """() => [...document.querySelectorAll("svg text")].filter((each) => each.checkVisibility()).filter((each) => {
  const box = each.getBoundingClientRect();
  return box.left < -1 || box.right > innerWidth + 1;
}).map((each) => "beyond the screen: " + each.textContent)"""
# words of a picture that stand over other words of it
OVER = """() => [...document.querySelectorAll("svg")].filter((each) => each.checkVisibility()).flatMap((picture) => {
  const words = [...picture.querySelectorAll("text")].map((each) => [each, each.getBoundingClientRect()])
    .sort((a, b) => a[1].top - b[1].top), found = [];
  words.forEach(([one, a], i) => {
    for (let j = i + 1; j < words.length && words[j][1].top < a.bottom - 4; j++) {
      const b = words[j][1];
      const over = a.left < b.right - 1 && b.left < a.right - 1;
      if (over) found.push(`${one.textContent} over ${words[j][0].textContent}`);
    }
  });
  return found;
})"""
# elements with more in them than they show, and what is wider than the screen, but for regions that scroll
CUT = """() => [...document.querySelectorAll("body, body *:not(svg *)")].filter((each) => each.checkVisibility())
  .filter((each) => !each.closest(".scroll, textarea, input, select, .skip"))
  .filter((each) => !["auto", "scroll"].includes(getComputedStyle(each).overflowX))
  .filter((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline"
    || each.getBoundingClientRect().right > innerWidth + 1)
  .map((each) => `cut: <${each.tagName} class="${each.className}"> ${each.textContent.trim().slice(0, 60)}`)"""

# regions of a phone that scroll to the side
SIDEWAYS = """() => [...document.querySelectorAll(".scroll")].filter((each) => each.scrollWidth > each.clientWidth + 1)
  .map((each) => "sideways: " + each.getAttribute("aria-label"))"""

# the pages of a study for the checker, which takes seconds of each; it looks at all other pages too
STAGES = (
    "usual draft",
    "early",
    "running",
    "harmful",
    "stopped, waiting",
    "answer",
    "many",
    "gauss",
    "attention",
    "sites",
)
CHECKED = (
    *(f"study, {stage}" for stage in (*STAGES, "unapproved")),
    "ledger, many",
    "ledger, notice",
    "statement, answer",
)

PARTS = 3  # of all pages, so that several processes look at them


def is_checked(name: str) -> bool:
    """Whether the checker looks at a page."""
    return name in CHECKED or not name.startswith(("study, ", "ledger, ", "statement, "))


def find_hidden(page: Page) -> list[str]:
    """What cannot be read as it is cut, stands over something else, or needs scrolling to the side."""
    found = [each for script in (BEYOND, OVER, CUT) for each in page.evaluate(script)]
    if (wider := page.evaluate("document.documentElement.scrollWidth - innerWidth")) > 0:
        found.append(f"the page is wider than the screen by {wider}")
    if page.evaluate("innerWidth") < 400:
        found += page.evaluate(SIDEWAYS)
    return found


@pytest.fixture(scope="module")
def pages() -> Iterator[dict[str, str]]:
    with all_views() as views:
        yield all_pages(views)


@pytest.mark.parametrize("part", range(PARTS))
def test_every_stage_can_be_read(browser: Browser, pages: dict[str, str], part: int) -> None:
    """Each page in all looks: it is loaded once, and the browser then has another size and other colours."""
    page, text, errors = browser.new_page(), list[str](), list[str]()
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    serve(page, text, [])
    assert set(CHECKED) <= set(pages)
    for name in list(pages)[part::PARTS]:
        text.append(pages[name])
        page.goto(f"{HOST}/studies/x")
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        for look, how in LOOKS_OF_PICTURES.items():
            page.set_viewport_size(how["viewport"])
            page.emulate_media(color_scheme=how["color_scheme"])
            if look != "phone" and is_checked(name):  # a phone has the colours and the words of the others
                checked = {"dark": COLOURS, "small": ALL_ELSE}.get(look)  # small is dark, too
                assert faults(page, checked) == [], (name, look)
            assert find_hidden(page) == [], (name, look)
            assert min(page.evaluate(SIZES), default=12) >= 11, (name, look)
    assert errors == []
    page.close()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('<h2 id="plan">The plan</h2>', f'<h2 id="plan"><nobr>{"x" * 200}</nobr></h2>'),
        ("<h3>Downloads</h3>", f"<h3>Downloads</h3><pre>{'x' * 200}</pre>"),
        ("<h3>Downloads</h3>", f"<h3>Downloads</h3><div class='scroll'><pre>{'x' * 200}</pre></div>"),
        ('<text class="value end" x="328.0"', '<text class="value end" x="200.0"'),
        ('<text class="value end" x="328.0"', '<text class="value end" x="928.0"'),
    ],
)
def test_what_is_hidden_is_found(browser: Browser, pages: dict[str, str], right: str, wrong: str) -> None:
    page = browser.new_page(**LOOKS_OF_PICTURES["phone"])
    assert right in pages["study, forty"]
    serve(page, [pages["study, forty"].replace(right, wrong)], [])
    page.goto(f"{HOST}/studies/x")
    assert find_hidden(page) != []
    page.close()


@pytest.mark.parametrize("look", ["light", "phone"])
def test_many_arms_with_long_names_do_not_make_a_part_endless(
    browser: Browser, pages: dict[str, str], look: str
) -> None:
    """The parts that are no pictures of arms are as tall with forty arms as with three, but for tables of arms."""
    page = browser.new_page(**LOOKS_OF_PICTURES[look])
    tall = dict[str, int]()
    for name in ("study, running", "study, forty"):
        serve(page, [pages[name]], [])
        page.goto(f"{HOST}/studies/x")
        tall[name] = page.evaluate("document.getElementById('part-plan').offsetHeight")
        page.unroute_all(behavior="wait")
    assert tall["study, forty"] <= tall["study, running"] + 200
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


def test_a_time_is_told_where_the_reader_is(browser: Browser, pages: dict[str, str]) -> None:
    page = browser.new_page(**LOOKS["light"], timezone_id="Asia/Tokyo", locale="en-GB")
    serve(page, [pages["study, running"]], [])
    page.goto(f"{HOST}/studies/newsletter")
    time = page.locator("footer time")
    assert "UTC" in time.inner_text()
    assert time.get_attribute("title") is None
    time.hover()
    assert "GMT+9" in str(time.get_attribute("title"))
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


def test_pictures_are_written(browser: Browser, pages: dict[str, str], tmp_path: Path) -> None:
    write_pictures(browser, pages, tmp_path, ["glossary"])
    assert {each.name for each in tmp_path.iterdir()} == {f"glossary-{look}.png" for look in ("light", "dark", "phone")}
