"""The JSON schema of a protocol, for the OpenAPI document: every table and key, as docs/protocol.md has them.

It says what one key may hold. What several must be together is said by the service alone, which checks the whole, so a
protocol that fits the schema may still be refused. Policies, channels and noises are those of the rooms, with the
parameters of their classes.
"""

from collections.abc import Iterable
from fractions import Fraction
from inspect import signature
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import maskedbandit.noises as noises
import maskedbandit.policies as policies
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.policies.parts.purposes import list_purposes
from maskedbandit.service.messages import NAME_PATTERN
from maskedbandit.service.request.enrolment_schema import Schema, describe_enrolment, describe_table
from maskedbandit.service.request.partners_schema import (
    describe_backend_of_sums,
    describe_operators,
    describe_rounds,
    describe_sites,
)
from maskedbandit.study.metrics import MOST_METRICS
from maskedbandit.study.naming import STUDY_PARTS
from maskedbandit.study.protocol import MOST_ABOUT
from maskedbandit.study.reward import EVALUATING, MILLISECONDS, MOST_OUTCOME, RULES
from maskedbandit.study.signatures import MOST_SIGNERS
from maskedbandit.study.tables import MOST_ARMS_OF_STUDY, MOST_LOSS, MOST_PEOPLE_OF_STUDY

LIVE_CHANNELS = {
    "central": "The server adds noise to each sum, and sees every outcome.",
    "local": "Each device adds noise to its own outcome, which nobody else sees.",
    "response": "Each device sends one randomized bit of its own outcome, which nobody else sees.",
    "distributed": "Sites, or devices, keep outcomes and add up, with noise; with `sites`, or with `rounds`.",
    "tree": "The server adds noise to running sums, for the policies that know them.",
    "two_servers": "Devices seal their outcomes for two operators, of whom neither alone sees any; with `operators`.",
}
FRACTION: Schema = {"type": "string", "pattern": "^[0-9]+/[0-9]+$", "description": 'such as "1/3"'}
TIME: Schema = {
    "type": "string",
    "pattern": f"^[0-9]{{1,9}}(\\.[0-9]{{1,9}})? *({'|'.join(MILLISECONDS)})s?$",
    "description": 'such as "6 hours" or "1.5 days"',
}
NAMED: Schema = {"type": "string", "pattern": f"^{NAME_PATTERN}$"}
HEX_KEY: Schema = {"type": "string", "pattern": "^[0-9a-fA-F]{64}$", "description": "64 hexadecimal digits"}
NULL: Schema = {"type": "null"}


def write_protocol_schemas() -> dict[str, Schema]:
    """The schema of a protocol and of its tables, by name."""
    refer = {name: {"$ref": f"#/components/schemas/Protocol{name}"} for name in PROTOCOL_TABLES}
    protocol = describe_table(
        "All that is decided before the first person comes.",
        {
            "name": NAMED | {"description": "the study's name, unique in a database"},
            "about": {"type": "string", "maxLength": MOST_ABOUT, "description": "what it is to find out, for people"},
            "project": NAMED | {"description": "whose studies share each person's budget; left out: the study's own"},
            "policy": {"$ref": "#/components/schemas/ProtocolPolicy"},
            "people": {
                "type": "integer",
                "minimum": 2,
                "maximum": MOST_PEOPLE_OF_STUDY,
                "description": "how many get a place; needed unless the policy is a search",
            },
            "delta": describe_open(0, 1, "the probability of a wrong answer, if the policy is a search: 0.05"),
            "channel": {"$ref": "#/components/schemas/ProtocolChannel"},
            "signed_by": {
                "anyOf": [HEX_KEY, {"type": "array", "items": HEX_KEY, "minItems": 1, "maxItems": MOST_SIGNERS}, NULL],
                "description": "public keys of the application, if it signs who comes",
            },
            "arms": {
                "type": "array",
                "items": refer["Arm"],
                "minItems": 2,
                "maxItems": MOST_ARMS_OF_STUDY,
                "description": "what people may get, each with a name of its own",
            },
            **{
                name.lower(): refer[name]
                for name in ("Reward", "Operators", "Sites", "Rounds", "Guardrail", "Enrolment", "Budget", "Simulation")
            },
            "metrics": {
                "type": "array",
                "items": refer["Metric"],
                "maxItems": MOST_METRICS,
                "description": "further outcomes that are published, and decide nothing",
            },
        },
        ("name", "channel", "arms", "budget"),
    )
    found = {f"Protocol{name}": schema for name, schema in PROTOCOL_TABLES.items()}
    return {
        "Protocol": protocol,
        **found,
        "ProtocolPolicy": describe_policies(),
        "ProtocolChannel": describe_channels(),
    }


def describe_choice(names: Iterable[str], about: str = "") -> Schema:
    """One of these names."""
    return {"type": "string", "enum": sorted(names)} | ({"description": about} if about else {})


def describe_open(least: float, most: float, about: str) -> Schema:
    """A number strictly between two others."""
    return {"type": "number", "exclusiveMinimum": least, "exclusiveMaximum": most, "description": about}


def describe_exact(most: float, about: str) -> Schema:
    """A number above 0, or a fraction as a text."""
    return {"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": most}, FRACTION], "description": about}


OUTCOME_KEYS: dict[str, Schema] = {
    key: {"type": "number", "minimum": -MOST_OUTCOME, "maximum": MOST_OUTCOME, "description": about}
    for key, about in {
        "least": "the least that one report may say: 0",
        "most": "the most that one report may say: 1",
        "default": "the outcome of a person who never reports: least",
    }.items()
} | {"rule": describe_choice(RULES, 'which of several reports counts: "last", and "sum" with a cap')}
CAP: Schema = {"type": "integer", "minimum": 1, "description": "a sum is cut at this many times `most`: 1"}
LIMIT: dict[str, Schema] = {"against": {"type": ["string", "null"], "description": "the arm from which it differs"}}
PROTOCOL_TABLES: dict[str, Schema] = {
    "Arm": describe_table(
        "What people may get.",
        {
            "name": NAMED,
            "payload": {"description": "what the application is given with the arm: any JSON"},
            "share": {
                "anyOf": [{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, FRACTION],
                "description": "the share of all places, whatever the policy does; only the control has one",
            },
        },
        ("name",),
    ),
    "Reward": describe_table(
        "How the reports of a person become one reward.",
        {
            **OUTCOME_KEYS,
            "cap": CAP,
            "window": TIME | {"description": 'how long after the arm was seen reports count: "1 day"'},
            "exposure": TIME
            | {"description": 'how long a person has to see the arm, before the place goes to another: "10 minutes"'},
            "evaluating": describe_choice(
                EVALUATING, 'what evaluating a flag over OFREP does besides giving a place: "exposes"'
            ),
            "grace": TIME | {"description": 'how long after the window devices may report: "0 days"'},
        },
    ),
    "Operators": describe_operators(),
    "Rounds": describe_rounds(TIME),
    "Sites": describe_sites(FRACTION, TIME),
    "Metric": describe_table(
        "A further outcome of each person, whose sums are published, and which decides nothing.",
        {
            "name": NAMED | {"description": "the `metric` of its reports"},
            "share": describe_exact(1, "the share of the channel's epsilon; the reward has the rest"),
            **OUTCOME_KEYS,
            "cap": CAP,
        },
        ("name", "share"),
    ),
    "Guardrail": describe_table(
        "A further outcome, by which an arm is found harmful and put out of play.",
        {
            "name": NAMED | {"description": "the `metric` of its reports"},
            "harm": {
                "oneOf": [
                    describe_table(
                        f"It is harm to be {where}.",
                        {where: {"type": "number", "description": "of an arm's mean, or of a difference"}, **LIMIT},
                        (where,),
                    )
                    for where in ("above", "below")
                ]
            },
            **OUTCOME_KEYS,
            "share": describe_exact(1, 'the share of the epsilon of the channel; the reward has the rest: "1/2"'),
            "alpha": describe_open(0, 1, "the probability that the rule ever finds an arm harmful that is not: 0.05"),
        },
        ("name", "harm"),
    ),
    "Enrolment": describe_enrolment(FRACTION, TIME, NAMED),
    "Budget": describe_table(
        "What each person may lose in all studies of the project together: epsilon and perhaps delta, or rho.",
        {
            "epsilon": describe_exact(MOST_LOSS, "of (ε, δ)-privacy"),
            "delta": {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, FRACTION], "description": "0"},
            "rho": describe_exact(MOST_LOSS, "of zero-concentrated privacy, in place of both"),
            "period": {"anyOf": [TIME, NULL], "description": "a person has a new budget after that; left out: never"},
        },
    ),
    "Simulation": {
        "type": "object",
        "description": "Who comes in `maskedbandit study simulate`. Real studies do not read it.",
        "properties": {
            "instance": {"description": 'rewards: { "name": "bernoulli", "means": [0.4, 0.5] }'},
            "guardrail": {"description": "the same for the guardrail"},
            "metrics": {"description": 'the same for each metric, by its name: { "spent": { "name": "beta", ... } }'},
            "every": {"description": 'how far apart people come: "1 second"'},
            "lost": {"description": "the share of people who never report: 0"},
            "changes": {"description": 'of arms: [{ "at": 500, "pause": "b" }]'},
            "seed": {"description": "the seed from which rewards are drawn: 1"},
        },
    },
}


def describe_policies() -> Schema:
    """The policy: a name, or a table with parameters."""
    kinds = {name: policies.room[name] for name in policies.room}
    kinds = {name: kind for name, kind in kinds.items() if not issubclass(kind, ContextualPolicy)}
    goals = {goal: {name: kind for name, kind in kinds.items() if kind.goal == goal} for goal in list_purposes()}
    return {
        "description": "Who decides which arm the next people get: contemporaneous_klucb if it is left out.",
        "anyOf": [
            describe_choice(kinds, "with its default parameters"),
            *(describe_goal(goal, named) for goal, named in goals.items() if named),
        ],
    }


def describe_goal(goal: str, kinds: dict[str, Any]) -> Schema:
    """The table of the policies of a goal, with the parameters that any of them has."""
    keys: dict[str, Schema] = {"name": describe_choice(kinds)}
    for each in sorted({each for kind in kinds.values() for each in signature(kind).parameters}):
        owners = [name for name, kind in kinds.items() if each in signature(kind).parameters]
        found = [describe_type(get_type_hints(kinds[name])[each]) for name in owners]
        schemas = [schema for i, schema in enumerate(found) if schema and schema not in found[:i]]
        about = {"description": f"of {', '.join(owners)}"}
        keys[each] = (schemas[0] if len(schemas) == 1 else {"anyOf": schemas}) | about
    return describe_table(f"A policy whose goal is {goal!r}; it has the parameters that name it.", keys, ("name",))


def describe_channels() -> Schema:
    """The channel: a name, or a table with parameters."""
    fixed: Schema = {"type": "integer", "minimum": 1}
    fine = describe_table(
        "Steps in one unit of reward.",
        {"fixed": fixed, "fineness": describe_exact(MOST_LOSS, "more of them in large cohorts: 0")},
    )
    paper: Schema = {"type": "string", "const": "paper"}
    special = {
        "epsilon": describe_exact(MOST_LOSS, "of each person") | {"default": 1},
        "noise": describe_choice(noises.room, "left out: discrete_laplace"),
        "grid": {"anyOf": [fixed, paper, fine], "description": "steps in one unit of reward: 1"},
        "backend": {"const": "prio3", "type": "string", "description": "what devices prove, and how"},
    }
    return {
        "description": "Who adds the noise, and how much.",
        "anyOf": [
            describe_choice(LIVE_CHANNELS.keys() - {"two_servers", "distributed"}, "with an epsilon of 1"),
            *(describe_live_channel(name, about, special) for name, about in LIVE_CHANNELS.items()),
        ],
    }


def describe_live_channel(name: str, about: str, special: dict[str, Schema]) -> Schema:
    """The table of a channel, with the parameters that are named in `special`, or have a plain type."""
    kind: Any = STUDY_PARTS.kind("channel", name)
    types, keys = get_type_hints(kind), {"name": {"type": "string", "const": name}}
    if name == "distributed":
        special = {**special, "backend": describe_backend_of_sums(FRACTION)}
    for each, parameter in signature(kind).parameters.items():
        if schema := special.get(each):
            keys[each] = schema
        elif schema := describe_type(types[each]):
            keys[each] = schema | {"default": parameter.default}
    return describe_table(about, keys, ("name", "backend") if "backend" in keys else ("name",))


def describe_type(kind: Any) -> Schema | None:
    """What a parameter of this type may be; None if no table says it."""
    parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    found: list[Schema] = [describe_choice(get_args(each)) for each in parts if get_origin(each) is Literal]
    plain: dict[Any, Schema] = {
        bool: {"type": "boolean"},
        float: {"type": "number"},
        int: {"type": "integer"},
        Fraction: FRACTION,
        NoneType: NULL,
    }
    found += [schema for each, schema in plain.items() if each in parts and not (each is int and float in parts)]
    return None if not found else found[0] if len(found) == 1 else {"anyOf": found}
