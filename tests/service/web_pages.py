"""Pages of an application's site, which is not the service's: the TypeScript package as it is built, in Chromium."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from playwright.sync_api import Browser, BrowserContext, Page, expect

from maskedbandit.study.signatures import sign_person
from tests.service.live import LATE, ROOT, Live
from tests.threaded_server import serve_in_thread

expect.set_options(timeout=1000 * LATE)
PACKAGE = ROOT / "sdk" / "typescript"
SIGNER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = SIGNER.public_key().public_bytes_raw().hex()
DAY = 86_400  # seconds
PAGE = """<!doctype html><html lang="en"><title>A page of the application</title>
<script type="importmap">{"imports": {
  "maskedbandit/web": "/dist/web/index.js", "maskedbandit/web/openfeature": "/dist/web/openfeature.js",
  "hpke": "/node_modules/hpke/index.js", "@noble/hashes/": "/node_modules/@noble/hashes/",
  "@openfeature/web-sdk": "/node_modules/@openfeature/web-sdk/dist/esm/index.js",
  "@openfeature/core": "/node_modules/@openfeature/core/dist/esm/index.js"}}</script>
<body><script type="module">PROGRAM
document.body.dataset.ready = "yes";
</script></body></html>"""
EXPORTS = """
import * as maskedbandit from "maskedbandit/web";
Object.assign(globalThis, maskedbandit);
globalThis.refusal = (call) => call.then(() => "", (wrong) => wrong.code ?? String(wrong));
"""
FAILED = """for (const kind of ["error", "unhandledrejection"]) {
  addEventListener(kind, (event) => { document.body.dataset.failed = event.message ?? event.reason ?? kind; }, true);
}"""


@dataclass
class Site:
    """The application's own site: the built package, its pages, a program, and `/me.json` of its backend."""

    folder: Path
    url: str = ""
    me: dict[str, Any] = field(default_factory=dict)
    program: str = EXPORTS


class Answers(SimpleHTTPRequestHandler):
    """What the site answers."""

    def __init__(self, site: Site, *more: Any) -> None:
        self.site = site
        super().__init__(*more, directory=str(site.folder))

    def do_GET(self) -> None:
        if self.path not in ("/", "/me.json"):
            super().do_GET()
            return
        text = PAGE.replace("PROGRAM", self.site.program) if self.path == "/" else json.dumps(self.site.me)
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if self.path == "/" else "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *said: object) -> None:
        pass


def build_package(folder: Path) -> None:
    """The package as it is installed, beside the pages that use it."""
    assert (PACKAGE / "node_modules").is_dir(), "the package's packages are missing: `make sdk` installs them"
    folder.mkdir()
    command = ["npx", "tsc", "-p", "tsconfig.build.json", "--outDir", str(folder / "dist")]
    subprocess.run(command, cwd=PACKAGE, check=True, timeout=LATE)
    (folder / "node_modules").symlink_to(PACKAGE / "node_modules")
    shutil.copytree(PACKAGE / "examples", folder / "examples")


@contextmanager
def serve_site(folder: Path) -> Iterator[Site]:
    """The site, on a port of its own and so of another origin than the service, until the end of a block."""
    site = Site(folder)
    with serve_in_thread(partial(Answers, site)) as site.url:
        yield site


def make_device_key(server: Live, study: str, *origins: str) -> str:
    """A device key of a study, for pages of these sites."""
    made = server.ask("POST", "/v1/keys", {"role": "device", "study": study, "origins": list(origins)}, "owner")
    assert made.status == 201, made
    return str(made.json["key"])


def sign_in(study: str, unit: str, now: float, seconds: int = DAY) -> str:
    """The person token that the application's backend makes."""
    return sign_person(SIGNER.private_bytes_raw().hex(), study, unit, int(now) + seconds)


@contextmanager
def somebody(browser: Browser, **look: Any) -> Iterator[BrowserContext]:
    """A browser of somebody, with storage of its own."""
    context = browser.new_context(**look)
    context.set_default_timeout(1000 * LATE)
    context.add_init_script(FAILED)
    try:
        yield context
    finally:
        context.close()


def open_page(context: BrowserContext, url: str) -> Page:
    """A page, once its script has run. No script of it may fail."""
    page = context.new_page()
    load_page(page, url)
    return page


def load_page(page: Page, url: str) -> None:
    """Go to a page from whatever was there, until its script has run."""
    page.goto(url)
    page.wait_for_selector("body[data-ready], body[data-failed]", state="attached")
    assert page.get_attribute("body", "data-failed") is None, page.get_attribute("body", "data-failed")
