"""Several processes at once: nobody is charged over the budget, no charge is lost, and one process holds a study."""

import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.errors import Corrupted, FencedOff
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.store import lease
from maskedbandit.store.accounts import FOREVER, Accounts, Losses
from maskedbandit.store.book.verify import check_account, verify_study
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.databases.postgresql import Postgresql
from maskedbandit.store.lease import LEASE_LENGTH, read_clock
from maskedbandit.store.studies import find_witness, write_study
from maskedbandit.store.study import Study
from tests.store.racers import LATE, PEOPLE, Racing, cases, charge_many, hold
from tests.store.small_study import Clock, small_protocol, small_study

PROCESSES = get_context("spawn")


def ended(processes: list[BaseProcess]) -> None:
    """Wait for processes, and end those that do not."""
    for each in processes:
        each.join(LATE)
        if each.is_alive():
            each.kill()
            each.join(LATE)
    assert [each.exitcode for each in processes] == [0] * len(processes)


def raced(address: str, count: int, naive: bool, attempts: int) -> list[str]:
    """What is wrong after this many processes have charged the same people."""
    database = open_database(address)
    losses = Losses(database)
    with database.transaction():
        for project, case in cases().items():
            Accounts.create(database, losses, project, case.budget, None)
    barrier, granted = PROCESSES.Barrier(count), PROCESSES.Queue()
    racing = Racing(address, naive, attempts, seed=count)
    processes: list[BaseProcess] = [
        PROCESSES.Process(target=charge_many, args=(racing, i, barrier, granted)) for i in range(count)
    ]
    for each in processes:
        each.start()
    told = [granted.get(timeout=LATE) for _ in processes]
    ended(processes)
    try:
        return wrong(database, told, attempts)
    finally:
        database.close()


def wrong(database: Database, told: list[Any], attempts: int) -> list[str]:
    """Accounts that hold another sum than was granted, or more than the budget."""
    sums: dict[tuple[str, str], Loss] = defaultdict(lambda: ZERO)
    count = 0
    for found, refused, _ in told:
        assert len(found) + refused == attempts * len(cases()), "an attempt without an answer"
        for project, person, text in found:
            sums[project, person] += Loss.from_text(text)
            count += 1
    assert count >= len(cases()) * len(PEOPLE), "hardly anything was granted"
    faults = []
    losses = Losses(database)
    for project, case in cases().items():
        accounts = Accounts(database, losses, project)
        for person in PEOPLE:
            spent = accounts.spent(person, FOREVER)
            if spent != sums[project, person]:
                faults.append(
                    f"{person} in {project} was granted {sums[project, person]}, and the account holds {spent}"
                )
            try:
                rows = "SELECT first FROM account WHERE project = ? AND person = ?"
                (first,) = database.rows(rows, project, person)[0]
                check_account(accounts, losses[first], sums[project, person], project)
            except Corrupted as why:
                faults.append(str(why))
            if project == "pure" and sums[project, person].pure_epsilon > case.budget.pure_epsilon:
                faults.append(f"{person} may lose {sums[project, person]}")
    return faults


# an address, and how many processes
FEW = pytest.param(3, 10, id="three")
MANY = pytest.param(8, 40, id="eight", marks=pytest.mark.slow)


@pytest.mark.sparing(1)
@pytest.mark.parametrize(("count", "attempts"), [FEW, MANY])
def test_processes_cannot_overspend_and_lose_no_charge(address: str, count: int, attempts: int) -> None:
    assert raced(address, count, naive=False, attempts=attempts) == []


@pytest.mark.slow
def test_a_budget_that_is_read_and_then_written_is_overspent(address: str) -> None:
    """By three processes already."""
    assert raced(address, 3, naive=True, attempts=10) != []


# who makes the keys


def times_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often keys were written by four threads, each of which made them if there were none."""
    barrier, write, written = Barrier(4), Witness._write, list[str]()

    def noted(self: Witness, name: str, content: dict[str, Any]) -> None:
        written.append(name)
        write(self, name, content)

    def made(_: int) -> None:
        barrier.wait(LATE)
        Witness(folder).create()

    monkeypatch.setattr(Witness, "_write", noted)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(made, range(4)))
    return written.count("keys")


def test_the_keys_of_a_database_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With others, people would have other pseudonyms, and their budgets once more."""
    assert times_made(tmp_path, monkeypatch) == 1


def test_keys_that_are_made_without_a_lock_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exists, barrier = Witness.exists, Barrier(4)

    def create(self: Witness) -> None:
        if not exists(self):
            barrier.wait(LATE)  # everybody has looked
            with self._locked():
                self._write("keys", {"signs": Ed25519PrivateKey.generate().private_bytes_raw().hex(), "people": {}})

    monkeypatch.setattr(Witness, "create", create)
    assert times_made(tmp_path, monkeypatch) == 4


# who holds a study


class Wall:
    """The clock of leases, which a test moves."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = read_clock()
        patch.setattr(lease, "read_clock", lambda: self.now)


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    return Wall(monkeypatch)


def opened(address: str, folder: Path, holder: str, connection: Callable[[], Database] | None = None) -> Study:
    """The small study, as another process opens it."""
    database = connection() if connection else open_database(address)
    try:
        return Study(database, find_witness(database, folder), "small", Clock(), f"elsewhere {holder}")
    except FencedOff:
        database.close()
        raise


def rows(address: str) -> dict[str, list[Any]]:
    """All rows of the tables of studies, but for who holds one."""
    database = open_database(address)
    found = {
        table: sorted(database.rows(f"SELECT * FROM {table}"), key=repr)
        for table in database.tables() - {"study", "version", "identity"}
    }
    found["study"] = database.rows("SELECT study, state, people FROM study")
    database.close()
    return found


def zombie_writes(address: str, folder: Path, wall: Wall) -> bool:
    """Whether a process whose study was taken over can write."""
    small_study(address, folder, Clock()).close()
    zombie = opened(address, folder, "zombie")
    zombie.assign("ann")
    wall.now += LEASE_LENGTH + 1
    heir = opened(address, folder, "heir")
    heir.assign("bob")
    before = rows(address)
    try:
        for operation in (lambda: zombie.assign("cyd"), zombie.tick, zombie.pause, lambda: zombie.erase("bob")):
            with pytest.raises(FencedOff):
                operation()
        assert zombie.state == "running"
        return rows(address) != before
    finally:
        zombie.close()
        with heir:
            assert heir.assign("bob").again, "the zombie gave back the lease of its heir"
        database = open_database(address)
        verify_study(database, find_witness(database, folder), "small")
        database.close()


def test_who_was_replaced_writes_nothing(address: str, tmp_path: Path, wall: Wall) -> None:
    assert not zombie_writes(address, tmp_path / "witness", wall)


def test_a_fence_that_nobody_looks_at_is_noticed(
    address: str, tmp_path: Path, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease.Lease, "check", lambda self: None)
    with pytest.raises((pytest.fail.Exception, Corrupted)):  # a place is dealt twice
        zombie_writes(address, tmp_path / "witness", wall)


def test_a_lease_is_kept_as_long_as_somebody_writes(address: str, tmp_path: Path, wall: Wall) -> None:
    folder = tmp_path / "witness"
    small_study(address, folder, Clock()).close()
    holder = opened(address, folder, "holder")
    for i in range(3):
        wall.now += LEASE_LENGTH - 1
        with pytest.raises(FencedOff, match=r"another process holds small \(elsewhere holder\).* in 0 seconds"):
            opened(address, folder, "other")
        holder.assign(f"person {i}")
    with pytest.raises(FencedOff, match="in 15 seconds"):
        opened(address, folder, "other")
    holder.close()
    opened(address, folder, "other").close()  # at once, as the lease was given back


class Overtaken(Postgresql):
    """A connection whose holder is overtaken by another one between reading the lease and taking it."""

    overtake: Callable[[], Any] | None = None

    def rows(self, statement: str, *values: Any) -> list[Any]:
        found = super().rows(statement, *values)
        if self.overtake and "holder" in statement:
            overtake, self.overtake = self.overtake, None
            overtake()
        return found


def test_a_lease_that_ended_is_taken_once(tmp_path: Path, wall: Wall, postgresql: str) -> None:
    folder, held = tmp_path / "witness", list[Study]()
    small_study(postgresql, folder, Clock()).close()

    def connection() -> Database:
        found = Overtaken(postgresql)
        found.overtake = lambda: held.append(opened(postgresql, folder, "faster"))
        return found

    with pytest.raises(FencedOff):
        opened(postgresql, folder, "slower", connection)
    assert held[0].assign("ann").ticket
    held[0].close()


@pytest.fixture
def postgresql() -> str:
    from tests.store.databases import fresh_postgresql

    return fresh_postgresql()


@pytest.fixture
def holding(address: str, tmp_path: Path) -> Iterator[tuple[list[BaseProcess], dict[int, str]]]:
    """Processes that tried at once to hold a study, and what each was told."""
    small_study(address, tmp_path / "witness", Clock()).close()
    barrier, told = PROCESSES.Barrier(3), PROCESSES.Queue()
    processes: list[BaseProcess] = [
        PROCESSES.Process(target=hold, args=(address, tmp_path / "witness", "small", barrier, told)) for _ in range(3)
    ]
    for each in processes:
        each.start()
    try:
        yield processes, dict(told.get(timeout=LATE) for _ in processes)
    finally:
        for each in processes:
            each.kill()
            each.join(LATE)


@pytest.mark.slow
def test_one_process_holds_a_study_and_its_lease_ends_with_it(
    address: str, tmp_path: Path, holding: tuple[list[BaseProcess], dict[int, str]]
) -> None:
    processes, told = holding
    (holder,) = [pid for pid, said in told.items() if said != "fenced_off"]
    ticket = told[holder]
    database = open_database(address)
    with pytest.raises(FencedOff, match=f"another process holds small .* {holder} "):
        Study(database, find_witness(database, tmp_path / "witness"), "small", Clock())
    database.close()
    os.kill(holder, signal.SIGKILL)
    next(each for each in processes if each.pid == holder).join(LATE)
    database = open_database(address)
    with Study(
        database, find_witness(database, tmp_path / "witness"), "small", Clock()
    ) as study:  # at once, as its holder is gone
        assert study.assign("somebody").ticket == ticket
    database = open_database(address)
    verify_study(database, find_witness(database, tmp_path / "witness"), "small")
    database.close()


def test_whoever_holds_a_draft_that_is_written_anew_is_fenced_off(address: str, tmp_path: Path) -> None:
    write_study(small_protocol(), address, tmp_path)
    with opened(address, tmp_path, "first") as old:
        write_study(small_protocol(people=500), address, tmp_path, small_protocol().digest)
        with opened(address, tmp_path, "second") as fresh:
            fresh.start()
            for operation in (old.tick, old.start, lambda: old.assign("bob")):
                with pytest.raises(FencedOff):
                    operation()
            assert fresh.assign("ann").ticket is not None
            assert (fresh.state, fresh.people) == ("running", 1)
