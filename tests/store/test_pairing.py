"""Operators are paired once, by an invitation, and know each other by their keys from then on."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from maskedbandit.errors import InvalidValue, Unauthorized
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.pairing import (
    INVITATION_LENGTH,
    accept_pairing,
    find_leader,
    find_pairing,
    read_pairings,
    write_invitation,
    write_pairing,
)
from maskedbandit.study.operators import OperatorKeys

LEADER, HELPER = (OperatorKeys(bytes([i]) * 32, bytes([i + 1]) * 32) for i in (1, 3))


@pytest.fixture
def database(address: str) -> Iterator[Database]:
    with closing(open_database(address)) as made:
        yield made


def test_a_leader_is_known_by_its_credential(database: Database) -> None:
    with database.transaction():
        invitation = write_invitation(database, 5)
    with database.transaction():
        credential = accept_pairing(database, invitation, LEADER, "Clinic", 7)
    found = find_leader(database, credential)
    assert (found.keys, found.fingerprint, found.role) == (LEADER, LEADER.fingerprint, "leader")
    assert (found.name, found.address, found.made) == ("Clinic", "", 7)
    assert find_pairing(database, LEADER.fingerprint) == found
    assert find_pairing(database, HELPER.fingerprint) is None
    for text in ("", credential + "x", found.credential, invitation):
        with pytest.raises(Unauthorized, match="has this credential"):
            find_leader(database, text)
    stored = str([database.rows(f"SELECT * FROM {table}") for table in ("pairing", "invitation")])
    assert credential not in stored
    assert invitation not in stored


def test_an_invitation_holds_once_and_for_a_day(database: Database) -> None:
    first, second, third = (write_invitation(database, when) for when in (5, 6, 7))
    assert len({first, second, third}) == 3
    for text, now in (("", 5), (first + "x", 5), (first, 6 + INVITATION_LENGTH)):
        with pytest.raises(Unauthorized, match="used before, or has expired"):
            accept_pairing(database, text, LEADER, "Clinic", now)
    assert read_pairings(database) == []
    accept_pairing(database, second, LEADER, "Clinic", 6 + INVITATION_LENGTH)
    with pytest.raises(Unauthorized):
        accept_pairing(database, second, HELPER, "Another", 7)
    write_invitation(database, 8 + INVITATION_LENGTH)
    assert database.rows("SELECT COUNT(*) FROM invitation") == [(1,)], "those that hold no more are removed"


def test_who_is_paired_anew_has_another_credential(database: Database) -> None:
    old, new = (accept_pairing(database, write_invitation(database, 0), LEADER, "Clinic", now) for now in (1, 2))
    assert find_leader(database, new).made == 2
    with pytest.raises(Unauthorized):
        find_leader(database, old)
    assert len(read_pairings(database)) == 1


def test_a_leader_keeps_what_it_sends(database: Database) -> None:
    made = write_pairing(database, HELPER, "helper", "University", "https://helper.example", "secret", 9)
    assert read_pairings(database) == [made]
    assert (made.credential, made.address, made.keys) == ("secret", "https://helper.example", HELPER)
    with pytest.raises(Unauthorized):
        find_leader(database, "secret")


def test_keys_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidValue):
        OperatorKeys.from_text("00", "00" * 32)


def test_an_invitation_is_a_word_of_a_command(tmp_path: Path) -> None:
    """One that begins with a dash would be taken for an option."""
    with closing(open_database(f"sqlite:///{tmp_path}/helper.db")) as database, database.transaction():
        made = [write_invitation(database, 0) for _ in range(200)]
    assert all(each.startswith("invitation_") and len(each) == 54 for each in made)
    assert len(set(made)) == 200
