"""The keys of this operator of two: the witness keeps them, and a protocol names them by their fingerprint."""

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from maskedbandit.store.book.witness import Witness
from maskedbandit.study.operators import OperatorKeys


def read_seal_key(witness: Witness) -> X25519PrivateKey:
    """What opens the reports that devices seal for this operator."""
    return X25519PrivateKey.from_private_bytes(witness.secret("seals"))


def read_own_keys(witness: Witness) -> OperatorKeys:
    """The public keys of this operator."""
    seals, signs = read_seal_key(witness).public_key(), witness.signing_key().public_key()
    return OperatorKeys(seals.public_bytes_raw(), signs.public_bytes_raw())
