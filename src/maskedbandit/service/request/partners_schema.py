"""The [operators] and [sites] tables of a protocol in the OpenAPI document: who takes part besides the service."""

from maskedbandit.backends.sites import MOST_SITES
from maskedbandit.service.request.enrolment_schema import Schema, describe_table
from maskedbandit.study.operators import ADDRESS, FINGERPRINT, LONGEST_NAME

PARTNER: dict[str, Schema] = {
    "name": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
    "key": {"type": "string", "pattern": f"^{FINGERPRINT}$", "description": "the fingerprint of its public keys"},
}


def describe_operators() -> Schema:
    """The table of two operators."""
    address = {"address": {"type": "string", "pattern": f"^{ADDRESS}$"}}
    return describe_table(
        "The operators of the two servers, only with the channel `two_servers`.",
        {
            "leader": describe_table("Who runs the study.", PARTNER, ("name", "key")),
            "helper": describe_table("Who adds its share of every sum.", PARTNER | address, ("name", "key", "address")),
        },
        ("leader", "helper"),
    )


def describe_sites(fraction: Schema, time: Schema) -> Schema:
    """The table of sites, with the schemas of a fraction and of a time."""
    part = {"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": 1}, fraction]}
    share = part | {"description": "the largest part of a cohort that its people may be: 1"}
    return describe_table(
        "The sites that keep the outcomes of their own people, only with a channel whose backend is `sites`.",
        {
            "wait": time | {"description": "how long each phase of a round waits for sites that may be lost: 1 hour"},
            "list": {
                "type": "array",
                "minItems": 3,
                "maxItems": MOST_SITES,
                "items": describe_table("A site.", PARTNER | {"share": share}, ("name", "key")),
            },
        },
        ("list",),
    )


def describe_backend_of_sites() -> Schema:
    """How the sites add up."""
    count: Schema = {"type": "integer", "minimum": 0}
    table = describe_table(
        "The rounds of the sites.",
        {
            "name": {"type": "string", "const": "sites"},
            "colluding": count | {"description": "sites that may tell the coordinator all that they know: 0"},
            "lost": count | {"description": "sites that may be missing in a sum: 0"},
            "attempts": {"type": "integer", "minimum": 1, "description": "how often a round is tried, at its price: 1"},
        },
        ("name",),
    )
    return {"anyOf": [{"type": "string", "const": "sites"}, table], "description": "who adds up, and how"}
