"""Which policies and channels a protocol may put together."""

from typing import Any

from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.policies.parts.selection import Selection
from maskedbandit.policies.policy import Policy
from maskedbandit.study.control import Control, count_left

NEXT_SIZES = 200  # of cohorts that are looked at from the smallest one on, so that rounding spoils none of a study


def check_policy_of_study(policy: Policy, k: int, people: int | None) -> None:
    """Raise `InvalidValue` unless a study of k arms and so many people can have this policy."""
    if isinstance(policy, Selection) and k < (least := policy.question.least_arms):
        allowed = f"at least {least}, as {type(policy).__name__} names some of them"
        raise InvalidValue("number of the arms", k, allowed)
    if policy.purpose.phased and (people or 0) < k:
        raise InvalidValue("people", people, f"at least {k}, one for each arm")


def check_control(control: Control | None, choices: int, people: int | None, law: Law) -> None:
    """Raise `InvalidValue` unless a study can have this control beside the arms among which its policy chooses."""
    if control is None:
        return
    if choices < 2:
        allowed = "at least two without a share: with one of them there is nothing for a policy to choose"
        raise InvalidValue("arms without a share", choices, allowed)
    left = count_left(control, people)
    if people is not None and left is not None and (people * control.share < 1 or left < choices):
        allowed = f"such that of {people} people somebody gets the control, and one is left for each other arm"
        raise InvalidValue(control.name, str(control.share), allowed)
    if law.counter > 0:
        allowed = "central, local, response or two_servers, if there is a control: on a tree no difference is known"
        raise InvalidValue("channel", "tree", allowed)


def check_policy_of_guardrail(policy: Policy, stages: bool) -> None:
    """Raise `InvalidValue` unless arms can be put out of play while this policy runs."""
    if not stages:
        allowed = "one for regret or a search, if there is a guardrail: with this one no arm can be put out of play"
        raise InvalidValue("policy", policy, allowed)


def check_tree(channel: Channel, people: int | None) -> None:
    """Raise `InvalidValue` unless a channel that keeps running sums has room for the releases of so many people."""
    length = getattr(channel, "length", 0)
    if channel.law().counter > 0 and (people is None or length < people):
        allowed = f"at least the number of people, {people}: an arm may have a release for each of them"
        raise InvalidValue("length of the channel", length, allowed)


def check_cohorts_of_sites(channel: Any, policy: Policy, most: int) -> None:
    """Raise `InvalidValue` unless sites can add up the cohorts that may come, of at most so many people.

    Places are whole, so one size may leave enough honest people and the next one not. The smallest sizes are looked at,
    if the policy says from which on, and the two largest: shares that fit only sizes of which all are whole fit one.
    """
    channel.check_size(most)
    least = getattr(policy, "least", 1)
    smallest = range(least, min(least + NEXT_SIZES, most)) if least > 1 else range(0)
    for n in (*smallest, max(most - 1, 1)):
        channel.backend.check_size(n, channel.counted_on(n))


def check_cohorts_of_devices(channel: Any, policy: Policy, most: int) -> None:
    """Raise `InvalidValue` unless devices can add up the smallest cohort that is known, and one of so many people."""
    least = getattr(policy, "least", 1)
    smallest = [least] if 1 < least <= most else []
    for n in (*smallest, most):
        channel.backend.rules.check_devices(n, channel.counted_on(n))
