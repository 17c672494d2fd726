"""Split-and-mix: noise from the devices, and a sum that a shuffler carries in parts [IKOS06; BBGN20].

Devices round, add their noise share and reduce modulo m as under distributed trust. Instead of masking that residue, a
device splits it into k messages that are uniform except for their sum, and a shuffler mixes the messages of all. The
view of the server is then within η of a view that can be made of the noisy sum alone, which is ε-private; so

    δ = (1 + e^ε) η:    from a cohort to what is made of its sum, to the same of the other cohort, and back,

and k follows from η, m and the least number of honest devices. Each device sends once, needs no keys of others, and
gives no further answer: a device can be lost only before it sends. The price is a small δ, and a shuffler that must not
collude with the server.

Each of the s numbers of a vector is split and mixed apart, with randomness of its own. Each of the s views is within η
of what is made of its noisy sum, so all are within s η of what is made of all sums, which together are ε-private: δ =
(1 + e^ε) s η.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from maskedbandit.backends.backend import Aggregate, Mixer
from maskedbandit.backends.ideal import Ideal
from maskedbandit.channels.channel import check_cohort_size, check_epsilon
from maskedbandit.channels.codec import Grid, ModulusRule
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.mixing_channel import MixingChannel
from maskedbandit.channels.offers import Offer
from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law, least_honest
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.exact import Number, to_fraction
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.powers import FIXED_ONE, power_above
from maskedbandit.privacy.sampling import Bits
from maskedbandit.shuffle.splitting import messages_needed, split_value


@dataclass(frozen=True)
class SplitAndMix(MixingChannel):
    """The noise of distributed trust, from a shuffler.

    **Guarantee**: if the server sees the messages of a cohort as a multiset, and at least `counted_on(n)` of its users
    are honest and send theirs, a release is (ε, δ)-private for each of them, δ = (1 + e^ε) η; the release of vectors of
    s numbers is so with s times that δ. With a real shuffler the statement is computational, and holds unless shuffler
    and server collude.

    `failure` is the chance that the sum of a cohort wraps around its modulus, a power of two. A cohort that may have
    fewer than two honest users is refused, as one user alone has no crowd to hide in.

    >>> channel = SplitAndMix(epsilon=0.5, honest=0.8)
    >>> channel.loss(n=1000), channel.messages(n=1000)
    (Loss(ε = 0.5 at δ = 2.409e-12), 11)
    """

    trust = "shuffled"
    sees = "server: an unordered multiset of messages, worth little more than a noisy sum"

    epsilon: Number = 1
    eta: Number = Fraction(1, 2**40)
    honest: Number = 1
    failure: float = 1e-12
    grid: Grid | int | Literal["paper"] = 1
    backend: Mixer = field(default_factory=Ideal)

    def __post_init__(self) -> None:
        super().__post_init__()
        given, epsilon, eta = self.epsilon, check_epsilon(self.epsilon), to_fraction("eta", self.eta)
        if not Fraction(1, 2**256) <= eta < 1:
            raise InvalidValue("eta", self.eta, "a probability of at least 2^-256 and below 1")
        for name, value in (("epsilon", epsilon), ("eta", eta)):
            object.__setattr__(self, name, value)
        for name in ("honest", "failure", "grid"):
            object.__setattr__(self, name, getattr(self.summed, name))
        if self.delta() >= 1:
            raise InvalidValue("epsilon", given, "smaller, as (1 + e^epsilon) eta, or delta, must be below 1")
        if not isinstance(self.backend, Mixer):
            raise InvalidValue("backend", self.backend, "a backend that mixes, such as Ideal()")

    @cached_property
    def summed(self) -> Distributed:
        """The noisy sum inside."""
        return Distributed(
            self.epsilon, grid=self.grid, honest=self.honest, failure=self.failure, statistics=self.statistics
        )

    def delta(self) -> Fraction:
        """(1 + e^epsilon) eta, rounded upwards; for every number in which two users may differ."""
        power = power_above(min(Fraction(self.epsilon), Fraction(200)))  # by then delta is above 1
        return (1 + Fraction(power, FIXED_ONE)) * Fraction(self.eta) * self.statistics.moved

    def counted_on(self, n: int) -> int:
        """Least number of honest survivors of a cohort of n; fewer must not be released."""
        return self.summed.counted_on(n)

    def messages(self, n: int) -> int:
        """Messages that each device of a cohort of n sends."""
        return int(dict(self.offer(n).terms)["messages"])

    @property
    def draws(self) -> Any:
        return DiscreteLaplace.draws

    def parameters(self) -> ModulusRule:
        return self.summed.parameters()

    def law(self) -> Law:
        return self.summed.law()

    def loss(self, n: int) -> Loss:
        check_cohort_size(n)
        return Loss.approximate(self.epsilon, self.delta()) * self.backend.attempts

    def offer(self, n: int, modulus: int = 0) -> Offer:
        self.check_crowd(n)
        offer = replace(self.summed.offer(n, modulus), channel=type(self).__name__)
        messages = messages_needed(self.counted_on(n), offer.modulus, Fraction(self.eta))
        return offer.also(epsilon=self.epsilon, eta=self.eta, messages=messages)

    def randomize(self, reward: float, offer: Offer, bits: Bits) -> int:
        """The noisy residue, which the device sends as a bundle of messages alone."""
        return self.summed.randomize(reward, offer, bits)

    def randomize_vector(self, vector: Sequence[float], offer: Offer, bits: Bits) -> list[int]:
        return [number % offer.modulus for number in self.summed.encode(vector, offer, bits)]

    def aggregate(self, sent: Sequence[int], offer: Offer, bits: Bits, cohort: bytes = b"") -> Aggregate:
        bundles = [self.bundle(value, offer, bits) for value in sent]
        least = self.counted_on(offer.n)
        mixed, found = self.backend.mix(bundles, offer.modulus, least, offer.digest + cohort, bits)
        return found._replace(total=int(self.sum_messages(found.total, len(mixed), len(found.survivors), offer)))

    def bundle_size(self, offer: Offer) -> int:
        return int(dict(offer.terms)["messages"])

    def below(self, offer: Offer) -> int:
        return offer.modulus

    def bundle_sizes(self, reports: int, n: int) -> tuple[int, int]:
        return reports * self.messages(n), reports * self.messages(n)

    def hides(self, messages: int, reports: int, n: int) -> bool:
        return reports >= self.counted_on(n)

    def sum_messages(self, total: int, messages: int, reports: int, offer: Offer) -> Fraction:
        return Fraction(total % offer.modulus)

    def aggregate_vectors(
        self, sent: Sequence[Sequence[int]], size: int, offer: Offer, bits: Bits, cohort: bytes = b""
    ) -> Aggregate:
        """All messages in one mix, each of which says of which number of the vector it is a part."""
        m, least = offer.modulus, self.counted_on(offer.n)
        bundles = [
            [i * m + part for i, value in enumerate(each) for part in self.bundle(value, offer, bits)] for each in sent
        ]
        mixed, found = self.backend.mix(bundles, size * m, least, offer.digest + cohort, bits)
        sums = [0] * size
        for message in mixed:
            i, part = divmod(message, m)
            sums[i] += part
        return found._replace(total=[each % m for each in sums])

    def analyze(
        self, total: float, offer: Offer, bits: Bits, memory: Any = None, stream: int = 0, *, answers: int
    ) -> float:
        return self.summed.analyze(total, offer, bits, answers=answers)

    def bundle(self, sent: int, offer: Offer, bits: Bits) -> list[int]:
        """The messages in which a device sends its value: uniform except for their sum."""
        return split_value(sent, self.bundle_size(offer), offer.modulus, bits)

    def check_size(self, n: int, memory: Any = None, stream: int | None = None) -> None:
        self.check_crowd(n)
        self.summed.check_size(n)

    def check_crowd(self, n: int) -> None:
        """Raise unless a cohort of n has two honest users."""
        check_cohort_size(n)
        if self.counted_on(n) < 2:
            name = f"the number of honest users counted on in a cohort of {n}"
            raise InvalidValue(name, self.counted_on(n), "at least 2: one alone has no crowd to hide in")

    @staticmethod
    @kernel
    def perturb(
        parameters: ModulusRule,
        memory: NamedTuple,
        law: Law,
        stream: int,
        total: float,
        n: int,
        noise: int,
        rng: np.random.Generator,
    ) -> float:
        if least_honest(law.honest, n) < 2:
            return math.nan
        return released_sum(parameters, memory, law, stream, total, n, noise, rng)


released_sum = Distributed.perturb
