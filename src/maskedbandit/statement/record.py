"""The record of a study for the registry of deployments."""

from datetime import UTC, datetime

from maskedbandit import __version__
from maskedbandit.statement.content import (
    LEFT_OUT,
    Administrative,
    Basic,
    Deployment,
    DeploymentModel,
    DPVariant,
    Implementation,
    Points,
    PrivacyLoss,
    Record,
    Registry,
)
from maskedbandit.statement.facts import Facts
from maskedbandit.statement.promises import list_loss_parameters, name_variant
from maskedbandit.statement.sentences import list_unprotected, one_line, say_where
from maskedbandit.statement.trust_picture import STATIONS
from maskedbandit.study.protocol import Protocol


def privacy_unit(protocol: Protocol) -> str:
    """What is protected, in a few words."""
    if protocol.reward.cap > 1:
        return "One person over the whole study"
    if protocol.guardrail:
        return f"One person's outcomes, of the reward and of {protocol.guardrail.name}, in the study"
    return "One person's outcome in the study"


def make_registry(protocol: Protocol, facts: Facts, points: Points) -> Registry:
    """The record, as far as a protocol and a ledger can tell."""
    lost = facts.at_most
    first, guardrail = facts.first_release, protocol.guardrail
    what = f"outcomes, of the reward and of {guardrail.name}," if guardrail else "outcomes"
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
            model_name="Local" if protocol.on_devices else "Central",
            trust_assumptions=points.trust_model,
            actors=" ".join(f"{each.name}: {each.does}." for each in STATIONS[protocol.channel.trust]),
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
