"""The two operators of a study whose operator sees no outcome, as they stand in its protocol.

    [operators]
    leader = { name = "Clinic", key = "5b1f..." }
    helper = { name = "University", key = "c09e...", address = "https://helper.example" }

The leader runs the study, the helper adds its share of every sum. A key is the fingerprint of an operator's two public
keys: one with which devices seal, and one with which the operator signs. People's devices have both fingerprints from
their application, so nobody can put other keys in their place.
"""

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple, Self

from maskedbandit.errors import InvalidValue

ROLES = ("leader", "helper")  # in the order of their shares
FINGERPRINT = "[0-9a-f]{64}"
OPERATOR_KEYS = ("name", "key", "address")  # of which the leader has no address
ADDRESS = "https?://[!-~]{1,200}"
LONGEST_NAME = 100


class OperatorKeys(NamedTuple):
    """The public keys of an operator."""

    seals: bytes  # of X25519
    signs: bytes  # of Ed25519

    @property
    def fingerprint(self) -> str:
        """What a protocol and the devices know the operator by.

        >>> OperatorKeys(bytes(32), bytes(32)).fingerprint[:8]
        'fdbc5213'
        """
        return sha256(b"maskedbandit operator 1" + self.seals + self.signs).hexdigest()

    @classmethod
    def from_text(cls, seals: Any, signs: Any) -> Self:
        """The keys with these texts, in hexadecimal."""
        if not all(type(each) is str and re.fullmatch(FINGERPRINT, each) for each in (seals, signs)):
            raise InvalidValue("keys of an operator", "not shown", "two texts of 64 hexadecimal digits")
        return cls(bytes.fromhex(seals), bytes.fromhex(signs))


@dataclass(frozen=True)
class Operator:
    """An operator."""

    name: str  # for people
    key: str  # its fingerprint
    address: str = ""  # where the helper is reached


@dataclass(frozen=True)
class Operators:
    """Both of them.

    >>> found = Operators.from_table({
    ...     "leader": {"name": "Clinic", "key": "5b" * 32},
    ...     "helper": {"name": "University", "key": "c0" * 32, "address": "https://helper.example"}})
    >>> found.leader.name, found.helper.address
    ('Clinic', 'https://helper.example')
    """

    leader: Operator
    helper: Operator

    @classmethod
    def from_table(cls, given: Any) -> Self:
        """The [operators] table of a protocol."""
        if not isinstance(given, dict) or set(given) != set(ROLES):
            raise InvalidValue("operators", given, "an [operators] table with leader and helper")
        found = cls(*(read_operator(role, given[role]) for role in ROLES))
        if found.leader.key == found.helper.key:
            raise InvalidValue("key of the helper", found.helper.key, "different from the leader's")
        return found


def read_operator(role: str, given: Any) -> Operator:
    """One operator of the table."""
    keys = OPERATOR_KEYS if role == "helper" else OPERATOR_KEYS[:2]
    if not isinstance(given, dict) or set(given) != set(keys):
        raise InvalidValue(role, given, f"a table with {', '.join(keys)}")
    name, key, address = given["name"], given["key"], given.get("address", "")
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise InvalidValue(f"name of the {role}", name, f"a text of 1 to {LONGEST_NAME} printable characters")
    if not isinstance(key, str) or not re.fullmatch(FINGERPRINT, key):
        raise InvalidValue(f"key of the {role}", key, "a fingerprint: 64 hexadecimal digits")
    if role == "helper" and not (isinstance(address, str) and re.fullmatch(ADDRESS, address)):
        raise InvalidValue("address of the helper", address, "a URL such as https://helper.example")
    return Operator(name, key, address)
