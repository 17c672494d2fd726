"""What the tests of stored studies are given."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.crash_client import Nursery
from tests.store.databases import fresh_postgresql


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """The process that forks workers which crash."""
    made = Nursery()
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of either kind."""
    return f"sqlite:///{tmp_path}/study.db" if request.param == "sqlite" else fresh_postgresql()
