"""What the device of a live study sends to its shuffler: a bundle of encrypted messages, in one envelope.

    device -> shuffler    its place, a hash of its ticket, its pass, and the envelope: the bundle, encrypted once more
    shuffler -> service   the encrypted messages of all bundles of a cohort, in random order, once

The messages are encrypted for the service, and bound to the study, the cohort and what was offered to it: to that
alone, as whatever else they were bound to would tell the service whose they are. The envelope is encrypted for the
shuffler, and bound to the same and to the place. So the address to which it is sent need not be trusted: whoever is
there instead of the shuffler sees no message. And the shuffler knows that all messages of a cohort are bound to the
same: a device that was told something else, so that its messages could be told from those of others, sent an envelope
that the shuffler cannot open.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from maskedbandit.errors import Forged, InvalidValue, Malformed
from maskedbandit.shuffle.sealed_messages import (
    MESSAGE_SEAL_SIZE,
    MESSAGE_SUITE,
    bind_message,
    message_width,
    open_message,
    seal_bundle,
)

ENVELOPE_USE = b"maskedbandit envelope 1 "
WHO_SIZE = 8  # bytes


@dataclass(frozen=True)
class BundleTerms:
    """What a bundle is of."""

    study: bytes  # the digest of the study's protocol
    cohort: int
    offer: bytes  # the digest of what was offered to the cohort, with its size
    place: int  # of the device's person in the cohort
    who: bytes = bytes(8)  # `name_person`, of whoever has the place

    def __post_init__(self) -> None:
        if type(self.who) is not bytes or len(self.who) != WHO_SIZE:
            raise InvalidValue("who", "not shown", f"{WHO_SIZE} bytes")
        if any(type(each) is not bytes or len(each) != 32 for each in (self.study, self.offer)):
            raise InvalidValue("study and offer", "not shown", "digests of 32 bytes")
        for name, value in (("cohort", self.cohort), ("place", self.place)):
            if type(value) is not int or not 0 <= value < 2**63:
                raise InvalidValue(name, value, "a whole number of at least 0, below 2^63")

    @property
    def of_cohort(self) -> bytes:
        """What the messages are bound to: the same for the whole cohort."""
        return self.study + self.cohort.to_bytes(8) + self.offer

    @property
    def of_place(self) -> bytes:
        """What the envelope and the pass are bound to."""
        return self.of_cohort + self.place.to_bytes(8) + self.who


def name_person(ticket: str) -> bytes:
    """What the shuffler knows of a person but the place, so that a place that goes to another person is another one.

    >>> name_person("k3").hex()
    'd6e5330753b4e427'
    """
    return sha256(b"maskedbandit person 1 " + ticket.encode()).digest()[:WHO_SIZE]


def seal_envelope(messages: Sequence[int], below: int, terms: BundleTerms, service: bytes, shuffler: bytes) -> bytes:
    """What a device sends, encrypted for the service with its public key, and then for the shuffler with its own.

    >>> service, shuffler = X25519PrivateKey.generate(), X25519PrivateKey.generate()
    >>> terms = BundleTerms(bytes(32), 3, bytes(32), 7)
    >>> keys = (each.public_key().public_bytes_raw() for each in (service, shuffler))
    >>> sent = seal_envelope([1, 0], 2, terms, *keys)
    >>> found = open_envelope(sent, 2, 2, terms, shuffler)
    >>> open_messages(found, 2, terms.of_cohort, service)
    [1, 0]
    """
    bundle = seal_bundle(messages, below, service, terms.of_cohort)
    try:
        public = X25519PublicKey.from_public_bytes(shuffler)
        return MESSAGE_SUITE.encrypt(bundle, public, info=ENVELOPE_USE + terms.of_place)
    except ValueError:
        raise Malformed("the shuffler's public key is not a valid X25519 key") from None


def envelope_size(many: int, below: int) -> int:
    """Bytes of an envelope with so many messages."""
    return many * (message_width(below) + MESSAGE_SEAL_SIZE) + MESSAGE_SEAL_SIZE


def open_envelope(sealed: bytes, many: int, below: int, terms: BundleTerms, private: X25519PrivateKey) -> list[bytes]:
    """The encrypted messages of an envelope that has so many, or raise `Malformed` or `Forged`."""
    if len(sealed) != envelope_size(many, below):
        raise Malformed("an envelope of this place has another length")
    try:
        bundle = MESSAGE_SUITE.decrypt(sealed, private, info=ENVELOPE_USE + terms.of_place)
    except InvalidTag:
        raise Forged("an envelope is not of this place, or was altered") from None
    wide = message_width(below) + MESSAGE_SEAL_SIZE
    found = [bundle[at : at + wide] for at in range(0, len(bundle), wide)]
    if len(set(found)) < many:
        raise Forged("an envelope has a message twice")
    return found


def open_messages(sealed: Iterable[bytes], below: int, cohort: bytes, private: X25519PrivateKey) -> list[int]:
    """The messages of a cohort that can be read, in their order: all, if those who encrypted them follow the rules."""
    info, found = bind_message(below, cohort), []
    for each in sealed:
        try:
            found.append(open_message(each, below, info, private))
        except (Forged, Malformed):
            continue
    return found
