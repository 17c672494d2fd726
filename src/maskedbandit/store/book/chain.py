"""The ledger of a study: entries of which each names the one before it by its hash, and each is signed.

    hash = SHA-256(hash before it, body),  signature = Ed25519(study, number, hash),  the body being JSON in one form

What can be said of a study in public is in its entries: its protocol, what was released and what each release costs,
and that it was paused or stopped. Nothing is in them that was not released.
"""

import json
from hashlib import sha256
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from maskedbandit.errors import Corrupted
from maskedbandit.store.databases.database import Database

ENTRY = "study, number, body, hash, signature"  # columns
START = "0" * 64  # the hash before the first entry


class Head(NamedTuple):
    """The newest entry of a ledger: how many there are, and the hash of the last."""

    entries: int = 0
    hash: str = START


class Entry(NamedTuple):
    """An entry, as it is stored."""

    number: int
    body: str
    hash: str
    signature: str

    @property
    def says(self) -> dict[str, Any]:
        """What the body says."""
        found: dict[str, Any] = json.loads(self.body)
        return found


def signed(study: str, number: int, digest: str) -> bytes:
    """What is signed of an entry."""
    return f"maskedbandit-ledger-1 {study} {number} {digest}".encode()


def next_entry(study: str, head: Head, says: dict[str, Any], key: Ed25519PrivateKey) -> Entry:
    """The entry that comes after the head of a study's ledger.

    >>> entry = next_entry("example", Head(), {"kind": "paused"}, Ed25519PrivateKey.generate())
    >>> entry.number, entry.body
    (0, '{"kind":"paused"}')
    """
    body = json.dumps(says, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = sha256(f"{head.hash} {body}".encode()).hexdigest()
    return Entry(head.entries, body, digest, key.sign(signed(study, head.entries, digest)).hex())


def entries(database: Database, study: str) -> list[Entry]:
    """All entries of a study's ledger, in order."""
    found = database.rows("SELECT number, body, hash, signature FROM entry WHERE study = ? ORDER BY number", study)
    return [Entry(*row) for row in found]


def holds(database: Database, study: str, head: Head) -> bool:
    """Whether a study's ledger is at this head, or has gone on from it."""
    find = "SELECT hash FROM entry WHERE study = ? AND number = ?"
    return head == Head() or database.rows(find, study, head.entries - 1) == [(head.hash,)]


def verified(study: str, found: list[Entry], key: Ed25519PublicKey) -> Head:
    """The head of these entries, or raise `Corrupted` at the first that does not fit.

    The last signature is enough, as its hash follows from all entries.
    """
    head = Head()
    for number, entry in enumerate(found):
        where = f"entry {number} of the ledger of {study}"
        if entry.number != number:
            raise Corrupted(f"{where} is missing")
        if entry.hash != sha256(f"{head.hash} {entry.body}".encode()).hexdigest():
            raise Corrupted(f"{where} was changed: its hash does not follow from its text and the entry before it")
        head = Head(number + 1, entry.hash)
    if found:
        try:
            key.verify(bytes.fromhex(found[-1].signature), signed(study, head.entries - 1, head.hash))
        except (InvalidSignature, ValueError):
            raise Corrupted(f"the signature of the ledger of {study} does not hold: it was not written here") from None
    return head
