"""Whether what is stored of a study fits its ledger, its protocol and its witness."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from maskedbandit.errors import BehindWitness, Corrupted, MaskedBanditError
from maskedbandit.store.accounts import Accounts, Losses
from maskedbandit.store.chain import START, Entry, Head
from maskedbandit.store.database import Row
from maskedbandit.store.witness import Witness
from maskedbandit.study.driver import Driver
from maskedbandit.study.protocol import Protocol


def replayed(
    study: str, protocol: Protocol, seed: bytes, decisions: list[Row], releases: list[Row], dealt: list[tuple[int, int]]
) -> Driver:
    """The driver that wrote this log, before its next step."""
    log: dict[int, Row] = {step: ("ask", *asked) for step, *asked in decisions}
    log |= {step: ("tell", cohort, n, total) for cohort, step, _, n, total, *_ in releases}
    if sorted(log) != list(range(len(decisions) + len(releases))):
        raise Corrupted(f"a decision or a release of {study} is missing from its log")
    k, law = protocol.k, protocol.channel.law()
    try:
        return Driver.replay(protocol.policy, law, k, protocol.aim, seed, [log[i] for i in range(len(log))], dealt)
    except MaskedBanditError as why:
        raise Corrupted(f"the log of {study} is not one that it can have written: {why}") from why


def seed_digest(seed: bytes) -> str:
    """What the ledger says of the seed, which is secret."""
    return sha256(b"maskedbandit seed" + seed).hexdigest()


def check_start(study: str, found: list[Entry], protocol: Protocol, seed: bytes) -> None:
    """Raise `Corrupted` unless the protocol and the seed are those with which the study was started."""
    for name, value in (("protocol", protocol.digest), ("seed", seed_digest(seed))):
        if found and found[0].says[name] != value:
            raise Corrupted(f"the {name} of {study} was changed: it is not the one with which it was started")


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
        raise BehindWitness(
            f"the ledger of {study} has {head.entries} entries here, and its witness in {witness.folder} has seen "
            f"{last.entries}, which are others: this is a restored or another copy of the database. Use the newest "
            "one; if it is lost, `maskedbandit study reconcile` brings back what was exported, or charges everybody"
        )
    return last


def check_terms(study: str, protocol: Protocol, accounts: Accounts, losses: Losses) -> None:
    """Raise `Corrupted` unless the project has the budget with which the study was started."""
    terms, budget = accounts.terms, losses[accounts.terms.budget].to_text()
    if (accounts.project, budget, terms.period) != (protocol.project, protocol.budget.to_text(), protocol.period):
        raise Corrupted(f"the project of {study}, its budget or its period was changed: the protocol says otherwise")


def check_releases(study: str, found: list[Entry], releases: Sequence[Row], losses: Losses) -> None:
    """Raise `Corrupted` unless the releases are those of the ledger, number for number."""
    said = {each["cohort"]: each for each in (entry.says for entry in found) if each["kind"] == "released"}
    for cohort, step, arm, n, total, loss, digest, *_ in releases:
        entry = said.pop(cohort, None)
        if entry is None:
            raise Corrupted(f"the release of cohort {cohort} of {study} is not in the ledger")
        stored = {
            "step": step,
            "arm": arm,
            "n": n,
            "total": total.hex(),
            "members": digest,
            "loss": losses[loss].to_text(),
        }
        for name, value in stored.items():
            if entry[name] != value:
                raise Corrupted(
                    f"the {name} of the release of cohort {cohort} of {study} was changed: it is {value!r}, "
                    f"and the ledger says {entry[name]!r}"
                )
    if said:
        raise Corrupted(f"the release of cohort {min(said)} of {study} was removed: it is in the ledger alone")
