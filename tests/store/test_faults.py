"""Disks that fail, stall or lose power: nothing is acknowledged that is not kept, and nothing is lost or doubled."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest

from maskedbandit.errors import BehindWitness, MaskedBanditError, StorageFailed
from maskedbandit.store.book import witness
from maskedbandit.store.book.entries import Release, read_entries
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.databases.sqlite import Sqlite
from maskedbandit.store.session import Session
from maskedbandit.store.studies import find_witness, write_study
from maskedbandit.store.study import Study
from maskedbandit.store.writer import Writer
from tests.store.faulty_disk import FAULTS, Disk
from tests.store.small_study import WINDOW, Acknowledged, Clock, small_protocol, small_study

ROUNDS = (4, 8)  # how many people each pair of cohorts has
LASTING = 1e9


class Scene:
    """A small study on a disk that can fail, and what it has acknowledged."""

    def __init__(self, folder: Path, open_database: Callable[[str, str], Database] = Sqlite) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.disk, self.clock, self.acknowledged = folder, Disk(), Clock(), Acknowledged()
        self.study = small_study(
            self.address, self.witness, self.clock, opened=lambda: open_database(f"{folder}/study.db", self.disk.name)
        )
        self.refused = 0
        self.patience = 3  # how often it is tried until the fault is gone; 0: the process gives up
        self.mend: Callable[[], None] = self.disk.mend

    @property
    def address(self) -> str:
        return f"sqlite:///{self.folder}/study.db"

    @property
    def witness(self) -> Path:
        return self.folder / "witness"

    def steps(self) -> Iterator[None]:
        """People come and report in two rounds; between two steps everything was acknowledged."""
        study, known = self.study, self.acknowledged
        for i, people in enumerate(ROUNDS):
            units = [f"person {i} {j}" for j in range(people)]
            assign = [("assign", unit) for unit in units]
            for unit, done in zip(units, self.insist(lambda assign=assign: study.apply(assign)), strict=True):
                known.note_assigned(unit, done.value())
            yield
            values = {str(known.assigned[unit].ticket): float(j % 3 > 0) for j, unit in enumerate(units)}
            seen = [("expose", ticket) for ticket in values]
            self.insist(lambda seen=seen: study.apply(seen))
            report = [("report", *each) for each in values.items()]
            for ticket, done in zip(values, self.insist(lambda report=report: study.apply(report)), strict=True):
                done.value()
                known.reported[ticket, ""] = values[ticket]
            yield
            self.clock.now += WINDOW + 1
            self.insist(study.tick)
            releases = study.releases()
            assert len(releases) == 2 * (i + 1)
            known.note_released(releases)
            yield

    def insist(self, do: Callable[[], Any]) -> Any:
        """Do it again until it is done; the third time the fault is gone."""
        refusals = 0
        while True:
            try:
                return do()
            except StorageFailed:
                refusals += 1
                self.refused += 1
                if not self.patience:
                    raise
                assert refusals < 6, "it does not recover"
                published = {release.cohort for release in self.study.releases()}  # reading goes on
                assert published == set(self.acknowledged.released), "published what is not kept"
                if refusals == self.patience:
                    self.mend()

    def check(self) -> None:
        """In a process that comes later, everything is as it was acknowledged."""
        self.mend()
        self.study.close()
        database = open_database(self.address)
        self.acknowledged.check(database, self.witness)
        database.close()


def calls_of_a_run(folder: Path) -> dict[str, int]:
    """How many writes and syncs there are in a run without faults."""
    scene = Scene(folder)
    before = dict(scene.disk.calls)
    for _ in scene.steps():
        pass
    scene.check()
    assert scene.refused == 0
    return {kind: scene.disk.calls[kind] - before[kind] for kind in before}


def run_with_fault(
    folder: Path, fault: str, first: int, times: float, open_database: Callable[[str, str], Database] = Sqlite
) -> int:
    """How often the study refused, in a run in which these calls fail."""
    scene = Scene(folder, open_database)
    scene.disk.fail(fault, first, times)
    for _ in scene.steps():
        pass
    scene.check()
    return scene.refused


def sweep(folder: Path, fault: str, times: float, every: int) -> None:
    """Let each of the calls fail in a run of its own, or one in `every`."""
    calls = calls_of_a_run(folder / "none")[FAULTS[fault][0]]
    refused = sum(run_with_fault(folder / str(k), fault, k, times) > 0 for k in range(1, calls + 1, every))
    assert refused > 0.5 * (calls / every)  # what a checkpoint cannot do is done by the next one


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, LASTING], ids=["once", "lasting"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_study_refuses_while_the_disk_fails_and_recovers(tmp_path: Path, fault: str, times: float) -> None:
    sweep(tmp_path, fault, times, every=29 if FAULTS[fault][0] == "write" else 4)


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, LASTING], ids=["once", "lasting"])
@pytest.mark.parametrize("fault", FAULTS)
def test_every_single_call_may_fail(tmp_path: Path, fault: str, times: float) -> None:
    sweep(tmp_path, fault, times, every=1 if times == 1 else 3)


def test_reading_goes_on_while_the_disk_is_full(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for _ in scene.steps():
        pass
    before = scene.study.state, scene.study.people, scene.study.releases()
    scene.disk.fail("disk full", 1, LASTING)
    for _ in range(3):
        with pytest.raises(StorageFailed, match="the disk is full"):
            scene.study.assign("ann")
        assert (scene.study.state, scene.study.people, scene.study.releases()) == before
        reader = open_database(scene.address)
        assert scene.acknowledged.lost(reader) == []
        reader.close()
    scene.disk.mend()
    scene.acknowledged.note_assigned("ann", scene.study.assign("ann"))
    scene.check()


def test_a_full_disk_opens_no_study(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.study.close()
    scene.disk.fail("disk full", 1, LASTING)
    database = Sqlite(f"{tmp_path}/study.db", scene.disk.name)
    with pytest.raises(StorageFailed):
        Study(database, find_witness(database, scene.witness), "small")
    scene.disk.mend()
    database.close()
    scene.check()


# mutants of what a fault must not do


def fail_each_sync(folder: Path, open_database: Callable[[str, str], Database] = Sqlite) -> None:
    """Runs in each of which one sync fails."""
    for k in range(1, 10):
        run_with_fault(folder / str(k), "failed sync", k, 1, open_database)


class AlwaysCommitted(Sqlite):
    """A mutant that takes a commit that failed for one that did not."""

    def commit(self) -> None:
        with suppress(StorageFailed):
            super().commit()


def test_a_commit_whose_failure_is_ignored_is_noticed(tmp_path: Path) -> None:
    with pytest.raises((AssertionError, MaskedBanditError)):
        fail_each_sync(tmp_path, AlwaysCommitted)


def test_a_memory_that_is_not_made_again_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take = Session._take

    def only_once(self: Session) -> None:
        if not hasattr(self, "driver"):
            take(self)

    monkeypatch.setattr(Session, "_take", only_once)
    with pytest.raises((AssertionError, MaskedBanditError)):
        fail_each_sync(tmp_path)


# a loss of power


def after_power_loss(scene: Scene, folder: Path, survives: Callable[[], bool] = lambda: False) -> list[str]:
    """What is lost of what was acknowledged, if the power is lost now."""
    folder.mkdir()
    scene.disk.lose_power(folder, survives)
    shutil.copytree(scene.witness, folder / "witness")
    database = open_database(f"sqlite:///{folder}/study.db")
    try:
        lost = scene.acknowledged.lost(database)
        verify_study(database, find_witness(database, folder / "witness"), "small")
        with Study(database, find_witness(database, folder / "witness"), "small", scene.clock, "tester") as study:
            for each in study.releases():
                assert scene.acknowledged.released.get(each.cohort, each) == each, "a value was drawn again"
    finally:
        database.close()
    return lost


def power_losses(folder: Path, open_database: Callable[[str, str], Database] = Sqlite) -> list[str]:
    """What is lost if the power is lost after any of the steps."""
    scene = Scene(folder / "scene", open_database)
    lost = after_power_loss(scene, folder / "start")
    for i, _ in enumerate(scene.steps()):
        lost += after_power_loss(scene, folder / str(i))
    scene.check()
    return lost


def test_a_loss_of_power_takes_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    assert power_losses(tmp_path) == []


class Normal(Sqlite):
    """A mutant that does not wait for the disk at every commit."""

    def __init__(self, path: str, vfs: str) -> None:
        super().__init__(path, vfs)
        self._connection.execute("PRAGMA synchronous = NORMAL")


def test_a_loss_of_power_takes_commits_that_did_not_wait_for_the_disk(tmp_path: Path) -> None:
    try:
        lost = power_losses(tmp_path, Normal)
    except BehindWitness:
        return  # the release that everybody has seen is gone
    assert lost


def test_an_ignored_loss_of_commits_would_be_seen(tmp_path: Path) -> None:
    """Without the witness the same is seen as operations that were lost."""
    scene = Scene(tmp_path / "scene", Normal)
    next(scene.steps())
    folder = tmp_path / "after"
    folder.mkdir()
    scene.disk.lose_power(folder)
    database = open_database(f"sqlite:///{folder}/study.db")
    assert len(scene.acknowledged.lost(database)) == ROUNDS[0]
    database.close()
    scene.check()


def cut_within(folder: Path, fault: str, k: int, seed: int) -> None:
    """The power is lost at one of the calls; of what was not synced a part survives, in part torn."""
    scene = Scene(folder / "scene")
    scene.disk.fail(fault, k, LASTING)
    scene.patience = 0
    draws = Random(seed)
    with suppress(StorageFailed):
        for _ in scene.steps():
            pass
    assert after_power_loss(scene, folder / "after", lambda: draws.random() < 0.5) == []
    scene.disk.mend()
    scene.study.close()


CUTS = [(fault, k) for fault, calls in (("short write", 119), ("failed sync", 9)) for k in range(1, calls + 1)]


@pytest.mark.parametrize(
    "part", [pytest.param(CUTS[::9], id="some"), pytest.param(CUTS, id="all", marks=pytest.mark.slow)]
)
def test_the_power_may_be_lost_in_the_middle_of_a_commit(tmp_path: Path, part: list[tuple[str, int]]) -> None:
    for i, (fault, k) in enumerate(part):
        cut_within(tmp_path / str(i), fault, k, seed=i)


# a disk that answers nothing


def acknowledged_while_stalled(scene: Scene, kind: type[Writer]) -> int:
    """How many operations a writer acknowledges while the disk has not answered; in the end it does all."""
    release = Event()
    units = [f"person {i}" for i in range(4)]
    with kind(scene.study) as writer:
        try:
            scene.disk.stalled = release
            futures = [writer.submit("assign", unit) for unit in units]
            assert scene.disk.waiting.wait(60)
            early = sum(future.done() for future in futures)
        finally:
            scene.disk.stalled = None
            release.set()
        for unit, future in zip(units, futures, strict=True):
            scene.acknowledged.note_assigned(unit, future.result(60))
    scene.check()
    return early


def test_a_writer_acknowledges_nothing_while_the_disk_is_stalled(tmp_path: Path) -> None:
    assert acknowledged_while_stalled(Scene(tmp_path), Writer) == 0


class Hasty(Writer):
    """A mutant that acknowledges what is not on disk yet."""

    def _do_next(self) -> None:
        def tell(session: Session, future: Any, verb: str, *given: Any) -> Any:
            future.set_result(Study.operations[verb](session, *given))
            return future.result()

        self.study.apply([(tell, future, *operation) for operation, future in self._next(100)])


def test_a_writer_that_acknowledges_early_is_noticed(tmp_path: Path) -> None:
    assert acknowledged_while_stalled(Scene(tmp_path), Hasty) > 0


def test_a_writer_passes_the_failure_on_to_everybody_who_waits(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    units = [f"person {i}" for i in range(4)]
    with Writer(scene.study) as writer:
        scene.disk.fail("failed sync", 1, LASTING)
        for future in [writer.submit("assign", unit) for unit in units]:
            with pytest.raises(StorageFailed):
                future.result(60)
        scene.disk.mend()
        for unit in units:
            future = writer.submit("assign", unit)
            scene.acknowledged.note_assigned(unit, future.result(60))
    scene.check()


# the folder of the witness


class FaultyOs:
    """What the witness has of the operating system, of which one call fails, from one time to another."""

    def __init__(self, call: str, first: int, times: float) -> None:
        self.call, self.first, self.last, self.count = call, first, first + times - 1, 0

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name != self.call:
            return real

        def failing(*given: Any) -> Any:
            self.count += 1
            if self.first <= self.count <= self.last:
                raise OSError(28, "injected: no space left")
            return real(*given)

        return failing


def run_with_faulty_witness(
    folder: Path, patch: pytest.MonkeyPatch, call: str, first: int, times: float
) -> tuple[int, int]:
    """How often the study refused, and how often the call was made, in a run in which these calls of it fail."""
    scene = Scene(folder)
    faulty = FaultyOs(call, first, times)
    patch.setattr(witness, "os", faulty)
    scene.mend = lambda: setattr(faulty, "last", 0)
    for _ in scene.steps():
        pass
    patch.setattr(witness, "os", os)
    scene.check()
    return scene.refused, faulty.count


CALLS = {"write": 1, "fsync": 2, "replace": 1}  # how often each is made for a head


@pytest.mark.sparing(1)
@pytest.mark.parametrize("times", [1, LASTING], ids=["once", "lasting"])
@pytest.mark.parametrize("call", CALLS)
def test_nothing_is_published_that_the_witness_has_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, times: float
) -> None:
    for first in range(1, 2 * CALLS[call] + 1):  # there are two rounds of releases
        refused, count = run_with_faulty_witness(tmp_path / str(first), monkeypatch, call, first, times)
        assert refused == (1 if times == 1 else 3)
        assert count >= 2 * CALLS[call]


def test_a_release_that_is_read_before_the_witness_has_seen_it_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def from_the_table(self: Study) -> list[Release]:
        return [each for each in read_entries(self.database, self.name) if isinstance(each, Release)]

    monkeypatch.setattr(Study, "releases", from_the_table)
    with pytest.raises(AssertionError, match="published what is not kept"):
        run_with_faulty_witness(tmp_path, monkeypatch, "write", 1, 1)


@pytest.mark.parametrize("call", CALLS)
def test_a_study_whose_start_the_witness_missed_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """As after a crash between the commit of the first entry and the witness."""
    clock, folder = Clock(), tmp_path / "witness"
    address = f"sqlite:///{tmp_path}/study.db"
    write_study(small_protocol(), address, folder)
    database = open_database(address)
    study = Study(database, find_witness(database, folder), "small", clock)
    with monkeypatch.context() as patch:
        patch.setattr(witness, "os", FaultyOs(call, 1, 1))
        with pytest.raises(StorageFailed):
            study.start()
        assert study.state == "draft"
    study.close()
    database = open_database(address)
    with Study(database, find_witness(database, folder), "small", clock) as study:
        assert study.state == "running"
        assert study.assign("ann").ticket
