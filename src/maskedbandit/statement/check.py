"""Whether a statement is what the ledger says, and who signed it.

It is made again from the ledger, up to the entry that it names.
"""

import math
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Struct

from maskedbandit import __version__
from maskedbandit.errors import Contradicted, InvalidValue
from maskedbandit.statement.content import Statement, decode_statement, encode_statement
from maskedbandit.statement.evidence import read_audit
from maskedbandit.statement.facts import read_facts
from maskedbandit.statement.study import study_statement
from maskedbandit.store.book.chain import Head, is_on_chain
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database

CHECK_ROUNDING = 1e-9
OWN_PARTS = ("evidence.versions", "evidence.audits")  # of whoever made the statement, and not of the ledger


def make_statement(
    database: Database, witness: Witness, study: str, upto: int | None = None, audits: Sequence[Path] = ()
) -> Statement:
    """The statement that the ledger gives, up to an entry, after all that is stored was recomputed; with audits."""
    verified = verify_study(database, witness, study)
    protocol, facts = read_facts(database, witness, study, verified.entries if upto is None else upto)
    key = witness.signing_key().public_key().public_bytes_raw().hex()
    shown = [read_audit(path, protocol.digest, facts.at_most) for path in audits]
    return study_statement(protocol, facts, key, database.named(), shown)


def check_statement(text: bytes, database: Database, witness: Witness) -> Statement:
    """The statement in a file, or raise: `Contradicted` if the ledger says otherwise, `Corrupted` if that is no ledger.

    All of it is compared, so it is for the version of this package that made it; and the file has to be as that version
    writes it, as other programs may read another one otherwise, such as one in which a name is there twice.
    """
    said = decode_statement(text)
    refuse_experiment(said)
    entries = 0 if said.ledger is None else said.ledger.entries
    if said.ledger is not None and not is_on_chain(database, said.name, Head(entries, said.ledger.head)):
        raise Contradicted(
            f"the ledger of {said.name} has no entry {entries - 1} with the hash {said.ledger.head[:16]}: the "
            "statement is of another ledger, or was changed"
        )
    check_agreement(said, make_statement(database, witness, said.name, entries))
    check_bytes(text, said)
    return said


def refuse_experiment(said: Statement) -> None:
    """Raise `Contradicted` if there can be no ledger."""
    if said.kind != "study":
        raise Contradicted(f"the statement of {said.name} is of an experiment, which has no ledger")


def check_bytes(text: bytes, said: Statement) -> None:
    """Raise `Contradicted` unless a file is byte for byte what is written of the statement that was read from it."""
    if text != encode_statement(said):
        raise Contradicted(
            f"the file is not byte for byte the statement of {said.name} that was read from it: it has a name twice, "
            "or the file was written anew; allowed is a file as `maskedbandit statement` writes it"
        )


def check_agreement(said: Statement, true: Statement, unknown: tuple[str, ...] = ()) -> None:
    """Raise `Contradicted` at the first difference between what is said and what the ledger gives."""
    if said.version != true.version:
        raise Contradicted(
            f"the statement of {said.name} was made by version {said.version} of Masked Bandit, and this is version "
            f"{__version__}, which may use other words: check it with version {said.version}"
        )
    for where, here, there in list_differences(msgspec.to_builtins(said), msgspec.to_builtins(true)):
        if not where.startswith(OWN_PARTS + unknown):
            raise Contradicted(
                f"{where} of the statement is {shortened(here)}, and the ledger of {true.name} gives {shortened(there)}"
            )
    for audit in said.evidence.audits:
        if audit.protocol != true.protocol:
            raise Contradicted(f"the audit of {audit.target} is of another protocol than {true.name} has")


def list_differences(here: Any, there: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two values of JSON differ, and how; machines may round the last digits of a logarithm differently.

    >>> list(list_differences({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}))
    [('a.1.b', 2, 3)]
    """
    if isinstance(here, dict) and isinstance(there, dict) and here.keys() == there.keys():
        pairs: Any = ((key, here[key], there[key]) for key in here)
    elif isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        pairs = ((str(i), *pair) for i, pair in enumerate(zip(here, there, strict=True)))
    else:
        same = here == there and type(here) is type(there)
        if isinstance(here, float) and isinstance(there, float):
            same = math.isclose(here, there, rel_tol=CHECK_ROUNDING)
        if not same:
            yield where, here, there
        return
    for key, one, other in pairs:
        yield from list_differences(one, other, f"{where}.{key}".lstrip("."))


def shortened(value: Any) -> str:
    """A value in an error."""
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:120]}…"


class Signature(Struct, frozen=True, forbid_unknown_fields=True):
    """A signature that is kept beside a statement, for whoever does not sign on paper.

    Signed is `maskedbandit-statement-1 DIGEST`, with the digest that the printed page names; the pair of keys is one
    that `maskedbandit key signer` makes, and its public key is named.
    """

    signed_by: str
    signature: str


def signed_text(statement: bytes) -> bytes:
    """What is signed."""
    return f"maskedbandit-statement-1 {sha256(statement).hexdigest()}".encode()


def sign_statement(statement: bytes, private: str) -> bytes:
    """The file of the signature.

    >>> file = sign_statement(b"a statement", "11" * 32)
    >>> check_signature(b"a statement", file, "d04ab232742bb4ab3a1368bd4615e4e6d0224ab71a016baf8520a332c9778737")
    """
    try:
        key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(private))
    except ValueError:
        raise InvalidValue("private key", "what was given", "one that `maskedbandit key signer` made") from None
    public = key.public_key().public_bytes_raw().hex()
    return msgspec.json.encode(Signature(public, key.sign(signed_text(statement)).hex())) + b"\n"


def check_signature(statement: bytes, file: bytes, public: str) -> None:
    """Raise `Contradicted` unless the file is the signature of the statement with this key."""
    try:
        found = msgspec.json.decode(file, type=Signature)
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(found.signature), signed_text(statement))
    except (InvalidSignature, ValueError):
        raise Contradicted(f"the signature is not one of this statement with the key {public}") from None
