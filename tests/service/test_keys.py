"""Keys in memory: what one thread reads from the database holds for the requests of another at once."""

from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import InvalidValue, Unauthorized, UnknownStudy
from maskedbandit.service import keys
from maskedbandit.service.keys import Keys
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Again
from tests.service.inside import Inside
from tests.service.test_site import Eyes


def test_a_key_that_is_revoked_while_it_is_checked_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, known = open_database(f"sqlite:///{tmp_path}/studies.db"), Keys()
    text = keys.write_key(database, "owner", None, 0)
    known.read(database)
    real = keys.hash_secret

    def meanwhile(secret: str) -> str:
        keys.end_key(database, text.split("_")[2], 1)
        known.read(database)
        return real(secret)

    with monkeypatch.context() as during:
        during.setattr(keys, "hash_secret", meanwhile)
        for _ in range(2):
            with pytest.raises(Unauthorized):
                known.of(text, 2)
    with pytest.raises(Unauthorized):
        known.of(text, 2)
    database.close()


def test_a_key_that_is_made_while_the_clock_reads_is_known_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the clock read before is older, though it comes later."""
    database, known, made = open_database(f"sqlite:///{tmp_path}/studies.db"), Keys(), list[str]()
    real = keys.read_keys

    def meanwhile(asked: Any) -> list[keys.Key]:
        before = real(asked)
        if not made:
            made.append(keys.write_key(database, "owner", None, 0))
            known.read(database)
        return before

    monkeypatch.setattr(keys, "read_keys", meanwhile)
    known.read(database)
    assert known.of(made[0], 1).role == "owner"
    keys.end_key(database, made[0].split("_")[2], 1)
    known.read(database)
    with pytest.raises(Unauthorized):
        known.of(made[0], 1)
    database.close()


def test_what_is_no_key(tmp_path: Path) -> None:
    database, known = open_database(f"sqlite:///{tmp_path}/studies.db"), Keys()
    text = keys.write_key(database, "owner", None, 0)
    known.read(database)
    assert known.of(text, 1).role == "owner"
    wrong: list[Any] = [
        "",
        "mb",
        "mb_owner",
        "mb___",
        text[:-1],
        text + "x",
        text.upper(),
        "\u0663" * 50,
        "x" * 10_000,
        None,
        7,
    ]
    for each in wrong:
        with pytest.raises(Unauthorized):
            known.of(each, 1)
    with pytest.raises(InvalidValue, match="role"):
        keys.write_key(database, "root", None, 0)
    with pytest.raises(UnknownStudy, match="nobodys"):
        keys.write_key(database, "owner", "nobodys", 0)
    keys.end_key(database, text.split("_")[2], 5)
    with pytest.raises(InvalidValue, match="not revoked"):
        keys.replace_key(database, text.split("_")[2], 5)
    database.close()


def test_a_key_is_revoked_although_a_study_is_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = open_database(f"sqlite:///{tmp_path}/studies.db")
    real, tried = type(database).begin, list[int]()

    def busy(self: Any) -> None:
        tried.append(1)
        if len(tried) % 3:
            raise Again("the database is locked")
        real(self)

    monkeypatch.setattr(type(database), "begin", busy)
    text = keys.write_key(database, "client", None, 0)
    assert keys.end_key(database, text.split("_")[2], 5).ends == 5
    assert len(tried) == 6


def test_a_key_that_a_command_makes_is_known_at_once(service: Inside) -> None:
    """The running service has not read the keys since."""
    service.begin()
    database = open_database(service.address)
    text = keys.write_key(database, "client", None, service.clock())
    database.close()
    assert service.study("assign", {"unit": "ann"}, text).status == 200
    wrong = text[:-1] + ("A" if text[-1] != "A" else "B")
    for unknown in (wrong, "mb_client_00000000_x", "mb", ""):
        assert service.study("assign", {"unit": "ann"}, unknown).code == "unauthorized"


def test_who_tries_keys_that_nobody_has_does_not_ask_the_database_for_ever(
    service: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.begin()
    read, asked = Keys.read, list[int]()
    service.host.strangers.rate, service.host.strangers.burst = 0.0, 5.0
    monkeypatch.setattr(Keys, "read", lambda self, database: (asked.append(1), read(self, database)))
    for i in range(30):
        assert service.study("assign", {"unit": "ann"}, f"mb_client_{i:08x}_x").status in (401, 429)
    assert len(asked) == 5


def test_who_signs_in_with_a_key_that_a_command_makes_need_not_wait(service: Inside) -> None:
    database = open_database(service.address)
    text = keys.write_key(database, "owner", None, service.clock())
    database.close()
    service.keys["new"] = text
    assert Eyes(service).sign_in("new").headers["location"] == "/"
