"""An entry of a ledger is read as what it says, or not at all."""

import json
from typing import Any

import pytest

from maskedbandit.errors import Corrupted
from maskedbandit.privacy.loss import Loss
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.chain import Link
from maskedbandit.store.book.entries import Release, Started, parse_entry
from maskedbandit.store.book.entry import KINDS, Entry, Requested
from tests.store.small_study import small_protocol

RELEASED: dict[str, Any] = {"kind": "released", "at": 5, "cohort": 0, "step": 2, "arm": 1, "n": 8, "total": "0x1.8p+1"}
RELEASED |= {"loss": Loss.pure(1).to_text(), "members": "aa", "offer": "bb", "memory": "cc"}


def parsed(says: Any) -> Entry:
    return parse_entry("small", Link(7, json.dumps(says), "ff", ""))


def test_a_release_is_what_was_said() -> None:
    found = parsed(RELEASED)
    assert isinstance(found, Release)
    assert (found.number, found.hash, found.kind, found.at, found.arm, found.n) == (7, "ff", "released", 5, 1, 8)
    assert (found.total, found.loss, found.cap, found.further) == (3.0, Loss.pure(1), 1, ())
    assert found.in_epoch(4) == (1, 8, 3.0, 4)


ASKED_FOR = {
    "started",
    "paused",
    "resumed",
    "stopped",
    "archived",
    "helper_lost",
    "arm_paused",
    "arm_resumed",
    "arm_added",
    "sites_changed",
}  # by somebody, with a key or on the machine itself


def test_what_somebody_asked_for_says_with_which_key() -> None:
    assert {kind for kind, each in KINDS.items() if issubclass(each, Requested)} == ASKED_FOR
    says = {"kind": "started", "at": 5, "protocol": "aa", "seed": "bb"}  # as ledgers of earlier versions have it
    found = parsed(says)
    assert isinstance(found, Started)
    assert (found.by, found.approved_by) == ("", "")
    found = parsed(says | {"by": "3f2a9c01", "approved_by": "3f2a9c02"})
    assert isinstance(found, Started)
    assert (found.by, found.approved_by) == ("3f2a9c01", "3f2a9c02")


def test_each_kind_has_a_class() -> None:
    assert sorted(KINDS) == sorted(
        [
            "started",
            "paused",
            "resumed",
            "stopped",
            "archived",
            "released",
            "burned",
            "helper_lost",
            "arm_paused",
            "arm_resumed",
            "arm_added",
            "arm_harmful",
            "helping",
            "helped",
            "mixed",
            "help_ended",
            "help_closed",
            "discarded",
            "site_began",
            "site_joined",
            "site_masked",
            "site_agreed",
            "site_ended",
            "sites_changed",
            "sites_confirmed",
            "site_admitted",
        ]
    )


@pytest.mark.parametrize(
    "says",
    [
        RELEASED | {"kind": "imported"},
        {"kind": "", "at": 5, "arm": 1, "name": "b"},
        RELEASED | {"kind": ["released"]},
        RELEASED | {"kind": "paused"},
        RELEASED | {"note": "unknown"},
        RELEASED | {"number": 3},
        RELEASED | {"hash": "00"},
        RELEASED | {"n": "8"},
        RELEASED | {"by": "3f2a9c01"},
        {"kind": "paused", "at": 5, "by": None},
        RELEASED | {"n": 8.0},
        RELEASED | {"n": None},
        RELEASED | {"total": 3.0},
        RELEASED | {"total": "three"},
        RELEASED | {"loss": "nothing"},
        RELEASED | {"loss": 1},
        RELEASED | {"members": 1},
        {name: value for name, value in RELEASED.items() if name != "offer"},
        {name: value for name, value in RELEASED.items() if name != "kind"},
        [RELEASED],
        "released",
        None,
    ],
)
def test_what_no_entry_says_is_refused(says: Any) -> None:
    with pytest.raises(Corrupted, match="entry 7 of the ledger of small cannot be read"):
        parsed(says)


def test_a_ledger_that_does_not_begin_with_a_start_is_refused() -> None:
    with pytest.raises(Corrupted, match="does not begin with its start"):
        assert Book("small", small_protocol(), (parsed(RELEASED),)).started is None
