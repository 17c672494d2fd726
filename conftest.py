"""What every process that runs tests does once."""

import gc
from collections.abc import Iterator
from random import Random
from types import SimpleNamespace

import pytest

from maskedbandit.privacy.sampling import Bits
from maskedbandit.store import studies
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


@pytest.fixture(autouse=True)
def same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process would ask the system for is from a seed: what a test draws is the same in every run.

    It holds for noise, places and the seeds of studies, and not for processes that a test starts.
    """
    source = Random("what tests draw").randbytes  # a seed that no test has for itself
    monkeypatch.setattr(Bits.__init__, "__defaults__", (source,))
    monkeypatch.setattr(studies, "secrets", SimpleNamespace(token_hex=lambda n: source(n).hex()))
