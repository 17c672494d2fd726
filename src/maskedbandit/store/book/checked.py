"""Whether what is stored of a study is what its ledger says: asked when it is opened, and by `verify`."""

import hmac
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.errors import BehindWitness, Corrupted, MaskedBanditError
from maskedbandit.store.accounts import Terms, number_of
from maskedbandit.store.book.chain import START, Entry, Head
from maskedbandit.store.book.standing import stages
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Row
from maskedbandit.study.driver import Driver
from maskedbandit.study.protocol import Protocol

STATES = {"started": "running", "paused": "paused", "resumed": "running", "stopped": "stopped", "archived": "archived"}


def state_of(kinds: Iterable[str]) -> str:
    """The state of a study in whose ledger are entries of these kinds."""
    moves = [kind for kind in kinds if kind in STATES]
    return STATES[moves[-1]] if moves else "draft"


def memory_digest(text: str, key: Ed25519PrivateKey) -> str:
    """What the ledger says of what a channel keeps, which is noise: a hash that nobody can guess without the key."""
    return hmac.digest(key.private_bytes_raw(), b"maskedbandit memory" + text.encode(), sha256).hex()


def seed_digest(seed: bytes) -> str:
    """What the ledger says of the seed, which is secret."""
    return sha256(b"maskedbandit seed" + seed).hexdigest()


@contextmanager
def readable(study: str) -> Iterator[None]:
    """A row that cannot be read at all was changed too."""
    try:
        yield
    except MaskedBanditError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as why:
        raise Corrupted(f"a row of {study} was changed, as it cannot be read: {why}") from why


def check_start(study: str, found: list[Entry], protocol: Protocol, seed: bytes) -> None:
    """Raise `Corrupted` unless the protocol and the seed are those with which the study was started."""
    for name, value in (("protocol", protocol.digest), ("seed", seed_digest(seed))):
        if found and found[0].says[name] != value:
            raise Corrupted(f"the {name} of {study} was changed: it is not the one with which it was started")


def check_cap(study: str, found: list[Entry], protocol: Protocol) -> None:
    """Raise `Corrupted` unless every release counts as many rewards of a person as the protocol says."""
    for said in (entry.says for entry in found if entry.says["kind"] == "released"):
        if said.get("cap", 1) != protocol.reward.cap:
            raise Corrupted(f"the cap of the release of cohort {said['cohort']} of {study} is not that of its protocol")


def check_state(study: str, found: list[Entry], state: str) -> None:
    """Raise `Corrupted` unless the study is in the state of which its ledger says so."""
    said = state_of(entry.says["kind"] for entry in found)
    if state != said:
        raise Corrupted(f"the state of {study} was changed: it is {state}, and the ledger says {said}")


def check_project(study: str, project: str, terms: Terms, protocol: Protocol) -> None:
    """Raise `Corrupted` unless people have the budget that the protocol promises."""
    if project != protocol.project:
        raise Corrupted(
            f"the project of {study} was changed: it is {project}, and its protocol says {protocol.project}"
        )
    if (terms.budget, terms.period) != (number_of(protocol.budget.to_text()), protocol.period):
        raise Corrupted(f"the budget of project {project} was changed: it is not that of the protocol of {study}")


def check_witness(witness: Witness, study: str, found: list[Entry], head: Head) -> Head:
    """What the witness has seen; raise `BehindWitness` if the ledger is older than that, or another one.

    It may have gone on from that, as after a crash between the commit and the witness.
    """
    seen = witness.seen(study)
    if seen is None and found:
        raise BehindWitness(
            f"the witness in {witness.folder} has never seen {study}: name the folder that has, with --witness"
        )
    if seen is None:
        return Head()
    last, hashes = seen.head, [START, *(entry.hash for entry in found)]
    if last.entries > head.entries or hashes[last.entries] != last.hash:
        raise behind(witness, study, head, last)
    return last


def check_head(witness: Witness, study: str, head: Head) -> None:
    """Raise `BehindWitness` unless this head, of which the witness was told last, is still the one that it has seen."""
    seen = witness.seen(study)
    last = Head() if seen is None else seen.head
    if last != head:
        raise behind(witness, study, head, last)


def behind(witness: Witness, study: str, head: Head, seen: Head) -> BehindWitness:
    """The ledger at this head is not the one that the witness has seen."""
    return BehindWitness(
        f"the ledger of {study} has {head.entries} entries here, and its witness in {witness.folder} has seen "
        f"{seen.entries}, which are others: this is a restored or another copy of the database. Use the newest "
        "one; if it is lost, `maskedbandit study reconcile` brings back what was exported, or charges everybody"
    )


def check_releases(study: str, found: list[Entry], releases: Sequence[Row], key: Ed25519PrivateKey) -> None:
    """Raise `Corrupted` unless the releases are those of the ledger, number for number."""
    said = {each["cohort"]: each for each in (entry.says for entry in found) if each["kind"] == "released"}
    for cohort, step, arm, n, total, loss, digest, memory in releases:
        entry = said.pop(cohort, None)
        if entry is None:
            raise Corrupted(f"the release of cohort {cohort} of {study} is not in the ledger")
        stored = {"step": step, "arm": arm, "n": n, "total": total.hex(), "members": digest}
        for name, value in stored.items():
            if entry[name] != value:
                raise Corrupted(
                    f"the {name} of the release of cohort {cohort} of {study} was changed: it is {value!r}, "
                    f"and the ledger says {entry[name]!r}"
                )
        for name, same in (
            ("loss", number_of(entry["loss"]) == loss),
            ("memory", entry["memory"] == memory_digest(memory, key)),
        ):
            if not same:
                raise Corrupted(f"the {name} of the release of cohort {cohort} of {study} was changed")
    if said:
        raise Corrupted(f"the release of cohort {min(said)} of {study} was removed: it is in the ledger alone")


def replayed(
    study: str,
    protocol: Protocol,
    seed: bytes,
    found: list[Entry],
    decisions: list[Row],
    releases: list[Row],
    dealt: list[tuple[int, int]],
) -> Driver:
    """The driver that wrote this log, before its next step."""
    log, begun = {step: ("ask", *asked) for step, *asked in decisions}, stages(found)
    log |= {step: ("tell", cohort, n, total) for cohort, step, _, n, total, *_ in releases} | begun
    if sorted(log) != list(range(len(decisions) + len(releases) + len(begun))):
        raise Corrupted(f"a decision or a release of {study} is missing from its log")
    k, law = protocol.k - len(protocol.added), protocol.channel.law()
    try:
        return Driver.replay(protocol.policy, law, k, protocol.aim, seed, [log[i] for i in range(len(log))], dealt)
    except MaskedBanditError as why:
        raise Corrupted(f"the log of {study} is not one that it can have written: {why}") from why
