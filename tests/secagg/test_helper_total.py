"""The helper's statement of a total: signed as a whole, and read only as it was written."""

import json
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.errors import Disagreement, Forged, Malformed
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.prio3 import FIELD
from tests.for_each import for_each

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
SIGNS = KEY.public_key().public_bytes_raw()
SAID = HelperTotal(
    study="example",
    protocol="00" * 32,
    cohort=3,
    n=5,
    reports=4,
    digest="11" * 32,
    offer="22" * 32,
    total=FIELD - 1,
    entry=7,
).sign(KEY)
OTHERS = {
    "study": "others",
    "protocol": "01" * 32,
    "cohort": 4,
    "n": 6,
    "reports": 3,
    "digest": "12" * 32,
    "offer": "23" * 32,
    "total": 0,
    "entry": 8,
}


def test_it_is_read_as_it_was_written_and_signed_the_same_each_time():
    assert HelperTotal.from_text(SAID.to_text()) == SAID == replace(SAID, signature="").sign(KEY)
    SAID.verify(SIGNS)
    SAID.match(cohort=3, n=5, digest="11" * 32)


@for_each("name", list(OTHERS))
def test_nothing_of_it_can_be_changed(name):
    with pytest.raises(Forged, match="not signed"):
        replace(SAID, **{name: OTHERS[name]}).verify(SIGNS)
    with pytest.raises(Disagreement, match=f"states {name} "):
        SAID.match(**{name: OTHERS[name]})


def test_another_key_signs_for_nobody():
    other = Ed25519PrivateKey.from_private_bytes(bytes([1]) * 32)
    for said in (SAID.sign(other), replace(SAID, signature=""), replace(SAID, signature="zz")):
        with pytest.raises(Forged, match="not signed"):
            said.verify(SIGNS)


@for_each(
    "change",
    [
        {"total": FIELD},
        {"total": "0" + str(FIELD - 1)},
        {"total": "-1"},
        {"total": "٣"},
        {"total": str(FIELD)},
        {"total": None},
        {"cohort": True},
        {"cohort": -1},
        {"reports": 6},
        {"n": 5.0},
        {"study": None},
        {"more": 1},
    ],
)
def test_what_nobody_writes_is_not_read(change):
    with pytest.raises(Malformed):
        HelperTotal.from_table(SAID.to_table() | change)


@for_each("text", ["", "[]", "null", "{}", "[" * 100_000, json.dumps({"total": "1"})])
def test_what_is_no_statement_is_not_read(text):
    with pytest.raises(Malformed):
        HelperTotal.from_text(text)
