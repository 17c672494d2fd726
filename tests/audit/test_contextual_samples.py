"""What releases of vectors show of two users who differ in the arm, in samples: no more than is stated, and much of it.

A correct channel fails with probability ALPHA = 1e-9 per assertion.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from maskedbandit.channels.central import Central
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.split_and_mix import SplitAndMix
from maskedbandit.core import kernel
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.policies.contextual_policy import ContextualPolicy
from tests.audit.contextual_plays import Bare, Guests, listen
from tests.audit.contextual_rules import generator
from tests.audit.events import seen_epsilon
from tests.audit.test_contextual import ForOneNumber

DELTA = 1e-3


class Count(NamedTuple):
    """Cohorts so far."""

    closed: np.ndarray


@dataclass(frozen=True)
class Listener(ContextualPolicy):
    """Models of arms, cohorts of two; releases are all that is looked at."""

    products = 1

    def init(self, k, aim):
        return Count(np.zeros(k, np.int64))

    @staticmethod
    @kernel
    def ask(s, x, pool, law, rng):
        return pool[0]

    @staticmethod
    @kernel
    def due(s, law, model, n):
        return n == 2

    @staticmethod
    @kernel
    def tell(s, law, model, n, sums):
        s.closed[model] += 1


def sample(channel: Channel, arm: int, kind: type[Guests], pairs: int) -> Counter[Hashable]:
    """What many cohorts of two show, the first user of each with z = 1, r = 1 and this arm: events fixed before.

    Releases of both models are a point of four numbers. Under Gaussian noise the sum of the first two minus that of the
    others says all; under Laplace noise it says most to know on which side of 1/2 each of them is.
    """
    contexts, paid = np.zeros((2 * pairs + 1, 1, 1)), np.zeros((2 * pairs + 1, 2))
    contexts[::2], paid[::2] = 1.0, 1.0
    heard = listen(Listener(), channel, kind(contexts, paid), generator(11 + arm), arms=[arm, 0] * pairs + [0])
    released = np.array([sent.released for sent in heard.sent]).reshape(pairs, 4)
    assert [sent.model for sent in heard.sent[:4]] == [0, 1, 0, 1]
    found: Counter[Hashable] = Counter({None: pairs})
    difference = released[:, 0] + released[:, 1] - released[:, 2] - released[:, 3]
    for step in range(-6, 7):
        found["below", step] = int((difference < step * heard.play.law.scale).sum())
        found["above", step] = pairs - found["below", step]
    sides = (released > 0.5) @ [8, 4, 2, 1]
    found.update(f"sides {side}" for side in sides.tolist())
    return found


def shown(channel: Channel, kind: type[Guests] = Guests, pairs: int = 7000) -> float:
    """The fraction of the loss that samples show of two users who differ in the arm; it must not be above 1."""
    loss = channel.loss(2)
    delta = 0.0 if loss.epsilon() < np.inf else DELTA
    seen = seen_epsilon(*(sample(channel, arm, kind, pairs) for arm in (0, 1)), 42, delta)
    assert seen <= loss.epsilon(delta), f"the releases show an epsilon of {seen:.3f}, and the loss says {loss}"
    return seen / loss.epsilon(delta)


@pytest.mark.slow
def test_releases_show_no_more_than_the_pure_loss_and_a_third_of_it():
    assert shown(Central(1)) > 1 / 3


@pytest.mark.slow
def test_releases_show_no_more_than_the_concentrated_loss_and_a_third_of_it():
    assert shown(Central(1, DiscreteGaussian()), pairs=4000) > 1 / 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("channel", "pairs"), [(Distributed(1), 15_000), (SplitAndMix(1), 15_000), (Central(1, DiscreteGaussian()), 30_000)]
)
def test_large_samples_show_half_of_the_loss(channel, pairs):
    assert shown(channel, pairs=pairs) > 1 / 2


SHOWN = {
    "noise for one number": (ForOneNumber(1), Guests),
    "not clipped": (Central(1), Bare),
    "not clipped, gaussian": (Central(1, DiscreteGaussian()), Bare),
}


@pytest.mark.sparing(1)
@pytest.mark.parametrize("broken", SHOWN)
def test_samples_of_mutants_show_more(broken):
    with pytest.raises(AssertionError, match="the releases show"):
        shown(*SHOWN[broken], pairs=1000)
