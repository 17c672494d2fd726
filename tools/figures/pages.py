"""Pictures of the pages of the service: `python -m tools.figures.pages docs/figures/page`, with Debian's chromium."""

import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image, ImageOps
from playwright.sync_api import Browser, Page

from maskedbandit.cli.parts.sites import SitesOfDemo
from tests.service.browser import LOOKS, chromium
from tests.service.live import Live, live

PAPER: Any = {"width": 710, "height": 1060}  # what is printed of A4, in pixels
MARGIN = 36
COLOURS = 96  # of a picture: a page has few, and such a picture is small
PAGES = {
    "study": "/studies/demo",
    "ledger": "/studies/demo/ledger",
    "statement": "/studies/demo/statement",
    "new": "/new?example=1",
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
            if look == "light":
                draw_head(page, f"{server.url}{PAGES['study']}", folder / "study_head.png")
            page.close()
        sheet(browser, Path(data), folder / "statement_sheet.png")
        sliders(browser, folder / "cost_of_epsilon.png")
        draw_sites(browser, Path(data) / "sites", folder)


def draw_sites(browser: Browser, data: Path, folder: Path) -> None:
    """Draw the page of a site's own, and what its coordinator shows of sites, as of docs/tutorials/own_outcomes.md."""
    demo = SitesOfDemo(data, 4, 80)
    try:
        demo.begin(lambda: None)
        demo.play(lambda: None)
        demo.finish()
        site = demo.names[0]
        keys = {site: demo.processes.keys[site]["officer"], "coordinator": demo.owner}
        for look, options in LOOKS.items():
            for name, key in keys.items():
                page = browser.new_page(**options)
                page.goto(f"{demo.urls[name]}/sign-in#{key}")
                page.wait_for_url(f"{demo.urls[name]}/")
                page.route("**/events", lambda route: route.abort())  # a page that stands still
                page.goto(f"{demo.urls[name]}/studies/trial")
                shown = Image.open(BytesIO(page.screenshot(full_page=True)))
                if name == "coordinator":
                    part = page.locator("#part-sites").bounding_box()
                    assert part is not None
                    top, end = (round(part["y"] + more) for more in (-MARGIN, part["height"] + MARGIN))
                    shown = shown.crop((0, top, shown.width, end))
                save_picture(shown, folder / f"{'site' if name == site else 'sites'}_{look}.png")
                page.close()
    finally:
        demo.end()


def sheet(browser: Browser, data: Path, file: Path) -> None:
    """Draw the statement of the study as it is printed on A4, and its upper part in a file beside that."""
    out = data / "statement"
    where = ["--database", f"sqlite:///{data}/studies.db", "--witness", str(data / "witness")]
    subprocess.run([sys.executable, "-m", "maskedbandit", "statement", *where, "--out", str(out)], check=True)
    page = browser.new_page(viewport=PAPER, device_scale_factor=1.5)
    page.emulate_media(media="print")
    page.goto(out.with_suffix(".html").as_uri())
    shown = Image.open(BytesIO(page.screenshot())).convert("RGB")
    margin = round(1.5 * MARGIN)
    paper = Image.new("RGB", (shown.width + 2 * margin, shown.height + 2 * margin), "white")
    paper.paste(shown, (margin, margin))
    trust = page.locator(".trust").bounding_box()  # what a person loses, and who has to be trusted, ends with it
    assert trust is not None
    head = paper.crop((0, 0, paper.width, margin + round(1.5 * (trust["y"] + trust["height"]))))
    for picture, to in ((paper, file), (head, file.with_stem("statement_head"))):
        save_picture(ImageOps.expand(picture, 1, "#8a857c"), to)
    page.close()


def sliders(browser: Browser, file: Path) -> None:
    """Draw the page of docs/tutorials/cost_of_epsilon.md as it is opened from a disk."""
    page = browser.new_page(**LOOKS["light"])
    page.goto((Path(__file__).parents[2] / "docs" / "tutorials" / "epsilon" / "index.html").as_uri())
    save_picture(Image.open(BytesIO(page.screenshot(full_page=True))), file)
    page.close()


def draw(page: Page, server: Live, path: str, file: Path) -> None:
    """Draw a page."""
    page.goto(server.url + path)
    if path.startswith("/new"):
        page.click("text=Say what it would mean")
        page.wait_for_selector("#preview", timeout=120_000)
    save_picture(Image.open(BytesIO(page.screenshot(full_page=True))), file)


def draw_head(page: Page, url: str, file: Path) -> None:
    """Draw a page down to its first picture."""
    page.goto(url)
    first = page.locator("figure svg").first.bounding_box()
    assert first is not None
    shown = Image.open(BytesIO(page.screenshot(full_page=True)))
    save_picture(shown.crop((0, 0, shown.width, round(first["y"] + first["height"]))), file)


def save_picture(picture: Image.Image, file: Path) -> None:
    """Write a picture with few colours."""
    picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
