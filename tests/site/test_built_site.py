"""The site as it is built: every page is there, and browsers show it in all looks and ask no other host."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.service.browser import ALL_ELSE, COLOURS, LOOKS, chromium, faults
from tests.threaded_server import serve_in_thread
from tools.site.checkout import ROOT, VERSION
from tools.site.shelves import SHELVES

pytestmark = pytest.mark.slow
LOOKED_AT = [
    f"{page}.html"
    for page in [
        "index",
        "regret",
        "service",
        "privacy",
        "gallery",
        "references",
        "glossary",
        "command_line",
        "api/index",
        "api/privacy",
        "policies/index",
        "policies/noise_aware_klucb",
        "policies/track_and_stop",
        "channels/shuffled",
        "papers/distributed",
        "experiments/league_central",
    ]
]


def build(folder: Path) -> Path:
    """The site, which is not built if anything is wrong with it."""
    made = subprocess.run([sys.executable, "-m", "tools.site", str(folder)], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr + "\n(`make slow` installs what this needs)"
    return folder / "site"


@contextmanager
def serving(built: Path) -> Iterator[str]:
    """Where it is served."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with serve_in_thread(partial(Quiet, directory=str(built))) as address:
        yield address


def test_the_site_is_whole_and_browsers_show_it_in_all_looks_and_ask_no_other_host(tmp_path: Path) -> None:
    """One test, as building it takes a quarter of a minute, in each process that would look at a part of it."""
    built = build(tmp_path)
    check_pages(built)
    with serving(built) as url:
        check_in_browsers(url)


def check_pages(built: Path) -> None:
    """Every class and every paper has a page or a place."""
    at = built / VERSION
    for shelf in SHELVES:
        for name in shelf.room:
            page = (at / shelf.page(name)).with_suffix(".html").read_text()
            assert f'id="{shelf.room.modules[name]}.{shelf.room[name].__name__}"' in page, name
    ucb1 = (at / "policies" / "ucb1.html").read_text()
    assert '[<a class="autorefs autorefs-internal" href="../references.html#ACF02">ACF02, Fig. 1</a>]' in ucb1
    assert "language-pycon" in ucb1  # the example
    assert "<strong>Guarantee</strong>" in (at / "channels" / "central.html").read_text()
    tutorial = (at / "tutorials" / "own_policy.md").read_text()
    assert "(data:image/svg+xml;base64," in tutorial
    assert "../" not in tutorial  # nothing that a reader who took it away does not have
    assert "(regret.html): " in (at / "llms.txt").read_text()
    assert json.loads((built / "versions.json").read_text())[0]["version"] == VERSION
    assert str(ROOT) not in "".join(path.read_text() for path in at.rglob("*.html"))


def check_in_browsers(url: str) -> None:
    """They show it in all looks, and ask no other host."""
    with chromium() as browser:
        for look, options in LOOKS.items():
            page = browser.new_page(**options)
            asked: list[str] = []
            wrong: list[str] = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.on("console", lambda said, wrong=wrong: wrong.append(said.text) if said.type == "error" else None)
            page.on("pageerror", lambda error, wrong=wrong: wrong.append(str(error)))
            page.goto(f"{url}/index.html")
            page.wait_for_url(f"{url}/{VERSION}/index.html")
            for name in LOOKED_AT:
                page.goto(f"{url}/{VERSION}/{name}")
                check_width(page, name)
                if look != "dark":  # of which all but colours is as in the light
                    assert faults(page, ALL_ELSE) == [], name
            assert faults(page, COLOURS) == []
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (max(map(int, ground[4:-1].split(","))) < 60) == (look == "dark"), (look, ground)
            assert page.text_content(".md-version__current") == VERSION
            find(page)
            assert [each for each in asked if not each.startswith((url, "data:"))] == []
            assert wrong == []
            page.close()


def check_width(page: Page, name: str) -> None:
    """Nothing of a page is beside the screen: what is wide scrolls inside itself."""
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), name
    wide = "[...document.querySelectorAll('.md-content img')].filter(each => each.width > innerWidth).length"
    assert page.evaluate(wide) == 0, name


def find(page: Page) -> None:
    """A word that is searched for leads to a page that has it."""
    page.evaluate("document.querySelector('[data-md-toggle=search]').click()")
    page.keyboard.type("Pólya")
    page.wait_for_selector("text=/results?$/")
    assert page.locator("a[href*='pure_shuffled.html']").count()
