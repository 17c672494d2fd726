"""Exact integer noise: nothing that protects a person is computed with a floating-point number.

Noise computed with floats reveals the value it hides through its low bits [Mir12]. Here every distribution is built
from one primitive, a uniform integer made of the operating system's random bytes. `below(b) < a` is a coin of
probability a/b; the parity of a run of such coins is a coin of probability e^−γ [CKS20, Alg. 1]; everything else is
coins and rejection. So the probabilities stated below are exact, for every int or Fraction, if the bytes of the system
are uniform and independent. The running time depends on the draw: draw before the value to hide is known.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from os import urandom
from struct import Struct

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.process import identify_process

SPAN = 1 << 64  # a word of the pool is uniform on 0..SPAN-1
RANDOM_WORDS = Struct("<512Q")  # one page: the call to the system is then cheaper than the arithmetic

Below = Callable[[int], int]


class Bits:
    """Uniform integers from random bytes, which are fetched a page at a time.

    **Guarantee**: no word is used twice. Threads may share an instance, as `pop` is atomic. A forked child, also of a
    fork that Python does not know of, and a pickled copy start without words. Draws repeat only if the caller's own
    `source` does.

    >>> from random import Random
    >>> bits = Bits(Random(7).randbytes)
    >>> [bits.below(6) for _ in range(10)]
    [4, 3, 0, 2, 3, 3, 1, 3, 1, 4]
    """

    def __init__(self, source: Callable[[int], bytes] = urandom) -> None:
        self._source = source
        self._words: list[int] = []
        self._process = identify_process()  # whose words they are

    def __reduce__(self) -> tuple[type[Bits], tuple[Callable[[int], bytes]]]:
        return Bits, (self._source,)

    def below(self, n: int) -> int:
        """One of 0, ..., n-1, each with probability 1/n.

        Of all words only those below the largest multiple of n are kept: there, `word % n` is uniform.
        """
        if type(n) is not int or n < 1:
            raise InvalidValue("n", n, "an integer of at least 1")
        if n > SPAN:
            return self._below_wide(n)
        while True:
            if identify_process() != self._process:
                self._words.clear()  # they are also the words of the process that forked
                self._process = identify_process()  # last: a thread that finds it so takes none of them
            try:
                word = self._words.pop()
            except IndexError:
                self._words.extend(RANDOM_WORDS.unpack(self._source(RANDOM_WORDS.size)))
                continue
            rest = word % n
            if word - rest <= SPAN - n:
                return rest

    def _below_wide(self, n: int) -> int:
        words = -(-n.bit_length() // 64)
        while True:
            wide = 0
            for _ in range(words):
                wide = wide * SPAN + self.below(SPAN)
            rest = wide % n
            if wide - rest <= (1 << 64 * words) - n:
                return rest


def bernoulli(p: Fraction | int, bits: Bits) -> bool:
    """A coin of probability p.

    **Guarantee**: P(True) = p.

    >>> bernoulli(Fraction(1, 3), Bits()) in (True, False), bernoulli(1, Bits())
    (True, True)
    """
    a, b = _ratio("p", p, least=0)
    if a > b:
        raise InvalidValue("p", p, "an int or a Fraction from 0 to 1")
    return bits.below(b) < a


def bernoulli_exp(gamma: Fraction | int, bits: Bits) -> bool:
    """A coin of probability e^-γ, for every γ >= 0 [CKS20, Alg. 1].

    A run of coins of probability γ/1, γ/2, γ/3, ... is longer than k with probability γ^k/k!, so its first
    failure has an odd number with probability 1 - γ + γ²/2! - ... = e^-γ. For γ > 1, coins of e^-1 go first.

    **Guarantee**: P(True) = e^-gamma.

    >>> bernoulli_exp(0, Bits())
    True
    """
    return _coin(*_ratio("gamma", gamma, least=0), bits.below)


def geometric(rate: Fraction | int, bits: Bits) -> int:
    """The number of e^-rate coins that succeed before the first failure [CKS20, Alg. 2].

    **Guarantee**: P(x) = (1 - e^-rate) e^(-rate x) for x = 0, 1, 2, ...

    >>> from random import Random
    >>> bits = Bits(Random(7).randbytes)
    >>> [geometric(Fraction(1, 10), bits) for _ in range(10)]
    [0, 17, 7, 1, 4, 12, 2, 9, 5, 11]
    """
    return _geometric(*_ratio("rate", rate), bits.below)


def discrete_laplace(scale: Fraction | int, bits: Bits) -> int:
    """The noise of pure privacy on integers: 1/scale for each unit of sensitivity [CKS20, Alg. 2].

    **Guarantee**: P(z) = e^(-|z|/scale) (1 - B)/(1 + B), where B = e^(-1/scale).

    >>> from random import Random
    >>> bits = Bits(Random(7).randbytes)
    >>> [discrete_laplace(10, bits) for _ in range(10)]
    [-19, 1, 21, -2, 0, 24, 4, 2, -10, -33]
    """
    t, s = _ratio("scale", scale)
    return _laplace(s, t, bits.below)


def discrete_gaussian(variance: Fraction | int, bits: Bits) -> int:
    """The noise of zero-concentrated privacy on integers: rejection from a Laplace [CKS20, Alg. 3].

    With t = floor(σ) + 1, a Laplace draw y of scale t is kept with probability exp(-(|y| - σ²/t)² / 2σ²),
    which is e^(-y²/2σ²) over e^(-|y|/t), times a constant.

    **Guarantee**: P(z) ∝ e^(-z² / (2 variance)); the variance of z itself is at most `variance`.

    >>> from random import Random
    >>> bits = Bits(Random(7).randbytes)
    >>> [discrete_gaussian(100, bits) for _ in range(10)]
    [-9, 7, 9, -3, -4, 16, 12, -18, 5, 5]
    """
    p, q = _ratio("variance", variance)
    t = isqrt(p // q) + 1
    while True:
        y = _laplace(1, t, bits.below)
        if _coin((abs(y) * q * t - p) ** 2, 2 * p * q * t * t, bits.below):
            return y


def polya(shape: Fraction | int, rate: Fraction | int, bits: Bits) -> int:
    """A part of a geometric variable: n draws of shape 1/n sum to one.

    **Guarantee**: P(x) = C(shape+x-1, x) β^x (1-β)^shape for x = 0, 1, 2, ..., where β = e^-rate.

    >>> from random import Random
    >>> bits = Bits(Random(7).randbytes)
    >>> [polya(Fraction(1, 4), Fraction(1, 10), bits) for _ in range(10)]
    [0, 0, 0, 1, 0, 0, 1, 20, 2, 2]
    """
    return draw_polyas(1, shape, rate, bits)[0]


def draw_polyas(count: int, shape: Fraction | int, rate: Fraction | int, bits: Bits) -> list[int]:
    """So many draws of `polya`, from as few geometric variables as their shapes add up to.

    A geometric g is cut in pieces: the first is uniform on 1, ..., g, the next on 1, ..., what is left of g, and so on.
    Of r = count shape <= 1 a piece is dropped with probability 1-r, or else given to one of the draws, each as likely;
    a draw is the sum of its pieces. If r is above 1, several geometrics share it equally.

    Proof for r <= 1: let w(m) = 1-r + shape Σ_i s_i^m, the mean of s_i^m if a piece of length m is given to draw i, or
    of 1 if it is dropped, and E(g) the mean product of these factors over the pieces of g. The first piece is uniform,
    so g E(g) = Σ_{m=1..g} w(m) E(g-m), E(0) = 1. For the series E(u) = Σ E(g) u^g that is u E'(u) = E(u) Σ_m w(m) u^m,
    so log E(u) = Σ_m w(m) u^m / m = -(1-r) log(1-u) - shape Σ_i log(1 - s_i u). With P(g) = (1-β) β^g the mean of all
    is (1-β) E(β) = Π_i ((1-β) / (1 - s_i β))^shape, as of independent draws of `polya`.

    A geometric has about log(1/rate) pieces, whatever the shape.

    **Guarantee**: the draws are independent, and each has the distribution of `polya`.

    >>> from random import Random
    >>> draw_polyas(8, Fraction(1, 4), Fraction(1, 10), Bits(Random(7).randbytes))
    [0, 0, 0, 0, 12, 0, 0, 5]
    """
    (a, b), (s, t) = _ratio("shape", shape), _ratio("rate", rate)
    geometrics, below, found = -(-count * a // b), bits.below, [0] * count
    for _ in range(geometrics):
        left = _geometric(s, t, below)
        while left:
            piece = 1 + below(left)
            left -= piece
            if below(geometrics * b) < count * a:
                found[below(count)] += piece
    return found


def draw_laplace_shares(count: int, part: Fraction | int, scale: Fraction | int, bits: Bits) -> list[int]:
    """So many noise shares, each of which is this part of a discrete Laplace draw: a difference of two Pólya [GX15].

    **Guarantee**: the shares are independent, and n of them with part 1/n sum to a draw of `discrete_laplace(scale)`.

    >>> draw_laplace_shares(3, Fraction(1, 10**9), 1, Bits())
    [0, 0, 0]
    """
    s, t = _ratio("scale", scale)
    found = draw_polyas(2 * count, part, Fraction(t, s), bits)
    return [plus - minus for plus, minus in zip(found[::2], found[1::2], strict=True)]


def exact_poisson(mean: Fraction | int, bits: Bits) -> int:
    """A Poisson count: the sum of ceil(2 mean) pieces, so that the mean p of a piece is at most 1/2.

    A piece is the number x of p-coins before a failure, kept with probability 1/x!: its distribution is then
    proportional to p^x/x!, and a draw is kept with probability (1-p) e^p >= 0.82. The time is linear in the mean.

    **Guarantee**: P(x) = e^-mean mean^x / x!.

    >>> from random import Random
    >>> bits = Bits(Random(7).randbytes)
    >>> [exact_poisson(4, bits) for _ in range(10)]
    [2, 5, 4, 4, 3, 8, 6, 4, 4, 1]
    """
    return _poisson(*_ratio("mean", mean), bits.below)


def skellam(variance: Fraction | int, bits: Bits) -> int:
    """The difference of two Poisson counts of mean variance/2: sums of draws are draws, and their variances add up.

    **Guarantee**: P(z) = e^-variance I_|z|(variance), with I the modified Bessel function.

    >>> from random import Random
    >>> bits = Bits(Random(7).randbytes)
    >>> [skellam(4, bits) for _ in range(10)]
    [2, -1, 2, 2, 1, 4, 2, -2, 2, 1]
    """
    p, q = _ratio("variance", variance)
    return _poisson(p, 2 * q, bits.below) - _poisson(p, 2 * q, bits.below)


def _ratio(name: str, value: Fraction | int, least: int = 1) -> tuple[int, int]:
    if type(value) in (int, Fraction):
        a, b = value.as_integer_ratio()
        if a >= least:
            return a, b
    raise InvalidValue(name, value, f"an int or a Fraction {'above' if least else 'of at least'} 0")


def _coin(a: int, b: int, below: Below) -> bool:
    """True with probability e^(-a/b)."""
    while a > b:
        if not _coin(1, 1, below):
            return False
        a -= b
    k = 1
    while below(b * k) < a:
        k += 1
    return k % 2 == 1


def _geometric(s: int, t: int, below: Below) -> int:
    """P(x) ∝ e^(-x s/t): x below t, then whole multiples of t, has P(x) ∝ e^(-x/t); s of these make one."""
    x = below(t)
    while not _coin(x, t, below):
        x = below(t)
    while _coin(1, 1, below):
        x += t
    return x // s


def _laplace(s: int, t: int, below: Below) -> int:
    """P(z) ∝ e^(-|z| s/t): a geometric with a sign, where minus zero is rejected, or zero would count twice."""
    while True:
        negative = below(2) < 1
        x = _geometric(s, t, below)
        if not negative:
            return x
        if x:
            return -x


def _poisson(a: int, b: int, below: Below) -> int:
    """`poisson` of mean a/b."""
    pieces = -(-2 * a // b)
    b *= pieces
    total = 0
    for _ in range(pieces):
        while True:
            x = 0
            while below(b) < a:
                x += 1
            if x < 2 or all(below(i) < 1 for i in range(2, x + 1)):
                break
        total += x
    return total
