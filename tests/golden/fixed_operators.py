"""Operators whose keys are always the same, and places of them."""

from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from maskedbandit.channels.offers import Offer
from maskedbandit.study.operators import OperatorKeys
from tests.golden.fixed_bytes import Entry, make_bytes

PRIVATE = [X25519PrivateKey.from_private_bytes(make_bytes(role, 32)) for role in ("leader", "helper")]
OPERATORS = [
    OperatorKeys(private.public_key().public_bytes_raw(), make_bytes(f"signs {role}", 32))
    for role, private in enumerate(PRIVATE)
]
SEAL_KEYS = OPERATORS[0].seals, OPERATORS[1].seals


def make_place(offer: Offer, **changes: Any) -> Entry:
    """A place of both operators, as it is handed to a device."""
    operators = [
        {"name": name, "seals": keys.seals.hex(), "signs": keys.signs.hex(), "address": address}
        for name, keys, address in zip(("Clinic", "University"), OPERATORS, ("", "https://helper.example"), strict=True)
    ]
    place: Entry = {"study": "newsletter", "arm": "bold", "ticket": "k3v7", "again": False, "exposed": 1764000000000}
    place |= {"offer": offer.to_text(), "terms": {"protocol": make_bytes("protocol", 32).hex(), "cohort": 3}}
    place |= {"operators": operators, "window": 21600000, "grace": 86400000}
    return place | {"least": 0, "most": 1, "default": 0} | changes
