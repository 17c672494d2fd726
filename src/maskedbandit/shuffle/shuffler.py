"""Messages without senders: devices seal them to the analyzer, and a shuffler hands them over in random order.

    device:    seals each of its messages, all of one width, and sends them as one bundle
    shuffler:  checks that a bundle has the right length, drops the sender, and puts all sealed messages of all devices
               in one random order, once, if enough devices came
    analyzer:  opens them, and checks their number and their range

The seals are HPKE [BBLW22]: the shuffler learns who sent, and nothing of what; the analyzer learns what was sent, and
nothing of who, as all sealed messages have one length and the order is uniform. That is so unless the two collude, and
for as long as X25519 and AES-GCM hold: it is not information-theoretic. The name of the cohort is bound into every
seal, so messages of another cohort do not open. A seal is never the same twice: a copy is a replay, and refused.

Any violation ends the party that sees it, and it forgets what it holds: a device that misbehaves can stop a cohort, and
make nobody release a part of it. It can also lie about its value, as it can to any shuffler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from maskedbandit.errors import Forged, InvalidValue, Malformed, OutOfTurn, ProtocolError, TooFew
from maskedbandit.privacy.sampling import Bits

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
SEAL = 48  # bytes that a seal adds: a key of 32, a tag of 16


def width(below: int) -> int:
    """Bytes of a message before it is sealed."""
    return max(1, -(-(below - 1).bit_length() // 8))


def named(below: int, cohort: bytes) -> bytes:
    """What a seal is bound to."""
    return b"maskedbandit shuffled message 1, below %d, " % below + cohort


def seal(messages: Sequence[int], below: int, key: bytes, cohort: bytes) -> bytes:
    """What a device sends: its messages, each of them sealed to the analyzer with that key.

    >>> analyzer = Analyzer(below=300, cohort=b"arm 2, batch 5")
    >>> bundle = seal([7, 299], 300, analyzer.key, b"arm 2, batch 5")
    >>> len(bundle), analyzer.open([bundle[50:], bundle[:50]], expected=2)
    (100, [299, 7])
    """
    if not all(0 <= message < below for message in messages):
        raise InvalidValue("a message", "outside", f"a whole number from 0 to {below - 1}")
    info, wide = named(below, cohort), width(below)
    try:
        public = X25519PublicKey.from_public_bytes(key)
        return b"".join(SUITE.encrypt(message.to_bytes(wide, "big"), public, info=info) for message in messages)
    except ValueError:  # of another length, or with no secret for it that others could not guess
        raise Malformed("no key of an analyzer") from None


def shuffle(items: list[bytes], bits: Bits) -> None:
    """All orders become equally likely: each place in turn, from the last, takes one of the items not yet placed."""
    for last in range(len(items) - 1, 0, -1):
        other = bits.below(last + 1)
        items[last], items[other] = items[other], items[last]


class Shuffler:
    """Takes one bundle from each enrolled device, and hands over all of them mixed, if enough devices sent one.

    Device number i sends `counts[i]` messages below a bound. Enough are `least` devices, or, if they have weights,
    devices that weigh as much together.

    **Guarantee**: the order of what is released is uniform, and it is released once.
    """

    def __init__(
        self, counts: Sequence[int], below: int, least: int, bits: Bits, weights: Sequence[int] | None = None
    ) -> None:
        self._counts, self._weights = tuple(counts), tuple(weights or [1] * len(counts))
        if not 1 <= least <= sum(self._weights):
            raise InvalidValue("least", least, f"a whole number from 1 to {sum(self._weights)}")
        self._length, self._least, self._bits = width(below) + SEAL, least, bits
        self._sealed: set[bytes] = set()  # not by device
        self._came: set[int] = set()
        self._ended = False

    def receive(self, device: int, bundle: bytes) -> None:
        """The bundle of a device whose name the connection has proved."""
        self._check_turn()
        if type(device) is not int or not 0 <= device < len(self._counts):
            self._stop(Malformed("a bundle of a device that is not enrolled"))
        if device in self._came:
            self._stop(OutOfTurn(f"a second bundle of device {device}"))
        if not isinstance(bundle, bytes) or len(bundle) != self._counts[device] * self._length:
            self._stop(Malformed(f"a bundle of device {device} of another length"))
        before = len(self._sealed)
        self._sealed.update(bundle[at : at + self._length] for at in range(0, len(bundle), self._length))
        if len(self._sealed) < before + self._counts[device]:
            self._stop(OutOfTurn(f"device {device} sends what was sent before"))
        self._came.add(device)

    def release(self) -> tuple[list[bytes], list[int]]:
        """All sealed messages in random order, and the devices that sent them. Nothing is kept."""
        self._check_turn()
        if sum(self._weights[device] for device in self._came) < self._least:
            self._stop(TooFew(f"{len(self._came)} devices of {len(self._counts)} came, which is not enough"))
        mixed = sorted(self._sealed)  # the order of arrival is forgotten already
        shuffle(mixed, self._bits)
        self._forget()
        return mixed, sorted(self._came)

    def _check_turn(self) -> None:
        if self._ended:
            raise OutOfTurn("the shuffler has ended")

    def _stop(self, because: ProtocolError) -> NoReturn:
        self._forget()
        raise because

    def _forget(self) -> None:
        self._ended = True
        self._sealed.clear()


class Analyzer:
    """Opens the messages of one cohort, which are below a bound, with a key of its own that it uses once."""

    def __init__(self, below: int, cohort: bytes) -> None:
        self._below, self._info = below, named(below, cohort)
        self._private: X25519PrivateKey | None = X25519PrivateKey.generate()
        self.key = self._private.public_key().public_bytes_raw()

    def open(self, batch: Sequence[bytes], expected: int) -> list[int]:
        """The messages of a batch of so many, in its order."""
        private, self._private = self._private, None  # whatever comes of it
        if private is None:
            raise OutOfTurn("the analyzer has ended")
        if len(batch) != expected:
            raise Malformed(f"a batch of {len(batch)} messages, not {expected}")
        if len(set(batch)) < len(batch):
            raise OutOfTurn("a batch in which a message comes twice")
        wide = width(self._below)
        if any(len(sealed) != wide + SEAL for sealed in batch):
            raise Malformed("a sealed message of another length")
        try:
            opened = [int.from_bytes(SUITE.decrypt(sealed, private, info=self._info), "big") for sealed in batch]
        except InvalidTag:
            raise Forged("a seal does not hold for this cohort") from None
        if max(opened, default=0) >= self._below:
            raise Malformed(f"a message is not below {self._below}")
        return opened
