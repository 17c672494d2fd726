"""Thompson sampling with Gaussian posteriors, whose own sampling is all its privacy [AG13, Alg. 2; TD18; OAC24].

    θ_a ~ N(S_a / (k_a + 1), c / (k_a + 1))  for every arm in every round,      arm = argmax_a θ_a

S_a is the exact sum of the k_a rewards of arm a, c the `inflation` of the variance. The first `initial` = b users of
every arm come before all draws [OAC24]. Regret = O(√(k T ln k)) for c = 1, b = 0 [AG13, Thm. 3].

What is proved. One reward moves the mean of a draw by at most 1/(k_a + 1), which is 1/√(c (k_a + 1)) of its standard
deviation: the draw costs the reward's user zCDP 1/(2 c (k_a + 1)), and nothing if the user had another arm. Which draws
these are is determined by the decisions before them. If the sum of such adaptive losses always stays below a number,
that number bounds the loss of all of them [FZ21]; decisions are computed from the draws, so they show no more. A reward
that counts has k_a ≥ max(b, 1). If b = 0, no draw depends on it up to its own round, so at most T − 1 draws follow;
else at least 2 b rounds have no draw at all. Hence all decisions together cost a user zCDP

    ρ = (T − max(2 b, 1)) / (2 c (max(b, 1) + 1)),

and the draws can reach it: an arm may keep its k_a for all rounds left. [OAC24] states √(T / (c (b + 1)))-GDP.

Departures: what is claimed is not what is proved here. [TD18] says O(ln² T, T⁻⁴) for c = 1, and O(ε, T⁻⁴) for
c = ln² T / ε. No constant makes either true of the draws that its proof adds up, nor the second one of the
decisions.
* The sum of the losses in [TD18, Thm. 1] is over k = 1, ..., T, as if a new reward joined the arm in every round. But
  every arm is drawn in every round: while an arm stays at k users, every later draw exposes its rewards, at 1/(k+1)
  each. Arms that are not best stay at O(ln T) users, so μ² = Σ_t 1 / (c (k_a(t) + 1)) is of order T / ln T. With
  means 0.75, 0.625, ..., 0.25 the worst μ of a run is 18.86 ± 0.02, 46.92 ± 0.06, 125.3 ± 0.4 at T = 10⁴, 10⁵, 10⁶,
  its ε at δ = 1e-5 is 259.6 ± 0.4, 1311 ± 3, 8450 ± 50 (means and standard errors of 20000, 8000, 1000 runs);
  ln² T = 85, 133, 191.
* Dividing by ε instead of its square, [TD18, Thm. 2], makes μ proportional to √(ε): for T = 16 and
  ε = 0.01 the first two decisions alone have more than the loss claimed for all.
* KT draws that each fail with probability T⁻⁴ fail with K T⁻³ together. The condition taken from [KKMM12, Lem. 1] has
  the sensitivity w below the line; it is σ ≥ w √(2 ln(1/(2 δ)) + 2 ε) / ε. Exactly, one draw
  has ε_k = 1/(k+1) + √(1/(k+1)² + 2 ln(1/(2 δ)) / (k+1)), below the one printed.
* A variance c times as large multiplies the leading term of the regret; it does not add ln² T / ε to it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from maskedbandit.core import WAIT, Decision, lean_kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law, is_noiseless
from maskedbandit.policies.parts.choice import in_turn
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import Number, to_fraction
from maskedbandit.privacy.gaussian import gaussian_epsilon
from maskedbandit.privacy.loss import ZERO, Loss

FINDINGS_DELTA = 1e-5  # of the `realised_epsilon` in the findings
DRAWS, ASKED, OPEN = range(3)
PHI = 0.3989422804014327  # the normal density at 0


class State(NamedTuple):
    """The posteriors, and the loss of the draws from them."""

    total: np.ndarray  # [k] sum of rewards
    n: np.ndarray  # [k] their number
    mean: np.ndarray  # [k] total / (n + 1)
    rate: np.ndarray  # [k] sqrt((n + 1) / inflation): 1 / the standard deviation
    exposed: np.ndarray  # [k] sum of 1 / (n + 1) over the draws since the arm's first reward
    since: np.ndarray  # [k] draws up to which that sum goes
    asked: np.ndarray  # [k] 1: its first users were asked for
    clock: np.ndarray  # [3] rounds of draws, arms whose first users were asked for, cohorts of these not yet released
    inflation: float
    initial: int
    claimed: float


@lean_kernel
def challenge(s: State, lead: int, x: float, left: float, rng: np.random.Generator) -> int:
    """The arm of the largest theta, given the leader's theta x and the distance to the first point on the line of
    stretches: see thompson_sampling.py.

    Let z be how far x is above an arm's mean, in the arm's standard deviations. The arm beats x by d of them with
    density phi(z + d) = (phi(z) / z) (z exp(-z d)) exp(-d^2 / 2): a chance, an exponential d, and the probability to
    accept it.
    """
    best = lead
    for a in range(s.n.size):
        if a == lead:
            continue
        z = (x - s.mean[a]) * s.rate[a]
        y = z * z / 2
        # exp(-y) <= 1 / (1 + y + y^2/2 + y^3/6)
        r = PHI / (z * (1 + y * (1 + y * (0.5 + y / 6)))) if z > 0.0 else 1.0
        stretch = r + r * r if r < 0.5 else math.inf
        left -= stretch
        if left < 0.0:
            left = rng.standard_exponential()
            if stretch == math.inf:
                theta = s.mean[a] + rng.standard_normal() / s.rate[a]
                if theta > x:
                    best, x = a, theta
            elif rng.random() * -math.expm1(-stretch) < PHI * math.exp(-y) / z:
                d = rng.standard_exponential() / z
                if rng.random() < math.exp(-d * d / 2):
                    best, x = a, x + d / s.rate[a]
    return best


@dataclass(frozen=True)
class GaussianThompson(Policy):
    """Thompson sampling that hides rewards by its own draws, though not well.

    It receives exact rewards. `epsilon` is what [TD18] claims: it sets the inflation to ln² T / ε.

    **Guarantee**: all decisions of T rounds cost a user at most zCDP (T − max(2 b, 1)) / (2 c (max(b, 1) + 1)).

    The findings of a run are no guarantee, as they depend on its rewards: `mu` is the GDP of all draws that followed
    the reward exposed most, `realised_epsilon` the ε of that at δ = 1e-5, `claimed_epsilon` the claim of [TD18].

    >>> GaussianThompson(inflation=50, initial=99).loss(Loss.unbounded(), horizon=10_198) == Loss.zcdp(1)
    True
    """

    goal = "regret"

    inflation: Number = 1
    initial: int = 0
    epsilon: Number | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "inflation", to_fraction("inflation", self.inflation))
        if type(self.initial) is not int or self.initial < 0:
            raise InvalidValue("initial", self.initial, "a whole number of at least 0")
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", to_fraction("epsilon", self.epsilon))
            if self.inflation != 1:
                raise InvalidValue("inflation", self.inflation, "left out, because epsilon sets it")

    def needs(self, law: Law) -> str:
        return "" if is_noiseless(law) else "sums without noise: its own draws are the noise"

    def variance(self, horizon: int) -> tuple[float, float]:
        """The inflation c, and the epsilon that [TD18] claims for it."""
        square = math.log(max(horizon, 2)) ** 2  # a single round shows nothing
        if self.epsilon is None:
            return float(self.inflation), square / float(self.inflation)
        return square / float(self.epsilon), float(self.epsilon)

    def loss(self, released: Loss, horizon: int) -> Loss:
        rounds = horizon - max(2 * self.initial, 1)
        inflation, _ = self.variance(horizon)
        return Loss.zcdp(rounds / (2 * Fraction(inflation) * (max(self.initial, 1) + 1))) if rounds > 0 else ZERO

    def init(self, k: int, horizon: int) -> State:
        inflation, claimed = self.variance(horizon)
        total, n, mean, exposed, since = np.zeros((5, k))
        clock = np.array([0, 0 if self.initial > 0 else k, 0])
        rate, asked = np.full(k, 1 / math.sqrt(inflation)), np.zeros(k, np.int64)
        return State(total, n, mean, rate, exposed, since, asked, clock, inflation, self.initial, claimed)

    def findings(self, s: State) -> dict[str, float]:
        late = np.where(s.n > 0, (s.clock[DRAWS] - s.since) / (s.n + 1), 0.0)
        mu = math.sqrt(float(np.max(s.exposed + late)) / s.inflation)
        return {"mu": mu, "realised_epsilon": gaussian_epsilon(mu, FINDINGS_DELTA), "claimed_epsilon": s.claimed}

    @staticmethod
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        k = s.n.size
        if s.clock[ASKED] < k:
            s.clock[ASKED] += 1
            s.clock[OPEN] += 1
            return Decision(in_turn(s.asked, rng), s.initial, 1)
        lead = 0
        for a in range(k):
            if s.n[a] < s.initial:
                if s.clock[OPEN] > 0:
                    return WAIT
                s.clock[OPEN] += 1
                return Decision(a, int(s.initial - s.n[a]), 1)  # some dropped out, but the loss assumes all of them
            if s.mean[a] > s.mean[lead]:
                lead = a
        s.clock[DRAWS] += 1
        x = s.mean[lead] + rng.standard_normal() / s.rate[lead]
        return Decision(challenge(s, lead, x, rng.standard_exponential(), rng), 1, 1)

    @staticmethod
    @lean_kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        if s.n[arm] > 0:
            s.exposed[arm] += (s.clock[DRAWS] - s.since[arm]) / (s.n[arm] + 1)
        s.since[arm] = s.clock[DRAWS]
        if s.n[arm] < s.initial:
            s.clock[OPEN] -= 1
        s.total[arm] += total
        s.n[arm] += n
        s.mean[arm] = s.total[arm] / (s.n[arm] + 1)
        s.rate[arm] = math.sqrt((s.n[arm] + 1) / s.inflation)
