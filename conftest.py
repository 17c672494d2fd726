"""What every process that runs tests does once."""

import gc
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.quick import QUICK
from tests.thrift import left_to_slow


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Tests that are collected stay to the end: looking for garbage among them would be in vain, then and later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before those that the command line leaves out are left out."""
    left_to_slow(config, items)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder for one test."""
    with TemporaryDirectory(dir=QUICK, ignore_cleanup_errors=True) as folder:  # a process may still be ending there
        yield Path(folder)
