"""What the tests of the service are given."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.service.browser import chromium
from tests.service.inside import Inside, inside
from tests.service.live import Live, live
from tests.service.two_operators_inside import Both
from tests.service.web_pages import Site, build_package, serve_site
from tests.store.databases import fresh_postgresql

ROUND_REFUSALS = {"malformed", "out_of_turn", "forged", "disagreement", "too_few"}


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of either kind."""
    return f"sqlite:///{tmp_path}/studies.db" if request.param == "sqlite" else fresh_postgresql()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    """A service in this process, over a file."""
    with inside(f"sqlite:///{tmp_path}/studies.db", tmp_path / "witness") as made:
        yield made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Live]:
    """A server process, over a file."""
    with live(tmp_path) as made:
        yield made


@pytest.fixture
def both(service: Inside, tmp_path: Path) -> Iterator[Both]:
    """Both operators, with a running study."""
    made = Both(service, tmp_path)
    yield made
    made.helper.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The TypeScript package, as browsers load it."""
    folder = tmp_path_factory.mktemp("built") / "site"
    build_package(folder)
    return folder


@pytest.fixture(scope="module")
def site(built: Path) -> Iterator[Site]:
    """Another site than the service, whose pages load the package."""
    with serve_site(built) as found:
        yield found


@pytest.fixture
def turned(tmp_path: Path) -> Path:
    """The file that says how many hours a server's clock is ahead."""
    return tmp_path / "turned"


@pytest.fixture
def turned_server(tmp_path: Path, turned: Path) -> Iterator[Live]:
    """A server process whose clock this file turns."""
    with live(tmp_path, command=("-m", "tests.service.turned_server", str(turned), "serve")) as made:
        yield made


@pytest.fixture
def logged() -> Iterator[list[logging.LogRecord]]:
    """What is written to logs: of each line the text, a reason and a place, none of which is of a message."""
    found = list[logging.LogRecord]()

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record)

    log, handler = logging.getLogger("maskedbandit"), Kept()
    log.addHandler(handler)
    yield found
    log.removeHandler(handler)
    for each in found:
        assert each.exc_info is None
        if each.getMessage() != "a study needs a look":  # which the clock says, and no message
            assert each.getMessage() in ("this site leaves a round", "a round waits")
            assert vars(each)["study"] == "small"
            assert vars(each)["why"] in (*ROUND_REFUSALS, "PartnerRefuses")
