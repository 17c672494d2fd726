"""What every process that runs tests does once."""

import gc
from collections.abc import Iterator
from random import Random

import pytest

from maskedbandit.privacy.sampling import Bits
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
def same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """All bits that this process would ask the system for are from a seed: they are the same in every run."""
    monkeypatch.setattr(Bits.__init__, "__defaults__", (Random(1).randbytes,))
