"""A record for the registry of deployments of differential privacy, as far as a protocol and a ledger can tell.

The names of the fields are those of `schemas/deployments-schema.yaml` in opendp/deployments-registry-data, at commit
057e5d81. What only the curator can say is left out, and listed.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Text = Annotated[str, Meta(min_length=1)]
Variant = Literal["Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP"]
LEFT_OUT = [
    "deployment.basic.data_curators",
    "deployment.basic.data_product_region",
    "deployment.basic.data_product_sector",
    "deployment.administrative.registry_authors",
    "deployment.administrative.evidence_sources",
]


class Group(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Fields of a record."""


class Basic(Group, frozen=True):
    """What the data product is."""

    name: Text
    description: Text
    intended_use: Text
    data_product_type: Literal["Summary statistics"]
    publication_date: str | None = None  # of the first release


class DPVariant(Group, frozen=True):
    """The kind of privacy."""

    variant_name: Variant
    data_domain: Text
    unprotected_quantities: Text


class Parameters(Group, frozen=True):
    """How much of it."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None


class PrivacyLoss(Group, frozen=True):
    """How much, of what."""

    privacy_unit: Text
    privacy_unit_details: Text
    number_of_privacy_units: int
    privacy_parameters: Parameters
    privacy_parameters_details: Text


class DeploymentModel(Group, frozen=True):
    """Who is trusted, and what is published when."""

    model_name: Literal["Central", "Local"]
    trust_assumptions: Text
    actors: Text
    release_type: Literal["Many releases"]
    release_type_details: Text
    data_source_type: Literal["Dynamic"]
    data_source_type_details: Text
    access_type: Literal["Non-interactive"]
    access_type_details: Text


class Implementation(Group, frozen=True):
    """How it is done."""

    preprocessing_and_hyperparameter_tuning: Text
    mechanisms: Text
    composition: Text
    post_processing: Text
    justification: Text
    utility: Text
    additional_information: Text


class Administrative(Group, frozen=True):
    """How complete the record is."""

    status: Literal["Draft"]
    tier: Literal[3]


class Deployment(Group, frozen=True):
    """A deployment."""

    basic: Basic
    dp_variant: DPVariant
    privacy_loss: PrivacyLoss
    deployment_model: DeploymentModel
    implementation: Implementation
    administrative: Administrative


class Record(Group, frozen=True):
    """The record, without what is left out."""

    url_slug: Text
    deployment: Deployment


class Registry(Group, frozen=True):
    """The record, and what is missing from it."""

    record: Record
    left_out: list[Text]
