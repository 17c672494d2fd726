"""What a channel promises, in the words of its own guarantee, and what a loss is for programs."""

import re
from inspect import getdoc

from maskedbandit.backends.sites import Sites
from maskedbandit.channels.channel import Channel, find_backend
from maskedbandit.channels.noisy import NoisyChannel
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.odds import best_guess
from maskedbandit.privacy.renyi_divergences import INF, ORDERS
from maskedbandit.statement.content import Amount, Parameters, Promise, Variant

EXTRA = 1e-6  # the δ that is added where there is no pure ε, as where a loss is printed


def state_amount(what: str, loss: Loss) -> Amount:
    """A loss, for people and for programs."""
    pure = loss.pure_epsilon < INF
    delta = float(loss.delta) if loss.delta < 1 else 1.0
    if not pure and loss.delta < 1:
        delta = min(delta + EXTRA, 1.0)
    epsilon = float(loss.pure_epsilon) if pure else loss.epsilon(delta) if delta < 1 else INF
    said = str(loss) if epsilon < INF else "without bound"
    return Amount(what, said, epsilon if epsilon < INF else None, delta, best_guess(loss))


def name_variant(loss: Loss) -> Variant:
    """The kind of privacy, as the registry of deployments names it.

    >>> [name_variant(each) for each in (Loss.pure(1), Loss.approximate(1, 0.1), Loss.gaussian(9), Loss.skellam(9))]
    ['Pure DP', 'Approximate DP', 'Zero-concentrated DP', 'Renyi DP']
    """
    if loss.pure_epsilon < INF:
        return "Approximate DP" if loss.delta else "Pure DP"
    return "Renyi DP" if find_rho(loss) is None else "Zero-concentrated DP"


def find_rho(loss: Loss) -> float | None:
    """The ρ of a loss that is zero-concentrated, and nothing else."""
    if loss.delta or INF in loss.curve:
        return None
    rates = {bound / order for bound, order in zip(loss.curve, ORDERS, strict=True)}
    return float(rates.pop()) if len(rates) == 1 else None


def list_loss_parameters(loss: Loss) -> Parameters:
    """Its numbers."""
    if (rate := find_rho(loss)) is not None and loss.pure_epsilon == INF:
        return Parameters(rho=rate)
    found = state_amount("it", loss)
    return Parameters(epsilon=found.epsilon, delta=found.delta or None)


def quote_guarantee(channel: Channel) -> str:
    """The guarantee of a channel, as its documentation states it."""
    text = getdoc(type(channel)) or ""
    found = re.search(r"\*\*Guarantee\*\*: (.+?)(?:\n\n|\Z)", text, re.DOTALL)
    said = (
        " ".join((found[1] if found else "see the documentation of the channel").split())
        .replace("`loss(n)`", "the stated loss")
        .replace("`", "")
    )
    return f"{said[0].upper()}{said[1:]}"


def describe_channel(channel: Channel) -> str:
    """What a channel does, as its documentation states it, with what noise."""
    first = (getdoc(type(channel)) or type(channel).__name__).partition("\n")[0].rstrip(".")
    return f"{type(channel).__name__}: {first[0].lower()}{first[1:]}{describe_noise(channel)}"


def describe_noise(channel: Channel) -> str:
    """The noise of a channel that names one, as in discrete Laplace."""
    if not isinstance(channel, NoisyChannel):
        return ""
    name = " ".join(re.findall("[A-Z][a-z]*", type(channel.noise).__name__))
    return f" (noise: {name[0].lower()}{name[1:]})"


def name_trust(channel: Channel) -> str:
    """The trust model of a channel, as statements name it."""
    if isinstance(channel, TwoServers):
        return "two servers"
    if isinstance(find_backend(channel), Sites):
        return "sites"
    return "no privacy" if channel.trust == "none" else channel.trust


def state_promise(label: str, policy: Policy | ContextualPolicy, channel: Channel, loss: Loss) -> Promise:
    """What a channel promises with a policy, by all of which a person loses so much."""
    return Promise(
        label,
        type(policy).__name__,
        describe_channel(channel),
        name_trust(channel),
        channel.sees,
        name_variant(loss) if loss.delta < 1 and state_amount("", loss).epsilon is not None else "none",
        state_amount("by one place", loss),
        quote_guarantee(channel),
    )
