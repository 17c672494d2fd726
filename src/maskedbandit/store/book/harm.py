"""What the ledger says of a guardrail: its released sums, and the arms that were found harmful by them."""

from collections.abc import Sequence

from maskedbandit.errors import Corrupted
from maskedbandit.store.book.entries import ArmHarmful, Release, Started
from maskedbandit.store.book.entry import Entry
from maskedbandit.study.deck import Places
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.watch import Watch

ALIKE = 1e-6  # nats: another machine may compute the last digits otherwise
ANEW = "anew with each release"  # how evidence of harm begins; studies that do not say so began under an older rule


def rule_of_harm(protocol: Protocol) -> dict[str, str]:
    """What the ledger says of the rule that finds harm, when a study is started."""
    return {} if protocol.guardrail is None else {"evidence_of_harm": ANEW}


def follow_harm(study: str, protocol: Protocol, found: Sequence[Entry], cohorts: Sequence[Places]) -> Watch | None:
    """What is known of the guardrail, or raise `Corrupted` unless arms were found harmful when they had to be."""
    if protocol.guardrail is None:
        return None
    anew = all(entry.evidence_of_harm == ANEW for entry in found[:1] if isinstance(entry, Started))
    watch = Watch(protocol.guardrail, protocol.outcomes[1].channel.law(), protocol.k - len(protocol.added), anew)
    due = dict[int, float]()
    for entry in found:
        if isinstance(entry, ArmHarmful):
            arm = entry.arm
            evidence = watch.evidence(arm)
            if arm in watch.declared or entry.evidence < watch.enough(arm) or abs(entry.evidence - evidence) > ALIKE:
                raise Corrupted(f"the ledger of {study} says that arm {arm} was found harmful, and it was not")
            watch.declare(arm)
            due.pop(arm, None)
            continue
        check_none(study, watch, due)
        if isinstance(entry, Release):
            due = {each.arm: each.evidence for each in watch.saw(entry.in_epoch(cohorts[entry.cohort].epoch, 1))}
    check_none(study, watch, due)
    return watch


def check_none(study: str, watch: Watch, due: dict[int, float]) -> None:
    """Raise `Corrupted` if an arm had to be found harmful and was not."""
    for arm, evidence in due.items():
        if evidence > watch.enough(arm) + ALIKE:
            raise Corrupted(f"the ledger of {study} does not say that arm {arm} was found harmful, and it was")
