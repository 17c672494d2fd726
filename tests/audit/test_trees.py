"""What running sums on trees cost, by enumeration of all noises: exact, and a mutant for every rule."""

import math
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.channels.tree import Tree
from maskedbandit.law import nodes
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.renyi_divergences import ORDERS
from maskedbandit.reports.audit.trees import WORST, first_user, third_user, tree_part
from tests.audit.events import worst_ratio
from tests.channels.test_tree import each_counter
from tests.for_each import for_each


def reward(view, m, world):
    """Rewards of an adversary that reacts to what it saw; the worlds differ in the user of one release alone."""
    seen = view[0] if view else 0
    target = 2 if seen > 0 else 3
    value = int(sum(view) % 2 == 0)
    return 1 - value if m == target and world == 1 else value


def fifth_user(view, m, world):
    """In a hybrid counter, under two nodes of the second tree and under the draw that closes it."""
    return int(m == 5 and world == 1)


# releases, largest noise, epsilon, and how rare a view may be where several combinations of noises give the same one
CASES = {"binary": (3, 4, 2, 0.0), "honaker": (3, 5, 4, 0.01), "kary": (4, 4, 2, 0.0), "hybrid": (4, 3, 2, 0.0)}


def small(counter, kind=Tree, scale=Fraction(1)):
    """A small tree; a scale of the noise leaves its noise and its loss as they are."""
    length, _, epsilon, _ = CASES[counter]
    arity, noise = 3 if counter == "kary" else None, DiscreteLaplace(scale)
    return kind(epsilon=epsilon * scale, counter=counter, length=length, arity=arity, noise=noise)


def enumerated(counter, adversary, kind=Tree, scale=Fraction(1)):
    """The worst ratio of a small tree, and the loss that it states."""
    length, far, _, core = CASES[counter]
    channel = small(counter, kind, scale)
    return worst_ratio(channel, adversary, length, far, core), float(channel.loss(1).pure_epsilon)


@pytest.mark.sparing(4)
@pytest.mark.parametrize("adversary", [reward, first_user, third_user])
@each_counter
def test_no_view_tells_more_than_epsilon(counter, adversary):
    found, epsilon = enumerated(counter, adversary)
    assert found <= epsilon + 2e-3
    if adversary is WORST[counter] and counter != "honaker":  # whose views come from one noise each
        assert found == pytest.approx(epsilon, abs=2e-3)


def later(channel):
    """The worst ratio for the fifth of eight users of a hybrid counter; the noises of those before say nothing."""
    return worst_ratio(channel, fifth_user, length=8, far=3, known=4)


@pytest.mark.slow
def test_no_view_of_a_later_tree_tells_more_than_epsilon():
    assert later(Tree(epsilon=2, counter="hybrid")) == pytest.approx(2)


class ForgetsTheScale(Tree):
    loss_of_one = property(lambda self: Tree(self.epsilon, counter=self.counter, length=self.length).loss_of_one)


@pytest.mark.sparing(2)
@each_counter
def test_noise_of_another_scale_tells_what_is_stated(counter):
    """A third of the scale for a third of epsilon is the same noise; a mutant states the third alone."""
    found, epsilon = enumerated(counter, WORST[counter], ForgetsTheScale, scale=Fraction(1, 3))
    stated = small(counter, scale=Fraction(1, 3)).loss(1).pure_epsilon
    assert found <= stated + 2e-3
    assert stated == CASES[counter][2]
    assert found > 1.9 * epsilon


class OneLevelTooFew(Tree):
    def node(self, levels):
        return super().node(levels - 1)


class FiveTimesEpsilon(Tree):
    def node(self, levels):
        return super().node(levels).stretch(Fraction(1, 5))


@for_each("broken", [OneLevelTooFew, FiveTimesEpsilon])
@for_each("counter", ["binary", "kary"])
def test_too_little_noise_is_noticed(broken, counter):
    length, far, *_ = CASES[counter]
    arity = 3 if counter == "kary" else None
    channel = broken(epsilon=Fraction(1, 2), counter=counter, length=length, arity=arity)
    charged = Tree(epsilon=Fraction(1, 2), counter=counter, length=length, arity=arity).loss(1)
    assert worst_ratio(channel, first_user, length, far) > 1.9 * float(charged.pure_epsilon)


class WholeBudgetTwice(Tree):
    """A hybrid counter whose halves spend all of epsilon each."""

    def node(self, levels):
        return super().node(levels // 2)


class AsIfOneLevel(Tree):
    """A hybrid counter whose trees have the noise of one level."""

    def node(self, levels):
        return super().node(2)


@pytest.mark.slow
def test_too_little_noise_of_a_hybrid_counter_is_noticed():
    assert enumerated("hybrid", third_user, WholeBudgetTwice) == (pytest.approx(4), 2)
    assert enumerated("hybrid", third_user, AsIfOneLevel) == (pytest.approx(2), 2)  # all that the first tree has
    assert later(AsIfOneLevel(epsilon=2, counter="hybrid")) == pytest.approx(3)


def test_noise_that_is_drawn_again_for_every_release_is_noticed():
    """The mutant adds as many draws as there are nodes, but new ones each time: user 1 is then in three noisy sums."""

    def again(s, law, arm, total):
        s.released[arm] += 1
        s.sums[arm, 0] += total
        return float(s.sums[arm, 0] + s.fresh[: int(nodes(law, s.released[arm]))].sum())

    channel = Tree(epsilon=2, counter="binary", length=3)
    found = worst_ratio(channel, first_user, 3, 5, step=again, count=lambda law, m: int(nodes(law, m)))
    assert found > 2.4


def test_gaussian_noise_on_a_coset_costs_what_is_charged():
    """Noise known to be odd, moved by 2: between whole orders it may cost more than a |v|^2 / (2 variance), but never
    more than what is charged."""
    z, variance, more = np.arange(-401, 402, 2), 1.3, 0
    rho = 2**2 / (2 * variance)
    log_p, log_q = -((z - 2) ** 2) / (2 * variance), -(z**2) / (2 * variance)
    for order in map(float, ORDERS):
        if order <= 8:
            part = order % 1
            cost = math.log(np.exp(order * log_p + (1 - order) * log_q).sum() / np.exp(log_q).sum()) / (order - 1)
            assert cost <= rho * (order + part * (1 - part) / (order - 1)) + 1e-9
            assert part > 0 or cost == pytest.approx(rho * order)
            more += cost > rho * order + 1e-3
    assert more > 0


@pytest.mark.sparing(1)
@each_counter
def test_the_audit_of_a_channel_looks_at_a_small_tree_of_its_kind(counter):
    part, _ = tree_part(Tree(epsilon=Fraction(1, 2), counter=counter))
    assert not part.violation
    assert part.lower_bound > 0.99 * part.promised.epsilon
    assert part.proves


def test_a_tree_that_is_not_enumerated():
    part, why = tree_part(Tree(epsilon=1, grid=3))
    assert part is None
    assert "enumerated" in why
