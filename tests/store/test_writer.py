"""What one client sends to the thread that writes for many cannot harm the others."""

import asyncio
from collections import deque
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

import pytest

from maskedbandit.errors import PersonalValue, StorageFailed, UnknownTicket
from maskedbandit.store import writer
from maskedbandit.store.studies import open_study, write_study
from maskedbandit.store.study import Study
from maskedbandit.store.writer import Writer
from maskedbandit.study.protocol import Protocol
from tests.store.small_study import PROOF

TABLE = {
    "name": "small",
    "people": 1000,
    "channel": {"name": "central", "epsilon": 1},
    "arms": [{"name": "a"}, {"name": "b"}],
    "budget": {"epsilon": 1},
}
HOSTILE = ["\x00", "a\x00b", "\ud800", "' OR 1=1 --", "", None, 7, ["x"]]


def do_nothing(session: Any) -> None:
    """An operation."""


def test_names_that_no_database_can_read_harm_their_sender_alone(address: str, tmp_path: Path) -> None:
    write_study(Protocol.from_table(TABLE), address, tmp_path / "witness")
    with open_study(address, folder=tmp_path / "witness") as study, Writer(study) as writer:
        study.start()
        for i, hostile in enumerate(HOSTILE):
            one = together(study, writer, str(i), hostile)
            assert one.result(60).ticket
    with open_study(address, folder=tmp_path / "witness") as study:
        assert study.people == len(HOSTILE) + 1  # a quotation mark is no crime


def together(study: Study, writer: Writer, unit: str, hostile: Any) -> Future[Any]:
    """An honest operation among hostile ones, in one transaction: they come while the writer waits in another."""
    gate = Event()
    writer.submit(lambda session: gate.wait(60))
    reports = [writer.submit("report", *each) for each in ((hostile, 1), ("3f", 1, hostile, "", PROOF))]
    assign = writer.submit("assign", hostile)
    honest = writer.submit("assign", unit)
    gate.set()
    assert {type(each.exception(60)) for each in reports} == {UnknownTicket}
    if hostile != "' OR 1=1 --":
        assert isinstance(assign.exception(60), PersonalValue)
    return honest


def test_who_waits_behind_a_failure_is_told_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that says nothing is waited for once, and not once more for those who came meanwhile."""
    address = f"sqlite:///{tmp_path}/study.db"
    write_study(Protocol.from_table(TABLE), address, tmp_path / "witness")
    with open_study(address, folder=tmp_path / "witness") as study, Writer(study) as writer:
        asked, begun, gate = list[int](), Event(), Event()

        def silent(operations: Any, *given: Any) -> None:
            asked.append(len(operations))
            begun.set()
            gate.wait(60)
            raise StorageFailed("the database said nothing")

        with monkeypatch.context() as broken:
            broken.setattr(study, "apply", silent)
            first = writer.submit(do_nothing)
            assert begun.wait(60)
            rest = [writer.submit(do_nothing) for _ in range(700)]
            gate.set()
            assert {type(each.exception(60)) for each in [first, *rest]} == {StorageFailed}
            assert asked == [1]
        assert writer.submit(do_nothing).result(60) is None


def test_an_operation_that_comes_while_the_writer_closes_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Overtaken(deque[Any]):
        """Whoever closes the writer may overtake an operation on its way to those who wait."""

        def append(self, item: Any) -> None:
            closing.start()
            closing.join(0.2)
            super().append(item)

    address = f"sqlite:///{tmp_path}/study.db"
    write_study(Protocol.from_table(TABLE), address, tmp_path / "witness")
    with open_study(address, folder=tmp_path / "witness") as study:
        monkeypatch.setattr("maskedbandit.store.writer.deque", Overtaken)
        writer = Writer(study)
        closing = Thread(target=writer.close)
        assert writer.submit(do_nothing).result(60) is None
        closing.join(60)


def waiting_at_turns(folder: Path, monkeypatch: pytest.MonkeyPatch, apart: int) -> list[int]:
    """How many of 20 people wait whenever the thread may write, if one comes after so many rounds of the loop."""
    folder.mkdir()
    address, loop, waiting = f"sqlite:///{folder}/study.db", asyncio.new_event_loop(), list[int]()
    write_study(Protocol.from_table(TABLE), address, folder / "witness")

    class Turns(SimpleQueue[bool]):
        def put(self, item: bool, *given: Any) -> None:
            if item:
                waiting.append(its.waiting)
            super().put(item)

    async def one(number: int) -> None:
        for _ in range(number * apart):
            await asyncio.sleep(0)
        await its.submit("assign", f"person {number}")

    async def all_of_them() -> None:
        await asyncio.gather(*[one(number) for number in range(20)])

    monkeypatch.setattr(writer, "SimpleQueue", Turns)
    with open_study(address, folder=folder / "witness") as study:
        study.start()
        with Writer(study, loop) as its:
            loop.run_until_complete(all_of_them())
        assert study.people == 20
    loop.close()
    return waiting


def test_a_transaction_has_all_whom_a_loop_has_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LONGEST", 60.0)  # however slow the machine is
    assert waiting_at_turns(tmp_path / "together", monkeypatch, 0) == [20]
    assert waiting_at_turns(tmp_path / "in turn", monkeypatch, 1) == [20]
    assert waiting_at_turns(tmp_path / "apart", monkeypatch, writer.ROUNDS + 1)[0] == 1
    monkeypatch.setattr(writer, "MOST_OPERATIONS", 8)
    assert waiting_at_turns(tmp_path / "too many", monkeypatch, 0) == [20, 12, 4]
    monkeypatch.setattr(writer, "ROUNDS", 0)
    assert waiting_at_turns(tmp_path / "not waited for", monkeypatch, 1)[0] == 1


def test_a_transaction_begins_in_time_though_somebody_comes_in_every_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LONGEST", 0.0)
    assert waiting_at_turns(tmp_path / "in turn", monkeypatch, 1)[0] < 5


def test_after_what_no_future_may_fail_with_it_goes_on(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/study.db"
    write_study(Protocol.from_table(TABLE), address, tmp_path / "witness")

    def stop(session: Any) -> None:
        raise StopIteration

    async def come(its: Writer) -> list[Any]:
        both = await asyncio.gather(its.submit(stop), its.submit(do_nothing), return_exceptions=True)
        return [*both, await its.submit(do_nothing)]

    with open_study(address, folder=tmp_path / "witness") as study:
        loop = asyncio.new_event_loop()
        with Writer(study, loop) as its:
            wrong, beside, after = loop.run_until_complete(asyncio.wait_for(come(its), 60))
        loop.close()
    assert isinstance(wrong, RuntimeError)
    assert isinstance(beside, RuntimeError)  # it is in the same transaction
    assert after is None


def test_those_who_come_while_it_writes_come_next(tmp_path: Path) -> None:
    """The disk stalls in the first transaction, while the loop goes on."""
    address, gate = f"sqlite:///{tmp_path}/study.db", Event()
    write_study(Protocol.from_table(TABLE), address, tmp_path / "witness")

    async def come(study: Study, writer: Writer) -> list[int]:
        first = writer.submit(lambda session: gate.wait(60))
        while writer.waiting:
            await asyncio.sleep(0)
        rest = [writer.submit("assign", f"person {i}") for i in range(5)]
        for _ in range(100):
            await asyncio.sleep(0)
        assert writer.waiting == 5
        assert not first.done()
        gate.set()
        await asyncio.gather(first, *rest)
        return [study.people, writer.waiting]

    with open_study(address, folder=tmp_path / "witness") as study:
        study.start()
        loop = asyncio.new_event_loop()
        with Writer(study, loop) as its:
            assert loop.run_until_complete(come(study, its)) == [5, 0]
        loop.close()
