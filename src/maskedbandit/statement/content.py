"""The types of a privacy statement, from which its JSON schema is generated; a field too many or too few is refused.

A statement is made of what is stored, so the same ledger gives the same bytes, and a page can name them by their hash.
"""

from hashlib import sha256
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from maskedbandit.errors import InvalidValue

STATEMENT_FORMAT: Literal["maskedbandit statement 1"] = "maskedbandit statement 1"
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="SHA-256 in hexadecimal")]
Chance = Annotated[float, Meta(ge=0, le=1)]
LossBound = Annotated[float, Meta(ge=0)]
Text = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)]
Variant = Literal["Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP"]
LEFT_OUT = [
    "deployment.basic.data_curators",
    "deployment.basic.data_product_region",
    "deployment.basic.data_product_sector",
    "deployment.administrative.registry_authors",
    "deployment.administrative.evidence_sources",
]


class StatementPart(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a statement."""


class Amount(StatementPart, frozen=True):
    """What is lost, or may be lost, by one person."""

    what: Text
    loss: Text
    epsilon: LossBound | None  # none: no bound
    delta: Chance  # at which ε is stated
    right: Chance  # the probability with which a guess between two equally likely outcomes is right at most


class Promise(StatementPart, frozen=True):
    """What one channel promises each person, with one policy."""

    label: Text
    policy: Text
    channel: Text
    trust: Text
    sees: Text
    variant: Text
    loss: Amount
    needs: Text  # the guarantee, with what it needs


class Points(StatementPart, frozen=True):
    """The points by which NIST SP 800-226 asks to judge a guarantee, each in a sentence or a few."""

    definition: Text
    parameters: Text
    unit: Text
    neighbours: Text
    contribution: Text
    mechanism: Text
    composition: Text
    budget: Text
    post_processing: Text
    query_model: Text
    trust_model: Text
    data_collection: Text
    access: Text
    numerics: Text
    randomness: Text
    timing: Text
    utility: Text
    bias: Text
    choices: Text
    testing: Text


class Tested(StatementPart, frozen=True):
    """A claim, and the tests of this version that would fail if it were not so."""

    claim: Text
    tests: list[Text]


class Audited(StatementPart, frozen=True):
    """What an audit found: a lower bound on what one person loses."""

    target: Text
    protocol: Digest | None  # of the study; none: of something that is no study
    date: Text
    version: Text
    method: Text
    samples: Count
    confidence: Chance
    promised: Text
    lower_bound: Text
    control: Text
    left_out: list[Text]  # what was not audited, and why
    digest: Digest  # of the report


class Version(StatementPart, frozen=True):
    """What was used."""

    name: Text
    version: Text


class Evidence(StatementPart, frozen=True):
    """What stands behind the statement."""

    tested: list[Tested]
    audits: list[Audited]
    versions: list[Version]


class Chain(StatementPart, frozen=True):
    """The ledger that the statement was made from."""

    entries: Count
    releases: Count
    head: Digest
    key: Digest  # the public key of Ed25519 that signs the ledger


class Group(StatementPart, frozen=True, omit_defaults=True):
    """Fields of a record for the registry of deployments of differential privacy.

    Their names are those of `schemas/deployments-schema.yaml` in opendp/deployments-registry-data, at commit 057e5d81.
    What only the curator can say is left out, and listed.
    """


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

    model_name: Literal["Central", "Local", "Distributed"]
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


class Statement(StatementPart, frozen=True):
    """A privacy statement."""

    format: Literal["maskedbandit statement 1"]
    kind: Literal["study", "experiment"]
    name: Text
    about: str
    project: str | None
    simulated: bool
    state: Text
    as_of: str | None  # the time of the newest entry of the ledger, in UTC
    version: Text  # of this package
    protocol: Digest  # of the study; of an experiment, of its file
    odds: Text
    person: list[Amount]
    promises: list[Promise]
    trust: Text
    not_protected: list[Text]
    assumptions: list[Text]
    points: Points
    evidence: Evidence
    ledger: Chain | None
    registry: Registry | None


def encode_statement(statement: Statement) -> bytes:
    """The statement as a file of JSON, after it was checked against its schema."""
    text = msgspec.json.format(msgspec.json.encode(statement), indent=2) + b"\n"
    decode_statement(text)
    return text


def decode_statement(text: bytes) -> Statement:
    """The statement that a file holds, or raise `InvalidValue`."""
    try:
        return msgspec.json.decode(text, type=Statement)
    except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
        raise InvalidValue("statement", "a file", f"one of the format {STATEMENT_FORMAT!r} ({wrong})") from None


def digest_statement(statement: Statement) -> str:
    """The hash by which paper names the statement."""
    return sha256(encode_statement(statement)).hexdigest()


def make_statement_schema() -> dict[str, Any]:
    """The JSON schema of statements."""
    found = msgspec.json.schema(Statement)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": STATEMENT_FORMAT, **found}
