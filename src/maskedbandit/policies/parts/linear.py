"""Linear models of rewards, fitted to released sums of (z zᵀ, r z), with any noise.

With A and b the sums of all releases of a model, each entry of A with noise of standard deviation s,

    V = A + (ridge + shift) I,     shift = 5 s √d,       w = V⁻¹ b,       width(z)² = zᵀV⁻¹ z.

The noise of A is a symmetric matrix whose eigenvalues reach about 2 s √d, so the shift keeps V positive definite, and
well away from singular. [SS18] shift by a bound that holds with high probability, which is about this one for d = 6.
Smaller shifts were worse in simulations, half of it much worse. If V is still not positive definite, the shift is
doubled until it is. All this is post-processing.

The shift draws w towards 0, the more the wider the noise. Policies that look at residuals of rewards take further steps
w ← w + V⁻¹ (b − (A + ridge I) w), each of which leaves a part shift / (a + ridge + shift) of what is missing in a
direction in which zᵀA z is a. Without noise there is no shift, and the first step is there.

Rewards are often rare, so that weights are small and the noise of A, which they multiply, matters less than that of b.
So z zᵀ may be multiplied by `products` < 1: then r z gets more of the privacy budget (see privacy/statistics.py).
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from maskedbandit.checks import check_choice, check_cohort, is_number
from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.noise_bounds import deviation
from maskedbandit.policies.contextual_policy import Aim, ContextualPolicy
from maskedbandit.policies.parts.choice import pick_highest
from maskedbandit.privacy.exact import Number, to_fraction

FIRST_COHORT, COHORT_GROWTH = 1024, 1.0  # of cohorts, where noise comes with every release
TREE_COHORT = 64  # users of a cohort on a tree
MORE_STEPS = 2  # of iterated ridge regression, after the first; one or four were worse in simulations


class Models(NamedTuple):
    """The estimates of m models."""

    gram: np.ndarray  # [m, d, d] sum of z z', as released
    response: np.ndarray  # [m, d] sum of r z, as released
    weights: np.ndarray  # [m, d]
    spread: np.ndarray  # [m, d (d + 1) / 2] the matrix of width(z)^2, so that it is a product with z_i z_j, i <= j
    root: np.ndarray  # [m, d, d] an upper triangle R with R R' the same matrix
    users: np.ndarray  # [m] users of the released cohorts
    releases: np.ndarray  # [m]
    work: np.ndarray  # [3, d, d]
    scale: float  # of widths
    ridge: float
    products: float  # what z z' was multiplied with
    first: int  # users of the first cohort; 0: chosen by the distribution of the noise
    growth: float  # of later ones, relative to all before; below 0: chosen by the distribution of the noise


def begin_models(m: int, d: int, scale: float, ridge: float, products: float, first: int, growth: float) -> Models:
    """The state before the first release."""
    gram, roots, work = np.zeros((m, d, d)), np.zeros((m, d, d)), np.zeros((3, d, d))
    response, weights, spread = np.zeros((m, d)), np.zeros((m, d)), np.zeros((m, d * (d + 1) // 2))
    users, releases = np.zeros((2, m), np.int64)
    s = Models(gram, response, weights, spread, roots, users, releases, work, scale, ridge, products, first, growth)
    for model in range(m):
        fit_model(s, model, 0.0)
    return s


@kernel
def factor_matrix(a: np.ndarray, shift: float, lower: np.ndarray) -> bool:
    """Cholesky: the lower triangle L with L L' = a + shift I; False if that is not positive definite."""
    d = a.shape[0]
    for i in range(d):
        for j in range(i + 1):
            left = a[i, j] + shift if i == j else a[i, j]
            for k in range(j):
                left -= lower[i, k] * lower[j, k]
            if i > j:
                lower[i, j] = left / lower[j, j]
            elif left > 1e-9 * shift:
                lower[i, i] = math.sqrt(left)
            else:
                return False
    return True


@kernel
def invert_triangle(lower: np.ndarray, inverse: np.ndarray) -> None:
    """Write the inverse of a lower triangle to `inverse`, whose upper triangle is left as it was."""
    d = lower.shape[0]
    for j in range(d):
        inverse[j, j] = 1.0 / lower[j, j]
        for i in range(j + 1, d):
            total = 0.0
            for k in range(j, i):
                total += lower[i, k] * inverse[k, j]
            inverse[i, j] = -total / lower[i, i]


@kernel
def fit_model(s: Models, model: int, noise: float) -> None:
    """Weights and widths of a model from its sums, whose entries have noise of this standard deviation."""
    d = s.gram.shape[1]
    lower, low, inverse = s.work[0], s.work[1], s.work[2]
    shift = s.ridge + 5 * noise * math.sqrt(float(d))
    while not factor_matrix(s.gram[model], shift, lower):
        shift *= 2.0
    invert_triangle(lower, low)
    entry = 0
    for i in range(d):  # V^-1 = (L^-1)' L^-1
        for j in range(i, d):
            total = 0.0
            for k in range(j, d):
                total += low[k, i] * low[k, j]
            inverse[i, j], inverse[j, i] = total, total
            s.spread[model, entry] = total if i == j else 2 * total
            s.root[model, i, j] = low[j, i]
            entry += 1
    for i in range(d):
        total = 0.0
        for j in range(d):
            total += inverse[i, j] * s.response[model, j]
        s.weights[model, i] = total


@kernel
def repeat_fit(s: Models, model: int) -> None:
    """Two more steps of iterated ridge regression, after `fit_model`."""
    d, root = s.weights.shape[1], s.root[model]
    for _ in range(MORE_STEPS):
        missing, along = np.zeros(d), np.zeros(d)  # b - (A + ridge I) w, and R' times that
        for i in range(d):
            missing[i] = s.response[model, i] - s.ridge * s.weights[model, i]
            for j in range(d):
                missing[i] -= s.gram[model, i, j] * s.weights[model, j]
        for j in range(d):
            for i in range(j + 1):
                along[j] += root[i, j] * missing[i]
        for i in range(d):
            for j in range(i, d):
                s.weights[model, i] += root[i, j] * along[j]


@kernel
def add_sums(s: Models, model: int, n: int, sums: np.ndarray) -> None:
    """Add the released sums of a cohort of n users to those of the releases before."""
    d, entry = s.gram.shape[1], 0
    for i in range(d):
        for j in range(i, d):
            s.gram[model, i, j] += sums[entry] / s.products
            s.gram[model, j, i] = s.gram[model, i, j]
            entry += 1
    for i in range(d):
        s.response[model, i] += sums[entry + i]
    s.users[model] += n
    s.releases[model] += 1


@kernel
def entry_noise(s: Models, law: Law, model: int) -> float:
    """The standard deviation of the noise in an entry of the sum of z z'."""
    return deviation(law, int(s.releases[model]), int(s.users[model])) / s.products


@kernel
def learn(s: Models, law: Law, model: int, n: int, sums: np.ndarray) -> None:
    """Receive the released sums of a cohort of n users."""
    add_sums(s, model, n, sums)
    fit_model(s, model, entry_noise(s, law, model))


@kernel
def cohort_is_full(s: Models, law: Law, model: int, n: int) -> bool:
    """Whether the cohort of a model closes now.

    Where noise comes with every release, cohorts grow, so there are O(log T) of them; on trees they are small, and
    without noise, or with noise in every single reward, every user is a cohort.
    """
    costly = law.counter == 0 and law.per_release > 0.0
    first, growth = s.first, s.growth
    if first == 0:
        first = FIRST_COHORT if costly else (TREE_COHORT if law.counter > 0 else 1)
    if growth < 0.0:
        growth = COHORT_GROWTH if costly else 0.0
    return n >= first and n >= growth * s.users[model]


@kernel
def write_products(x: np.ndarray, found: np.ndarray) -> None:
    """z_i z_j for i <= j."""
    entry = 0
    for i in range(x.size):
        for j in range(i, x.size):
            found[entry] = x[i] * x[j]
            entry += 1


@kernel
def predict_value(s: Models, model: int, x: np.ndarray) -> float:
    """w'z."""
    total = 0.0
    for i in range(x.size):
        total += s.weights[model, i] * x[i]
    return total


@kernel
def interval_width(s: Models, model: int, squares: np.ndarray) -> float:
    """The width, given the products of z. Four sums are kept, so that additions need not wait for one another."""
    spread, size, entry = s.spread[model], squares.size, 0
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    while entry + 4 <= size:
        a += spread[entry] * squares[entry]
        b += spread[entry + 1] * squares[entry + 1]
        c += spread[entry + 2] * squares[entry + 2]
        d += spread[entry + 3] * squares[entry + 3]
        entry += 4
    while entry < size:
        a += spread[entry] * squares[entry]
        entry += 1
    return math.sqrt(max((a + b) + (c + d), 0.0))


@kernel
def highest_bound(s: Models, x: np.ndarray, pool: np.ndarray, rng: np.random.Generator) -> int:
    """The arm of the pool with the highest w'z + scale width(z), with ties broken at random."""
    squares, index = np.empty(s.spread.shape[1]), np.empty(pool.size)
    for i in range(pool.size):
        arm = pool[i]
        model = arm if s.weights.shape[0] > 1 else 0
        row = arm if x.shape[0] > 1 else 0
        if i == 0 or x.shape[0] > 1:
            write_products(x[row], squares)
        index[i] = predict_value(s, model, x[row]) + s.scale * interval_width(s, model, squares)
    return int(pool[pick_highest(index, rng)])


@dataclass(frozen=True)
class LinearPolicy(ContextualPolicy):
    """A linear model: `alpha` scales the width of intervals, and `ridge` is the parameter of the ridge regression.

    z z' is multiplied by `products`: less than 1 leaves more of the budget for r z, which pays if rewards are rare.
    `model` says whether every arm has its own weights ("disjoint"), or contexts describe the arms ("shared"). Cohorts
    have `first` users, then `growth` times as many as all before; the defaults depend on the channel (see
    `cohort_is_full`).
    """

    alpha: float = 1.0
    model: Literal["disjoint", "shared"] = "disjoint"
    ridge: float = 1.0
    products: Number = 1
    first: int | None = None
    growth: float | None = None

    def __post_init__(self) -> None:
        check_choice("model", self.model, ("disjoint", "shared"))
        if not (is_number(self.alpha) and 0 <= self.alpha < math.inf):
            raise InvalidValue("alpha", self.alpha, "a number of at least 0")
        if not (is_number(self.ridge) and 1e-100 <= self.ridge < math.inf):
            raise InvalidValue("ridge", self.ridge, "a number of at least 1e-100")
        products = to_fraction("products", self.products)
        if not (products <= 1 and 256 % products.denominator == 0):
            raise InvalidValue("products", self.products, "a multiple of 1/256, above 0 and at most 1")
        object.__setattr__(self, "products", products)
        if self.first is not None:
            check_cohort("first", self.first)
        if self.growth is not None and not (is_number(self.growth) and 0 <= self.growth < math.inf):
            raise InvalidValue("growth", self.growth, "a number of at least 0")

    def models(self, k: int) -> int:
        return k if self.model == "disjoint" else 1

    def init(self, k: int, aim: Aim) -> Models:
        first, growth = int(self.first or 0), -1.0 if self.growth is None else float(self.growth)
        numbers = float(self.alpha), float(self.ridge), float(self.products)
        return begin_models(self.models(k), aim.d, *numbers, first, growth)

    def lacks(self, rows: int, fixed: bool) -> str:
        return "a context for every arm, as all arms share one model" if self.model == "shared" and rows == 1 else ""

    @staticmethod
    @kernel
    def due(s: Models, law: Law, model: int, n: int) -> bool:
        return cohort_is_full(s, law, model, n)

    @staticmethod
    @kernel
    def tell(s: Models, law: Law, model: int, n: int, sums: np.ndarray) -> None:
        learn(s, law, model, n, sums)
