"""When another charge fits: rules that hold even if each loss is chosen after seeing earlier releases.

Such a rule is a privacy filter. Let L be the log-ratio of the two distributions of all that is released about a user,
and R_t and δ_t the divergence of order α and the δ of charge t, which may depend on all that was released before it.

**Sums of ε.** L is at most the sum of the pure ε of the charges, on every path [RRUV16].

**Divergences at one order.** For an α that is fixed in advance, exp((α-1) (L - Σ R_t)) has mean at most 1 when the
charges stop. So if Σ R_t <= B on every path, everything released has divergence at most B [FZ21]. If that holds at each
order of a curve, the curve holds.

**Either of the two.** Let c(δ) be the addition of order α in `additions`. It is such that (1 - e^(ε-L))^+ is at most
δ e^((α-1) (L - ε + c(δ))) for every L [CKS20, proof of Prop. 12]. If every path ends with Σ ε_t <= ε or with
Σ R_t <= ε - c(δ), then everything released is (ε, δ)-private: paths of the first kind have (1 - e^(ε-L))^+ = 0, and on
the others it is at most δ exp((α-1) (L - Σ R_t)), of mean at most δ.

**Sums of δ.** Losses that hold outside events of probability δ_t hold together outside one of probability Σ δ_t
[WRRW23]. The part of δ that is needed for the conversion must be set aside in advance: it cannot be used for charges on
some of the paths, as it is needed on others.

It would not be valid to choose on each path the order at which ε is least in the end. The mean of the largest of the
exponentials above, over all orders, is more than 1. So no theorem covers a path of charges that fits a budget in (ε, δ)
at its own best order.

A rule may be chosen when a user is charged for the first time: then nothing about that user has been released.
"""

from fractions import Fraction
from functools import lru_cache
from itertools import starmap
from typing import NamedTuple

from maskedbandit.privacy.conversion import above, additions
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import INF, ORDERS, Bound


class Filter(NamedTuple):
    """Charges fit while Σ δ <= `delta`, and Σ ε <= `pure` or the sum of the curves is at most `curve` at every order.

    None for `pure` or `curve` leaves that alternative out.
    """

    delta: Bound
    pure: Bound | None = None
    curve: tuple[Bound, ...] | None = None

    def refusal(self, total: Loss) -> str | None:
        """Why charges may not add up to this total; None if they may."""
        if total.delta > self.delta:
            return compared("δ", total.delta, self.delta)
        reasons = []
        if self.pure is not None:
            if total.pure_epsilon <= self.pure:
                return None
            reasons.append(compared("pure ε", total.pure_epsilon, self.pure))
        if self.curve is not None:
            over = [at for at in zip(ORDERS, total.curve, self.curve, strict=True) if at[1] > at[2]]
            if not over:
                return None
            order, found, allowed = over[0]
            reasons.append(compared(f"the Rényi divergence of order {float(order):g}", found, allowed))
        return ", and ".join(reasons)

    def times(self, loss: Loss) -> Bound | int:
        """How many charges of this loss fit, one after the other."""
        alternatives: list[Bound | int] = []
        if self.pure is not None:
            alternatives.append(_times(self.pure, loss.pure_epsilon))
        if self.curve is not None:
            alternatives.append(min(starmap(_times, zip(self.curve, loss.curve, strict=True))))
        return min(_times(self.delta, loss.delta), max(alternatives))


@lru_cache(maxsize=64)
def filters(budget: Loss) -> tuple[Filter, ...]:
    """The rules that keep a user within the budget; one of them suffices, chosen at the user's first charge.

    A pure budget bounds Σ ε, and one without a pure ε its curve. An (ε, δ) budget has two rules. The first one keeps
    half of δ for the conversion of divergences, at the order where most Gaussian noise fits, and bounds Σ ε or the
    divergence. The other one bounds Σ ε and leaves all of δ to the charges.

    **Guarantee**: charges that fit one of these rules, chosen before the first, leave a user within the budget.

    >>> [rule.times(Loss.gaussian(1000)) for rule in filters(Loss.approximate(3, 1e-6))]
    [350, 0]
    >>> [rule.times(Loss.approximate(1, 1e-6)) for rule in filters(Loss.approximate(3, 1e-6))]
    [0, 1]
    """
    if budget.pure_epsilon == INF:
        return (Filter(budget.delta, curve=budget.curve),)
    basic = Filter(budget.delta, pure=budget.pure_epsilon)
    half = budget.delta / 2
    left = [budget.pure_epsilon - Fraction(more) if more < INF else -1 for more in additions(half)]
    chosen = max(range(len(ORDERS)), key=lambda i: left[i] / ORDERS[i])
    if left[chosen] <= 0:
        return (basic,)
    curve = tuple(left[i] if i == chosen else INF for i in range(len(ORDERS)))
    return Filter(half, budget.pure_epsilon, curve), basic


def _times(limit: Bound, part: Bound) -> Bound | int:
    if part == 0 or limit == INF:
        return INF
    return 0 if part == INF else limit // part


def compared(what: str, found: Bound, allowed: Bound) -> str:
    """Both numbers, with as many digits as needed to see that one is larger."""
    x, y = above(found), above(allowed)
    pairs = [(f"{x:.{digits}g}", f"{y:.{digits}g}") for digits in (4, 8, 17)]
    shown = next((f"{large} where {small}" for large, small in pairs if large != small), f"a little above {y:g}, which")
    return f"{what} would be {shown} is allowed"
