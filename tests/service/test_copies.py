"""A copy of a database that runs beside the real one, with the same witness: it ends where the real one goes on."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copy
from typing import Any

import pytest

from maskedbandit.store import lease, release
from maskedbandit.store.book.witness import Witness
from tests.service.inside import Inside, inside
from tests.store.databases import copied_postgresql

RUNNING = ("small", "other")  # of one project


@contextmanager
def cloned(address: str, folder: Path) -> Iterator[tuple[Inside, Inside]]:
    """A service, and another one on a copy of its database; both hold the studies, as each believes to be alone."""
    with inside(address, folder / "witness") as service:
        for name in RUNNING:
            service.begin(name=name, project="both", budget={"epsilon": 2})
        clock = service.clock
    if address.startswith("sqlite"):
        copy(folder / "studies.db", folder / "copy.db")
        copied = f"sqlite:///{folder}/copy.db"
    else:
        copied = copied_postgresql(address)
    with (
        inside(address, folder / "witness", clock=clock) as real,
        inside(copied, folder / "witness", clock=clock) as it,
    ):
        yield real, it


@pytest.fixture(autouse=True)
def _two_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of a holder cannot be seen to be alive."""
    monkeypatch.setattr(lease, "may_be_alive", lambda holder: False)


def moved(real: Inside) -> None:
    """The real one releases cohorts of the first study."""
    for number in range(4):
        real.seen(f"person {number}")
    real.tick(60)
    assert real.ask("GET", "/v1/studies/small/releases", None, "officer").json["releases"]


def check_it_ends(address: str, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with cloned(address, folder) as (real, clone):
        ticket = clone.assign("ann")["ticket"]
        clone.assign("ann", "other")
        clone.tick()
        assert clone.ask("GET", "/readyz", None, None).status == 200
        moved(real)
        caplog.clear()
        clone.tick()  # one is enough
        asked: list[tuple[str, dict[str, Any]]] = [
            ("assign", {"unit": "bob"}),
            ("expose", {"ticket": ticket}),
            ("report", {"ticket": ticket, "value": 1}),
        ]
        for verb, body in asked:
            reply = clone.study(verb, body)
            assert reply.status == 503, reply
            assert reply.code == "behind_witness"
        other = clone.study("assign", {"unit": "bob"}, name="other")  # people have accounts for both
        assert other.status == 503, other
        assert other.code == "behind_witness"
        for _ in range(3):
            clone.tick()
            ready = clone.ask("GET", "/readyz", None, None)
            assert (ready.status, ready.code) == (503, "behind_witness")
        said = [
            (record.__dict__["study"], record.__dict__["why"]) for record in caplog.records if "why" in vars(record)
        ]
        assert sorted(study for study, _ in said) == sorted(RUNNING), "the log says it once of each study"
        assert dict(said)["small"].startswith("the ledger of small has 1 entries here")
        real.tick()
        assert real.assign("bob")["again"] is False
        assert real.ask("GET", "/readyz", None, None).status == 200


@pytest.mark.sparing(1)
def test_a_copy_ends_within_one_tick(address: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "maskedbandit"):
        check_it_ends(address, tmp_path, caplog)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("twin", ["looks at no ledger", "looks at its own ledger alone"])
def test_one_that_does_not_look_is_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, twin: str
) -> None:
    if twin == "looks at no ledger":
        monkeypatch.setattr(release, "check_head", lambda *given: None)
    others = Witness.check_others

    def at_opening(self: Witness, database: Any, study: str, known: Any = None) -> Any:
        return others(self, database, study) if known is None else known

    monkeypatch.setattr(Witness, "check_others", at_opening)
    with pytest.raises(AssertionError, match="status=200"):
        check_it_ends(f"sqlite:///{tmp_path}/studies.db", tmp_path, caplog)
