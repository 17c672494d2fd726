"""The ledger of a study: entries of which each names the one before it by its hash, and each is signed.

    hash = SHA-256(hash before it, body),  signature = Ed25519(study, number, hash),  the body being JSON in one form

What can be said of a study in public is in its entries: its protocol, what was released and what each release costs,
and that it was paused or stopped. Nothing is in them that was not released.
"""

import json
from collections.abc import Sequence
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


NO_ENTRY = Head()


class Link(NamedTuple):
    """An entry, as it is stored; what it says is in entries.py."""

    number: int
    body: str
    hash: str
    signature: str


def signed(study: str, number: int, digest: str) -> bytes:
    """What is signed of an entry."""
    return f"maskedbandit-ledger-1 {study} {number} {digest}".encode()


def next_link(study: str, head: Head, says: dict[str, Any], key: Ed25519PrivateKey) -> Link:
    """The entry that comes after the head of a study's ledger.

    >>> link = next_link("example", Head(), {"kind": "paused"}, Ed25519PrivateKey.generate())
    >>> link.number, link.body
    (0, '{"kind":"paused"}')
    """
    body = json.dumps(says, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = sha256(f"{head.hash} {body}".encode()).hexdigest()
    return Link(head.entries, body, digest, key.sign(signed(study, head.entries, digest)).hex())


def read_links(database: Database, study: str) -> list[Link]:
    """All entries of a study's ledger, in order."""
    found = database.rows("SELECT number, body, hash, signature FROM entry WHERE study = ? ORDER BY number", study)
    return [Link(*row) for row in found]


def is_on_chain(database: Database, study: str, head: Head) -> bool:
    """Whether a study's ledger is at this head, or has gone on from it."""
    find = "SELECT hash FROM entry WHERE study = ? AND number = ?"
    return head == Head() or database.rows(find, study, head.entries - 1) == [(head.hash,)]


def check_chain(study: str, links: Sequence[Link], key: Ed25519PublicKey) -> Head:
    """The head of these entries, or raise `Corrupted` at the first that does not fit.

    The last signature is enough, as its hash follows from all entries.
    """
    head = Head()
    for number, link in enumerate(links):
        where = f"entry {number} of the ledger of {study}"
        if link.number != number:
            raise Corrupted(f"{where} is missing")
        if link.hash != sha256(f"{head.hash} {link.body}".encode()).hexdigest():
            raise Corrupted(f"{where} was changed: its hash does not follow from its text and the entry before it")
        head = Head(number + 1, link.hash)
    if links:
        try:
            key.verify(bytes.fromhex(links[-1].signature), signed(study, head.entries - 1, head.hash))
        except (InvalidSignature, ValueError):
            raise Corrupted(f"the signature of the ledger of {study} is wrong: it was not written here") from None
    return head
