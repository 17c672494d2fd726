"""The [enrolment] table of a protocol in the OpenAPI document: who may be enrolled."""

from typing import Any

from maskedbandit.person_attributes import ATTRIBUTE_NAME, LONGEST_TEXT, MOST_ATTRIBUTES
from maskedbandit.study.eligibility import MOST_TEXTS
from maskedbandit.study.enrolment import MOST_RAMP_STEPS
from maskedbandit.study.reward import MOST_OUTCOME

Schema = dict[str, Any]


def describe_enrolment(share: Schema, time: Schema, named: Schema) -> Schema:
    """The table, with the schemas of a fraction, of a time and of a name."""
    part = {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, share]}
    return describe_table(
        "Who may be enrolled, if not everybody; all others get the default arm, free of charge.",
        {
            "default": {"type": "string", "description": "the arm of whoever is not enrolled: the first"},
            "ramp": describe_table(
                "The shares of people who may be enrolled, from step to step, and everybody after the last.",
                {
                    "shares": {
                        "type": "array",
                        "items": {"anyOf": [{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, share]},
                        "minItems": 1,
                        "maxItems": MOST_RAMP_STEPS,
                        "description": "each larger than the one before",
                    },
                    "every": time | {"description": "how long a step takes, at least a minute"},
                },
                ("shares", "every"),
            ),
            "group": describe_table(
                "The part of a group of studies that this one has; those that run together have no part in common.",
                {
                    "name": named,
                    "least": part | {"description": "where its part begins: 0"},
                    "below": part | {"description": "where its part ends: 1"},
                },
                ("name",),
            ),
            "eligible": {
                "type": "object",
                "description": "A rule for each attribute; all must hold of what an assignment says of the person.",
                "propertyNames": {"pattern": f"^{ATTRIBUTE_NAME.pattern}$"},
                "additionalProperties": describe_rule(),
                "minProperties": 1,
                "maxProperties": MOST_ATTRIBUTES,
            },
        },
    ) | {"anyOf": [{"required": [each]} for each in ("ramp", "group", "eligible")]}


def describe_table(about: str, keys: dict[str, Schema], needed: tuple[str, ...] = ()) -> Schema:
    """A table with these keys, and no others."""
    found = {"type": "object", "description": about, "properties": keys, "additionalProperties": False}
    return found | ({"required": list(needed)} if needed else {})


def describe_rule() -> Schema:
    """What an attribute must be."""
    text = {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}
    bound = {"type": "number", "minimum": -MOST_OUTCOME, "maximum": MOST_OUTCOME}
    numbers = describe_table("A number of a range.", {"least": bound, "most": bound}) | {"minProperties": 1}
    texts = {"type": "array", "items": text, "minItems": 1, "maxItems": MOST_TEXTS}
    return {"anyOf": [text, texts, {"type": "boolean"}, numbers]}
