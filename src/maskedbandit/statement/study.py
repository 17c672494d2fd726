"""The privacy statement of a study, made of its protocol and of what its ledger says."""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from maskedbandit import __version__
from maskedbandit.privacy.loss import Loss
from maskedbandit.statement.content import STATEMENT_FORMAT, Audited, Chain, Promise, Statement
from maskedbandit.statement.evidence import gather_evidence
from maskedbandit.statement.facts import Facts
from maskedbandit.statement.points import answer_points
from maskedbandit.statement.promises import state_amount, state_promise
from maskedbandit.statement.record import make_registry
from maskedbandit.statement.sentences import (
    list_assumptions,
    list_unprotected,
    one_line,
    say_odds,
    say_so_far,
    say_trust,
    say_where,
)
from maskedbandit.study.protocol import Protocol


def study_statement(
    protocol: Protocol, facts: Facts, key: str, kept_in: str, audits: Sequence[Audited] = ()
) -> Statement:
    """The statement of a study that is kept in this database, whose ledger is signed with this key."""
    answered = answer_points(protocol, facts)
    return Statement(
        format=STATEMENT_FORMAT,
        kind="study",
        name=protocol.name,
        about=one_line(protocol.about),
        project=protocol.project,
        simulated=facts.simulated,
        state=facts.state,
        as_of=None if facts.at is None else format_utc(facts.at),
        version=__version__,
        protocol=protocol.digest,
        odds=say_odds(facts.at_most),
        person=[
            state_amount(say_so_far(protocol), facts.so_far),
            state_amount("by this study, at most", facts.at_most),
            state_amount(f"the budget of a person {say_where(protocol)}", protocol.budget),
        ],
        promises=[state_study_promise(protocol, facts.at_most)],
        trust=say_trust(protocol, facts.state),
        not_protected=list_unprotected(protocol),
        assumptions=list_assumptions(protocol),
        points=answered,
        evidence=gather_evidence([protocol.channel], audits, kept_in),
        ledger=Chain(facts.entries, facts.releases, facts.head, key) if facts.entries else None,
        registry=make_registry(protocol, facts, answered),
    )


def state_study_promise(protocol: Protocol, loss: Loss) -> Promise:
    """What the channel of a study promises: of both outcomes, if there are two."""
    found = state_promise(protocol.name, protocol.policy, protocol.channel, loss)
    more = f"; and the same of {protocol.guardrail.name}" if protocol.guardrail else ""
    return replace(found, sees=found.sees + more)


def format_utc(at: int) -> str:
    """A time as text.

    >>> format_utc(1_795_305_600_500)
    '2026-11-22T00:00:00Z'
    """
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
