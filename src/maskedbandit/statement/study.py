"""The privacy statement of a study, and its record for the registry, from its protocol and what its ledger says."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from msgspec.structs import replace

from maskedbandit import __version__
from maskedbandit.privacy.loss import Loss
from maskedbandit.statement.content import (
    LEFT_OUT,
    STATEMENT_FORMAT,
    Administrative,
    Audited,
    Basic,
    Chain,
    Deployment,
    DeploymentModel,
    DPVariant,
    Implementation,
    Points,
    PrivacyLoss,
    Promise,
    Record,
    Registry,
    Statement,
)
from maskedbandit.statement.evidence import gather_evidence
from maskedbandit.statement.facts import Facts
from maskedbandit.statement.find_trust import find_trust_words
from maskedbandit.statement.outcomes import name_further, name_outcomes
from maskedbandit.statement.points import answer_points
from maskedbandit.statement.promises import list_loss_parameters, name_trust, name_variant, state_amount, state_promise
from maskedbandit.statement.sentences import list_assumptions, list_unprotected, say_odds, say_so_far, say_where
from maskedbandit.statement.trust_picture import STATIONS
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import one_line


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
        trust=find_trust_words(protocol).say_trust(facts.state),
        not_protected=list_unprotected(protocol),
        assumptions=list_assumptions(protocol),
        points=answered,
        evidence=gather_evidence([protocol.channel], audits, kept_in),
        ledger=Chain(facts.entries, facts.releases, facts.head, key) if facts.entries else None,
        registry=make_registry(protocol, facts, answered),
    )


def state_study_promise(protocol: Protocol, loss: Loss) -> Promise:
    """What the channel of a study promises: of all outcomes, if there are several."""
    found = state_promise(protocol.name, protocol.policy, protocol.channel, loss)
    more = f"; and the same of {name_further(protocol)}" if protocol.outcomes[1:] else ""
    return replace(found, sees=found.sees + more)


def format_utc(at: int) -> str:
    """A time as text.

    >>> format_utc(1_795_305_600_500)
    '2026-11-22T00:00:00Z'
    """
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def name_model(protocol: Protocol) -> Literal["Central", "Local", "Distributed"]:
    """The deployment model, as the scheme of the statement names it."""
    if protocol.on_devices:
        return "Local"
    return "Distributed" if protocol.channel.trust == "distributed" or protocol.operators is not None else "Central"


def privacy_unit(protocol: Protocol) -> str:
    """What is protected, in a few words."""
    if protocol.reward.cap > 1:
        return "One person over the whole study"
    if protocol.outcomes[1:]:
        return f"One person's outcomes, of {name_outcomes(protocol)}, in the study"
    return "One person's outcome in the study"


def make_registry(protocol: Protocol, facts: Facts, points: Points) -> Registry:
    """The record, as far as a protocol and a ledger can tell."""
    lost = facts.at_most
    first = facts.first_release
    what = f"outcomes, of {name_outcomes(protocol)}," if protocol.outcomes[1:] else "outcomes"
    deployment = Deployment(
        Basic(
            name=protocol.name,
            description=f"Sums of {what} by arm, with noise, from an adaptive study that compares arms.",
            intended_use=f"To find out {one_line(protocol.about) or 'which arm is best'}.",
            data_product_type="Summary statistics",
            publication_date=None if first is None else datetime.fromtimestamp(first / 1000, UTC).date().isoformat(),
        ),
        DPVariant(name_variant(lost), points.contribution, list_unprotected(protocol)[0]),
        PrivacyLoss(
            privacy_unit=privacy_unit(protocol),
            privacy_unit_details=points.neighbours,
            number_of_privacy_units=facts.people,
            privacy_parameters=list_loss_parameters(lost),
            privacy_parameters_details=f"{points.parameters} The budget of a person is {protocol.budget} "
            f"{say_where(protocol)}.",
        ),
        DeploymentModel(
            model_name=name_model(protocol),
            trust_assumptions=points.trust_model,
            actors=" ".join(f"{each.name}: {each.does}." for each in STATIONS[name_trust(protocol.channel)]),
            release_type="Many releases",
            release_type_details=points.budget,
            data_source_type="Dynamic",
            data_source_type_details="People come as long as the study runs.",
            access_type="Non-interactive",
            access_type_details=points.query_model,
        ),
        Implementation(
            preprocessing_and_hyperparameter_tuning=points.choices,
            mechanisms=f"{points.mechanism} Masked Bandit {__version__}. {points.numerics} {points.randomness} "
            f"Timing: {points.timing} {points.access}",
            composition=points.composition,
            post_processing=points.post_processing,
            justification=points.testing,
            utility=points.utility,
            additional_information=points.bias,
        ),
        Administrative("Draft", 3),
    )
    return Registry(Record(protocol.name, deployment), list(LEFT_OUT))
