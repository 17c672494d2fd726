"""What a statement says of the outcomes of each person, if there are several: the reward and further ones."""

from maskedbandit.channels.channel import Channel, epsilon_of
from maskedbandit.noise_bounds import deviation
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import say_decimal

HOW_MANY = ("no", "one", "two", "three", "four", "five")


def name_further(protocol: Protocol, between: str = ", ") -> str:
    """The names of the further outcomes.

    >>> protocol = Protocol.from_table({
    ...     "name": "example", "people": 1000, "channel": {"name": "central", "epsilon": 1},
    ...     "arms": [{"name": "a"}, {"name": "b"}], "budget": {"epsilon": 1},
    ...     "metrics": [{"name": "spent", "share": "1/4"}, {"name": "left", "share": "1/4"}]})
    >>> name_further(protocol)
    'spent and left'
    """
    *first, last = [each.metric for each in protocol.outcomes[1:]]
    return f"{between.join(first)} and {last}" if first else last


def name_outcomes(protocol: Protocol) -> str:
    """All outcomes of a study that has several."""
    several = len(protocol.outcomes) > 2
    return f"the reward, {name_further(protocol)}" if several else f"the reward and {name_further(protocol)}"


def say_both(protocol: Protocol) -> str:
    """Say "both" or "all" of a study's outcomes."""
    return "both" if len(protocol.outcomes) == 2 else "all"


def say_defaults(protocol: Protocol) -> str:
    """Say as what a person without a report counts, in each outcome."""
    found = [say_decimal(protocol.reward.default)]
    found += [f"{say_decimal(each.reward.default)} for {each.metric}" for each in protocol.outcomes[1:]]
    return ", and ".join(found)


def compute_deviation(channel: Channel) -> float:
    """The standard deviation of the noise that is added at once."""
    return deviation(channel.law(), 1, 1 if channel.trust == "local" else 1000)


def say_further_noise(protocol: Protocol) -> str:
    """The noise of the further outcomes, and what each has of ε."""
    parts = [float(epsilon_of(each.channel)) for each in protocol.outcomes]
    per, text = "Each report of" if protocol.on_devices else "The sum of", ""
    for each in protocol.outcomes[1:]:
        text += (
            f" {per} {each.metric} has noise of its own, independent of all other noise, with a standard deviation of "
            f"{say_decimal(compute_deviation(each.channel))} of its outcomes (scaled likewise)."
        )
    shares = [f"{each.metric} {say_decimal(part)}" for each, part in zip(protocol.outcomes[1:], parts[1:], strict=True)]
    return (
        f"{text} Of the ε = {say_decimal(sum(parts))} of the channel the reward has {say_decimal(parts[0])}, and "
        f"{', and '.join(shares)}."
    )


def say_further_sums(protocol: Protocol) -> str:
    """Say which sums a release has, and that it is charged once."""
    return (
        f" A release has {HOW_MANY[len(protocol.outcomes)]} sums, of the outcome and of {name_further(protocol)}, and "
        f"its cost, which is charged once, is that of {say_both(protocol)}."
    )
