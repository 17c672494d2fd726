"""What the tests of the service are given."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.inside import Inside, inside
from tests.service.live import Live, live
from tests.service.two_operators_inside import Both
from tests.store.databases import fresh_postgresql


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
