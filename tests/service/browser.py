"""Debian's Chromium, driven by playwright, for tests of the page as people see it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.service.live import LATE

OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    "--disable-component-update",
)
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1100, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1100, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 375, "height": 720}, "color_scheme": "light"},
}


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser, until the end of a block."""
    path = shutil.which("chromium")
    assert path, "chromium is missing: `make slow` installs it as root on Debian, with apt-get install chromium"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(OPTIONS), timeout=1000 * LATE)
        try:
            yield browser
        finally:
            browser.close()


COLOURS, ALL_ELSE = {"runOnly": ["color-contrast"]}, {"rules": {"color-contrast": {"enabled": False}}}


def faults(page: Page, how: dict[str, Any] | None = None) -> list[str]:
    """What the accessibility checker finds. It takes most of its time to compare colours, and to describe elements."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text())
    run = "async (how) => (await axe.run({...how, resultTypes: ['violations'], selectors: false})).violations"
    found = page.evaluate(run, how or {})
    return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]


def luminance(colours: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The relative luminance of colours with channels from 0 to 255, as WCAG defines it."""
    c = colours[..., :3] / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(picture: Image.Image) -> float:
    """The contrast between the colour that a picture has most and the one that is farthest from it.

    Letters are drawn with soft edges, so it is the farthest of the colours that at least 1 in 200 pixels have.
    """
    pixels = np.asarray(picture).reshape(-1, 3)
    colours, counts = np.unique(pixels, axis=0, return_counts=True)
    ground = luminance(colours[counts.argmax()])
    others = luminance(colours[counts >= len(pixels) / 200])
    brighter, darker = np.maximum(others, ground), np.minimum(others, ground)
    return float(((brighter + 0.05) / (darker + 0.05)).max())
