"""Local trust: every device adds a whole draw of noise to its own reward [CZ23, Alg. 6-7].

Nobody has to be trusted. The noise of a cohort of n is the sum of n draws: its spread grows as √n, the price of
trusting nobody. One bit of randomized response costs less; see `Response`.
"""

from dataclasses import dataclass
from typing import Any

from maskedbandit.channels.central import Central
from maskedbandit.channels.channel import check_answers, whole_steps
from maskedbandit.channels.codec import encode_reward
from maskedbandit.channels.noisy import NoisyChannel
from maskedbandit.channels.offers import Offer
from maskedbandit.law import Law
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits


@dataclass(frozen=True)
class Local(NoisyChannel):
    """A whole draw of noise on every device.

    **Guarantee**: the message of a device costs its user at most `loss(n)`, whoever sees it; with discrete Laplace
    noise that is the pure loss `epsilon`.

    >>> Local(epsilon=0.5).loss(n=1).epsilon()
    0.5
    """

    trust = "local"
    sees = "server: one noisy reward per user"

    def law(self) -> Law:
        return self.noise_law(per_pull=1.0)

    def loss(self, n: int) -> Loss:
        return self.release_noise(n).loss(self.steps(n), statistics=self.statistics)

    def randomize(self, reward: float, offer: Offer, bits: Bits) -> int:
        # before the reward is looked at, so that its time tells nothing
        noise = self.release_noise(offer.n).noise_share(1, bits)
        return encode_reward(reward, self.steps(offer.n), bits, self.statistics) + noise

    def analyze(
        self, total: float, offer: Offer, bits: Bits, memory: Any = None, stream: int = 0, *, answers: int
    ) -> float:
        check_answers(answers, offer.n)
        return whole_steps(total) / self.steps(offer.n)

    perturb = Central.perturb
