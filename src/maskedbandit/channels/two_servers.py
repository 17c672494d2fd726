"""Two servers that do not collude: each sees one value share of every reward, and adds noise of its own [CB17].

A device splits its reward, in steps, into two value shares modulo m, each of them uniform: one for each server. Both
servers add a whole draw of noise to their sum of value shares, and the two noisy sums together are the release. An
adversary in one server knows its noise and subtracts it. So one draw protects a reward, while both add to the error of
the estimate: twice the variance of distributed trust. In return privacy does not depend on the devices: cohorts may be
of any size, and any number of devices may be lost, or lie.

The servers are ideal, or the real protocol that `backend` names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from maskedbandit.backends.backend import Aggregate, NoisyAdder
from maskedbandit.backends.ideal import Ideal
from maskedbandit.channels.channel import check_answers, whole_steps
from maskedbandit.channels.codec import ModulusRule, check_failure, check_modulus, decode_sum, encode_reward, fit_margin
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.noisy import NoisyChannel
from maskedbandit.channels.offers import Offer
from maskedbandit.channels.packing import pack_vector, unpack_sum
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits

LARGEST_IN_LAB = 2**62  # of moduli: sums in kernels have 64 bits, and noise never wraps around either modulus


@dataclass(frozen=True)
class TwoServers(NoisyChannel):
    """Two noisy sums of value shares, each worth nothing without the other.

    **Guarantee**: if one of the servers is honest, the release and the view of the other server cost a user at most
    `loss(n)`, however many of the n devices send something; with discrete Laplace noise that is the pure loss
    `epsilon`. With a real protocol behind the sum the statement is computational.

    `failure` is the chance that the sum of a cohort wraps around its modulus: a power of two, or that of the backend.
    With `Prio3()` behind the sum no device can move it by more than one reward.

    >>> TwoServers(epsilon=0.5).loss(n=2).epsilon()
    0.5
    """

    trust = "distributed"
    sees = "two servers: value shares that mean nothing alone, and noisy sums"

    failure: float = 1e-12
    backend: NoisyAdder = field(default_factory=Ideal)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "failure", check_failure(self.failure))
        if not isinstance(self.backend, NoisyAdder):
            raise InvalidValue("backend", self.backend, "a backend of two servers, such as Ideal()")
        if self.backend.modulus and not self.statistics.is_single:
            raise InvalidValue("backend", self.backend, "SealedShares(): the proofs of this one are of single rewards")

    def parameters(self) -> ModulusRule:
        fixed = min(self.backend.modulus, LARGEST_IN_LAB)
        return ModulusRule(self.failure, fixed=fixed, tight=0, paper=0, low=self.statistics.low)

    def law(self) -> Law:
        return self.noise_law(per_release=2.0)

    def loss(self, n: int) -> Loss:
        return self.release_noise(n).loss(self.steps(n), statistics=self.statistics) * self.backend.attempts

    def residues(self, n: int) -> tuple[int, int]:
        """The modulus m of a cohort of n, and the margin tau that it leaves for noise."""
        return fit_residues(self, n)

    def offer(self, n: int, modulus: int = 0) -> Offer:
        offer, m = super().offer(n), self.backend.modulus or modulus or self.residues(n)[0]
        check_modulus(m, n, offer.steps, self.statistics.low)
        return replace(offer, modulus=m)

    def randomize(self, reward: float, offer: Offer, bits: Bits) -> int:
        # the value shares are made where they are sealed; a reward is below the modulus, a statistic may be negative
        return encode_reward(reward, self.steps(offer.n), bits, self.statistics) % offer.modulus

    def randomize_vector(self, vector: Sequence[float], offer: Offer, bits: Bits) -> int:
        steps = self.steps(offer.n)
        return pack_vector([encode_reward(x, steps, bits, self.statistics) for x in vector], offer.modulus)

    def aggregate(self, sent: Sequence[int], offer: Offer, bits: Bits, cohort: bytes = b"") -> Aggregate:
        noise = self.release_noise(offer.n)
        return self.backend.noisy_sum(
            sent, offer.modulus, offer.steps, lambda: noise.noise_share(1, bits), offer.digest + cohort, bits
        )

    def aggregate_vectors(
        self, sent: Sequence[int], size: int, offer: Offer, bits: Bits, cohort: bytes = b""
    ) -> Aggregate:
        n, m, noise = offer.n, offer.modulus, self.release_noise(offer.n)

        def draw() -> int:
            return pack_vector([noise.noise_share(1, bits) for _ in range(size)], m)

        found = self.backend.noisy_sum(sent, m**size, m**size - 1, draw, offer.digest + cohort, bits)
        return unpack_sum(found, size, m, n * offer.steps + self.residues(n)[1])

    def analyze(
        self, total: float, offer: Offer, bits: Bits, memory: Any = None, stream: int = 0, *, answers: int
    ) -> float:
        check_answers(answers, n := offer.n, least=0)  # the servers bring the noise
        return decode_sum(whole_steps(total), offer.modulus, self.parameters(), self.law(), n, self.steps(n), 2.0)

    def check_size(self, n: int, memory: Any = None, stream: int | None = None) -> None:
        self.residues(n)

    perturb = Distributed.perturb


@lru_cache(typed=True)
def fit_residues(channel: TwoServers, n: int) -> tuple[int, int]:
    """The modulus and the margin of a cohort of n, computed once, as a service asks for them with each person."""
    return fit_margin(channel.parameters(), channel.law(), n, channel.steps(n), 2.0, channel.backend.modulus)
