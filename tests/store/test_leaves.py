"""What a leaf tells to whoever has the tickets: an export, the database, or both, with the keys of the witness or not.

The attacker knows the application's tickets and what its people may have reported, and tries each outcome.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from maskedbandit.store import members, reconcile
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.reconcile import export_ledger, reveal_text
from maskedbandit.store.studies import find_witness
from tests.for_each import for_each
from tests.store.small_study import WINDOW, Clock, small_protocol, small_study

PEOPLE, RELEASED = 24, 12
OUTCOMES = [list(each) for n in range(3) for each in product((0.0, 1.0), repeat=n)]


class Played(NamedTuple):
    """A study that is over, and what its application kept."""

    address: str
    folder: Path
    tickets: dict[str, list[float]]  # with what was reported
    people: list[str]  # pseudonyms: more than an attacker without the witness has


def play(folder: Path, archived: bool) -> Played:
    """People report nothing, once or twice; everything is released, and one of them, or everybody, erased."""
    rng, clock, address = Random(5), Clock(), f"sqlite:///{folder}/study.db"
    reward = {"most": 2, "rule": "sum", "window": "20 seconds", "exposure": "10 seconds"}
    tickets: dict[str, list[float]] = {}
    with small_study(address, folder / "witness", clock, small_protocol(reward=reward)) as study:
        for i in range(PEOPLE):
            if (ticket := study.assign(f"person {i}").ticket) is None:
                continue
            study.expose(ticket)
            tickets[ticket] = rng.choice(OUTCOMES)
            for j, value in enumerate(tickets[ticket]):
                study.report(ticket, value, str(j))
            clock.now += 1
            if i % 4 == 3:
                clock.now += WINDOW + 1
                study.tick()
        people = [person for (person,) in study.database.rows("SELECT person FROM place")]
        study.erase("person 0")
        if archived:
            study.stop()
            study.archive()
        assert sum(each.n for each in study.releases()) == RELEASED
    with_witness = open_database(address)
    verify_study(with_witness, find_witness(with_witness, folder / "witness"), "small")
    with_witness.close()
    return Played(address, folder / "witness", tickets, people)


def guessed(played: Played, leaves: set[str]) -> int:
    """How many outcomes follow from leaves."""
    found = 0
    for ticket in played.tickets:
        for person, reports in product(played.people, OUTCOMES):
            row = json.dumps([ticket, person, reports]).encode()
            found += sha256(row).hexdigest() in leaves
    return found


def in_database(played: Played) -> set[str]:
    """The leaves that stand in the database, or follow from what does."""
    database: Database = open_database(played.address)
    try:
        kept = {leaf for (leaf,) in database.rows("SELECT leaf FROM place WHERE leaf IS NOT NULL")}
        return kept | {text for row in database.rows("SELECT members FROM release") for text in row}
    finally:
        database.close()


def in_export(played: Played, conceals: bool = True) -> set[str]:
    """All that stands in an export; with the keys of the witness also what it conceals."""
    database = open_database(played.address)
    try:
        witness = find_witness(database, played.folder)
        lines = [json.loads(line) for line in export_ledger(database, witness, "small")]
    finally:
        database.close()
    texts = {text for line in lines for text in line if isinstance(text, str)}
    return (
        texts if conceals else texts | {reveal_text(line[2], witness, Path()) for line in lines if line[0] == "place"}
    )


ATTACKS: dict[str, Callable[[Played], set[str]]] = {
    "the database": in_database,
    "an export": in_export,
    "an export and the keys": lambda played: in_export(played, conceals=False),
}


@pytest.fixture(scope="module", params=[False, True], ids=["one erased", "archived"])
def salted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A study as it is."""
    return play(tmp_path_factory.mktemp("salted"), request.param)


@pytest.mark.sparing(1)
@for_each("attack", ATTACKS)
def test_no_outcome_follows_from_a_leaf(salted: Played, attack: str) -> None:
    assert guessed(salted, ATTACKS[attack](salted)) == 0


def test_no_salt_is_exported_and_none_is_left_of_the_erased(salted: Played) -> None:
    database = open_database(salted.address)
    salts = database.rows("SELECT salt, erased FROM place WHERE returned IS NULL")
    database.close()
    assert all((salt is None) == (erased is not None) for salt, erased in salts)
    assert not {salt for salt, _ in salts if salt} & in_export(salted, conceals=False)


def unsalted(patch: pytest.MonkeyPatch) -> None:
    """Leaves without salts, as they were once."""
    patch.setattr(members.Member, "leaf", property(leaf_as_it_was))


def leaf_as_it_was(member: Any) -> str:
    """A hash of the row."""
    return member.kept or sha256(json.dumps([member.ticket, member.person, member.reports()]).encode()).hexdigest()


def open_exports(patch: pytest.MonkeyPatch) -> None:
    """Exports that conceal nothing."""
    patch.setattr(reconcile, "conceal_text", lambda text, witness: text)


@pytest.mark.sparing(1)
@pytest.mark.parametrize(
    ("attack", "twins", "found"),
    [
        ("an export and the keys", [unsalted], RELEASED),
        ("an export", [unsalted, open_exports], RELEASED),
        ("the database", [unsalted], 1),
    ],
)
def test_an_unsalted_leaf_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack: str, twins: list[Any], found: int
) -> None:
    for twin in twins:
        twin(monkeypatch)
    played = play(tmp_path, archived=False)
    assert guessed(played, ATTACKS[attack](played)) >= found


def test_salts_that_repeat_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(folder: Path) -> None:
        folder.mkdir()
        played = play(folder, archived=False)
        database = open_database(played.address)
        ((salts, rows),) = database.rows("SELECT COUNT(DISTINCT salt), COUNT(*) FROM place WHERE erased IS NULL")
        database.close()
        assert salts == rows

    check(tmp_path / "as it is")
    monkeypatch.setattr("maskedbandit.store.rows.urandom", bytes)
    with pytest.raises(AssertionError):
        check(tmp_path / "twin")
