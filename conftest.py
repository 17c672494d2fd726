"""What every process that runs tests does once."""

import gc
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest

from maskedbandit.privacy.sampling import Bits
from maskedbandit.store import studies
from tests.quick import QUICK
from tests.same_examples import pin_examples
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
    pin_examples()


def repeat_bits(patch: pytest.MonkeyPatch, whose: str) -> None:
    """Have what this process would ask the system for come from a seed: noise, places and the seeds of studies."""
    source = Random(f"what {whose} draw").randbytes  # a seed that no test has for itself
    patch.setattr(Bits.__init__, "__defaults__", (source,))
    patch.setattr(studies, "secrets", SimpleNamespace(token_hex=lambda n: source(n).hex()))


@pytest.fixture(autouse=True)
def same_bits() -> Iterator[None]:
    """What a test draws is the same in every run, but in processes that it starts."""
    with pytest.MonkeyPatch.context() as patch:  # not that of the test, which ends what it has broken in its own time
        repeat_bits(patch, "tests")
        yield


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Iterator[object]:
    """So is what fixtures draw that several tests share: they are made before any of one test alone.

    Each draws for itself: two studies of which one is in a fixture would have the same noise otherwise.
    """
    if fixturedef.scope == "function":
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        repeat_bits(patch, fixturedef.argname)
        return (yield)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder for one test."""
    with TemporaryDirectory(dir=QUICK, ignore_cleanup_errors=True) as folder:  # a process may still be ending there
        yield Path(folder)
