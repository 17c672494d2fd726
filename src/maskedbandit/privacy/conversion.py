"""From a Rényi divergence to ε at some δ: what each order adds to ε."""

import math

from maskedbandit.privacy.renyi_divergences import INF, ORDERS, Bound

_CONSTANTS = tuple((float(a - 1), math.log1p(-1 / a) - math.log(a) / float(a - 1)) for a in ORDERS)
_MARGIN = 1e-14  # relative, above the error of the dozen float operations of one conversion


def above(bound: Bound) -> float:
    """The least float that is not below.

    >>> from fractions import Fraction
    >>> above(Fraction(1, 2)), above(Fraction(1, 3)) > Fraction(1, 3), above(Fraction(10) ** 400)
    (0.5, True, inf)
    """
    try:
        near = float(bound)
    except OverflowError:
        return INF
    return near if near >= bound else math.nextafter(near, INF)


def additions(delta: Bound) -> tuple[float, ...]:
    """The difference between ε and R(α), for every order α: ln(1 - 1/α) - ln(δ α) / (α - 1)  [CKS20, Prop. 12].

    A float cannot represent a δ below 1e-300 precisely: it counts as 0, for which every addition is infinite.

    **Guarantee**: whatever has divergence R(α) is (R(α) + addition, δ)-private; rounded upwards.

    >>> round(min(float(order) / 200 + more for order, more in zip(ORDERS, additions(1e-6))), 4)
    0.4301
    """
    if delta <= 1e-300:
        return (INF,) * len(ORDERS)
    x = -math.log(math.nextafter(float(delta), 0.0))
    return tuple(x / gap + constant + _MARGIN * (x / gap + abs(constant)) for gap, constant in _CONSTANTS)
