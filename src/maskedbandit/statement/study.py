"""The privacy statement of a study, made of its protocol and of what its ledger says."""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from maskedbandit import __version__
from maskedbandit.privacy.loss import Loss
from maskedbandit.statement.content import FORMAT, Audited, Chain, Promise, Statement
from maskedbandit.statement.evidence import evidence
from maskedbandit.statement.facts import Facts
from maskedbandit.statement.points import points
from maskedbandit.statement.promises import amount, promise
from maskedbandit.statement.record import registry
from maskedbandit.statement.sentences import assumptions, not_protected, odds, one_line, so_far, trust, where
from maskedbandit.study.protocol import Protocol


def study_statement(
    protocol: Protocol, facts: Facts, key: str, kept_in: str, audits: Sequence[Audited] = ()
) -> Statement:
    """The statement of a study that is kept in this database, whose ledger is signed with this key."""
    answered = points(protocol, facts)
    return Statement(
        format=FORMAT,
        kind="study",
        name=protocol.name,
        about=one_line(protocol.about),
        project=protocol.project,
        simulated=facts.simulated,
        state=facts.state,
        as_of=None if facts.at is None else utc(facts.at),
        version=__version__,
        protocol=protocol.digest,
        odds=odds(facts.at_most),
        person=[
            amount(so_far(protocol), facts.so_far),
            amount("by this study, at most", facts.at_most),
            amount(f"the budget of a person {where(protocol)}", protocol.budget),
        ],
        promises=[promised(protocol, facts.at_most)],
        trust=trust(protocol, facts.state),
        not_protected=not_protected(protocol),
        assumptions=assumptions(protocol),
        points=answered,
        evidence=evidence([protocol.channel], audits, kept_in),
        ledger=Chain(facts.entries, facts.releases, facts.head, key) if facts.entries else None,
        registry=registry(protocol, facts, answered),
    )


def promised(protocol: Protocol, loss: Loss) -> Promise:
    """What the channel of a study promises: of both outcomes, if there are two."""
    found = promise(protocol.name, protocol.policy, protocol.channel, loss)
    more = f"; and the same of {protocol.guardrail.name}" if protocol.guardrail else ""
    return replace(found, sees=found.sees + more)


def utc(at: int) -> str:
    """A time as text.

    >>> utc(1_795_305_600_500)
    '2026-11-22T00:00:00Z'
    """
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
