"""What a device sends of its report: two shares with a proof, each sealed for one of two operators [BCPS26].

The leader runs the study, the helper adds its share of each sum; neither can read what is sealed for the other:

    device -> leader    report id, turn, sealed share of the leader, sealed share of the helper
    leader -> helper    report id, turn, sealed share of the helper, what the leader's share shows of the proof
    helper -> leader    what its own share shows of the proof: both now know whether the value is in range

Both seals are bound to the study's protocol, in which the keys of both operators stand, to the cohort and what was
offered to it, to the place in the cohort, to the report and to the role: a report counts where its device meant it to,
and nowhere else. All of it is bound by HPKE's `info`, as `cryptography` offers no associated data; a client of DAP
binds the same by associated data, so its seals are others.

Of the reports of one place the one with the highest turn counts: a device may send what holds by now each time that it
is in contact, and all of them have one size.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from maskedbandit.errors import Forged, InvalidValue, Malformed
from maskedbandit.secagg.prio3 import HELPER, LEADER, NONCE, SEED, Range

REPORT_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)  # all of which browsers have
REPORT_USE = b"maskedbandit report 1"
SEAL = 32 + 16  # bytes that a seal adds: a key and a tag
MOST_TURNS = 2**32


@lru_cache(maxsize=256)
def find_range(largest: int, study: bytes) -> Range:
    """What proves that a number of this study is from 0 to `largest`."""
    return Range(largest, REPORT_USE + study)


@dataclass(frozen=True)
class ReportTerms:
    """What a report is of: both of its seals are bound to this."""

    study: bytes  # the digest of the study's protocol
    cohort: int
    offer: bytes  # the digest of what was offered to the cohort
    largest: int  # the value is from 0 to this
    place: int  # of the device's person in the cohort

    def __post_init__(self) -> None:
        if any(type(each) is not bytes or len(each) != 32 for each in (self.study, self.offer)):
            raise InvalidValue("study and offer", "not shown", "digests of 32 bytes")
        for name, value in (("cohort", self.cohort), ("place", self.place)):
            if type(value) is not int or not 0 <= value < 2**63:
                raise InvalidValue(name, value, "a whole number of at least 0, below 2^63")

    @property
    def range(self) -> Range:
        """What proves that the value is in range."""
        return find_range(self.largest, self.study)

    def bind(self, role: int, report: bytes, turn: int) -> bytes:
        """What the seal for an operator is bound to."""
        numbers = (each.to_bytes(8) for each in (self.cohort, self.place, turn))
        return b"".join((REPORT_USE, bytes((role,)), self.study, self.offer, *numbers, report))


class Upload(NamedTuple):
    """One report of a device."""

    report: bytes  # its name: random bytes, used once
    turn: int  # how many reports of this place the device sent before
    leader: bytes  # sealed shares
    helper: bytes

    def check(self, largest: int) -> None:
        """Raise `Malformed` unless it has the size of every report of such a value."""
        if type(self.turn) is not int or not 0 <= self.turn < MOST_TURNS:
            raise Malformed(f"the turn of a report is a whole number from 0 to {MOST_TURNS - 1}")
        shares = SEAL + find_range(largest, bytes(32)).size, SEAL + SEED
        for name, part, size in (
            ("name", self.report, NONCE),
            ("leader's share", self.leader, shares[LEADER]),
            ("helper's share", self.helper, shares[HELPER]),
        ):
            if type(part) is not bytes or len(part) != size:
                raise Malformed(f"the {name} of a report has {size} bytes")


def seal_report(
    terms: ReportTerms, value: int, keys: tuple[bytes, bytes], turn: int, draw: Callable[[int], bytes]
) -> Upload:
    """The report of a value, for the operators with these keys: public keys of X25519, the leader's first.

    `draw` gives random bytes. A report is made once, and sent again as it is: of two that were made of one value an
    operator could tell that they are two.
    """
    report = draw(NONCE)
    shares = terms.range.shard(value, draw(2 * SEED))
    sealed = (
        REPORT_SUITE.encrypt(share, X25519PublicKey.from_public_bytes(key), terms.bind(role, report, turn))
        for role, (share, key) in enumerate(zip(shares, keys, strict=True))
    )
    return Upload(report, turn, *sealed)


class Share(NamedTuple):
    """What one operator has of a report."""

    value: int  # a uniform number of the field, alone
    verifier: bytes  # what it shows of the proof, for the other operator


class ShareReader:
    """The operator of one role, for one study: it opens what is sealed for it.

    `key` is a secret of both operators that devices do not know, so that no device can prepare a proof for it.

    >>> from os import urandom
    >>> from maskedbandit.secagg.prio3 import FIELD
    >>> private = [X25519PrivateKey.generate() for role in (LEADER, HELPER)]
    >>> keys = tuple(each.public_key().public_bytes_raw() for each in private)
    >>> terms = ReportTerms(bytes(32), 0, bytes(32), 1, 7)
    >>> upload = seal_report(terms, 1, keys, 0, urandom)
    >>> leader, helper = (ShareReader(role, each, bytes(32)) for role, each in enumerate(private))
    >>> mine = leader.read(terms, upload.report, upload.turn, upload.leader)
    >>> his = helper.read(terms, upload.report, upload.turn, upload.helper)
    >>> terms.range.check(mine.verifier, his.verifier)
    >>> (mine.value + his.value) % FIELD
    1
    """

    def __init__(self, role: int, private: X25519PrivateKey, key: bytes) -> None:
        if role not in (LEADER, HELPER):
            raise InvalidValue("role", role, "0 or 1")
        self.role, self._private, self._key = role, private, key

    def read(self, terms: ReportTerms, report: bytes, turn: int, sealed: bytes) -> Share:
        """The share of a report, or raise `Forged` or `Malformed`: such a report is left out of every sum."""
        try:
            share = REPORT_SUITE.decrypt(sealed, self._private, terms.bind(self.role, report, turn))
        except (InvalidTag, ValueError, OverflowError):
            raise Forged("a report is not for this operator, cohort and place, or was altered") from None
        return Share(*terms.range.query(self.role, self._key, report, share))


def digest_reports(reports: dict[int, bytes]) -> str:
    """The digest of a list of reports, by place: both operators must have the same."""
    return sha256(b"".join(place.to_bytes(8) + reports[place] for place in sorted(reports))).hexdigest()
