"""Anytime-Lazy-UCB: the same users get the same arms as if it decided for each, and the regret is that of tables."""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.noise_bounds import radius
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.skellam import Skellam
from tests.golden import interpreted
from tests.policies.mutants import mutant
from tests.policies.replays import C2, check_number, check_overlaps, check_prefix, regrets

AnytimeLazyUCB, Central, Raw = mb.policies.AnytimeLazyUCB, mb.channels.Central, mb.channels.Raw
LAWS = {
    "none": Raw().law(),
    "laplace": Central(epsilon=0.3).law(),
    "gaussian": Central(epsilon=0.3, noise=DiscreteGaussian()).law(),
    "skellam": Central(epsilon=0.3, noise=Skellam()).law(),
    "response": mb.channels.Response(epsilon=1).law(),
    "local": mb.channels.Local(epsilon=1).law(),
}


def means(seed: int, k: int = 4) -> np.ndarray:
    """What the cohorts of k arms are told: [k, cohort], without ties."""
    return np.random.Generator(np.random.PCG64(seed)).normal(np.linspace(0.3, 0.6, k)[:, None], 0.3, (k, 40))


def served(law: Law, table: np.ndarray, horizon: int, beta: float = 3, policy=AnytimeLazyUCB) -> list[int]:
    """The arm of each user, and at each release the size of its cohort is a power of two.

    The first users of all arms come in any order, and are put in that of the arms.
    """
    k = len(table)
    s, rng = policy(beta).init(k, horizon), np.random.Generator(np.random.PCG64(1))
    arms, size, cohort = [], [0] * k, [0] * k
    while len(arms) < horizon:
        arm, n, closes = policy.ask(s, law, rng)
        arms += [arm] * n
        size[arm] += n
        if closes:
            assert size[arm] == 2 ** cohort[arm]
            policy.tell(s, arm, size[arm], table[arm, cohort[arm]] * size[arm])
            cohort[arm] += 1
            size[arm] = 0
    return sorted(arms[:k]) + arms[k:horizon]


def reference(law: Law, table: np.ndarray, horizon: int, beta: float = 3) -> list[int]:
    """The paper's algorithm: a decision for each user."""
    k = len(table)
    n, mean, pending, cohort, arms = [1] * k, list(table[:, 0]), [0] * k, [1] * k, list(range(k))
    for t in range(k + 1, horizon + 1):
        x = beta * math.log(t)
        bonus = {m: math.sqrt(x / m) + radius(law, 1, m, x) / m for m in set(n)}
        arm = max(range(k), key=lambda a: mean[a] + bonus[n[a]])
        arms.append(arm)
        pending[arm] += 1
        if pending[arm] == 2 * n[arm]:
            n[arm], mean[arm], pending[arm] = pending[arm], table[arm, cohort[arm]], 0
            cohort[arm] += 1
    return arms


@pytest.mark.sparing(2)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_users_get_the_arms_of_the_reference(law, seed):
    horizon = 600 if law in ("skellam", "local") else 5000
    for beta in (3, 3 / math.log(2)):
        arms = served(LAWS[law], means(seed), horizon, beta)
        same = arms == reference(LAWS[law], means(seed), horizon, beta)
        assert same, "another arm than the reference"
        assert len(set(arms)) == 4


def test_cohorts_of_several_arms_fill_at_once():
    found = interpreted(AnytimeLazyUCB(), Central(epsilon=10), mb.Bernoulli(C2), 100_000)
    assert any(not closes for _, _, closes in found.decisions)
    assert len(found.decisions) < 100
    for arm in range(5):
        sizes = [n for a, n, _ in found.released if a == arm]
        assert sizes == [2**i for i in range(len(sizes))]


def test_asking_for_too_many_is_rejected():
    """Negative control: a mutant that fills the cohort without looking whether another arm overtakes."""

    class Hasty(AnytimeLazyUCB):
        ask = mutant(AnytimeLazyUCB.ask, "low, high = 1, size", "low, high = int(2 * s.n[arm] - s.filled[arm]), size")

    assert served(LAWS["laplace"], means(1), 10_000, policy=Hasty) != reference(LAWS["laplace"], means(1), 10_000)


def test_it_counts_what_is_in_flight():
    check_overlaps(AnytimeLazyUCB(), LAWS["laplace"])


def test_the_horizon_only_cuts():
    check_prefix(AnytimeLazyUCB(), Central(epsilon=1))


def test_a_grid_that_needs_the_size_of_cohorts_is_refused():
    with pytest.raises(InvalidValue, match="a grid that does not depend on the size"):
        mb.simulate(AnytimeLazyUCB(), Central(grid="paper"), mb.Bernoulli(C2), 100)


BASES = {3: (1215, 1752, 2357, 3583, 5990), 3 / math.log(2): (1627, 2616, 3276, 4098, 7679)}


@pytest.mark.parametrize("beta", BASES)
@pytest.mark.slow
def test_regret_is_that_of_the_table(beta):
    for epsilon, number in zip((500, 1, 0.5, 0.25, 0.1), BASES[beta], strict=True):
        check_number(regrets(AnytimeLazyUCB(beta), Central(epsilon=epsilon), C2, 1e5, 300), number)


@pytest.mark.slow
def test_a_number_of_another_base_is_rejected():
    with pytest.raises(AssertionError, match="not 1752"):
        check_number(regrets(AnytimeLazyUCB(3 / math.log(2)), Central(epsilon=1), C2, 1e5, 300), 1752)


def test_the_level_is_positive():
    with pytest.raises(InvalidValue, match="beta"):
        AnytimeLazyUCB(beta=0)
