"""Messages without senders: devices encrypt them for the analyzer, and a shuffler delivers them in random order.

    device:    encrypts each of its messages, all of the same width, and sends them as one bundle
    shuffler:  checks that a bundle has the right length, drops the sender, and puts the encrypted messages of all
               devices in one random order, once, if enough devices sent some
    analyzer:  decrypts them, and checks their number and their range

Encryption is HPKE [BBLW22]. The shuffler learns who sent messages, and nothing about their content. The analyzer learns
what was sent, and nothing about the senders, because all encrypted messages have the same length and their order is
uniform. This holds unless the two collude, and as long as X25519 and AES-GCM are secure: it is not
information-theoretic. The name of the cohort is bound into every encrypted message, so messages of another cohort do
not decrypt. No two encryptions are equal, so a copy is a replay, and is refused.

A party that sees a violation ends the cohort and forgets what it holds. So a device that misbehaves can stop a cohort,
but cannot cause the release of a part of it. It can also lie about its value, as it can to any shuffler.
"""

from collections.abc import Sequence
from typing import NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from maskedbandit.errors import Forged, InvalidValue, Malformed, OutOfTurn, ProtocolError, TooFew
from maskedbandit.privacy.sampling import Bits

MESSAGE_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
MESSAGE_SEAL_SIZE = 48  # bytes that encryption adds: a key of 32, a tag of 16


def message_width(below: int) -> int:
    """Bytes of a message before it is encrypted."""
    return max(1, -(-(below - 1).bit_length() // 8))


def bind_message(below: int, cohort: bytes) -> bytes:
    """What an encrypted message is bound to."""
    return b"maskedbandit shuffled message 1, below %d, " % below + cohort


def seal_bundle(messages: Sequence[int], below: int, key: bytes, cohort: bytes) -> bytes:
    """What a device sends: its messages, each of them encrypted for the analyzer with this public key.

    >>> analyzer = Analyzer(below=300, cohort=b"arm 2, batch 5")
    >>> bundle = seal_bundle([7, 299], 300, analyzer.key, b"arm 2, batch 5")
    >>> len(bundle), analyzer.open([bundle[50:], bundle[:50]], expected=2)
    (100, [299, 7])
    """
    if not all(0 <= message < below for message in messages):
        raise InvalidValue("a message", "outside", f"a whole number from 0 to {below - 1}")
    info, wide = bind_message(below, cohort), message_width(below)
    try:
        public = X25519PublicKey.from_public_bytes(key)
        return b"".join(MESSAGE_SUITE.encrypt(message.to_bytes(wide, "big"), public, info=info) for message in messages)
    except ValueError:  # it has another length, or agrees with everybody on the same secret
        raise Malformed("the analyzer's public key is not a valid X25519 key") from None


def open_message(sealed: bytes, below: int, info: bytes, private: X25519PrivateKey) -> int:
    """One message, or raise `Malformed` or `Forged`; `info` is what `bind_message` gave."""
    if len(sealed) != message_width(below) + MESSAGE_SEAL_SIZE:
        raise Malformed("an encrypted message has another length")
    try:
        found = int.from_bytes(MESSAGE_SUITE.decrypt(sealed, private, info=info), "big")
    except InvalidTag:
        raise Forged("an encrypted message is not of this cohort, or was altered") from None
    if found >= below:
        raise Malformed(f"a message is not below {below}")
    return found


def shuffle(items: list[bytes], bits: Bits) -> None:
    """Put the items in a uniformly random order: each position, from the last on, gets one of the remaining items."""
    for last in range(len(items) - 1, 0, -1):
        other = bits.below(last + 1)
        items[last], items[other] = items[other], items[last]


class BundleShuffler:
    """Takes one bundle from each enrolled device, and delivers all of them mixed, if enough devices sent one.

    Device number i sends `counts[i]` messages below a bound. Enough are `least` devices, or, if devices have weights,
    devices of that total weight.

    **Guarantee**: what is released is in uniformly random order, and it is released once.
    """

    def __init__(
        self, counts: Sequence[int], below: int, least: int, bits: Bits, weights: Sequence[int] | None = None
    ) -> None:
        self._counts, self._weights = tuple(counts), tuple(weights or [1] * len(counts))
        if not 1 <= least <= sum(self._weights):
            raise InvalidValue("least", least, f"a whole number from 1 to {sum(self._weights)}")
        self._length, self._least, self._bits = message_width(below) + MESSAGE_SEAL_SIZE, least, bits
        self._sealed: set[bytes] = set()  # without their senders
        self._came: set[int] = set()
        self._ended = False

    def receive(self, device: int, bundle: bytes) -> None:
        """Take the bundle of a device, whose identity the connection has proved."""
        self._check_turn()
        if type(device) is not int or not 0 <= device < len(self._counts):
            self._stop(Malformed("a bundle came from a device that is not enrolled"))
        if device in self._came:
            self._stop(OutOfTurn(f"device {device} sent a second bundle"))
        if not isinstance(bundle, bytes) or len(bundle) != self._counts[device] * self._length:
            self._stop(Malformed(f"the bundle of device {device} has another length"))
        before = len(self._sealed)
        self._sealed.update(bundle[at : at + self._length] for at in range(0, len(bundle), self._length))
        if len(self._sealed) < before + self._counts[device]:
            self._stop(OutOfTurn(f"device {device} sent a message that was sent before"))
        self._came.add(device)

    def release(self) -> tuple[list[bytes], list[int]]:
        """All encrypted messages in random order, and the devices that sent some. Nothing is kept."""
        self._check_turn()
        if sum(self._weights[device] for device in self._came) < self._least:
            self._stop(TooFew(f"{len(self._came)} of {len(self._counts)} devices sent messages: these are too few"))
        mixed = sorted(self._sealed)  # a set has forgotten the order of arrival
        shuffle(mixed, self._bits)
        self._forget()
        return mixed, sorted(self._came)

    def _check_turn(self) -> None:
        if self._ended:
            raise OutOfTurn("the shuffler has released its messages, or stopped")

    def _stop(self, because: ProtocolError) -> NoReturn:
        self._forget()
        raise because

    def _forget(self) -> None:
        self._ended = True
        self._sealed.clear()


class Analyzer:
    """Decrypts the messages of one cohort, which are below a bound, with a key of its own that it uses once."""

    def __init__(self, below: int, cohort: bytes) -> None:
        self._below, self._info = below, bind_message(below, cohort)
        self._private: X25519PrivateKey | None = X25519PrivateKey.generate()
        self.key = self._private.public_key().public_bytes_raw()

    def open(self, batch: Sequence[bytes], expected: int) -> list[int]:
        """The messages of a batch, in its order; the batch must have `expected` messages."""
        private, self._private = self._private, None  # used up, whatever happens
        if private is None:
            raise OutOfTurn("the analyzer has used its key")
        if len(batch) != expected:
            raise Malformed(f"a batch has {len(batch)} messages: it must have {expected}")
        if len(set(batch)) < len(batch):
            raise OutOfTurn("a batch has a message twice")
        return [open_message(sealed, self._below, self._info, private) for sealed in batch]
