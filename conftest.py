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
from maskedbandit.store.databases import connection
from tests.budget import say_what_is_above, take_unit, used
from tests.quick import QUICK
from tests.same_examples import pin_examples
from tests.store.databases import make_tables
from tests.thrift import leave_to_slow

BEGUN = pytest.StashKey[float]()


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
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before those that the command line leaves out are left out."""
    leave_to_slow(items)
    pin_examples()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What a test costs is counted from here."""
    item.stash[BEGUN] = used()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[object]:
    """The last report of a test says what it has cost."""
    report = yield
    if call.when == "teardown":
        report.user_properties.append(("cpu", used() - item.stash[BEGUN]))
    return report


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Iterator[int]:
    """Tests of `make slow` wait for processes for a fifth of their time: meanwhile one more worker goes on."""
    count: int = yield
    return count + (config.option.markexpr == "slow")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After `make test`: which folders are above their budgets."""
    if terminalreporter.config.option.markexpr == "not slow":
        said = [report for reports in terminalreporter.stats.values() for report in reports]
        costs = [(report.nodeid, dict(report.user_properties)) for report in said if hasattr(report, "user_properties")]
        known = [(test, properties["cpu"]) for test, properties in costs if "cpu" in properties]
        for line in say_what_is_above(known, take_unit()):
            terminalreporter.write_line(line)


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


@pytest.fixture(scope="session", autouse=True)
def tables_made_at_once() -> Iterator[None]:
    """The tables of new databases are not migrated one version after the other, but in tests of migrations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "migrate_tables", make_tables)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_room_for_compilers() -> Iterator[None]:
    """Every core has a process of tests: one that needs a loop compiles it, and runs nothing as Python meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("maskedbandit.lab.engine.python_first.has_room_for_child", lambda: False)
        yield


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder for one test."""
    with TemporaryDirectory(dir=QUICK, ignore_cleanup_errors=True) as folder:  # a process may still be ending there
        yield Path(folder)
