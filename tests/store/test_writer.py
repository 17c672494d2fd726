"""What one client sends to the thread that writes for many cannot harm the others."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

import pytest

from maskedbandit.errors import PersonalValue, UnknownTicket
from maskedbandit.store.studies import new, opened
from maskedbandit.store.study import Study
from maskedbandit.store.writer import Writer
from maskedbandit.study.protocol import Protocol

TABLE = {
    "name": "small",
    "people": 1000,
    "channel": {"name": "central", "epsilon": 1},
    "arms": [{"name": "a"}, {"name": "b"}],
    "budget": {"epsilon": 1},
}
HOSTILE = ["\x00", "a\x00b", "\ud800", "' OR 1=1 --", "", None, 7, ["x"]]


def test_names_that_no_database_can_read_harm_their_sender_alone(address: str, tmp_path: Path) -> None:
    new(Protocol.from_table(TABLE), address, tmp_path / "witness")
    with opened(address, folder=tmp_path / "witness") as study, Writer(study) as writer:
        study.start()
        for i, hostile in enumerate(HOSTILE):
            one = together(study, writer, str(i), hostile)
            assert one.result(60).ticket
    with opened(address, folder=tmp_path / "witness") as study:
        assert study.people == len(HOSTILE) + 1  # a quotation mark is no crime


def together(study: Study, writer: Writer, unit: str, hostile: Any) -> Future[Any]:
    """An honest operation among hostile ones, in one transaction: they come while the writer waits in another."""
    gate = Event()
    writer.submit(lambda: gate.wait(60))
    report = writer.submit(partial(study.op_report, hostile, 1), ticket=hostile)
    assign = writer.submit(partial(study.op_assign, hostile), unit=hostile)
    honest = writer.submit(partial(study.op_assign, unit), unit=unit)
    gate.set()
    assert isinstance(report.exception(60), UnknownTicket)
    if hostile != "' OR 1=1 --":
        assert isinstance(assign.exception(60), PersonalValue)
    return honest


def test_an_operation_that_comes_while_the_writer_closes_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Overtaken(SimpleQueue[Any]):
        """Whoever closes the writer may overtake an operation on its way into the queue."""

        def put(self, item: Any) -> None:
            if item is not None:
                closing.start()
                closing.join(0.2)
            super().put(item)

    address = f"sqlite:///{tmp_path}/study.db"
    new(Protocol.from_table(TABLE), address, tmp_path / "witness")
    with opened(address, folder=tmp_path / "witness") as study:
        monkeypatch.setattr("maskedbandit.store.writer.SimpleQueue", Overtaken)
        writer = Writer(study)
        closing = Thread(target=writer.close)
        assert writer.submit(int).result(60) == 0
        closing.join(60)
