"""The loss of a release, enumerated: its distributions for two neighbours, and those of broken twins.

Neighbours differ in one reward, 1 or 0. All other rewards shift both distributions by the same steps, so they may be 0.
Under distributed trust the number of honest survivors is the least that the channel needs. Of two servers one works
against the people, and subtracts its own noise.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from maskedbandit.channels.central import Central
from maskedbandit.channels.central_sum import CentralSum
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.local import Local
from maskedbandit.channels.local_sum import LocalSum
from maskedbandit.channels.noisy import NoisyChannel
from maskedbandit.channels.pure_shuffled import PureShuffled
from maskedbandit.channels.response import Response
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.channels.split_and_mix import SplitAndMix
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.core import Floats
from maskedbandit.errors import InvalidValue
from maskedbandit.noises.noise import Noise
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.statistics import SINGLE_REWARD
from maskedbandit.reports.audit.audit import AuditPart, AuditPromise, BrokenTwin, breaks_promise
from maskedbandit.reports.audit.bounds import largest_ratio, needed_epsilon, trade_off

AUDITED_DELTAS = (1e-6, 1e-3, 1e-9)  # at which losses without a pure ε are looked at; the first one is reported
WIDEST_WINDOW, WIDEST_TWICE = 200_000, 1500  # numbers in a distribution, and in one that is squared
Neighbours = tuple[Floats, Floats]
NOISY = (Central, CentralSum, Local, LocalSum, Distributed, TwoServers)


def promise_of(loss: Loss, delta: float = AUDITED_DELTAS[0]) -> AuditPromise:
    """The promise of a loss: its pure ε, with its own δ, or else the ε at this δ."""
    if loss.pure_epsilon < math.inf:
        return AuditPromise(loss.epsilon(loss.delta), float(loss.delta))
    return AuditPromise(loss.epsilon(delta), delta)


def noise_sums(noise: Noise, parts: int, of: int, far: int) -> Floats:
    """The probabilities, on -far, ..., far, of the sum of some of the noise shares of a draw."""
    z = np.arange(-far, far + 1)
    one = total = noise.pmf(z, 1.0 / of) if of > 1 else noise.pmf(z)
    if far > WIDEST_TWICE:
        return noise.pmf(z, parts / of)
    for _ in range(parts - 1):
        total = np.convolve(total, one)[far : 3 * far + 1]
    return total


def shift_mass(mass: Floats, steps: int) -> Neighbours:
    """A distribution and the same shifted by some steps, where both are known well, without the parts cut off."""
    cut = mass.size // 4
    return mass[cut + steps : -cut], mass[cut : -cut - steps]


def released(channel: NoisyChannel, n: int, survivors: int = 0) -> Neighbours:
    """The release of a cohort of n of whom so few add their noise, or the message of one device, for two neighbours."""
    if isinstance(channel, Distributed):
        parts, of = survivors or channel.counted_on(n), channel.counted_on(n)
    else:
        parts, of = 1, 1
    noise = channel.release_noise(n)
    return shift_noise(noise, parts, of, channel.steps(n))


def shift_noise(noise: Noise, parts: int, of: int, steps: int) -> Neighbours:
    """The sum of so many shares of a noise, and the same shifted by so many steps."""
    return shift_mass(noise_sums(noise, parts, of, find_window(noise, steps)), steps)


def find_window(noise: Noise, steps: int) -> int:
    """The distance to which a distribution is computed."""
    return 4 * math.ceil(12 * max(float(noise.scale), 2.0)) + 4 * steps


def released_bit(channel: Response) -> Neighbours:
    """The message of one device."""
    flip = channel.law().flip
    return np.array([flip, 1 - flip]), np.array([1 - flip, flip])


def released_coins(coins: int) -> Neighbours:
    """The number of ones among a bit and so many coins."""
    from scipy.stats import binom

    mass: Floats = binom.pmf(np.arange(-1, coins + 2), coins, 0.5)
    return mass[1:], mass[:-1]


def repeated(pair: Neighbours) -> Neighbours:
    """One sum, released twice with noise of its own each time."""
    a, b = (np.outer(mass, mass).ravel() for mass in pair)
    return a, b


def loosen_channel(channel: Any) -> Any:
    """The same channel with twice the epsilon."""
    return replace(channel, epsilon=2 * Fraction(channel.epsilon))


def noisy_twins(channel: NoisyChannel, n: int) -> Iterator[tuple[str, Neighbours]]:
    """Broken twins of a channel that adds noise to sums or to rewards."""
    noise, steps = channel.release_noise(n), channel.steps(n)
    yield "half of the noise", released(loosen_channel(channel), n)
    if (pair := released(channel, n))[0].size <= WIDEST_TWICE:
        yield "noise redrawn for the same sum", repeated(pair)
    if steps > 1:
        yield (
            "noise not stretched by the steps in a reward",
            shift_noise(noise.stretch(Fraction(1, steps)), 1, 1, steps),
        )
    if isinstance(channel, TwoServers):
        yield "one draw of noise, half of it from each server", shift_noise(noise, 1, 2, steps)
    if isinstance(channel, Distributed):
        least = channel.counted_on(n)
        if least < n:
            yield "noise shares as if everybody were honest", shift_noise(noise, least, n, steps)
        if least > 1:
            name = "an unfinished cohort, with the noise shares that are there"
            yield name, released(channel, n, survivors=least - 1)


def response_twins(channel: Response) -> Iterator[tuple[str, Neighbours]]:
    """Broken twins of randomized response."""
    yield "half of the privacy", released_bit(loosen_channel(channel))
    yield "flips redrawn for the same bit", repeated(released_bit(channel))


def coin_twins(coins: int) -> Iterator[tuple[str, Neighbours]]:
    """Broken twins of bits among coins."""
    yield "half of the coins", released_coins(coins // 2)
    if coins <= WIDEST_TWICE:
        yield "coins tossed again for the same bit", repeated(released_coins(coins))


def judge_pair(name: str, loss: Loss, pair: Neighbours, twins: list[tuple[str, Neighbours]]) -> AuditPart:
    """The ε that the pair needs, beside the promise; a loss without a pure ε is compared where it is tightest."""
    promise, needed = promise_of(loss), 0.0
    for i, delta in enumerate(AUDITED_DELTAS):
        said = promise_of(loss, delta)
        found = shown_by(pair, said)
        if i == 0 or breaks_promise(found, said, "exact"):
            promise, needed = said, found
    controls = [BrokenTwin(twin, shown_by(broken, promise), True) for twin, broken in twins]
    controls = [each._replace(caught=breaks_promise(each.lower_bound, promise, "exact")) for each in controls]
    curves = trade_off(*pair), trade_off(*min(twins, key=lambda each: shown_by(each[1], promise))[1])
    return AuditPart(name, promise, "exact", needed, tuple(controls), curve=curves[0], twin_curve=curves[1])


def shown_by(pair: Neighbours, promise: AuditPromise) -> float:
    """The ε that a pair needs at the δ of a promise."""
    return needed_epsilon(*pair, promise.delta) if promise.delta else largest_ratio(*pair)


def fit_cohort_size(channel: Channel, people: int) -> int:
    """The size of an audited cohort: so many people, or if the channel does not allow that, fewer or more."""
    larger = (people * 4**power for power in range(1, 6))
    refused: InvalidValue | None = None
    for n in (*range(people, 0, -1), *larger):
        try:
            channel.check_size(n)
            channel.loss(n)
            return n
        except InvalidValue as why:
            refused = refused or why
    assert refused is not None
    raise refused


def exact_part(channel: Channel, n: int) -> tuple[AuditPart | None, str]:
    """The release of a cohort of n, enumerated; or why not. Both, if it is not all that an adversary sees."""
    if not getattr(channel, "statistics", SINGLE_REWARD).is_single:
        return None, "vectors: a distribution of as many numbers is too large to enumerate; each number is audited"
    if isinstance(channel, PureShuffled | SplitAndMix):
        part, _ = exact_part(channel.summed, n)
        why = (
            "that messages show little more than the noisy sum: it is assumed of an ideal sum"
            if isinstance(channel, PureShuffled)
            else "that messages show little more than the noisy sum: it is proved, and the δ pays for it"
        )
        return (replace(part, part=f"the noisy sum inside {type(channel).__name__}") if part else None), why
    if type(channel) is Response:
        twins = list(response_twins(channel))
        return judge_pair("what a device sends", channel.loss(1), released_bit(channel), twins), ""
    if type(channel) is Shuffled:
        coins = channel.needed()
        if coins > WIDEST_WINDOW:
            return None, f"{coins} coins: too many to enumerate"
        one = Loss.approximate(channel.epsilon, channel.delta)
        name = f"the number of ones among {coins} honest coins"
        return judge_pair(name, one, released_coins(coins), list(coin_twins(coins))), ""
    if type(channel) in NOISY and isinstance(channel, NoisyChannel):
        if find_window(channel.release_noise(n), channel.steps(n)) > WIDEST_WINDOW:
            return None, f"{channel}: its noise is too wide to enumerate"
        once: Any = channel
        if hasattr(channel, "backend"):  # an attempt more is a loss more, and this is one
            from maskedbandit.backends.ideal import Ideal

            once = replace(once, backend=Ideal())
        name = "what a device sends" if channel.trust == "local" else f"the release of a cohort of {n}"
        return judge_pair(name, once.loss(n), released(channel, n), list(noisy_twins(channel, n))), ""
    return None, f"the distribution of {type(channel).__name__}: nothing here knows it"
