"""With whom this operator works: a leader with a helper, or a coordinator with sites, each told the other once.

The helper makes an invitation, whose text its operator hands to the leader's by another way. Whoever has the text is
paired, once, and gets a credential for all that the leader will ask. The helper keeps hashes of both alone.
"""

import secrets
from hashlib import sha256
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.errors import Unauthorized
from maskedbandit.secagg.signing import check_signature, sign_bytes
from maskedbandit.store.databases.database import Database
from maskedbandit.study.operators import OperatorKeys

PAIRING_USE = b"maskedbandit pairing 1 "
INVITATION_LENGTH = 86_400_000  # milliseconds for which an invitation holds


class Pairing(NamedTuple):
    """Another operator."""

    fingerprint: str
    role: str  # leader, helper, site or coordinator
    name: str
    address: str
    seals: str  # in hexadecimal
    signs: str
    credential: str  # what is sent to a helper or a coordinator; of a leader or a site the hash of what it sends
    made: int

    @property
    def keys(self) -> OperatorKeys:
        """The public keys of the other operator."""
        return OperatorKeys.from_text(self.seals, self.signs)


COLUMNS = ", ".join(Pairing._fields)


def hash_credential(text: str) -> str:
    """What a helper keeps of a credential, or of an invitation: they are random, so a plain hash does."""
    return sha256(text.encode()).hexdigest()


def write_pairing(
    database: Database, keys: OperatorKeys, role: str, name: str, address: str, credential: str, now: int
) -> Pairing:
    """Write a pairing with an operator down, in place of any earlier one; within a transaction."""
    found = Pairing(keys.fingerprint, role, name, address, keys.seals.hex(), keys.signs.hex(), credential, now)
    database.change("DELETE FROM pairing WHERE fingerprint = ?", found.fingerprint)
    database.insert("pairing", COLUMNS, [found])
    return found


def read_pairings(database: Database) -> list[Pairing]:
    """All other operators, oldest first."""
    return [Pairing(*row) for row in database.rows(f"SELECT {COLUMNS} FROM pairing ORDER BY made, fingerprint")]


def find_pairing(database: Database, fingerprint: str) -> Pairing | None:
    """Find the operator with this fingerprint, if it is paired with this one."""
    found = database.one(f"SELECT {COLUMNS} FROM pairing WHERE fingerprint = ?", fingerprint)
    return None if found is None else Pairing(*found)


def find_leader(database: Database, credential: str) -> Pairing:
    """The leader whose credential this is, or raise `Unauthorized`."""
    find = f"SELECT {COLUMNS} FROM pairing WHERE role = 'leader' AND credential = ?"
    if (found := database.one(find, hash_credential(credential))) is None:
        raise Unauthorized("no leader that is paired with this helper has this credential")
    return Pairing(*found)


def write_invitation(database: Database, now: int) -> str:
    """An invitation, as it is shown once; within a transaction."""
    text = f"invitation_{secrets.token_urlsafe(32)}"  # one that began with a dash would be no word of a command
    database.change("DELETE FROM invitation WHERE ends < ?", now)
    database.insert("invitation", "invitation, ends", [(hash_credential(text), now + INVITATION_LENGTH)])
    return text


def sign_invitation(key: Ed25519PrivateKey, keys: OperatorKeys, invitation: str) -> str:
    """What shows that the operator with these public keys, of whom this is the private one, spends an invitation."""
    return sign_bytes(key, PAIRING_USE + keys.seals + keys.signs + invitation.encode())


def check_invitation(keys: OperatorKeys, invitation: str, signature: str) -> None:
    """Raise `Forged` unless the operator with these keys spends it: anybody knows the public keys of another leader."""
    said = PAIRING_USE + keys.seals + keys.signs + invitation.encode()
    why = "whoever spends this invitation has not shown that these keys are its own"
    check_signature(keys.signs, said, signature, why)


def accept_pairing(
    database: Database, invitation: str, keys: OperatorKeys, name: str, now: int, role: str = "leader"
) -> str:
    """The credential of a leader, or a site, that has an invitation, which is spent; within a transaction."""
    spend = "DELETE FROM invitation WHERE invitation = ? AND ends >= ?"
    if not database.change(spend, hash_credential(invitation), now):
        raise Unauthorized("this invitation was not made here, was used before, or has expired")
    credential = secrets.token_urlsafe(32)
    write_pairing(database, keys, role, name, "", hash_credential(credential), now)
    return credential
