"""What tests draw is the same in every run, in fixtures too, and however often they ask for new bits."""

from os import urandom
from pathlib import Path

import pytest

from maskedbandit.privacy.sampling import Bits
from maskedbandit.store import studies
from maskedbandit.store.databases.connection import open_database
from tests.store.small_study import small_protocol

DRAWN = [735, 254, 960, 876, 536]


def drawn() -> list[int]:
    return [Bits().below(1000) for _ in range(5)]


@pytest.fixture(scope="module")
def shared() -> list[int]:
    return drawn()


@pytest.fixture(scope="module")
def shared_too() -> list[int]:
    return drawn()


def test_bits_are_the_same(shared: list[int]) -> None:
    assert drawn() == DRAWN
    assert shared == [465, 646, 179, 818, 434]


def test_no_two_have_the_same_noise(shared: list[int], shared_too: list[int]) -> None:
    """Neither two fixtures nor a fixture and a test."""
    assert len({tuple(each) for each in (shared, shared_too, drawn(), drawn())}) == 4


def test_the_bits_of_the_system_are_not() -> None:
    """The control: they would be by chance once in 10^15 runs."""
    assert [Bits(urandom).below(1000) for _ in range(5)] != DRAWN


def test_the_seed_of_a_study_is_the_same(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/study.db"
    studies.write_study(small_protocol(), address, tmp_path)
    database = open_database(address)
    assert database.rows("SELECT seed FROM study") == [("1a7a8be1cd01df641937ec5a021ab011",)]
    database.close()
