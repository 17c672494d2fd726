"""Thompson sampling with Beta posteriors: an arm is played as often as it is believed best [AG12, Alg. 1-2].

    θ_a ~ Beta(1 + S_a, 1 + n_a − S_a)  for every arm,     arm = argmax_a θ_a

S_a is the released total of n_a pulls. A reward inside (0, 1) counts as 1 with that probability, else as 0: the coin
toss of [AG12, Alg. 2; LN11, Sec. 11.1].

Regret ≤ (1 + e) Σ_a ln T / kl(μ_a, μ*) gap_a + O(k / e²) for every e > 0, without noise [AG13, Thm. 1].

Only the largest θ matters, so only the leader's is always drawn. Another arm beats that value x with probability at
most q = f(x) / -s, where f is its posterior density and s < 0 the slope of ln f at x, because a Beta density is
log-concave: its tail lies below f(x) exp(s (y − x)). With that probability it may propose a value from its exponential
tail, which is then accepted with the ratio of the densities. The chosen arm has exactly the distribution of the argmax.

Even q is rarely computed. n kl(m, x) ≥ 2 n (x − m)², m the mode of the posterior, gives a cheap bound r ≥ q. The arms
lie on a line, one after the other, each with a stretch of length l = r + r², and points on it are a Poisson process:
the distance to the next one is exponential. An arm with a point, whose chance is 1 − exp(−l) ≥ r if r ≤ 1/2, may
propose with probability q / (1 − exp(−l)): with q in all, whatever became of the others. An arm without a point costs
one subtraction. Where r > 1/2 θ is drawn.

Departures: S_a is clipped to [0, n_a] where noise pushed it out, and the coin is tossed once per release.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from maskedbandit.core import Decision, Floats, large_kernel, lean_kernel
from maskedbandit.law import Law
from maskedbandit.policies.policy import Policy, means_of
from maskedbandit.theory.log_gamma import log_gamma

UNKNOWN_MODE = 2.0  # the mode of an arm without rewards: above every x, so its theta is drawn directly


class Posteriors(Protocol):
    """The state that every policy with Beta posteriors has, as in State."""

    @property
    def success(self) -> np.ndarray: ...
    @property
    def n(self) -> np.ndarray: ...
    @property
    def mode(self) -> np.ndarray: ...
    @property
    def peak(self) -> np.ndarray: ...


class State(NamedTuple):
    """The posteriors. With h_a the density at the mode, peak_a = h_a / (4 n_a); negative: to be computed."""

    success: np.ndarray  # [k] released rewards, rounded to whole numbers by coin tosses
    n: np.ndarray  # [k] their number
    mode: np.ndarray  # [k]
    peak: np.ndarray  # [k]
    part: np.ndarray  # [k] fractions of rewards, not yet tossed
    parts: np.ndarray  # [1] how many


@lean_kernel
def count_successes(s: Posteriors, a: int) -> tuple[float, float]:
    """Successes and failures of arm a."""
    good = min(max(s.success[a], 0.0), s.n[a])
    return good, s.n[a] - good


@lean_kernel
def update_mode(s: Posteriors, a: int) -> None:
    """The mode of arm a, after its counts changed."""
    good, _ = count_successes(s, a)
    s.mode[a] = good / s.n[a]
    s.peak[a] = -1.0


@large_kernel
@lean_kernel
def peak_density(s: Posteriors, a: int) -> float:
    """Density of arm a's posterior at its mode, divided by 4 n."""
    good, bad = count_successes(s, a)
    log = log_gamma(s.n[a] + 2) - log_gamma(good + 1) - log_gamma(bad + 1)
    if good > 0.0:
        log += good * math.log(s.mode[a])
    if bad > 0.0:
        log += bad * math.log(1 - s.mode[a])
    return math.exp(log) / (4 * s.n[a])


@lean_kernel
def stretch_of(peak: float, n: float, d: float) -> float:
    """The length of an arm's stretch, if the leader's theta is d above its mode; infinite: its theta is drawn."""
    z = 2 * n * d * d
    # exp(-z) <= 1 / (1 + z + z^2/2 + z^3/6)
    r = peak / (d * (1 + z * (1 + z * (0.5 + z / 6)))) if d > 0.0 else 1.0
    return r + r * r if r < 0.5 else math.inf


@large_kernel
@lean_kernel
def propose_theta(s: Posteriors, a: int, x: float, stretch: float, rng: np.random.Generator) -> float:
    """The theta of an arm with a point on its stretch, or x if it is not larger."""
    good, bad = count_successes(s, a)
    if stretch == math.inf:
        return max(x, rng.beta(1 + good, 1 + bad))
    slope = good / x - bad / (1 - x)
    fall = good * math.log(x / s.mode[a]) if good > 0.0 else 0.0
    fall += bad * math.log((1 - x) / (1 - s.mode[a])) if bad > 0.0 else 0.0
    chance = 4 * s.n[a] * s.peak[a] * math.exp(fall) / -slope
    if rng.random() * -math.expm1(-stretch) < chance:
        d = rng.standard_exponential() / -slope
        if x + d < 1.0:
            gain = bad * math.log((1 - x - d) / (1 - x)) - slope * d
            gain += good * math.log((x + d) / x) if good > 0.0 else 0.0
            if rng.random() < math.exp(gain):
                return x + d
    return x


@lean_kernel
def challenge_leader(s: Posteriors, lead: int, x: float, left: float, rng: np.random.Generator) -> int:
    """The arm of the largest theta, given the leader's theta x and the distance to the first point on the line."""
    best = lead
    for a in range(s.n.size):
        if a == lead:
            continue
        if s.peak[a] < 0.0:
            s.peak[a] = peak_density(s, a)
        stretch = stretch_of(s.peak[a], s.n[a], x - s.mode[a])
        left -= stretch
        if left < 0.0:
            left = rng.standard_exponential()  # from the end of this stretch: what is on the next ones is independent
            theta = propose_theta(s, a, x, stretch, rng)
            if theta > x:
                best, x = a, theta
    return best


@lean_kernel
def sample_arm(s: Posteriors, rng: np.random.Generator) -> int:
    """The arm of the largest theta."""
    lead, top = 0, -1.0
    for a in range(s.n.size):
        if s.mode[a] > top and s.n[a] > 0.0:
            lead, top = a, s.mode[a]
    good, bad = count_successes(s, lead)
    x = rng.beta(1 + good, 1 + bad)
    return challenge_leader(s, lead, x, rng.standard_exponential(), rng)


@dataclass(frozen=True)
class ThompsonSampling(Policy):
    """Probability matching.

    It is not private by itself: on the raw channel its decisions reveal rewards.

    >>> import numpy as np
    >>> s = ThompsonSampling().init(k=2, horizon=100)
    >>> ThompsonSampling.tell(s, 1, 50, 50.0)
    >>> ThompsonSampling.tell(s, 0, 50, 0.0)
    >>> ThompsonSampling.ask(s, None, np.random.default_rng(1))
    Decision(arm=1, n=1, close=1)
    """

    goal = "regret"

    def needs(self, law: Law) -> str:
        return ""

    def init(self, k: int, horizon: int) -> State:
        zero = np.zeros(k)
        return State(zero, zero.copy(), np.full(k, UNKNOWN_MODE), zero.copy(), zero.copy(), np.zeros(1, np.int64))

    def means(self, s: State) -> Floats:
        return means_of(s.success + s.part, s.n)

    @staticmethod
    @lean_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if s.parts[0] > 0:
            for a in range(s.n.size):
                if s.part[a] > 0.0:
                    whole = math.floor(s.part[a])
                    s.success[a] += whole + (rng.random() < s.part[a] - whole)
                    s.part[a] = 0.0
                    update_mode(s, a)
            s.parts[0] = 0
        return Decision(sample_arm(s, rng), 1, 1)

    @staticmethod
    @lean_kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        whole = math.floor(total)
        s.success[arm] += whole
        s.n[arm] += n
        if whole != total:
            s.part[arm] += total - whole
            s.parts[0] += 1
        update_mode(s, arm)
