"""Pictures of the pages of the service: `python -m tools.figures.pages docs/figures/page`, with Debian's chromium."""

import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Page

from tests.service.browser import LOOKS, chromium
from tests.service.live import Live, live

COLOURS = 96  # of a picture: a page has few, and such a picture is small
PAGES = {
    "study": "/studies/demo",
    "ledger": "/studies/demo/ledger",
    "statement": "/studies/demo/statement",
    "new": "/new",
    "studies": "/",
    "sign_in": "/sign-in",
}


def main(folder: Path) -> None:
    """Draw every page in every look."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as data, live(Path(data), more=("--demo",)) as server, chromium() as browser:
        for look, options in LOOKS.items():
            page = browser.new_page(**options)
            page.goto(f"{server.url}/sign-in#{server.keys['owner']}")
            page.wait_for_url(f"{server.url}/")
            page.route("**/events", lambda route: route.abort())  # a page that stands still
            for name, path in PAGES.items():
                draw(page, server, path, folder / f"{name}_{look}.png")
            page.close()


def draw(page: Page, server: Live, path: str, file: Path) -> None:
    """Draw a page."""
    page.goto(server.url + path)
    if path == "/new":
        page.click("text=Say what it would mean")
        page.wait_for_selector("#preview", timeout=120_000)
    picture = Image.open(BytesIO(page.screenshot(full_page=True))).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
