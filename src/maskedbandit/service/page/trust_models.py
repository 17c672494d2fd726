"""The trust models that the form of a study offers: who sees what, and how much noise costs under each."""

from functools import lru_cache
from typing import Any, NamedTuple

from markupsafe import Markup

from maskedbandit import core
from maskedbandit.errors import InvalidValue
from maskedbandit.service.request.protocol_schema import LIVE_CHANNELS
from maskedbandit.service.views.estimates import estimate_arms
from maskedbandit.study.naming import STUDY_PARTS
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import say_count, say_decimal

OFFERED_CHANNELS = {  # and who adds the noise
    "central": "The server, which is trusted",
    "response": "Each device, in a random bit, and nobody is trusted",
    "local": "Each device, in a number, and nobody is trusted",
    "two_servers": "Two operators, of whom one is honest",
    "distributed": "The devices of a cohort together, if they stay",
}
OFFERED_PARTS: dict[str, dict[str, Any]] = {  # of their tables
    "two_servers": {"backend": "prio3"},
    "distributed": {"honest": "7/10", "backend": "secagg"},
}
USUAL_EPSILON, USUAL_PEOPLE = 1, 1000  # of whom the form speaks before it knows more


class TrustModel(NamedTuple):
    """A trust model, and what it means."""

    name: str
    title: str
    sees: Markup  # who sees what
    cost: str


def mark_code(text: str) -> Markup:
    """A sentence of a docstring, with what stands in backquotes as code.

    >>> print(mark_code("with `a < b`"))
    with <code>a &lt; b</code>
    """
    parts = text.split("`")
    return Markup("").join(Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts))


def list_trust_models(protocol: Protocol | None) -> list[TrustModel]:
    """All that the form offers, with what they cost a study such as this one.

    >>> list_trust_models(None)[1].cost.partition("arm ")[2].partition(";")[0]
    "a mean is 2.16 times as uncertain as with the server's noise"
    """
    epsilon, people = USUAL_EPSILON, USUAL_PEOPLE
    if protocol is not None:
        epsilon = getattr(protocol.channel, "epsilon", USUAL_EPSILON)
        people = max(protocol.people // protocol.k, 1) if protocol.people else USUAL_PEOPLE
    return [
        TrustModel(name, title, mark_code(LIVE_CHANNELS[name]), say_cost(name, float(epsilon), people))
        for name, title in OFFERED_CHANNELS.items()
    ]


def say_cost(name: str, epsilon: float, people: int) -> str:
    """How much more uncertain means are than with central trust, and how many times as many people make up for it."""
    try:
        more = find_error(name, epsilon, people) / find_error("central", epsilon, people)
    except InvalidValue as why:
        return f"It has no such study: {why}."
    of = f"At ε = {say_decimal(epsilon)} and {say_count(people)} people in an arm"
    if name == "central":
        alone = find_error(name, epsilon, people) / find_error("raw", epsilon, people)
        return f"{of} noise makes a mean {alone:.2f} times as uncertain as without privacy."
    return (
        f"{of} a mean is {more:.2f} times as uncertain as with the server's noise; {more**2:.2f} times as many people "
        "make up for that."
    )


@lru_cache(maxsize=256)
def find_error(name: str, epsilon: float, people: int) -> float:
    """The standard error of the mean of so many people, half of whom have an outcome of 1."""
    given: dict[str, Any] = {"name": name} if name == "raw" else {"name": name, "epsilon": epsilon}
    channel = STUDY_PARTS.made("channel", given | OFFERED_PARTS.get(name, {}))
    (found,) = estimate_arms(channel.law(), [[core.Release(0, people, people / 2)]])
    assert found is not None
    return found.error
