"""Lower bounds of selections: those of the best arm for m = 1, and a grid search elsewhere."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.theory.bounds import INFORMATION
from maskedbandit.theory.divergences import kl, private_divergence
from maskedbandit.theory.samples import least_samples, nats_needed
from maskedbandit.theory.selection import least_samples_above, least_samples_top
from tests.for_each import for_each

MU = [0.75, 0.625, 0.5, 0.375, 0.25]


@pytest.mark.slow
@for_each("name", ["no_privacy", "central", "local"])
@for_each("epsilon", [0.01, 0.5, 5.0, math.inf])
@pytest.mark.parametrize("means", [MU, [0.3, 0.9, 0.3, 0.3], [0.0, 0.5, 1.0], [0.7] + [0.6] * 29])
def test_for_one_arm_it_is_the_bound_of_the_best_arm(name, epsilon, means):
    known = least_samples(name, means, 0.01, epsilon)
    assert least_samples_top(name, means, 1, 0.01, epsilon) == pytest.approx(known, rel=1e-4)


@for_each("epsilon", [0.2, math.inf])
def test_for_two_arms_it_is_that_of_a_search_over_proportions(epsilon):
    means = [0.8, 0.7, 0.5, 0.4]
    grid = np.linspace(0.4, 0.8, 801)
    d = kl if math.isinf(epsilon) else lambda x, y: private_divergence(x, y, epsilon)
    of = np.array([[d(mean, x) for x in grid.tolist()] for mean in means])

    def least(logits):
        w = np.exp(logits) / np.exp(logits).sum()
        return min(float((w[i] * of[i] + w[j] * of[j]).min()) for i, j in product((0, 1), (2, 3)))

    w, best = np.zeros(4), 0.0
    for _ in range(8):  # each begins where the last one got stuck
        found = minimize(lambda v: -least(v), w, method="Nelder-Mead")
        w, best = found.x, -found.fun
    assert nats_needed(0.05) / least_samples_top("central", means, 2, 0.05, epsilon) == pytest.approx(best, rel=2e-3)


@pytest.mark.slow
@for_each("name", ["no_privacy", "central", "local"])
@for_each("epsilon", [1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_bounds_stay_lower_bounds_where_arms_are_close_or_users_say_little(name, epsilon, gap):
    """The solver of linear programs has absolute tolerances, and differences of means cancel."""
    means = [0.5 + gap, 0.5, 0.5 - gap / 2, 0.2]
    known = least_samples(name, means, 0.01, epsilon)
    assert 1 - 1e-4 < least_samples_top(name, means, 1, 0.01, epsilon) / known < 1 + 1e-6


@pytest.mark.sparing(1)
@for_each("epsilon", [50.0, 700.0, 800.0, math.inf])
@pytest.mark.parametrize("means", [[1e-9, 0.0], [1.0, 1 - 1e-9], [1e-12, 0.0, 0.0]])
def test_a_loss_so_large_that_it_hides_nothing_has_the_bound_without_privacy(epsilon, means):
    known = least_samples_top("no_privacy", means, 1, 0.01)
    assert least_samples_top("central", means, 1, 0.01, epsilon) == pytest.approx(known, rel=1e-5)


def test_the_solver_does_not_stall(monkeypatch):
    """Solved to its own tolerance it ran to the last of 200 rounds, with a cut for every pair in each."""
    calls = list[int]()

    def counted(*args, **more):
        calls.append(len(more["A_ub"]))
        return linprog(*args, **more)

    monkeypatch.setattr("scipy.optimize.linprog", counted)
    assert least_samples_top("central", np.linspace(0.9, 0.1, 20).tolist(), 10, 0.01, 1.0) == pytest.approx(6592.427)
    assert len(calls) < 30
    assert calls[-1] < 100 * len(calls) / 2  # there are 100 pairs


@for_each("name", ["local", "central"])
def test_a_loss_whose_bound_would_be_infinite_is_refused(name):
    for call in (
        lambda epsilon: least_samples(name, MU, 0.1, epsilon),
        lambda epsilon: least_samples_top(name, MU, 2, 0.1, epsilon),
        lambda epsilon: least_samples_above(name, MU, 0.4, 0.0, 0.1, epsilon),
    ):
        assert 0 < call(1e-100) < math.inf
        with pytest.raises(InvalidValue, match="epsilon is 1e-160: it must be at least 1e-100"):
            call(1e-160)


@for_each("epsilon", [1e-6, 0.1, 3.0])
def test_a_threshold_very_near_an_arm(epsilon):
    """There d is nearly a square: a tenth of the distance takes a hundred times the users."""
    for name in ("no_privacy", "central", "local"):
        near, nearer = (least_samples_above(name, [0.5 + gap], 0.5, 0.0, 0.1, epsilon) for gap in (1e-7, 1e-8))
        assert nearer / near == pytest.approx(100, rel=1e-4)


@for_each("name", ["no_privacy", "central", "local"])
@for_each("mean", [0.0, 0.05, 0.55, 0.97, 1.0])
def test_a_threshold_is_the_information_of_a_user(name, mean):
    for epsilon in (0.01, 0.5, 20.0):
        for tolerance in (0.0, 0.03):
            z = 0.4 - tolerance if mean > 0.4 else 0.4 + tolerance
            d = INFORMATION[name](mean, z, epsilon)
            assert least_samples_above(name, [mean], 0.4, tolerance, 0.1, epsilon) == pytest.approx(
                nats_needed(0.1) / d, 1e-6
            )


def test_mirrored_arms_take_as_many():
    """The two best, and the three best of one minus each mean."""
    found = least_samples_top("central", MU, 2, 0.01, 0.5)
    assert least_samples_top("central", [1 - mean for mean in MU], 3, 0.01, 0.5) == pytest.approx(found, rel=1e-5)


def test_a_threshold_is_a_test_for_each_arm():
    one = [least_samples_above("central", [mean], 0.45, 0.0, 0.1, 0.5) for mean in MU]
    assert least_samples_above("central", MU, 0.45, 0.0, 0.1, 0.5) == pytest.approx(sum(one))
    assert one[0] == pytest.approx(nats_needed(0.1) / private_divergence(0.75, 0.45, 0.5))


def test_a_tolerance_asks_for_less_and_nothing_of_arms_within_it():
    wide = least_samples_above("no_privacy", [0.7, 0.5], 0.5, 0.1, 0.1)
    assert wide == pytest.approx(nats_needed(0.1) / kl(0.7, 0.4))


@for_each(
    ("call", "wrong", "said"),
    [
        (lambda: least_samples_top("global", MU, 2, 0.1), UnknownName, "global"),
        (lambda: least_samples_above("global", MU, 0.4, 0.0, 0.1), UnknownName, "global"),
        (lambda: least_samples_top("central", [0.5, 0.4, 0.4], 2, 0.1, 1.0), InvalidValue, "2 largest are larger"),
        (lambda: least_samples_top("central", MU, 5, 0.1, 1.0), InvalidValue, "more than 5"),
        (lambda: least_samples_top("central", MU, 0, 0.1, 1.0), InvalidValue, "m is 0"),
        (lambda: least_samples_top("central", MU, 1.5, 0.1, 1.0), InvalidValue, "m is 1.5"),
        (lambda: least_samples_top("central", 0.5, 1, 0.1, 1.0), InvalidValue, "means is 0.5"),
        (lambda: least_samples_above("central", None, 0.4, 0.0, 0.1), InvalidValue, "means is None"),
        (lambda: least_samples_top("central", [1.5, 0.4], 1, 0.1, 1.0), InvalidValue, r"means is \[1.5, 0.4\]"),
        (lambda: least_samples_above("central", [1.5], 0.4, 0.0, 0.1), InvalidValue, r"means is \[1.5\]"),
        (lambda: least_samples_above("central", [0.5, 0.4], 0.4, 0.0, 0.1), InvalidValue, "other than theta = 0.4"),
        (lambda: least_samples_above("central", MU, 1.4, 0.0, 0.1), InvalidValue, "theta is 1.4"),
        (lambda: least_samples_above("central", MU, 0.4, 0.4, 0.1), InvalidValue, "tolerance is 0.4"),
        (lambda: least_samples_top("central", MU, 2, 1.5, 1.0), InvalidValue, "delta"),
        (lambda: least_samples_top("central", MU, 2, 0.1, 0.0), InvalidValue, "epsilon"),
    ],
)
def test_what_has_no_bound_is_refused(call, wrong, said):
    with pytest.raises(wrong, match=said):
        call()


def test_from_a_half_on_there_is_none():
    assert least_samples_top("central", MU, 2, 0.5, 1.0) == 0
