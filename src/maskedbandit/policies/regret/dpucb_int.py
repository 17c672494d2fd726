"""DP-UCB-INT: UCB1 on noisy means that are renewed after every f users of an arm [TD16, Alg. 3].

    arm = argmax_a  m_a + √(2 ln t / n_a) + 2 ln t n_a^{v/2 − 1}
    m_a = X_a / n_a + Laplace(n_a^{v/2 − 1}),       f = ⌈1 / ε⌉

X_a is the sum of all n_a rewards of the arm, v in (1, 1.5]. m_a is drawn anew when n_a is a multiple of f, and kept
between. The first k f users get the arms in turn.

What is proved. A reward of an arm moves its mean by at most 1 / n, and is in every release after it: the release at n
users costs n^{−v/2}, pure. All decisions up to the horizon T together cost a user at most

    ε_T = Σ_{j ≤ T/f} (j f)^{−v/2},      zCDP  ρ_T = ½ Σ_{j ≤ T/f} (j f)^{−v}.

ε_T grows as T^{1 − v/2}, without bound. ρ_T stays below f^{−v} ζ(v) / 2: at v = 1.1 that is 5.3 for ε = 1 and 0.42 for
ε = 0.1. At T = 10⁵ and δ = 10⁻⁵ a nominal ε = 0.1 stands for 3.3, and ε = 1 for 15.7. It is claimed that the algorithm
is (ε, δ)-private with regret O(Σ_a ln T / gap_a + 1 / ε).

Departures: the paper's text could not be had; this follows the Matlab program of its Algorithm 3. There the noise of an
arm is drawn anew in every round as long as n_a is a multiple of f, also while other arms are served, so an idle arm
shows ever more of its sum; here it is drawn once for each n_a. And there an index keeps the ln t of its last renewal;
here ln t goes on, which is post-processing. The last term of the index, a radius for the noise, is not there either:
`interval="paper"` leaves it out. Then a best arm whose first noise is far below 0 is given up for a whole study.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np

from maskedbandit.checks import check_choice, is_number
from maskedbandit.core import Decision, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law, is_noiseless
from maskedbandit.policies.parts.choice import NONE_YET, pick_fewest, weigh_arm
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import Number, to_fraction
from maskedbandit.privacy.loss import ZERO, Loss

SUMMED = 4096  # terms of a series that are added one by one
SUM_MARGIN = 1e-12  # relative, above the error of floats in such a sum


class State(NamedTuple):
    """The rewards and the noisy means."""

    total: np.ndarray  # [k] sum of rewards
    n: np.ndarray  # [k] their number
    asked: np.ndarray  # [k] users asked for
    full: np.ndarray  # [k] sum of rewards when n was last a multiple of f
    of: np.ndarray  # [k] their number
    noisy: np.ndarray  # [k] their mean with its noise
    drawn: np.ndarray  # [k] users of the noisy mean; 0: there is none
    clock: np.ndarray  # [1] users asked for
    every: int  # f
    power: float  # v
    wide: float  # factor of the radius for the noise; 0: there is none


def sum_powers(first: int, count: int, power: float) -> float:
    """At least the sum of (j first)^-power over j = 1, ..., count.

    >>> round(sum_powers(1, 3, 2.0), 4), round(sum_powers(10, 10**9, 1.1), 4)
    (1.3611, 0.7408)
    """
    j = np.arange(1, min(count, SUMMED) + 1, dtype=float)
    found = float(np.sum(j**-power))
    if count > SUMMED:  # the rest is below the integral from the last term on
        at, end, rest = float(SUMMED), float(count), 1 - power
        found += math.log(end / at) if rest == 0 else (end**rest - at**rest) / rest
    return found * first**-power * (1 + SUM_MARGIN)


@kernel
def noise_scale(s: State, a: int) -> float:
    """The scale of the noise in the mean of arm a."""
    return math.exp((s.power / 2 - 1) * math.log(s.drawn[a]))


@dataclass(frozen=True)
class DPUCBInt(Policy):
    """UCB1 on means with noise that falls with the number of users; `decay` is v.

    It receives exact rewards, so it needs the channel `Raw`, and adds the noise itself. `epsilon` is the nominal one,
    which sets f alone; `interval="paper"` has no radius for the noise.

    **Guarantee**: all decisions of T rounds cost a user at most the pure loss ε_T and zCDP ρ_T.

    >>> own = DPUCBInt(epsilon="0.1").loss(Loss.unbounded(), 10**5)
    >>> round(own.epsilon(1e-5), 1), round(float(own.pure_epsilon))
    (3.3, 39)
    """

    goal = "regret"

    epsilon: Number = 1
    decay: float = 1.1
    interval: Literal["corrected", "paper"] = "corrected"

    def __post_init__(self) -> None:
        epsilon = to_fraction("epsilon", self.epsilon)
        if not Fraction(1, 10**6) <= epsilon <= 1:
            raise InvalidValue("epsilon", self.epsilon, "a number from 0.000001 to 1")
        object.__setattr__(self, "epsilon", epsilon)
        if not (is_number(self.decay) and 1 < self.decay <= 1.5):
            raise InvalidValue("decay", self.decay, "a number above 1 and at most 1.5")
        check_choice("interval", self.interval, ("corrected", "paper"))

    @property
    def every(self) -> int:
        """Users of an arm between two releases, f."""
        return math.ceil(1 / Fraction(self.epsilon))

    def needs(self, law: Law) -> str:
        return "" if is_noiseless(law) else "sums without noise: it adds noise to means itself"

    def loss(self, released: Loss, horizon: int) -> Loss:
        f, count = self.every, (horizon - 1) // self.every  # what follows the last user shows nothing
        if count == 0:
            return ZERO
        pure = sum_powers(f, count, float(self.decay) / 2)
        return replace(Loss.zcdp(sum_powers(f, count, float(self.decay)) / 2), pure_epsilon=to_fraction("loss", pure))

    def init(self, k: int, horizon: int) -> State:
        total, full, noisy = np.zeros((3, k))
        n, asked, of, drawn = np.zeros((4, k), np.int64)
        numbers = self.every, float(self.decay), 1.0 if self.interval == "corrected" else 0.0
        return State(total, n, asked, full, of, noisy, drawn, np.zeros(1, np.int64), *numbers)

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        k, ready = s.n.size, True
        for a in range(k):
            if s.of[a] > s.drawn[a]:
                noise = rng.standard_exponential() - rng.standard_exponential()
                s.drawn[a] = s.of[a]
                s.noisy[a] = s.full[a] / s.of[a] + noise_scale(s, a) * noise
            ready = ready and s.drawn[a] > 0
        arm = pick_fewest(s.asked, rng)
        if ready and s.asked[arm] >= s.every:
            best, level = NONE_YET, 2 * math.log(s.clock[0] + 1.0)
            for a in range(k):
                width = math.sqrt(level / s.n[a]) + s.wide * level * noise_scale(s, a)
                best = weigh_arm(best, a, s.noisy[a] + width, rng)
            arm = best.arm
        s.clock[0] += 1
        s.asked[arm] += 1
        return Decision(arm, 1, 1)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        s.total[arm] += total
        s.n[arm] += n
        if s.n[arm] % s.every == 0:
            s.full[arm], s.of[arm] = s.total[arm], s.n[arm]
