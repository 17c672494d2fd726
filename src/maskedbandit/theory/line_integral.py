"""The likelihood of a release where many sums of rewards explain it, in a time that does not grow with their number.

The sum a(r) = sum over x of C(n, x) mu^x (1 - mu)^(n-x) h(r - x) has the generating function M(s) H(s),

    M(s) = (1 - mu + mu e^s)^n,    H(s) = sum over z of h(z) e^(sz),

and is the integral of M(s) H(s) e^(-rs) over s = tau + it, |t| <= pi, divided by 2 pi, for every tau. On that line the
modulus is a bell, so that a few dozen of the N points t = 2 pi j / N are enough. Their mean is exactly

    T = sum over all whole k of  a(r + kN) e^(k tau N).

a(r') <= M(s) H(s) e^(-r's) for each real s says how little the terms beside k = 0 are. Let the peak be M(tau) H(tau)
e^(-r tau), and d a step along the real axis: those of k > 0 are at most peak e^-DEEP / (1 - e^-DEEP) in all if

    d N >= DEEP + ln of the peak at tau + d - ln of the peak at tau,

and those of k < 0 likewise at tau - d. N is the least number that does both, in units of d about DEEP + d^2 / 2 times
the variance. The modulus falls as |t| grows, so all points where it is below peak e^-DEEP may be left out.

**Discrete Laplace noise**, h(z) = e^(-rho |z|), has H(s) = sinh(rho) / (cosh(rho) - cosh(s)), with poles at rho and
-rho. Let U be the part of a(r) of positive noise, with half of that of none, and V what R = M(rho) e^(-r rho) is above
it. Then

    U(r') <= M(s) e^(-r's) for s <= rho,      V(r') <= M(s) e^(-r's) for s >= rho,

so if d reaches the pole V takes the place of U in the bound, without H in the peak, and T is corrected by R / (e^((rho
- tau) N) - 1), which the R e^(-k (rho - tau) N) add up to, k > 0. Beyond the pole T has -V in the place of U, and the
same correction makes it U. The part of negative noise is the mirror image. So tau may be anywhere but near a pole, and
where M(s) e^(-rs) is so small at some s > rho that V is nothing beside R, a(r) is R.

docs/released_likelihood.md has the proof.
"""

import math

from maskedbandit.core import kernel, large_kernel, lean_kernel
from maskedbandit.law import Law, is_coins, is_gaussian, is_laplace
from maskedbandit.noise_bounds import cumulant

DEEP = 44.0  # nats
LEAST_WIDTH = 20.0  # standard deviations from which on this costs less than to add up all terms
WITHIN_POLES = math.exp(-0.2)  # so far within the poles too
LARGEST_RATE = 30.0  # 1 / scale of Laplace noise, from which on the noise is hardly ever anything but 0
NEAREST_POLE = 1.0  # to a pole, in standard deviations
TO_BE_ADDED = math.nan, math.nan  # the answer where all terms are to be added up


@kernel
def tilt_mean(mu: float, s: float) -> float:
    """The mean of a bit of mean mu, if ones weigh e^s times as much."""
    return mu * math.exp(s) / (1 + mu * math.expm1(s))


@kernel
def log_peak(law: Law, scale: float, count: float, n: int, r: float, mu: float, s: float) -> float:
    """ln M(s) H(s) e^(-rs), for Laplace noise without H."""
    value = n * math.log1p(mu * math.expm1(s)) - r * s
    return value if is_laplace(law) else value + cumulant(law, scale, count, 1, s)


@kernel
def turn_bits(n: float, q: float, two: float, sine: float) -> tuple[float, float]:
    """ln of the modulus and the angle of (1 - q + q e^(it))^n, two = 1 - cos t and sine = sin t, |t| < pi / 2."""
    return n / 2 * math.log1p(-2 * q * (1 - q) * two), n * math.atan(q * sine / (1 - q * two))


@large_kernel
@lean_kernel
def find_saddle(law: Law, scale: float, count: float, n: int, r: float, mu: float) -> float:
    """Where the integrand is least among real s, nearly; nan: nowhere, or where one of the two is not wide."""
    variance = count * scale * scale
    s = 0.0
    for _ in range(40):
        q = tilt_mean(mu, s)
        if is_gaussian(law):
            mean, wide = variance * s, variance
        elif is_coins(law):
            half = math.tanh(s / 2)
            mean, wide = count * half / 2, count * (1 - half * half) / 4
        else:
            half = math.sinh(s / 2)
            mean, wide = variance * math.sinh(s), variance * (1 + 2 * half * half)
        bits = n * q * (1 - q)
        if min(bits, wide) < LEAST_WIDTH * LEAST_WIDTH:
            return math.nan
        step = (r - n * q - mean) / (bits + wide)
        if step * step * (bits + wide) < 0.01:
            return s
        s += min(max(step, -1.0), 1.0)
    return math.nan


@kernel
def turn_noise(
    law: Law, variance: float, count: float, tau: float, t: float, two: float, sine: float
) -> tuple[float, float]:
    """ln of the modulus and the angle of H(tau + it) / H(tau), for noise but Laplace's."""
    if is_gaussian(law):
        return -variance * t * t / 2, variance * tau * t
    if is_coins(law):
        modulus, angle = turn_bits(count, tilt_mean(0.5, tau), two, sine)
        return modulus, angle - count * t / 2
    half = math.sinh(tau / 2)
    return -variance * (1 + 2 * half * half) * two, variance * math.sinh(tau) * sine


@large_kernel
@lean_kernel
def sum_on_line(
    law: Law, scale: float, count: float, n: int, r: float, mu: float, tau: float, step: float
) -> tuple[float, float]:
    """ln a(r) and its slope in mu, by the integral at tau; `step` is d.

    Where Laplace noise has its saddle beyond a pole, d is at least the distance to it.
    """
    laplace, rate = is_laplace(law), 1 / scale
    top, q = log_peak(law, scale, count, n, r, mu, tau), tilt_mean(mu, tau)
    above = log_peak(law, scale, count, n, r, mu, tau + step) - top
    below = log_peak(law, scale, count, n, r, mu, tau - step) - top
    points = math.ceil((DEEP + max(above, below)) / step)
    half, sinh = math.sinh(tau / 2), math.sinh(tau)
    cosh, beside, above_poles = 1 + 2 * half * half, 0.0, 0.0
    if laplace:  # sinh(rho), and cosh(rho) - cosh(tau)
        above_poles, beside = math.sinh(rate), 2 * math.sinh((rate + tau) / 2) * math.sinh((rate - tau) / 2)
    value, moment = 0.0, 0.0  # a(r), and its mean of n (Q - q), Q the mean of bits that are tilted by s
    for j in range(points // 2 + 1):
        t = 2 * math.pi * j / points
        half, sine = math.sin(t / 2), math.sin(t)
        two = 2 * half * half
        modulus, angle = turn_bits(float(n), q, two, sine)
        if not laplace:
            more, turned = turn_noise(law, count * scale * scale, count, tau, t, two, sine)
            modulus, angle = modulus + more, angle + turned
        if modulus < -DEEP:
            break
        weight = math.exp(modulus) * (1.0 if j == 0 else 2.0) / points
        real, imaginary = weight * math.cos(angle - r * t), weight * math.sin(angle - r * t)
        if laplace:
            a, b = beside + cosh * two, sinh * sine
            factor = above_poles / (a * a + b * b)
            real, imaginary = factor * (a * real - b * imaginary), factor * (a * imaginary + b * real)
        value += real
        u, v = 1 - q * two, q * sine
        variance = n * q * (1 - q) / (u * u + v * v)
        moment += variance * ((sine * v - two * u) * real - (sine * u + two * v) * imaginary)
    for side in (1, -1):
        if laplace and side * tau + step >= rate:  # the pole at side * rate
            pole = log_peak(law, scale, count, n, r, mu, side * rate)
            more = math.exp(pole - top) / -math.expm1((rate - side * tau) * points)
            value += more
            moment += more * n * (tilt_mean(mu, side * rate) - q)
    if is_gaussian(law):  # with h(0) = 1 other terms of H are below e^-1000 of this one
        top += math.log(2 * math.pi * count * scale * scale) / 2
    return top + math.log(value), (n * (q - mu) + moment / value) / (mu * (1 - mu))


@kernel
def is_narrow(law: Law, scale: float, count: float, n: int, r: float, odds: float, up: float) -> bool:
    """Whether it is seen at once that it costs less to add up all terms; `odds` are mu / (1 - mu), `up` is e^rho."""
    if is_laplace(law):
        ones, zeros, much = (
            r,
            odds * (n - r),
            WITHIN_POLES * up,
        )  # the binomial alone has its saddle at ln(ones / zeros)
        return count != 1.0 or (ones > 0.0 and zeros > 0.0 and ones < much * zeros and zeros < much * ones)
    return min(n / 4, count * scale * scale) < LEAST_WIDTH * LEAST_WIDTH


@large_kernel
@lean_kernel
def of_wide_release(law: Law, scale: float, count: float, n: int, r: float, mu: float) -> tuple[float, float]:
    """ln a(r) and its slope in mu, 0 < mu < 1, h as in `log_noise`; nan where it costs less to add up all terms."""
    place = r + count / 2 if is_coins(law) else r
    if place != math.floor(place):
        return TO_BE_ADDED  # the identity is one of whole numbers
    if not is_laplace(law):
        tau = find_saddle(law, scale, count, n, r, mu)
        if math.isnan(tau):
            return TO_BE_ADDED
        q = tilt_mean(mu, tau)
        wide = n * q * (1 - q) + count * scale * scale
        return sum_on_line(law, scale, count, n, r, mu, tau, math.sqrt(2 * DEEP / wide))
    rate = 1 / scale
    if rate > LARGEST_RATE:
        return TO_BE_ADDED
    tau = math.inf if r >= n else -math.inf if r <= 0.0 else math.log(r * (1 - mu) / ((n - r) * mu))
    pole = rate if tau > 0.0 else -rate
    if abs(tau) > rate:
        far, q = log_peak(law, scale, count, n, r, mu, pole), tilt_mean(mu, pole)
        if abs(tau) == math.inf or far - log_peak(law, scale, count, n, r, mu, tau) > DEEP:
            return far, n * (q - mu) / (mu * (1 - mu))
    wide = math.sqrt(r * (n - r) / n)
    if wide < LEAST_WIDTH:
        return TO_BE_ADDED
    near = NEAREST_POLE / wide
    if abs(tau) < rate and rate > near:
        tau = min(max(tau, near - rate), rate - near)
    else:
        tau = max(abs(tau), rate + near) * (1 if tau > 0.0 else -1)
    q = tilt_mean(mu, tau)
    step = max(math.sqrt(2 * DEEP / (n * q * (1 - q))), abs(tau) - rate)
    return sum_on_line(law, scale, count, n, r, mu, tau, step)
