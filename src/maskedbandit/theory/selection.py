"""Lower bounds on the mean samples of every policy that names all arms of a kind with error at most δ.

    average number of pulls  ≥  T* kl(δ, 1 − δ)            for every δ < 1/2: nothing here is asymptotic

with d the information of one pull, as in samples.py, whose proof holds for every question: let λ be an instance on
which the right answer of μ is wrong; then sum over a of E[N_a] d(μ_a, λ_a) ≥ kl(δ, 1 − δ).

*The m best*: λ moves an arm i of them and another arm j to a common x (or just past each other), so that

    1 / T*  =  max over proportions w of  min over i, j of  inf over x of  w_i d(μ_i, x) + w_j d(μ_j, x)

which is a linear program with a constraint for each i, j and x. It is solved by adding the constraints that its
solution violates; every value on the way is a lower bound too. For m = 1 it is that of the best arm [GK16, Thm. 1].

*Above a threshold*: λ moves one arm to the nearest mean at which its class is wrong, so every arm needs pulls of its
own, and T* is the sum over arms of 1 / d(μ_a, z_a), z_a that mean. Arms within the tolerance need none.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from maskedbandit.checks import check_cohort, check_fraction, is_number
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.theory.bounds import INFORMATION
from maskedbandit.theory.samples import nats_needed, not_tiny
from maskedbandit.theory.transport import SAME_MEAN, kl_parts, private_parts

SELECTION_TOLERANCE = 1e-6  # relative; how far T* may be below the exact value
SELECTION_ROUNDS = 200
SOLVER = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # well below CLOSE, or it stalls
FAR_HEAVIER = 1e15  # one arm weighs so much more than the other that they meet at its mean

PairCosts = Callable[[float, float, float], tuple[float, float]]


def check_threshold(theta: float, tolerance: float) -> None:
    """A threshold and a tolerance that leave room for means on both sides."""
    check_fraction("theta", theta)
    nearest = min(theta, 1 - theta)
    if not (is_number(tolerance) and 0 <= tolerance < nearest):
        allowed = f"a number from 0 to below {nearest:g}, as theta is {theta:g}"
        raise InvalidValue("tolerance", tolerance, allowed)


def parts_of(name: str, epsilon: float) -> PairCosts:
    """d(m_a, x) and d(m_b, x) for m_a > m_b, at the x where d(m_a, x) + v d(m_b, x) is least."""
    if name not in INFORMATION:
        raise UnknownName("lower bound", name, INFORMATION)
    epsilon = not_tiny(epsilon)
    if name == "central":
        return lambda a, b, v: private_parts(a, b, v, epsilon)
    slope = math.tanh(epsilon / 2) if name == "local" else 1.0
    if slope < 1e-5:  # the means of bits are too close to subtract, and kl is 2 slope^2 (x - y)^2 to ten digits
        return lambda a, b, v: (2 * (slope * (a - b) * v / (1 + v)) ** 2, 2 * (slope * (a - b) / (1 + v)) ** 2)
    flip = (1 - slope) / 2
    return lambda a, b, v: kl_parts(flip + slope * a, flip + slope * b, v)


def check_instance_means(means: Sequence[float]) -> list[float]:
    """The means, if they are numbers in [0, 1]."""
    if not isinstance(means, Iterable) or not all(is_number(mean) and 0 <= mean <= 1 for mean in means):
        raise InvalidValue("means", means, "a list of numbers in [0, 1]")
    return [float(mean) for mean in means]


def least_samples_top(name: str, means: Sequence[float], m: int, delta: float, epsilon: float = math.inf) -> float:
    """The least average number of pulls of a policy that names the m best arms, wrong with probability <= delta.

    >>> mu = [0.75, 0.625, 0.5, 0.375, 0.25]
    >>> [round(least_samples_top(name, mu, 2, 0.01, epsilon=0.1)) for name in ("no_privacy", "central", "local")]
    [662, 1409, 270720]
    """
    check_cohort("m", m)
    parts, ranked, m = parts_of(name, epsilon), sorted(check_instance_means(means), reverse=True), int(m)
    if m >= len(ranked) or ranked[m - 1] - ranked[m] < SAME_MEAN:
        raise InvalidValue(
            "means", list(means), f"more than {m} numbers, of which the {m} largest are larger than all others"
        )
    return nats_needed(delta) / rate(parts, ranked, m)


def rate(parts: PairCosts, ranked: list[float], m: int) -> float:
    """1 / T*, for means that fall; at least that.

    The program counts in units of about the result, because its solver has absolute tolerances. Cuts that its solution
    keeps are not added, so that it stays small.
    """
    from scipy.optimize import linprog

    k, bound = len(ranked), math.inf
    pairs = [(i, j) for i in range(m) for j in range(m, k)]
    w, cuts, program = np.full(k, 1 / k), list[np.ndarray](), np.append(np.zeros(k), -1.0)
    unit = min(sum(parts(ranked[i], ranked[j], 1.0)) for i, j in pairs) / k
    for _ in range(SELECTION_ROUNDS):
        least = math.inf
        for i, j in pairs:
            of_i, of_j = parts(ranked[i], ranked[j], max(w[j], 1e-12) / max(w[i], 1e-12))
            cost = w[i] * of_i + w[j] * of_j
            least = min(least, cost)
            if bound > cost * (1 + SELECTION_TOLERANCE):
                row = np.zeros(k + 1)
                row[i], row[j], row[k] = -of_i, -of_j, unit
                cuts.append(row / max(of_i, of_j))
        if bound <= least * (1 + SELECTION_TOLERANCE):
            break
        found = linprog(
            program,
            A_ub=np.array(cuts),
            b_ub=np.zeros(len(cuts)),
            A_eq=np.append(np.ones(k), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0, None)] * (k + 1),
            options=SOLVER,
        )
        last, w, bound = w, found.x[:k], unit * float(found.x[k])
        if np.array_equal(w, last):
            break  # a weight below the solver's tolerance is 0 to it: the same cuts would come again
    return bound


def least_samples_above(
    name: str, means: Sequence[float], theta: float, tolerance: float, delta: float, epsilon: float = math.inf
) -> float:
    """The least average number of pulls of a policy that names the arms above theta, wrong with probability <= delta.

    >>> mu = [0.75, 0.625, 0.5, 0.375, 0.25]
    >>> [round(least_samples_above(name, mu, 0.45, 0, 0.01, 0.1)) for name in ("no_privacy", "central", "local")]
    [1437, 2590, 583256]
    """
    parts = parts_of(name, epsilon)
    check_threshold(theta, tolerance)
    low, high, total = theta - tolerance, theta + tolerance, 0.0
    for mean in check_instance_means(means):
        if tolerance == 0 and abs(mean - theta) < SAME_MEAN:
            raise InvalidValue("means", list(means), f"numbers other than theta = {theta:g}, or with a tolerance")
        if not low + SAME_MEAN < mean < high - SAME_MEAN or tolerance == 0:
            total += 1 / (parts(mean, low, FAR_HEAVIER)[0] if mean >= theta else parts(high, mean, 1 / FAR_HEAVIER)[1])
    return total * nats_needed(delta)
