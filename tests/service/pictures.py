"""Pictures of all pages at all stages of a study, as Chromium draws them: `python -m tests.service.pictures FOLDER`.

More words choose the pages whose names have one of them: `... FOLDER harmful forty`.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, Route

from maskedbandit.service.page import visit
from maskedbandit.service.page.visit import SECURITY_POLICY
from maskedbandit.statement.page import STATEMENT_STYLE, TEMPLATE_FOLDER
from tests.service.all_pages import all_pages, all_views
from tests.service.browser import chromium

HOST = "http://studies.invalid"
LOOKS_OF_PICTURES: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
    "small": {"viewport": {"width": 360, "height": 720}, "color_scheme": "dark"},
}
COLOURS_OF_PICTURES = 40


def serve(page: Page, text: list[str], said: list[str]) -> None:
    """Answer as the server does, with the newest of these texts, and with these events."""

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(HOST)
        if path.endswith("/events"):
            route.fulfill(body="".join(said), content_type="text/event-stream")
        elif path == f"/static/{STATEMENT_STYLE}":
            route.fulfill(path=TEMPLATE_FOLDER / STATEMENT_STYLE)
        elif path.startswith("/static/"):
            route.fulfill(path=Path(visit.__file__).parent / path[1:])
        else:
            route.fulfill(body=text[-1], content_type="text/html", headers={"Content-Security-Policy": SECURITY_POLICY})

    page.route(f"{HOST}/**", answer)


def draw_pages(browser: Browser, pages: dict[str, str], names: Sequence[str], look: str) -> Iterator[tuple[str, bytes]]:
    """The whole of each of these pages, as people first see it: by its name, as PNG."""
    page, text = browser.new_page(**LOOKS_OF_PICTURES[look]), list[str]()
    serve(page, text, [])
    for name in names:
        text.append(pages[name])
        page.goto(f"{HOST}/studies/x")
        yield name, page.screenshot(full_page=True)
    page.close()


def write_pictures(browser: Browser, pages: dict[str, str], folder: Path, words: Sequence[str]) -> None:
    """The pictures of the pages whose names have one of these words, or of all; few colours make them small."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [name for name in pages if not words or any(word in name for word in words)]
    for look in ("light", "dark", "phone"):
        for name, picture in draw_pages(browser, pages, names, look):
            with Image.open(BytesIO(picture)) as drawn:
                small = drawn.convert("RGB").quantize(COLOURS_OF_PICTURES, dither=Image.Dither.NONE)
            small.save(folder / f"{re.sub(r'[^a-z]+', '-', name)}-{look}.png", optimize=True)


if __name__ == "__main__":
    with all_views() as views, chromium() as found:
        write_pictures(found, all_pages(views), Path(sys.argv[1]), sys.argv[2:])
