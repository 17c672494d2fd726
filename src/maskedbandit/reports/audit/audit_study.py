"""The study that an audit of a service makes: with the channel and the outcomes of another, in many small cohorts."""

import math
from fractions import Fraction
from typing import Any

from maskedbandit.channels.channel import Channel, at_epsilon, epsilon_of
from maskedbandit.errors import InvalidValue
from maskedbandit.policies.regret.successive_elimination import SuccessiveElimination
from maskedbandit.privacy.exact import to_fraction
from maskedbandit.reports.audit.over_http import COHORTS_AT_ONCE, NO_WINDOW
from maskedbandit.study.guardrail import Guardrail
from maskedbandit.study.naming import expand_table
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.tables import MOST_LOSS

SERVICE_COHORT = 2  # people in a cohort


def throw_away(
    protocol: Protocol, name: str, factor: int = 1, arms: int = COHORTS_AT_ONCE, window: str = NO_WINDOW
) -> Protocol:
    """A study with the channel and the rewards of another, of many small cohorts; at so many times its epsilon."""
    given = protocol.table
    channel, budget = dict(expand_table("channel", given["channel"])), dict(given["budget"])
    if factor > 1:
        channel["epsilon"] = write_exact_number(factor * epsilon_of(shared_epsilon_channel(protocol)))
        for key in budget.keys() & {"epsilon", "rho"}:
            budget[key] = write_exact_number(min(1000 * to_fraction(key, budget[key]), Fraction(MOST_LOSS)))
    reward = {key: value for key, value in given.get("reward", {}).items() if key in ("least", "most", "rule", "cap")}
    second = dict[str, Any]()
    if protocol.guardrail is not None:
        second["guardrail"] = never_harmful(protocol.guardrail, given["guardrail"])
    if protocol.metrics:
        second["metrics"] = [keep_outcome(each) for each in given["metrics"]]
    if protocol.shuffled:
        allowed = "one without a shuffler: the audit plays no devices that report to one"
        raise InvalidValue("channel", protocol.channel, allowed)
    if protocol.operators is not None:
        second["operators"] = given["operators"]
    if protocol.sites is not None:
        raise InvalidValue("channel", protocol.channel, "one without sites: the audit plays none")
    if protocol.rounds is not None:
        raise InvalidValue("channel", protocol.channel, "one without rounds of devices: the audit plays none")
    if lacks := SuccessiveElimination().needs(protocol.channel.law()):
        raise InvalidValue("channel", protocol.channel, f"one with {lacks}: audit the protocol's file, without a url")
    return Protocol.from_table(
        {
            "name": name,
            "about": "an audit: nobody takes part",
            "people": 10**9,
            "policy": {"name": "successive_elimination", "least": SERVICE_COHORT, "base": 1.000001, "failure": 1e-200},
            "channel": channel,
            "arms": [{"name": f"arm{i}"} for i in range(arms)],
            "reward": reward | {"window": window, "exposure": "0 seconds"},
            "budget": budget,
            **second,
        }
    )


def write_exact_number(value: Fraction) -> int | str:
    """An exact number as a protocol has it."""
    return value.numerator if value.denominator == 1 else str(value)


def keep_outcome(given: dict[str, Any]) -> dict[str, Any]:
    """The same further outcome, with a default that is the least."""
    return {key: value for key, value in given.items() if key in ("name", "least", "most", "rule", "cap", "share")}


def never_harmful(guardrail: Guardrail, given: dict[str, Any]) -> dict[str, Any]:
    """The same guardrail, with a limit beyond which no arm is found."""
    outcome = guardrail.outcome
    limit = min(outcome.in_units(1 - 1e-9), math.nextafter(outcome.most, outcome.least))  # most is no limit
    return keep_outcome(given) | {"harm": {"above": limit}, "alpha": 1e-9}


def shared_epsilon_channel(protocol: Protocol) -> Channel:
    """The channel of a protocol, with the epsilon that its outcomes share."""
    return at_epsilon(protocol.channel, sum((epsilon_of(each.channel) for each in protocol.outcomes), Fraction(0)))
