"""The study that an audit of a service makes: with the channel and the outcomes of another, in many small cohorts."""

import math
from contextlib import suppress
from fractions import Fraction
from typing import Any

from maskedbandit.channels.channel import Channel, at_epsilon, epsilon_of
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.errors import InvalidValue
from maskedbandit.policies.regret.successive_elimination import SuccessiveElimination
from maskedbandit.privacy.exact import to_fraction
from maskedbandit.reports.audit.over_http import COHORTS_AT_ONCE, NO_WINDOW
from maskedbandit.study.guardrail import Guardrail
from maskedbandit.study.naming import expand_table
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.tables import MOST_LOSS

SERVICE_COHORT = 2  # people in a cohort, at least
SHORT_GRACE = "1 second"  # where it is over when the audit says so
TWIN_DELTA = "1/4"  # of a broken study with a shuffler
ONLY_FILE = "audit the protocol's file, without a url"
LARGEST_COHORT = 1000


def throw_away(
    protocol: Protocol, name: str, factor: int = 1, arms: int = COHORTS_AT_ONCE, window: str = NO_WINDOW
) -> Protocol:
    """A study with the channel and the rewards of another, of many small cohorts; at so many times its epsilon."""
    given, size = protocol.table, find_cohort_size(protocol)
    channel, budget = dict(expand_table("channel", given["channel"])), dict(given["budget"])
    if factor > 1:
        channel["epsilon"] = write_exact_number(factor * epsilon_of(shared_epsilon_channel(protocol)))
        for key in budget.keys() & {"epsilon", "rho"}:
            budget[key] = write_exact_number(min(1000 * to_fraction(key, budget[key]), Fraction(MOST_LOSS)))
        if protocol.shuffled:
            budget["delta"] = TWIN_DELTA
        if isinstance(protocol.channel, Shuffled):
            channel["delta"] = TWIN_DELTA
    times = {"window": window, "exposure": NO_WINDOW}
    if protocol.shuffled:  # devices report after the window, which is over at once
        times |= {"window": NO_WINDOW, "grace": SHORT_GRACE if window == NO_WINDOW else window}
    reward = {key: value for key, value in given.get("reward", {}).items() if key in ("least", "most", "rule", "cap")}
    second = dict[str, Any]()
    if protocol.guardrail is not None:
        second["guardrail"] = never_harmful(protocol.guardrail, given["guardrail"])
    if protocol.metrics:
        second["metrics"] = [keep_outcome(each) for each in given["metrics"]]
    if protocol.operators is not None:
        second["operators"] = given["operators"]
    if protocol.sites is not None:
        raise InvalidValue(
            "channel", protocol.channel, f"one without sites: {ONLY_FILE}, as nobody can enrol sites over HTTP"
        )
    if protocol.rounds is not None:
        allowed = f"one without rounds of devices: {ONLY_FILE}, as each of them would have to answer five times"
        raise InvalidValue("channel", protocol.channel, allowed)
    if lacks := SuccessiveElimination().needs(protocol.channel.law()):
        raise InvalidValue("channel", protocol.channel, f"one with {lacks}: {ONLY_FILE}")
    return Protocol.from_table(
        {
            "name": name,
            "about": "an audit: nobody takes part",
            "people": 10**9,
            "policy": {"name": "successive_elimination", "least": size, "base": 1.000001, "failure": 1e-200},
            "channel": channel,
            "arms": [{"name": f"arm{i}"} for i in range(arms)],
            "reward": reward | times,
            "budget": budget,
            **second,
        }
    )


def find_cohort_size(protocol: Protocol) -> int:
    """The least number of people, two or more, of which the channel of a protocol may have a cohort."""
    for size in range(SERVICE_COHORT, LARGEST_COHORT):
        with suppress(InvalidValue):
            protocol.channel.check_size(size)
            return size
    raise InvalidValue("channel", protocol.channel, f"one that may have cohorts of fewer than {LARGEST_COHORT} people")


def name_twin(protocol: Protocol) -> str:
    """What is wrong with the study of twice the epsilon."""
    if isinstance(protocol.channel, Shuffled):
        return f"a study of twice the ε and of δ = {TWIN_DELTA}, for which a few coins are enough"
    return "a study with half of the noise"


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
