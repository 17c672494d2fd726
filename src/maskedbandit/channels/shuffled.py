"""Shuffled trust: every device sends its bit and some fair coins, mixed with those of all others [TKMS21].

A reward becomes a bit of the same mean. The bits of a cohort and N fair coins reach the server as messages without
senders, so it learns only the number of ones: the sum of the bits plus Bin(N, 1/2). Subtracting N/2 leaves noise of
variance N/4. A reward changes the sum by at most one, in distribution; so a release is (ε, δ)-private if

    δ(N) = Σ_z max(0, P(z) − e^ε P(z − 1)) = F(k) − e^ε F(k − 1) ≤ δ,       P = Bin(N, 1/2),

where F sums P up to z and k is the last z < (N + 1) / (1 + e^ε), as P(z) / P(z − 1) = (N + 1 − z) / z falls (by
symmetry the other direction costs the same). One more coin is post-processing, so δ(N) falls: the least N is found by
bisection. Proofs by tail bounds need many times as many coins. N is the same for cohorts of every size.

The shuffler is an ideal one, or the real protocol that `backend` names. The coins of lost devices are missing. The
number of messages shows how many; half of that number is added, so the result estimates the survivors' sum, with less
noise than expected.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from maskedbandit.backends.backend import Aggregate, Mixer
from maskedbandit.backends.ideal import Ideal
from maskedbandit.channels.channel import check_answers, check_cohort_size
from maskedbandit.channels.codec import encode_reward
from maskedbandit.channels.mixing_channel import MixingChannel
from maskedbandit.channels.offers import Offer
from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import COINS, Law
from maskedbandit.privacy.exact import Number, to_fraction
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.powers import FIXED_ONE, power_below
from maskedbandit.privacy.sampling import SPAN, Bits


def hide(coins: int, power: int, delta: Fraction) -> bool:
    """Whether so many coins make delta(N) <= delta; never true if they do not.

    With r(z) = P(z) / P(k), and w at most e^epsilon, delta(N) <= (1 - (w - 1) sum_{z<k} r(z)) / sum_z r(z): with w
    instead of e^epsilon, in k too, it can only be larger, and so it is if both sums are rounded down.
    """
    last = ((coins + 1) * FIXED_ONE - 1) // (power + FIXED_ONE)
    below, r, z = 0, FIXED_ONE, last
    while r and z:
        r = r * z // (coins + 1 - z)
        below += r
        z -= 1
    total, r = below + FIXED_ONE, FIXED_ONE  # from the lower end to the middle, which counts once, all else twice
    for z in range(last + 1, coins // 2 + 1):
        r = r * (coins + 1 - z) // z
        total += r
    total = 2 * total - (r if coins % 2 == 0 else 0)
    return (
        FIXED_ONE * FIXED_ONE - (power - FIXED_ONE) * below
    ) * delta.denominator <= delta.numerator * total * FIXED_ONE


@lru_cache(maxsize=256)
def coins_needed(epsilon: Fraction, delta: Fraction) -> int:
    """The least number of fair coins that hide one bit among them.

    >>> [coins_needed(Fraction(1), Fraction(1, 10**digits)) for digits in (5, 6, 8)]
    [62, 80, 117]
    """
    power = power_below(min(epsilon, Fraction(60)))  # by then e^epsilon is above the number of coins
    enough = 1
    while not hide(enough, power, delta):
        enough *= 2
    few = enough // 2
    while enough - few > 1:
        middle = (few + enough) // 2
        if hide(middle, power, delta):
            enough = middle
        else:
            few = middle
    return enough


@dataclass(frozen=True)
class Shuffled(MixingChannel):
    """Bits and coins in a crowd: as few coins as (ε, δ) allows.

    User number i of n tosses floor(N (i+1) / n) − floor(N i / n) of the N = `coins()` coins. No two users may have the
    same number; the shuffler ensures that, as it knows how many messages each device must send.

    **Guarantee**: if the server sees the messages of a cohort as a multiset, a release is (ε, δ)-private for each
    honest user, provided that at least `coins_needed` coins are tossed by users who are honest, the user among them,
    and not known to the server. N is `coins_needed` / honest, rounded up, so any floor((1 − honest) N) coins may be
    missing; that is so whichever `counted_on(n)` of the n users are honest.

    >>> channel = Shuffled(epsilon=0.5)
    >>> channel.coins(), channel.loss(n=1000)
    (268, Loss(ε = 0.5 at δ = 1e-06))
    """

    trust = "shuffled"
    sees = "server: an unordered multiset of bits"

    epsilon: Number = 1
    delta: Number = Fraction(1, 10**6)
    honest: Number = 1
    backend: Mixer = field(default_factory=Ideal)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_single()
        epsilon, delta = to_fraction("epsilon", self.epsilon), to_fraction("delta", self.delta)
        honest = to_fraction("honest", self.honest)
        if epsilon < Fraction(1, 1000):
            raise InvalidValue("epsilon", self.epsilon, "at least 0.001: it needs tens of millions of coins by then")
        if not Fraction(1, 10**100) <= delta < 1:
            raise InvalidValue("delta", self.delta, "a probability of at least 1e-100 and below 1")
        if not Fraction(1, 100) <= honest <= 1:
            raise InvalidValue("honest", self.honest, "a fraction of the coins, from 0.01 to 1")
        for name, value in (("epsilon", epsilon), ("delta", delta), ("honest", honest)):
            object.__setattr__(self, name, value)
        if not isinstance(self.backend, Mixer):
            raise InvalidValue("backend", self.backend, "a backend that mixes, such as Ideal()")

    def needed(self) -> int:
        """The number of coins that must be tossed honestly."""
        return coins_needed(Fraction(self.epsilon), Fraction(self.delta))

    def coins(self) -> int:
        """The number of coins of a cohort, whatever its size."""
        p, q = Fraction(self.honest).as_integer_ratio()
        return -(-self.needed() * q // p)

    def counted_on(self, n: int) -> int:
        """The number of honest users of n that is enough whoever they are; fewer suffice if they toss more coins."""
        most = -(-self.coins() // n)  # that one user tosses
        return n - (self.coins() - self.needed()) // most

    def fewest(self, n: int) -> int:
        """The least number of users of n who may toss enough coins; `aggregate` knows who is there."""
        return -(-self.needed() // -(-self.coins() // n))

    @property
    def draws(self) -> Any:
        return tosses

    def law(self) -> Law:
        needed = self.needed()
        return Law(COINS, scale=0.5, grid=1.0, per_release=float(needed), spare=float(self.coins() - needed))

    def loss(self, n: int) -> Loss:
        check_cohort_size(n)
        return Loss.approximate(self.epsilon, self.delta) * self.backend.attempts

    def offer(self, n: int, modulus: int = 0) -> Offer:
        check_cohort_size(n)
        offer = Offer(type(self).__name__, int(n), steps=1)
        terms = {"coins": self.coins(), "needed": self.needed(), **self.terms_of_statistics()}
        return offer.also(epsilon=self.epsilon, delta=self.delta, **terms)

    def tossed(self, position: int, n: int) -> int:
        """The number of coins of user number `position` of n."""
        return self.coins() * (position + 1) // n - self.coins() * position // n

    def randomize(self, reward: float, offer: Offer, bits: Bits) -> int:
        """The number of ones among the messages: the bit, and this user's coins."""
        tossed = self.tossed_by(offer)
        ones = sum(bits.below(SPAN).bit_count() for _ in range(tossed // 64)) + bits.below(1 << tossed % 64).bit_count()
        return encode_reward(reward, 1, bits) + ones

    def tossed_by(self, offer: Offer) -> int:
        """The number of coins of the user to whom this offer is made."""
        if offer.position is None:
            allowed = f"the user's number in the cohort, a whole number from 0 to {offer.n - 1}"
            raise InvalidValue("position", offer.position, allowed)
        return self.tossed(offer.position, offer.n)

    def bundle(self, sent: int, offer: Offer, bits: Bits) -> list[int]:
        """The messages in which a device sends so many ones: one for its bit, and one for each coin."""
        return [1] * sent + [0] * (1 + self.tossed_by(offer) - sent)

    def bundle_size(self, offer: Offer) -> int:
        return 1 + self.tossed_by(offer)

    def below(self, offer: Offer) -> int:
        return 2

    def bundle_sizes(self, reports: int, n: int) -> tuple[int, int]:
        each, more = divmod(self.coins(), n)  # so many users toss one coin more
        least = reports * (1 + each)
        return least + max(0, reports - (n - more)), least + min(reports, more)

    def hides(self, messages: int, reports: int, n: int) -> bool:
        return messages - reports >= self.needed()

    def aggregate(self, sent: Sequence[int], offer: Offer, bits: Bits, cohort: bytes = b"") -> Aggregate:
        """The number of ones, and half of the coins that are missing; nothing, if fewer than `needed()` are there."""
        coins = [self.tossed(position, offer.n) for position in range(offer.n)]
        bundles = [self.bundle(ones, offer.at(position), bits) for position, ones in enumerate(sent)]
        mixed, found = self.backend.mix(bundles, 2, self.needed(), offer.digest + cohort, bits, coins)
        return found._replace(total=self.sum_messages(found.total, len(mixed), len(found.survivors), offer))

    def sum_messages(self, total: int, messages: int, reports: int, offer: Offer) -> Fraction:
        """The number of ones, and half of the coins that are missing."""
        return total + Fraction(self.coins() - (messages - reports), 2)

    def analyze(
        self, total: float, offer: Offer, bits: Bits, memory: Any = None, stream: int = 0, *, answers: int
    ) -> float:
        check_answers(answers, offer.n, self.fewest(offer.n))
        return float(total - Fraction(self.coins(), 2))

    @staticmethod
    @kernel
    def perturb(
        parameters: NamedTuple,
        memory: NamedTuple,
        law: Law,
        stream: int,
        total: float,
        n: int,
        noise: float,
        rng: np.random.Generator,
    ) -> float:
        return total + noise


@kernel
def tosses(scale: float, count: float, rng: np.random.Generator) -> float:
    """The sum of so many fair coins, each `scale` or minus `scale`."""
    return (2 * rng.binomial(int(count), 0.5) - count) * scale
