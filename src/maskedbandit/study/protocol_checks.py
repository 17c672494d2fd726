"""What is checked of a new protocol: each of its parts, and then whether they fit together.

The protocol is a `Protocol`, whose file imports this one.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from maskedbandit.errors import BudgetExceeded, InvalidValue
from maskedbandit.privacy.budget import Budget
from maskedbandit.study import tables
from maskedbandit.study.live_channel import MANY_PEOPLE
from maskedbandit.study.naming import refuse_unknown
from maskedbandit.study.policy_checks import (
    check_cohorts_of_devices,
    check_cohorts_of_sites,
    check_control,
    check_policy_of_guardrail,
    check_policy_of_study,
    check_tree,
)

PROTOCOL_KEYS = (
    *("name", "about", "project", "people", "delta", "policy", "channel", "arms", "reward", "budget", "signed_by"),
    *("guardrail", "metrics", "operators", "sites", "rounds", "enrolment", "simulation"),
)
PROTOCOL_PARTS = (  # properties that raise `InvalidValue` if their part is not allowed
    *("name", "about", "project", "arms", "control", "policy", "operators", "sites", "rounds", "channel", "aim"),
    *("reward", "guardrail", "metrics", "enrolment", "budget", "period", "signed_by"),
)


def list_checks(protocol: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is checked, one after the other, with the part that it is about; the last one is of all parts."""
    table = protocol.table
    yield "", lambda: refuse_unknown("key", table, PROTOCOL_KEYS)
    for part in PROTOCOL_PARTS:
        yield part, partial(getattr, protocol, part)
    yield "simulation", partial(tables.check_simulation_table, table)
    for part in ("guardrail", "metrics", "channel", "policy"):
        yield part, partial(tables.refuse_texts_of_numbers, table, part)
    yield "budget", lambda: tables.check_new_budget(table["budget"])
    yield "", partial(check_parts_together, protocol)


def check_parts_together(protocol: Any) -> None:
    """Raise `InvalidValue` unless the parts, of which each is allowed, fit together."""
    policy, channel, people = protocol.policy, protocol.channel, protocol.people
    check_control(protocol.control, protocol.choices, people, channel.law())
    check_policy_of_study(policy, protocol.choices, people)
    if protocol.guardrail:
        check_policy_of_guardrail(policy, protocol.stages)
        protocol.guardrail.check_policy(policy, channel.law(), protocol.choices, protocol.aim)
    check_tree(channel, people)
    most = people or MANY_PEOPLE
    if protocol.sites is not None:
        check_cohorts_of_sites(channel, policy, most)
    if protocol.rounds is not None:
        check_cohorts_of_devices(channel, policy, most)
    try:
        Budget(protocol.budget).after(None, protocol.price(max(people or 1000, 1000)))
    except BudgetExceeded as why:
        raise InvalidValue("budget", str(protocol.budget), f"enough for one cohort, and it is not: {why}") from None
