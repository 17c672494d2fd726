"""The logarithm of the gamma function, the same to the last bit as Python and compiled: `math.lgamma` is not.

Stirling's series, where it is exact to the last digits; the recurrence of the function leads there from below.
"""

import math

from maskedbandit.core import large_kernel

FROM = 10.0  # here the first term that is left out is below 1e-16
HALF_LOG_2_PI = math.log(2 * math.pi) / 2


@large_kernel
def log_gamma(x: float) -> float:
    """ln Gamma(x) for x > 0.

    >>> round(log_gamma(5), 12), round(math.log(24), 12)
    (3.178053830348, 3.178053830348)
    """
    z, product = float(x), 1.0
    while z < FROM:
        product *= z
        z += 1.0
    y = 1 / (z * z)
    tail = 1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - y * (691 / 360360 - y / 156)))
    series = (1 / 12 - y * (1 / 360 - y * tail)) / z
    return (z - 0.5) * math.log(z) - z + HALF_LOG_2_PI + series - math.log(product)
