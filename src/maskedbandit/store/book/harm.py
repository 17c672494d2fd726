"""What the ledger says of a guardrail: its released sums, and the arms that were found harmful by them."""

from collections.abc import Sequence
from typing import Any

from maskedbandit.core import Recorded
from maskedbandit.errors import Corrupted
from maskedbandit.store.book.chain import Entry
from maskedbandit.study.driver import Driver
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.watch import Watch

ALIKE = 1e-6  # nats: another machine may compute the last digits otherwise
ANEW = "anew with each release"  # how evidence of harm begins; studies that do not say so began under an older rule


def rule_of_harm(protocol: Protocol) -> dict[str, str]:
    """What the ledger says of the rule that finds harm, when a study is started."""
    return {} if protocol.guardrail is None else {"evidence_of_harm": ANEW}


def recorded(says: dict[str, Any], epoch: int) -> Recorded:
    """The release of the guardrail of a cohort, as the ledger says it."""
    return Recorded(says["arm"], says["n"], float.fromhex(says["guardrail"]), epoch)


def watched(study: str, protocol: Protocol, found: Sequence[Entry], driver: Driver) -> Watch | None:
    """What is known of the guardrail, or raise `Corrupted` unless arms were found harmful when they had to be."""
    if protocol.guardrail is None:
        return None
    anew = not found or found[0].says.get("evidence_of_harm") == ANEW
    watch = Watch(protocol.guardrail, protocol.guardrail_channel.law(), protocol.k - len(protocol.added), anew)
    due = dict[int, float]()
    for says in (entry.says for entry in found):
        if says["kind"] == "arm_harmful":
            arm, said = says["arm"], float.fromhex(says["evidence"])
            if arm in watch.declared or said < watch.enough(arm) or abs(said - watch.evidence(arm)) > ALIKE:
                raise Corrupted(f"the ledger of {study} says that arm {arm} was found harmful, and it was not")
            watch.declare(arm)
            due.pop(arm, None)
            continue
        check_none(study, watch, due)
        if says["kind"] == "released":
            epoch = driver.cohorts[says["cohort"]].epoch
            due = {each.arm: each.evidence for each in watch.saw(recorded(says, epoch))}
    check_none(study, watch, due)
    return watch


def check_none(study: str, watch: Watch, due: dict[int, float]) -> None:
    """Raise `Corrupted` if an arm had to be found harmful and was not."""
    for arm, evidence in due.items():
        if evidence > watch.enough(arm) + ALIKE:
            raise Corrupted(f"the ledger of {study} does not say that arm {arm} was found harmful, and it was")
