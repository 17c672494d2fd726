"""The figure of several rewards shows regrets of as many people, in the same units."""

from fractions import Fraction

import numpy as np
import pytest

from tools.figures.several_rewards import EPSILONS, LOOKS, TRUSTS, VISITS, apart, cost, counted, lines

ONE = Fraction(1)


def test_visits_that_count_are_those_up_to_the_cap() -> None:
    visits = 1 + np.random.default_rng(1).poisson(VISITS - 1, 10**6)
    for most in (1, 2, 6, 16):
        assert counted(VISITS, most) == pytest.approx(np.minimum(visits, most).mean(), abs=0.03)


@pytest.mark.slow
def test_curves_are_the_numbers_of_the_functions() -> None:
    caps, people, runs = (1, 8), 500, 3
    plots = cost(caps, people, runs).axes
    assert len(plots) == len(TRUSTS) * len(EPSILONS)
    found = lines("central trust", EPSILONS[0], caps, people, runs)
    assert list(found) == list(LOOKS)
    for line, means in zip(plots[0].lines, found.values(), strict=True):
        np.testing.assert_allclose(line.get_ydata(), [each.mean for each in means])


@pytest.mark.slow
def test_capped_sums_cost_less_than_a_place_for_each_visit_and_more_than_protecting_rewards() -> None:
    for trust in TRUSTS:
        capped, _, naive, each, raw = lines(trust, ONE, (2,), 20_000, 40).values()
        assert raw[0].mean < each[0].mean < capped[0].mean < 0.8 * naive[0].mean


def test_all_places_without_a_cap_are_those_of_all_visits() -> None:
    """Visits that are not counted lose too: if all arms are served alike, regret does not depend on the cap."""
    hopeless = [apart(TRUSTS["local trust"](Fraction(1, 1000)), cap, 2000, 3).mean for cap in (1, 4, 1000)]
    np.testing.assert_allclose(hopeless, 2000 * VISITS * 0.05, rtol=0.02)
