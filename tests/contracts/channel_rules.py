"""What every channel promises: rules that ask through the interface alone, so that they hold for channels yet to come.

A rule takes a channel and raises an AssertionError where it breaks its promise. Exact cohorts are drawn through
`randomize`, `aggregate` and `analyze`, simulated ones through `draws` and `perturb`, compiled as the engine compiles
them. Seeds are fixed; under a new seed each random assertion rejects a correct channel with probability ALPHA = 1e-9.
"""

import math
from dataclasses import fields, replace
from fractions import Fraction
from itertools import cycle, islice

import numpy as np
import pytest

from maskedbandit.channels.channel import Channel
from maskedbandit.channels.offers import Offer
from maskedbandit.errors import InvalidValue, RewardOutOfRange
from maskedbandit.lab.engine.compiler import compile_loop
from maskedbandit.law import count_draws, count_steps
from maskedbandit.noise_bounds import radius
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.statistics import Statistics
from tests.statistics import ALPHA, at_most, mean_is, same_distribution_of_two, seeded

N = 250
MIXED = (0, 1, 0.5, 0.3, 1.0, 0.75)
WHOLE = (0, 1, 1, 0, 1, 1, 1, 0)  # which no rounding disturbs
WIDE = 100  # numbers of a vector, all of which may move at once

perturb = noise = None  # stand for the channel's own kernels, see `simulated`


def size_from(channel, least):
    """The first size of a cohort, from `least` up, that the channel can release."""
    for n in range(least, least + 1000):
        try:
            channel.check_size(n)
        except InvalidValue:
            continue
        return n
    raise AssertionError("no size of a cohort can be released")


def cohort(channel, rewards=MIXED):
    """So many of these rewards, again and again, as make a cohort of six or more."""
    return list(islice(cycle(rewards), size_from(channel, max(6, len(rewards)))))


def exactly(channel, rewards, size=N, seed=3):
    """Released totals by way of the devices."""
    bits, n, totals = seeded(seed), len(rewards), []
    offer = channel.offer(n)
    offers = [offer.at(i) for i in range(n)]
    for _ in range(size):
        sent = [channel.randomize(reward, offers[i], bits) for i, reward in enumerate(rewards)]
        total, survivors, _ = channel.aggregate(sent, offer, bits)
        assert list(survivors) == list(range(n))
        totals.append(channel.analyze(total, offer, bits, answers=n))
    return totals


def fill(parameters, memory, law, totals, n, out, rng):
    for i in range(out.size):
        z = noise(law.scale * count_steps(law, n), count_draws(law, 1, n), rng)
        out[i] = perturb(parameters, memory, law, i, totals[i], n, z, rng)  # the first release of a stream of its own


def simulated(channel, rewards, size=N, seed=4, plain=False):
    """Released totals by way of the lab; rewards are rounded as the lab rounds them."""
    rng, law, n = np.random.Generator(np.random.PCG64(seed)), channel.law(), len(rewards)
    g, out = count_steps(law, n), np.zeros(size)
    on_grid = np.array(rewards, float) * max(g, 1)
    totals = np.full(size, on_grid.sum())
    if g > 0:
        totals = np.floor(on_grid + rng.random((size, n)) * (on_grid % 1 > 0)).sum(axis=1)
    numbers = channel.parameters(), channel.memory(size), law
    if plain:
        for i in range(size):
            z = channel.draws(law.scale * g, count_draws(law, 1, n), rng)
            out[i] = channel.perturb(*numbers, i, totals[i], n, z, rng)
    else:
        go = compile_loop(fill, noise=channel.draws, perturb=channel.perturb, draws=count_draws, steps=count_steps)
        go(*numbers, totals, n, out, rng)
    return out


def agree(a, b):
    """Two samples of released totals have one distribution."""
    values, codes = np.unique(np.round(np.concatenate([a, b]), 9), return_inverse=True)
    if values.size > 1:
        same_distribution_of_two(codes[: len(a)], codes[len(a) :])


def check_the_lab_draws_what_the_devices_release(channel):
    rewards = cohort(channel)
    exact = exactly(channel, rewards)
    agree(exact, simulated(channel, rewards))
    if len(set(exact)) > 1:
        mean_is(exact, sum(rewards))
    else:
        assert exact[0] == pytest.approx(sum(rewards))


def check_simulated_totals_are_unbiased(channel):
    rewards = cohort(channel)
    totals = simulated(channel, rewards, size=20_000)
    assert not np.isnan(totals).any()
    if np.ptp(totals) > 0:
        mean_is(totals, sum(rewards))


def check_plain_python_releases_the_same(channel):
    rewards = cohort(channel)
    plain, fast = (simulated(channel, rewards, 200, plain=plain) for plain in (True, False))
    np.testing.assert_array_equal(plain, fast)


def check_radius(channel):
    """The noise stays within the radius of the law, which is all that policies know of it."""
    rewards = cohort(channel, WHOLE)
    error = np.abs(simulated(channel, rewards, size=20_000) - sum(rewards))
    for x in (1.0, 3.0, 6.0):
        limit = radius(channel.law(), 1, len(rewards), x) + 1e-9
        at_most(np.count_nonzero(error > limit), error.size, 2 * np.exp(-x))


def check_hides(channel):
    """A cohort's release does not tell one user's reward better than the stated loss allows."""
    loss = channel.loss(size_from(channel, 6))
    epsilon = loss.epsilon(0.001)
    if epsilon == math.inf:
        return
    rewards, size = cohort(channel, (1,)), 120
    with_one = np.array(exactly(channel, rewards, size))
    without = np.array(exactly(channel, [0, *rewards[1:]], size, seed=5))
    unsure = math.sqrt(math.log(1 / ALPHA) / (2 * size))  # Hoeffding: how far a frequency may be off
    for threshold in np.quantile(with_one, (0.25, 0.5, 0.75)):
        allowed = math.exp(epsilon) * (np.mean(without >= threshold) + unsure) + 0.001
        at_most(np.count_nonzero(with_one >= threshold), size, min(1.0, allowed))


def check_vectors(channel):
    """A channel that carries vectors hides the whole of one as well as it says, and says no less than of a reward.

    All numbers of a vector move at once, and the sum of what is released of them is looked at.
    """
    try:
        two, made = (channel.carrying(Statistics(size=k, l1=k, square=k, low=0, steps=1, moved=k)) for k in (2, WIDE))
    except InvalidValue:  # it carries single bits, or its steps follow the size of a cohort
        return
    rewards, size = cohort(made, (1,)), 300
    agree(exactly(two, rewards, 100), simulated(two, rewards, 1000))
    one, whole = (each.loss(len(rewards)).epsilon(0.001) for each in (channel, made))
    assert whole >= 0.9 * one, (
        f"a vector costs ε = {whole}, and a reward {one}"
    )  # bounds of Skellam noise differ a little
    if whole == math.inf:
        return
    ones, others = (
        simulated(made, each, size * WIDE, seed).reshape(size, WIDE).sum(axis=1)
        for each, seed in ((rewards, 6), ([0, *rewards[1:]], 7))
    )
    unsure = math.sqrt(math.log(1 / ALPHA) / (2 * size))
    for threshold in np.quantile(ones, (0.25, 0.5, 0.75)):
        allowed = math.exp(whole) * (np.mean(others >= threshold) + unsure) + 0.001
        at_most(np.count_nonzero(ones >= threshold), size, min(1.0, allowed))


def check_rewards(channel):
    """A reward is a number between 0 and 1, of whatever type."""
    n, bits = size_from(channel, 6), seeded(1)
    for reward in (-0.1, 1.1, float("nan"), float("inf"), -float("inf"), "x", None, 1e-9 + 1):
        with pytest.raises(RewardOutOfRange, match=r"reward must be a number in \[0, 1\]") as caught:
            channel.randomize(reward, channel.offer(n).at(0), bits)
        assert str(caught.value) == str(RewardOutOfRange())  # errors end in logs: they do not show the reward
    for reward in (0, 1, 0.0, 1.0, True, Fraction(1, 3), np.float64(0.25), np.int64(1)):
        channel.randomize(reward, channel.offer(n).at(n - 1), bits)


def check_plain_numbers(channel):
    """Devices send and servers release Python's own numbers, which have one text each."""
    n, bits = size_from(channel, 6), seeded(1)
    sent = [channel.randomize(np.float64(1.0), channel.offer(n).at(i), bits) for i in range(n)]
    assert {type(each) for each in sent} <= {int, float}
    total = channel.aggregate(sent, channel.offer(n), bits).total
    assert type(channel.analyze(np.int64(int(total)), channel.offer(n), bits, answers=n)) in (int, float)


def check_answers(channel):
    """A total says of how many answers it is, and a channel that counts on more noise than they bring refuses it."""
    n, bits = size_from(channel, 6), seeded(1)
    offer = channel.offer(n)
    total = channel.aggregate([channel.randomize(1, offer.at(i), bits) for i in range(n)], offer, bits).total
    with pytest.raises(TypeError):
        channel.analyze(total, offer, bits)
    for answers in (-1, n + 1, 2.5, None):
        with pytest.raises(InvalidValue, match="answers"):
            channel.analyze(total, offer, bits, answers=answers)


def check_offers(channel):
    """Devices accept the channel's own offer in its text, and none of another epsilon, steps, noise or modulus."""
    n = size_from(channel, 6)
    offer = channel.offer(n)
    for position in (None, 0, n - 1):
        channel.check_offer(Offer.from_text(offer.at(position).to_text()))
    lies = [replace(offer, channel="Another"), replace(offer, steps=offer.steps + 1), offer.also(unknown=1)]
    lies += [replace(offer, modulus=n * offer.steps if offer.modulus else 64)]
    lies += [offer.also(**{name: 2 * value}) for name, value in offer.terms]
    if offer.noise:
        scale, least = offer.noise.scale, offer.noise.least
        lies += [replace(offer, noise=noise) for noise in (None, offer.noise._replace(scale=scale / 2))]
        lies += [replace(offer, noise=offer.noise._replace(least=least % n + 1))]
    if hasattr(channel, "epsilon"):
        lies += [replace(channel, epsilon=channel.epsilon * Fraction(11, 10)).offer(n)]
    for lie in lies:
        with pytest.raises(InvalidValue):
            channel.check_offer(lie)
    for wrong in (0, -1, 2.5, None):
        with pytest.raises(InvalidValue):
            channel.offer(wrong)


def check_size(channel):
    for n in (0, -1, 2.5, None):
        with pytest.raises(InvalidValue):
            channel.check_size(n)
    for n in range(1, 9):  # what is refused beforehand is what the lab cannot release
        try:
            channel.check_size(n)
            fits = True
        except InvalidValue:
            fits = False
        assert fits == (not np.isnan(simulated(channel, [1] * n, 5, plain=True)).any()), f"a cohort of {n}"


def check_epsilon(channel):
    if hasattr(channel, "epsilon"):
        for epsilon in (0, -1, float("nan"), float("inf"), "lots", None, True):
            with pytest.raises(InvalidValue, match="epsilon"):
                replace(channel, epsilon=epsilon)


def check_is_a_record(channel):
    """It says who is trusted and who sees what, and can be rebuilt from its fields."""
    assert isinstance(channel, Channel)
    assert channel.trust in ("none", "central", "distributed", "shuffled", "local")
    assert channel.sees
    values = {field.name: getattr(channel, field.name) for field in fields(channel)}
    assert type(channel)(**values) == channel
    assert hash(channel) == hash(type(channel)(**values))


def check_loss(channel):
    losses = [channel.loss(n) for n in (1, 2, 6)]
    assert all(isinstance(loss, Loss) and loss != ZERO for loss in losses)
    if channel.loss(6).pure_epsilon < float("inf") and channel.loss(6).delta == 0:
        assert {channel.loss(n).pure_epsilon for n in (1, 6, 1000)} == {channel.epsilon}


RULES = (
    check_the_lab_draws_what_the_devices_release,
    check_simulated_totals_are_unbiased,
    check_plain_python_releases_the_same,
    check_radius,
    check_hides,
    check_vectors,
    check_rewards,
    check_plain_numbers,
    check_answers,
    check_offers,
    check_size,
    check_epsilon,
    check_is_a_record,
    check_loss,
)
