"""What the operators of a study with a shuffler sign for each other: passes, requests to mix, and what was mixed.

    service -> device -> shuffler    the pass of a place: whoever has it may send one bundle for this place
    service -> shuffler              the request to mix the bundles of a cohort
    shuffler -> service              how many reports and messages there are, and which messages, in which order

A pass is shown to the shuffler alone. It has no name, and of the ticket a hash: it says which place of which cohort,
which the service deals to one person for ever once the person saw the arm.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.secagg.signed_statement import SignedStatement
from maskedbandit.secagg.signing import check_signature, sign_bytes
from maskedbandit.shuffle.envelopes import BundleTerms

PASS_USE = b"maskedbandit pass 1 "
MIX_USE = b"maskedbandit mix 1 "


@dataclass(frozen=True, kw_only=True)
class MixStatement(SignedStatement):
    """What the shuffler states of a cohort; without messages too few came, or one twice, and nothing is delivered.

    >>> key = Ed25519PrivateKey.generate()
    >>> said = MixStatement(study="example", protocol="00" * 32, cohort=0, n=2, reports=2, digest=digest_messages([]),
    ...                     offer="22" * 32, messages=0, entry=1).sign(key)
    >>> said.verify(key.public_key().public_bytes_raw())
    >>> MixStatement.from_text(said.to_text()) == said
    True
    """

    use = b"maskedbandit mixed 1 "
    called = "shuffler's statement"

    messages: int


def digest_messages(mixed: Iterable[bytes]) -> str:
    """The digest of encrypted messages, all of one length, in their order."""
    digest = sha256(b"maskedbandit messages 1 ")
    for each in mixed:
        digest.update(each)
    return digest.hexdigest()


def sign_pass(key: Ed25519PrivateKey, terms: BundleTerms) -> str:
    """The pass of a place, signed by the service: the same each time."""
    return sign_bytes(key, PASS_USE + terms.of_place)


def check_pass(signs: bytes, terms: BundleTerms, signature: str) -> None:
    """Raise `Forged` unless the service with this public key made this pass."""
    check_signature(signs, PASS_USE + terms.of_place, signature, "this pass was not made by the study's service")


def digest_people(people: bytes) -> bytes:
    """The digest of who has the places of a cohort: the names of all, place after place."""
    return sha256(b"maskedbandit people 1 " + people).digest()


def sign_mix(key: Ed25519PrivateKey, cohort: bytes, people: bytes) -> str:
    """The service asks for the messages of these people (`digest_people`) of a cohort (`BundleTerms.of_cohort`)."""
    return sign_bytes(key, MIX_USE + cohort + people)


def check_mix(signs: bytes, cohort: bytes, people: bytes, signature: str) -> None:
    """Raise `Forged` unless the service with this public key asked."""
    check_signature(
        signs, MIX_USE + cohort + people, signature, "the request to mix is not signed by the study's service"
    )
