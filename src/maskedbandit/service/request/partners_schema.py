"""The [operators] and [sites] tables of a protocol in the OpenAPI document: who takes part besides the service."""

from maskedbandit.backends.sites import MOST_SITES
from maskedbandit.secagg.round_rules import LARGEST_SMALLEST, MOST_ATTEMPTS
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


def describe_rounds(time: Schema) -> Schema:
    """The table of the rounds of devices, with the schema of a time."""
    wait = time | {"description": "how long each phase waits for devices that are not in contact: 10 minutes"}
    about = "The rounds in which devices add up by themselves, only with a channel whose backend is `secagg`."
    return describe_table(about, {"wait": wait})


def describe_backend_of_sums(fraction: Schema) -> Schema:
    """How sites, or devices, add up, with the schema of a fraction."""
    count: Schema = {"type": "integer", "minimum": 0}
    attempts: Schema = {"type": "integer", "minimum": 1, "description": "how often a round is tried, at its price: 1"}
    part: Schema = {"anyOf": [{"type": "number", "minimum": 0, "exclusiveMaximum": 1}, fraction]}
    devices = describe_table(
        "The rounds of the devices of a cohort.",
        {
            "name": {"type": "string", "const": "secagg"},
            "corrupted": part | {"description": "the part of the devices that may tell all that they know: 0"},
            "server": {"type": "string", "const": "honest"},
            "graph": {"type": "string", "enum": ["auto", "complete", "sparse"], "description": "who helps whom: auto"},
            "smallest": {
                "type": "integer",
                "minimum": 1,
                "maximum": LARGEST_SMALLEST,
                "description": "the fewest honest people counted on: 32",
            },
            "attempts": attempts | {"maximum": MOST_ATTEMPTS},
        },
        ("name",),
    )
    table = describe_table(
        "The rounds of the sites.",
        {
            "name": {"type": "string", "const": "sites"},
            "colluding": count | {"description": "sites that may tell the coordinator all that they know: 0"},
            "lost": count | {"description": "sites that may be missing in a sum: 0"},
            "attempts": attempts,
        },
        ("name",),
    )
    named: Schema = {"type": "string", "enum": ["secagg", "sites"]}
    return {"anyOf": [named, table, devices], "description": "who adds up, and how"}
