"""Privacy losses as values that add up.

The loss of a release about a user is the distance between two distributions of it, P with the user's data and Q with
any other data instead. It is kept as a Rényi curve [Mir17, Def. 3],

    R(α) = ln E_Q[(P/Q)^α] / (α − 1)     at every α of ORDERS, and at α = ∞, where it is the pure ε

with a δ: the curve holds outside an event of that probability [BS16, sec. 8]. If the same user is asked again, even in
view of the earlier answer, the curves [Mir17, Prop. 1] and the δ add up. Losses of different users do not: the worst
one counts. Every part is a Fraction or ∞, so ten times 1/10 is exactly 1. Values that need floating point are rounded
upwards, once, before they become Fractions.

All noises here are symmetric: z -> shift − z exchanges P and Q, so the divergence is the same in both directions. They
are also log-concave, so a smaller shift costs less and the full sensitivity is the worst case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from operator import index

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number, is_exact, to_fraction, to_probability, to_whole
from maskedbandit.privacy.loss_text import parse_loss, write_loss
from maskedbandit.privacy.renyi_divergences import (
    INF,
    ORDERS,
    Exact,
    bound_epsilon,
    discrete_laplace_curve,
    round_up,
    skellam_bound,
    skellam_curve,
)
from maskedbandit.privacy.single_release import SingleRelease


@dataclass(frozen=True, repr=False)
class Loss:
    """The privacy loss of a user: `curve[i]` at order `ORDERS[i]`, `pure_epsilon` at order ∞, except with probability
    `delta`.

    Losses are a commutative monoid with `ZERO`: `a + b` is the same user again, `k * a` the same user k times, and
    `a | b` different users. `single` is empty, or else the loss is that of one release under one of these noises and of
    nothing more; no sum has it. Every part is a Fraction of at least 0 or the float ∞; a `delta` that adds up to 1 or
    more makes the loss `unbounded`.

    **Guarantee**: the loss of a composition is at most the sum of its parts' losses, in exact arithmetic.

    >>> day = Loss.pure(0.1)
    >>> 10 * day, day + day | Loss.pure("1/3")
    (Loss(ε = 1), Loss(ε = 0.3333))
    """

    curve: tuple[Exact, ...]
    pure_epsilon: Exact
    delta: Exact
    single: frozenset[SingleRelease] = frozenset()

    def __post_init__(self) -> None:
        if type(self.curve) is not tuple or len(self.curve) != len(ORDERS):
            raise InvalidValue("curve", type(self.curve).__name__, f"a tuple of {len(ORDERS)} divergences")
        for name, bounds in (("curve", self.curve), ("pure_epsilon", (self.pure_epsilon,)), ("delta", (self.delta,))):
            for bound in bounds:
                finite = is_exact(bound) and bound.numerator >= 0
                if not finite and not (type(bound) is float and bound == INF):
                    raise InvalidValue(name, bound, "a Fraction of at least 0, or ∞")
        lost = self.delta == INF and all(bound == INF for bound in (*self.curve, self.pure_epsilon))
        if self.delta >= 1 and not lost:
            raise InvalidValue("delta", self.delta, "a probability in [0, 1), or ∞ if all other parts are ∞")
        if type(self.single) is not frozenset or not all(type(each) is SingleRelease for each in self.single):
            raise InvalidValue("single", self.single, "a frozenset of SingleRelease")
        for each in self.single:
            each.check()

    @classmethod
    def pure(cls, epsilon: Number) -> Loss:
        """Any ε-private mechanism. The worst of them is randomized response:

            R(α) = ln( cosh((α - 1/2) ε) / cosh(ε/2) ) / (α - 1),      R(∞) = ε

        The ratio P/Q of an ε-private mechanism stays in [e^-ε, e^ε] and has mean 1 under Q. As x^α is convex,
        a ratio that takes the two ends only, with the same mean, has a larger E[x^α]: that of randomized
        response [KOV17]. For discrete Laplace noise of scale 1/ε, shifted by one, P/Q has the same distribution.

        **Guarantee**: bounds every ε-private mechanism, and is what randomized response costs.

        >>> Loss.pure("1/2").pure_epsilon
        Fraction(1, 2)
        """
        return cls.discrete_laplace(1 / to_fraction("epsilon", epsilon))

    @classmethod
    def approximate(cls, epsilon: Number, delta: Number) -> Loss:
        """Any (ε, δ)-private mechanism: pure ε outside an event of probability δ [KOV17].

        **Guarantee**: bounds every (ε, δ)-private mechanism.

        >>> Loss.approximate(1, 1e-6)
        Loss(ε = 1 at δ = 1e-06)
        """
        return replace(cls.pure(epsilon), delta=to_probability("delta", delta))

    @classmethod
    def zcdp(cls, rho: Number) -> Loss:
        """Any ρ-zCDP mechanism: R(α) = ρ α  [BS16, Def. 1.1].

        **Guarantee**: bounds every ρ-zCDP mechanism.

        >>> Loss.zcdp(0.005)
        Loss(ε = 0.4301 at δ = 1e-06)
        """
        rate = to_fraction("rho", rho)
        return cls(tuple(rate * order for order in ORDERS), INF, Fraction(0))

    @classmethod
    def gaussian(cls, variance: Number, sensitivity: Number = 1) -> Loss:
        """Gaussian or discrete Gaussian noise of parameter σ² (`variance`): zCDP with ρ = Δ² / (2 σ²).

        **Guarantee**: exact for the Gaussian, an upper bound for the discrete Gaussian [CKS20, Thm. 4].

        >>> Loss.gaussian(100) == Loss.zcdp("1/200")
        True
        """
        return cls.zcdp(to_fraction("sensitivity", sensitivity) ** 2 / (2 * to_fraction("variance", variance)))

    @classmethod
    def discrete_gaussian(cls, variance: Number, sensitivity: int = 1) -> Loss:
        """Discrete Gaussian noise on a sum of integer sensitivity Δ: zCDP as above, and the exact ε of one release.

        **Guarantee**: an upper bound that adds up [CKS20, Thm. 4]; exact for a single release.

        >>> Loss.discrete_gaussian(100), Loss.gaussian(100)
        (Loss(ε = 0.3968 at δ = 1e-06), Loss(ε = 0.4301 at δ = 1e-06))
        """
        spread, shift = to_fraction("variance", variance), to_whole("sensitivity", sensitivity, 1)
        release = SingleRelease("discrete_gaussian", spread, shift)
        return replace(cls.gaussian(spread, shift), single=frozenset({release}))

    @classmethod
    def discrete_laplace(cls, scale: Number, sensitivity: int = 1) -> Loss:
        """Integer noise with P(z) proportional to e^(-|z|/scale), on a sum of integer sensitivity Δ.

            R(α) = ε + ln( [1 + r^Δ + (1-B) (r - r^Δ) / (1-r)] / (1+B) ) / (α - 1),      R(∞) = ε = Δ/scale,
            B = e^(-1/scale),  r = B^(2α-1)      (geometric sums over z <= 0, over z >= Δ, and between them)

        **Guarantee**: exact, except that it is rounded upwards in the ninth digit.

        >>> Loss.discrete_laplace(scale=20, sensitivity=10)
        Loss(ε = 0.5)
        """
        return _discrete_laplace(to_fraction("scale", scale), to_whole("sensitivity", sensitivity, 1))

    @classmethod
    def skellam(cls, variance: Number, sensitivity: int = 1) -> Loss:
        """The difference of two Poisson(v/2) draws, v the variance, on a sum of integer sensitivity Δ.

        R(α) is summed from the probabilities themselves. Where that would take too long (Δ >= 2^8 or v >= 2^28) it is
        bounded, at whole α, by

            α Δ² / (2v) + min{ ((2α-1) Δ² + 6Δ) / (4v²),  3Δ / (2v) }                            [AKL21]

        and between two whole orders by the chord of (α - 1) R(α), which is convex.

        **Guarantee**: an upper bound, within 10^-7 of the exact loss where it is summed; exact for a single release.

        >>> Loss.skellam(variance=100), 2 * Loss.skellam(variance=200)
        (Loss(ε = 0.3895 at δ = 1e-06), Loss(ε = 0.4271 at δ = 1e-06))
        """
        spread, shift = to_fraction("variance", variance), to_whole("sensitivity", sensitivity, 1)
        summable = shift < 2**8 and Fraction(1, 2**64) < spread < 2**28
        found = skellam_curve(spread, shift) if summable else skellam_bound(spread, shift, shift**2)
        return cls(found, INF, Fraction(0), frozenset({SingleRelease("skellam", spread, shift)}))

    @classmethod
    def skellam_of_vector(cls, variance: Number, l1: Number, square: Number) -> Loss:
        """Noise on each entry of an integer vector, where |u - u'|_1 <= l1 and |u - u'|_2^2 <= square for two users.

        The losses of the entries add up. So in the formula above l1 replaces Δ, and `square` Δ² [AKL21, Thm. 3.5].

        **Guarantee**: an upper bound.

        >>> Loss.skellam_of_vector(100, l1=1, square=1)
        Loss(ε = 0.4326 at δ = 1e-06)
        """
        spread, norms = to_fraction("variance", variance), (to_fraction("l1", l1), to_fraction("square", square))
        return cls(skellam_bound(spread, *norms), INF, Fraction(0))

    @classmethod
    def unbounded(cls) -> Loss:
        """No privacy at all. The sum of this and any other loss, and their maximum, is this again.

        >>> Loss.unbounded() + Loss.pure(1)
        Loss(ε = inf)
        """
        return cls((INF,) * len(ORDERS), INF, INF)

    @cached_property
    def _hash(self) -> int:  # of numbers alone: it is pickled with the loss, and texts hash to another in each process
        return hash((self.curve, self.pure_epsilon, self.delta, len(self.single)))

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Loss) -> Loss:
        if ZERO in (self, other):
            return self if other == ZERO else other
        return self._with(other, _plus)

    def __or__(self, other: Loss) -> Loss:
        if self == other or ZERO in (self, other):
            return self if other == ZERO else other
        either = self.single | other.single if self.single and other.single else frozenset()
        return replace(self._with(other, max), single=either)

    def __mul__(self, times: int) -> Loss:
        count = index(times)
        if count < 0:
            raise InvalidValue("times", times, "a count of at least 0")
        if count < 2:
            return self if count else ZERO
        return self._with(self, lambda part, _: part if part == INF else part * count)

    __rmul__ = __mul__

    def _with(self, other: Loss, rule: Callable[[Exact, Exact], Exact]) -> Loss:
        delta = rule(self.delta, other.delta)
        if delta >= 1:
            return Loss.unbounded()
        return Loss(tuple(map(rule, self.curve, other.curve)), rule(self.pure_epsilon, other.pure_epsilon), delta)

    def without_single(self) -> Loss:
        """The part of this loss that holds when more is added to it: its curve, pure ε and δ.

        >>> one = Loss.discrete_gaussian(100)
        >>> one, one.without_single(), one.without_single() == Loss.gaussian(100)
        (Loss(ε = 0.3968 at δ = 1e-06), Loss(ε = 0.4301 at δ = 1e-06), True)
        """
        return replace(self, single=frozenset())

    def to_text(self) -> str:
        """One line that holds every digit of this loss, to be stored or sent: see `loss_text`.

        >>> Loss.from_text(Loss.skellam(100).to_text()) == Loss.skellam(100)
        True
        """
        return write_loss(self.curve, self.pure_epsilon, self.delta, self.single)

    @classmethod
    def from_text(cls, text: str) -> Loss:
        """The loss that `to_text` wrote, or `InvalidValue`. Protect stored texts: a changed text is a changed loss."""
        return cls(*parse_loss(text))

    def epsilon(self, delta: Number = 0) -> float:
        """The smallest ε for which the curve proves (ε, δ)-privacy; ∞ if it proves none.

            ε = min over α of  R(α) + ln(1 - 1/α) - ln(δ α) / (α - 1)                     [CKS20, Prop. 12]

        A single release of discrete Gaussian or Skellam noise has its exact ε, if that is smaller.

        **Guarantee**: whatever has this loss is (ε, δ)-private; the result is rounded upwards.

        >>> Loss.pure(0.1).epsilon(), round(Loss.zcdp(0.005).epsilon(1e-6), 3)
        (0.1, 0.43)
        """
        return self.epsilons((delta,))[0]

    def epsilons(self, deltas: Sequence[Number]) -> list[float]:
        """The same for several δ: what is summed for a single release is so once."""
        left = [to_probability("delta", delta) - self.delta for delta in deltas]
        chances = tuple(math.nextafter(float(each), 0.0) if each > 1e-300 else 0.0 for each in left)
        exact = [max(each) for each in zip(*(one.epsilons(chances) for one in self.single), strict=True)]
        found = [bound_epsilon(self.curve, self.pure_epsilon, each) for each in left]
        return list(map(min, found, exact)) if self.single else found

    def __str__(self) -> str:
        epsilon, delta = round_up(self.pure_epsilon), self.delta
        if self.pure_epsilon == INF and delta < 1:  # so state ε at a δ that is larger by 1e-6
            delta += Fraction(1, 10**6)
            epsilon = self.epsilon(Fraction(delta)) if delta < 1 else INF
        return f"ε = {epsilon:.4g}" + (f" at δ = {float(delta):.4g}" if 0 < delta < INF else "")

    def __repr__(self) -> str:
        return f"Loss({self})"


ZERO = Loss((Fraction(0),) * len(ORDERS), Fraction(0), Fraction(0))


@lru_cache(maxsize=1024)  # a device asks what each report costs
def _discrete_laplace(width: Fraction, shift: int) -> Loss:
    return Loss(discrete_laplace_curve(width, shift), shift / width, Fraction(0))


def _plus(x: Exact, y: Exact) -> Exact:
    return x + y if type(x) is type(y) else INF  # a large Fraction plus ∞ would overflow
