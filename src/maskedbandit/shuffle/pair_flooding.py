"""Pair flooding: a sum of bits from anonymous messages with a pure ε, for some hundred messages from each device.

Messages are +1 and −1, and the server counts both kinds. A device with the bit x sends

    f pairs of +1 and −1, a flood that hides the rest, with P(f) = p(f) for f = 0, 1, ..., `most`;
    x more messages +1; but if f = 0 and x = 1, it lies with probability e^{−ε}, and sends none;
    a messages +1 and b messages −1 of noise, independent of all else: Pólya(1/n, e^{−ε′}).

The number of +1 less that of −1 is the sum of the bits, less the few lies, plus discrete Laplace noise of the pure loss
ε′: the flood cancels. The flood begins with a small p(0) and grows,

    p(0) = w p(1),  w ≥ e^{ε′} / (e^ε − 1);    p(f) = e^{ε − ε′} p(f − 1)  for f ≥ 2,                 ε′ < ε

so that a device lies with probability below p(0), and sends about 2 ln(1 / p(0)) / (ε − ε′) messages, whatever n is.

**Theorem.** The numbers of +1 and −1 are ε-private, whatever the other bits are.

Proof. Let β = e^{−ε′}, and fix the others' lies; then s of the others truly add one. The noise of all devices is two
geometric variables. Let t(f) = p(f) β^{−2f}, and G(m) the sum over floods of the others of at most m pairs in all,
each with its probability times β^{−2 pairs}: G grows, from G(−1) = 0. Then u messages +1 and v messages −1 come from
all but the pairs and the bit of one device with probability c β^{u+v−s} G(min(u − s, v)). With these, with λ = e^{−ε}
and m = min(u − s, v), the two probabilities of u and v are c β^{u+v−s} times

    x = 0:  Σ_{f≥0} t(f) G(m − f)
    x = 1:  e^{ε′} [ (1 − λ) t(0) G(m′) + Σ_{f≥1} t(f) G(m′ − f) ] + λ t(0) G(m),    m′ = min(u − s − 1, v).

*If v < u − s* then m = m′, and the second is between 1 and e^{ε′} times the first. *Else* m′ = m − 1. The second is at
most e^ε times the first, term by term, since G(m − 1 − f) ≤ G(m − f). It is at least e^{−ε} times the first, too: that
is so of the terms with G(m), by λ = e^{−ε}; of those with G(m − 1), since t(1) ≤ (1 − λ) e^{ε + ε′} t(0); and of those
with G(m − f), since t(f) ≤ e^{ε + ε′} t(f − 1). Averages over lies, over bits that are known, and over noise of more
devices than n, keep both bounds.

With p(0) = 1 / n it sends as many messages, to first order, as the protocol of [GKM23], of which only the abstract was
read; [CY21] needs some n^{2.5}. A shuffler sees how many messages a device sends, so devices add messages 0 up to
`size`, which tell the server nothing. Noise that does not fit is drawn again: with `spare` messages for it the
distribution changes by at most `n overflow(n)`, which can be far below what encryption leaves.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number, to_fraction, to_whole
from maskedbandit.privacy.powers import FIXED_ONE, power_above, power_below
from maskedbandit.privacy.sampling import Bits, bernoulli_exp, draw_polyas

LEFT_OUT = Fraction(1, 1 << 100)  # of the probability of noise, in all devices together
PLUS, MINUS = 1, 2  # messages; 0 is neither


@dataclass(frozen=True)
class PairFlooding:
    """A device's randomizer: a bit becomes messages, of which the server counts two kinds.

    **Guarantee**: both counts are `epsilon`-private for each device, if at least `n` devices that draw noise shares of
    1/n are honest, and no noise was drawn again; that happens to one of n with probability at most `n overflow(n)`.

    >>> flooding = PairFlooding(epsilon=1, noise_epsilon="1/2", most=30)
    >>> flooding.size, f"{float(flooding.missed()):.0e}, {float(1000 * flooding.overflow(1000)):.0e}"
    (253, '7e-08, 6e-42')
    """

    epsilon: Number
    noise_epsilon: Number
    most: int
    spare: int = 192

    def __post_init__(self) -> None:
        epsilon, noise = to_fraction("epsilon", self.epsilon), to_fraction("noise_epsilon", self.noise_epsilon)
        if not Fraction(1, 1000) <= epsilon <= 8:
            raise InvalidValue("epsilon", self.epsilon, "from 0.001 to 8")
        if not noise < epsilon:
            raise InvalidValue("noise_epsilon", self.noise_epsilon, "below epsilon: the rest is for the flood")
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "noise_epsilon", noise)
        to_whole("most", self.most, 1, 100_000)
        to_whole("spare", self.spare, 0, 100_000)

    @classmethod
    def for_lies(cls, epsilon: Number, noise_epsilon: Number, lies: Number) -> "PairFlooding":
        """The least flood with which a device lies with at most this probability, and noise is kept but for 2⁻¹⁰⁰.

        That is the noise of all devices together, of which there are at least two.

        >>> [PairFlooding.for_lies(epsilon, f"{epsilon}/2", "1e-9").size for epsilon in (1, 2, 4)]
        [220, 111, 56]
        """
        allowed = to_fraction("lies", lies)
        most = least_of(lambda most: cls(epsilon, noise_epsilon, most).missed() <= allowed)
        spare = least_of(lambda spare: 2 * cls(epsilon, noise_epsilon, 1, spare).overflow(2) <= LEFT_OUT)
        return cls(epsilon, noise_epsilon, most, spare)

    @property
    def growth(self) -> Fraction:
        """ε − ε′: the logarithm of p(f) / p(f − 1)."""
        return Fraction(self.epsilon) - Fraction(self.noise_epsilon)

    @property
    def size(self) -> int:
        """The number of messages that a device sends, of all three kinds."""
        return 2 * self.most + 1 + self.spare

    @cached_property
    def start(self) -> int:
        """w, the least whole number that is surely enough."""
        above = power_above(Fraction(self.noise_epsilon))
        below = power_below(Fraction(self.epsilon))
        return -(-above // (below - FIXED_ONE))

    def pairs(self, bits: Bits) -> int:
        """The number of pairs of a flood, by rejection: weights e^{−growth i} for most − i, and w of the last for 0."""
        while True:
            i = bits.below(self.most + self.start)
            if bernoulli_exp(self.growth * min(i, self.most - 1), bits):
                return max(self.most - i, 0)

    def randomize(self, bit: int, n: int, bits: Bits) -> tuple[int, int]:
        """How many messages +1 and −1 a device sends, with its noise share of 1/n."""
        if bit not in (0, 1):
            raise InvalidValue("bit", "outside", "0 or 1")
        pairs, lie = self.pairs(bits), bernoulli_exp(Fraction(self.epsilon), bits)  # whatever the bit is
        share, rate = Fraction(1, to_whole("n", n, 1)), Fraction(self.noise_epsilon)
        while True:
            plus, minus = draw_polyas(2, share, rate, bits)
            if plus + minus <= self.spare:
                return pairs + bit * (1 - (pairs == 0) * lie) + plus, pairs + minus

    def bundle(self, plus: int, minus: int) -> list[int]:
        """The messages, of the same number from every device."""
        return [PLUS] * plus + [MINUS] * minus + [0] * (self.size - plus - minus)

    def total(self, messages: Sequence[int]) -> int:
        """The noisy sum of the bits, of the messages of all devices in any order."""
        return messages.count(PLUS) - messages.count(MINUS)

    def missed(self) -> Fraction:
        """At least the probability that a device with a one lies: p(0) e^{−ε}."""
        step = power_below(self.growth)
        term = total = FIXED_ONE
        for _ in range(self.most - 1):
            term = term * step // FIXED_ONE
            total += term
        below = power_below(Fraction(self.epsilon))
        return Fraction(self.start * FIXED_ONE * FIXED_ONE, (self.start * FIXED_ONE + total) * below)

    def overflow(self, n: int) -> Fraction:
        """At least the probability that the noise of a device is drawn again: 2/n β^k / (1 − β), k = spare + 1.

        A share of 1/n in both kinds is j with a probability of at most 2/n β^j if n ≥ 2. One device alone draws j with
        (j + 1) β^j (1 − β)², so k or more with β^k (1 + k (1 − β)), which is at most (k + 1) β^k / (1 − β).
        """
        below = power_below(Fraction(self.noise_epsilon))
        power = FIXED_ONE
        for _ in range(self.spare):  # β^k / (1 − β) is β^(k − 1) / (e^{ε′} − 1)
            power = -(-power * FIXED_ONE // below)
        share = Fraction(2, n) if to_whole("n", n, 1) > 1 else Fraction(self.spare + 2)
        return min(Fraction(1), share * Fraction(power, below - FIXED_ONE))


def least_of(enough: Callable[[int], bool]) -> int:
    """The least whole number that is enough, if all larger ones are."""
    high = 1
    while not enough(high):
        high *= 2
    return bisect_left(range(high), True, lo=high >> 1, key=enough)
