"""Channels whose users are lost at random, with their noise: the lab itself assumes that everybody answers."""

import math

import numpy as np

from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.shuffled import Shuffled, tosses
from maskedbandit.core import kernel
from maskedbandit.noises.discrete_laplace import DiscreteLaplace

draws_of_laplace = DiscreteLaplace.draws


@kernel
def some_draws(scale: float, count: float, rng: np.random.Generator) -> int:
    """Laplace noise of one draw, of all, or of any number between."""
    chosen = rng.random()
    return draws_of_laplace(scale, 1.0 if chosen < 0.4 else 1 + (count - 1) * rng.random(), rng)


@kernel
def some_coins(scale: float, count: float, rng: np.random.Generator) -> float:
    """At least four fifths of the coins."""
    lost = math.floor(count / 5 + 1e-9)
    return tosses(scale, count - (lost if rng.random() < 0.4 else rng.integers(0, lost + 1)), rng)


class LossyDistributed(Distributed):
    """A device's noise may be missing."""

    @property
    def draws(self):
        return some_draws


class LossyShuffled(Shuffled):
    """A device's coins may be missing; made for `honest` = 0.8."""

    @property
    def draws(self):
        return some_coins
