"""Local trust over a secure sum: every device adds a whole draw of noise, and nobody sees its message [CZ23, Alg. 6-7].

Two lines of defence. If the protocol keeps its promise, the server sees the sum of h ≥ ceil(honest * n) honest
devices, which hides each of them behind h whole draws: `loss_of_sum`. If it does not, because its keys are broken, or
because all others collude, a message of a device still has a whole draw of noise: `loss`, which is what is charged.

**Of the sum.** The pure loss of the sum is that of a single message, ε, however many draws are in it: the tails
of h discrete Laplace draws fall as z^(h-1) exp(-ε z / g), so far out the ratio of two neighbours is as near to
e^ε as one likes. But that far the sum hardly ever is. Its Rényi divergence falls as 1 / h: it is near
α ε^2 / (4 h), as the noise in the sum has the variance 2 h / ε^2. So the loss of the sum has a small
ε at any δ above 0, and adds up slowly.

The price is the accuracy of local trust: n draws in each release. Who trusts the protocol takes `Distributed`.

The modulus needs a margin for n draws: here a Chernoff bound, for every n. That of [CZ23, Thm. 6] leaves a constant c
open, of at least √2, and holds for n ≥ 2 ln(2/p) only.
"""

from dataclasses import dataclass
from typing import Any

from maskedbandit.channels.channel import check_answers, whole_steps
from maskedbandit.channels.codec import ModulusRule, check_failure, decode_sum, fit_margin
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.offers import Offer
from maskedbandit.channels.secure_sum import SummedChannel
from maskedbandit.law import Law
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits


@dataclass(frozen=True)
class LocalSum(SummedChannel):
    """A whole draw of noise on every device, and a sum that hides its terms.

    **Guarantee**: the message of a device costs its user at most `loss(n)`, whoever sees it; with discrete Laplace
    noise that is the pure loss `epsilon`. Who sees nothing but the sum modulo m, of whose n users at least
    ceil(honest * n) add their noise, learns of each of these users at most `loss_of_sum(n)`; with a real protocol
    behind the sum this second statement is computational.

    `failure` is the chance that a sum of a cohort wraps around its modulus, a power of two.

    >>> channel = LocalSum(epsilon=1, honest=0.8)
    >>> channel.loss(n=1000), round(channel.loss_of_sum(n=1000).epsilon(1e-6), 3)
    (Loss(ε = 1), 0.102)
    """

    trust = "local"
    sees = "server: noisy sums alone; if the protocol fails, one noisy reward per user"

    failure: float = 1e-12

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "failure", check_failure(self.failure))

    def parameters(self) -> ModulusRule:
        return ModulusRule(self.failure, fixed=0, tight=0, paper=0, low=self.statistics.low)

    def law(self) -> Law:
        return self.noise_law(per_pull=1.0)

    def loss(self, n: int) -> Loss:
        return self.release_noise(n).loss(self.steps(n), statistics=self.statistics) * self.backend.attempts

    def loss_of_sum(self, n: int) -> Loss:
        """Loss of one user by the sum alone, under the noise of the fewest honest users of a cohort of n."""
        noise, draws = self.release_noise(n), self.counted_on(n)
        return noise.loss_of_shares(self.steps(n), draws, 1, self.statistics) * self.backend.attempts

    def residues(self, n: int) -> tuple[int, int]:
        return fit_margin(self.parameters(), self.law(), n, self.steps(n), 0.0)  # the draws of users are in the law

    def draw_own_noise(self, size: int, n: int, bits: Bits) -> list[int]:
        return self.release_noise(n).noise_shares(size, 1, bits)

    def analyze(
        self, total: float, offer: Offer, bits: Bits, memory: Any = None, stream: int = 0, *, answers: int
    ) -> float:
        check_answers(answers, n := offer.n, self.counted_on(n))
        return decode_sum(whole_steps(total), offer.modulus, self.parameters(), self.law(), n, self.steps(n), 0.0)

    perturb = Distributed.perturb
