"""The keys of this operator of two: the witness keeps them, and a protocol names them by their fingerprint."""

import hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from maskedbandit.errors import InvalidValue
from maskedbandit.store.book.witness import Witness
from maskedbandit.study.operators import OperatorKeys


def read_seal_key(witness: Witness) -> X25519PrivateKey:
    """Read the key that opens the reports that devices seal for this operator."""
    return X25519PrivateKey.from_private_bytes(witness.secret("seals"))


def read_own_keys(witness: Witness) -> OperatorKeys:
    """Read the public keys of this operator."""
    seals, signs = read_seal_key(witness).public_key(), witness.signing_key().public_key()
    return OperatorKeys(seals.public_bytes_raw(), signs.public_bytes_raw())


def agree_with(witness: Witness, other: OperatorKeys) -> bytes:
    """Agree on a secret that only both operators have; raise `InvalidValue` if the other one's key is invalid."""
    try:
        return read_seal_key(witness).exchange(X25519PublicKey.from_public_bytes(other.seals))
    except ValueError:
        raise InvalidValue("keys of the other operator", other.seals.hex(), "a public key of X25519") from None


def derive_share_key(witness: Witness, protocol: str) -> bytes:
    """With what this operator locks its shares of values, of the study with this digest, in its database."""
    return hmac.digest(witness.secret("seals"), b"maskedbandit shares 1" + bytes.fromhex(protocol), "sha256")


def derive_verify_key(witness: Witness, other: OperatorKeys, protocol: str) -> bytes:
    """With what both operators check the proofs of the study with this digest: unknown to devices, and to all others.

    It follows from the keys of both, so neither can choose it, or tell the other one another key the next time. That
    matters: a report of which one operator has seen the proof at two points, by two keys, is a report that it can read.
    """
    return hmac.digest(agree_with(witness, other), b"maskedbandit verify 1" + bytes.fromhex(protocol), "sha256")
