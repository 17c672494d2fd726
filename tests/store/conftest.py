"""What the tests of stored studies are given."""

from pathlib import Path

import pytest

from tests.store.databases import fresh_postgresql


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of either kind."""
    return f"sqlite:///{tmp_path}/study.db" if request.param == "sqlite" else fresh_postgresql()
