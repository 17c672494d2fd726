"""Central trust: a trusted server receives the rewards and adds noise to every sum that it releases.

A release carries one whole draw of noise. Every reward enters one release, so different releases cost different
users: nothing is divided by the number of arms or of releases [SS19; CZ23, Thm. 5].
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskedbandit.channels.channel import check_answers, whole_steps
from maskedbandit.channels.codec import encode_reward
from maskedbandit.channels.noisy import NoisyChannel
from maskedbandit.channels.offers import Offer
from maskedbandit.core import kernel
from maskedbandit.law import Law, count_steps
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits


@dataclass(frozen=True)
class Central(NoisyChannel):
    """Noise by a trusted server.

    **Guarantee**: everything that leaves the server costs a user at most `loss(n)`, where n is the size of the user's
    cohort; with discrete Laplace noise that is the pure loss `epsilon`.

    >>> Central(epsilon=0.5).loss(n=1000).epsilon()
    0.5
    """

    trust = "central"
    sees = "server: every reward; all others: noisy sums"

    def law(self) -> Law:
        return self.noise_law(per_release=1.0)

    def loss(self, n: int) -> Loss:
        return self.release_noise(n).loss(self.steps(n), statistics=self.statistics)

    def randomize(self, reward: float, offer: Offer, bits: Bits) -> int:
        return encode_reward(reward, self.steps(offer.n), bits, self.statistics)

    def analyze(
        self, total: float, offer: Offer, bits: Bits, memory: Any = None, stream: int = 0, *, answers: int
    ) -> float:
        check_answers(answers, offer.n)
        noise = self.release_noise(offer.n).noise_share(1, bits)
        return (whole_steps(total) + noise) / self.steps(offer.n)

    @staticmethod
    @kernel
    def perturb(
        parameters: Any, memory: Any, law: Law, stream: int, total: float, n: int, noise: int, rng: np.random.Generator
    ) -> float:
        return (total + noise) / count_steps(law, n)
