"""Central trust over a secure sum: the server sees the sum of a cohort alone, and adds noise to it [CZ23, Alg. 4-5].

Devices send their rewards without noise to a protocol that adds them up. So the server must still be trusted with the
exact sum, and to add the noise; but it has no reward to lose, to sell or to be asked for. Releases are those of
`Central`, so this costs nothing in accuracy, and dropouts take no noise with them.

Departure from the paper: there the server adds the noise modulo m, which needs a modulus with a margin τ for it, and
wraps around with probability 1/T [CZ23, Thm. 5]. But the server has the noise in its hands: here it unwraps the exact
sum first, so a modulus of n g + 1 suffices, and nothing ever wraps around.
"""

from dataclasses import dataclass
from typing import Any

from maskedbandit.channels.central import Central
from maskedbandit.channels.channel import check_answers, check_cohort_size, whole_steps
from maskedbandit.channels.codec import unwrap_residue
from maskedbandit.channels.offers import Offer
from maskedbandit.channels.secure_sum import SummedChannel
from maskedbandit.errors import Implausible
from maskedbandit.law import Law
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits


@dataclass(frozen=True)
class CentralSum(SummedChannel):
    """Noise by a trusted server, which sees sums alone.

    **Guarantee**: everything that leaves the server costs a user at most `loss(n)`, where n is the size of the user's
    cohort; with discrete Laplace noise that is the pure loss `epsilon`. The server itself sees the exact sum of at
    least ceil(honest * n) honest users of the cohort, and nothing else; with a real protocol behind the sum that is
    computational. Against the server there is no ε.

    >>> CentralSum(epsilon=0.5).loss(n=1000).epsilon()
    0.5
    """

    trust = "central"
    sees = "server: exact sums of cohorts, and no reward; all others: noisy sums"

    def law(self) -> Law:
        return self.noise_law(per_release=1.0)

    def loss(self, n: int) -> Loss:
        return self.release_noise(n).loss(self.steps(n), statistics=self.statistics) * self.backend.attempts

    def residues(self, n: int) -> tuple[int, int]:
        """The power of two above every sum of a cohort of n, and no margin: the noise is added to the opened sum."""
        check_cohort_size(n)
        return 1 << (int(n) * (1 - self.statistics.low) * self.steps(n)).bit_length(), 0

    def draw_own_noise(self, size: int, n: int, bits: Bits) -> list[int]:
        return [0] * size

    def analyze(
        self, total: float, offer: Offer, bits: Bits, memory: Any = None, stream: int = 0, *, answers: int
    ) -> float:
        check_answers(answers, n := offer.n, least=0)  # the server brings the noise
        g = self.steps(n)
        found = unwrap_residue(whole_steps(total) % offer.modulus, offer.modulus, n * g)
        if found < self.statistics.low * n * g:
            raise Implausible(f"the exact sum of {n} rewards is not between {self.statistics.low * n} and {n}")
        return (found + self.release_noise(n).noise_share(1, bits)) / g

    perturb = Central.perturb
