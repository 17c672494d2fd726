"""DP-TS: Thompson sampling on noisy running sums, after a pilot that estimates the gap [MT15, Alg. 2].

r_a is the sum of all releases of arm a, clipped to [0, n_a], and n_a its number of users; users of the pilot are in
both. k is the number of arms, T the horizon.

* *The pilot* has epochs e = 1, 2, ...: with D = 2^(1 − e) and y = ln(4 k e (e + 1) T) every arm gets n_e users in all,
  the least number with n_e ≥ 128 y / D² and n_e ≥ 16 radius(noise of e releases, y) / D. It ends when the two highest
  means r_a / n_a are more than D / 2 apart; the estimated gap is then G = D / 2.
* *First* every arm gets users until n_a ≥ 8 radius(noise at its worst until T, ln(2 k T²)) / G.
* *Then*, one user at a time, θ_a ~ Beta(1 + r_a, 1 + n_a − r_a) is drawn, and arm = argmax_a θ_a.

With probability ≥ 1 − 1/T every mean of the pilot is right to D / 8, so G is in [gap / 3, 2 gap], and with probability
≥ 1 − 1/T noise moves no later mean by more than gap / 4. A cohort of users is one leaf of a tree. An epoch waits for
the sums of the one before it, whose means say whether there is another. Where fewer users are left than the next epoch
of the pilot, or *first*, would take, *then* begins at once.

Fewer rewards may be released than were asked for. If the least n_a of an epoch is n_e / w, its D counts as w times as
large in both D / 2 and G: noise and rewards move a mean of n_e / w users by at most w D / 8. *first* asks until
every arm has enough users.

**Not proved**: a bound on the regret of this version. The users of pilot and *first* are few, with the probabilities
above: O(k ln T / gap²), plus as many as the noise requires. Then comes Thompson sampling on means that noise has moved,
by up to gap / 4 and in the same direction for many rounds. Known proofs are for means without noise, and [MT15, Thm. 8]
is for the algorithm as printed, with the faults below. Where the users do not reach *first*, not even the gap / 4
holds.

Departures: the printed algorithm has faults, which are mended here. It is `pilot="paper"`, for trees of ε0 = ε / 2k
each (`divide` of the channel is 2k):

    192 k ln T / (ε D²) new users in epoch e, means of these alone;    192 ln³ T / (ε G²) first users

with a claim of O(k ln³ T / (gap² ε²)) for its regret [MT15, Thm. 8], of which the proof has ln³ T / (gap² ε). The
printed version picks the two best arms by their true means, which must be their noisy ones. It counts the pilot in n_a,
but not in r_a, which is therefore biased (and kept so here). Noisy r_a may leave [0, n_a], where no Beta distribution
is defined. Its ε / 2k is needlessly small, as pilot and trees see different users, and every reward is in one tree.
Sums of the pilot have Laplace noise there; here they use the tree too. The paper's experiments replace the pilot by a
number, `pilot=1000`: that many first users for each arm, tuned by hand, and no gap [MT15, Sec. 5].
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from maskedbandit.core import WAIT, Decision, Floats, kernel, large_kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import BINARY, KARY, ROOT, Law, is_laplace
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.parts.choice import in_turn
from maskedbandit.policies.policy import Policy, means_of
from maskedbandit.policies.regret.thompson_sampling import UNKNOWN_MODE, sample_arm, update_mode

PILOT, FIRST, THEN = range(3)
STEP, EPOCH, SIZE, SERVED, AWAITED, USERS = range(6)
LARGEST_COUNT = 2.0**60
CORRECTED, PAPER = -1, -2  # values of `pilot` that are not a number of first users


class State(NamedTuple):
    """The posteriors, as in Thompson sampling, and the step under way."""

    success: np.ndarray  # [k] r_a
    n: np.ndarray  # [k]
    mode: np.ndarray  # [k]
    peak: np.ndarray  # [k]
    mean: np.ndarray  # [k] of the pilot
    gap: np.ndarray  # [1] D, then G
    asked: np.ndarray  # [k] cohorts of pilot and first
    clock: np.ndarray  # [6] step, epoch, users per arm, arms that have them, cohorts not yet released, users left
    horizon: int
    pilot: int


@kernel
def worst_release(law: Law, horizon: int) -> int:
    """The number of releases, up to `horizon`, after which a running sum has most noise: all digits are largest."""
    if law.counter >= ROOT:
        return horizon
    base = law.arity if law.counter == KARY else 2
    m = base // 2
    while m < horizon:
        m = m * base + base // 2
    return m


@kernel
def enough_users(law: Law, m: int, users: float, x: float, shift: float) -> float:
    """The least number of users, at least `users`, whose mean the noise of m releases moves by at most `shift`.

    m = 0: each user is a release, on channels where releases are independent.
    """
    for _ in range(200):  # the radius grows at most like the square root, so this climbs to the least solution
        n = int(min(users, LARGEST_COUNT))
        least = float(math.ceil(radius(law, m if m > 0 else n, n, x) / shift))
        if least <= users:
            break
        users = least
    return users


@kernel
def least_users(n: np.ndarray) -> float:
    """Users of the arm that has the fewest."""
    least = n[0]
    for users in n:
        least = min(least, users)
    return least


@kernel
def target(s: State, law: Law) -> float:
    """Users that every arm needs in all for the step under way."""
    k, n, log, gap = s.n.size, least_users(s.n), math.log(s.horizon), s.gap[0]
    if s.pilot >= 0:
        return float(s.pilot)
    if s.pilot == PAPER:
        levels = math.floor(math.log2(s.horizon) + 1e-12) + 1
        each = 96 * log * law.scale / levels / (gap * gap)  # the scale over the levels is 1 / epsilon0
        return n + math.ceil(each if s.clock[STEP] == PILOT else each * log * log / k)
    if s.clock[STEP] == PILOT:
        m = s.clock[EPOCH]
        x = math.log(4.0 * k * m * (m + 1) * s.horizon)
        users, shift = float(math.ceil(128 * x / (gap * gap))), gap / 16
    else:
        m = worst_release(law, s.horizon) if law.counter > 0 else 0
        x = math.log(2.0 * k) + 2 * log
        users, shift = max(n, 1.0), gap / 8
    return enough_users(law, m, users, x, shift)


@kernel
def apart(means: np.ndarray) -> float:
    """The distance between the two highest means."""
    first, second = -math.inf, -math.inf
    for mean in means:
        if mean > first:
            first, second = mean, first
        elif mean > second:
            second = mean
    return first - second


@large_kernel
def advance(s: State, law: Law) -> None:
    """Go to the next step or epoch, once all cohorts are released."""
    if s.clock[STEP] == FIRST and s.pilot == PAPER:
        s.clock[STEP] = THEN
        return
    if s.clock[STEP] == PILOT:
        wide = 1.0  # if devices dropped out, the factor by which D is larger for the users that are left
        if s.clock[EPOCH] > 0:
            if s.pilot == CORRECTED:
                wide = max(1.0, target(s, law) / least_users(s.n))
            s.gap[0] /= 2
        if s.pilot >= 0 or (s.clock[EPOCH] > 0 and apart(s.mean) > s.gap[0] * wide):
            s.clock[STEP] = FIRST
            s.gap[0] *= wide
        s.clock[EPOCH] += 1
    size = min(target(s, law) - least_users(s.n), LARGEST_COUNT)
    if size < 1 or (s.pilot == CORRECTED and size * s.n.size > s.clock[USERS]):
        s.clock[STEP] = THEN
        return
    s.clock[SIZE] = int(size)
    s.clock[SERVED] = 0
    s.clock[USERS] -= int(size) * s.n.size


@dataclass(frozen=True)
class DPThompson(Policy):
    """Mishra and Thakurta's Thompson sampling; `pilot` is "corrected", "paper", or a number of first users per arm.

    Made for the tree channel. It is valid on channels of independent releases too, but there every reward has noise of
    its own. `pilot="paper"` needs a binary tree whose `length` is the horizon: it takes ε0 to be the levels of that
    tree over the scale of the nodes, so on a longer tree, whose nodes have a larger scale, it asks for more users.

    >>> from maskedbandit.law import NO_NOISE
    >>> s = DPThompson().init(k=2, horizon=10**6)
    >>> DPThompson.ask(s, Law(NO_NOISE), np.random.default_rng(1))
    Decision(arm=1, n=2124, close=1)
    """

    goal = "regret"

    pilot: Literal["corrected", "paper"] | int = "corrected"

    def __post_init__(self) -> None:
        number = type(self.pilot) is int and 0 <= self.pilot <= 10**15
        if self.pilot not in ("corrected", "paper") and not number:
            raise InvalidValue("pilot", self.pilot, "'corrected', 'paper' or a whole number of users")

    def needs(self, law: Law) -> str:
        if self.pilot == "paper" and not (is_laplace(law) and law.counter == BINARY):
            return "running sums from binary trees with discrete Laplace noise, or another pilot"
        return ""

    def init(self, k: int, horizon: int) -> State:
        success, n, peak, mean = np.zeros((4, k))
        clock = np.array([PILOT, 0, 0, k, 0, horizon])
        pilot = self.pilot if isinstance(self.pilot, int) else {"corrected": CORRECTED, "paper": PAPER}[self.pilot]
        asked = np.zeros(k, np.int64)
        return State(success, n, np.full(k, UNKNOWN_MODE), peak, mean, np.ones(1), asked, clock, horizon, pilot)

    def means(self, s: State) -> Floats:
        return means_of(s.success, s.n)

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if s.clock[STEP] != THEN:
            k = s.n.size
            if s.clock[SERVED] == k and s.clock[AWAITED] == 0:
                advance(s, law)
            if s.clock[STEP] != THEN:
                if s.clock[SERVED] == k:
                    return WAIT
                s.clock[SERVED] += 1
                s.clock[AWAITED] += 1
                return Decision(in_turn(s.asked, rng), int(s.clock[SIZE]), 1)
        return Decision(sample_arm(s, rng), 1, 1)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        s.n[arm] += n
        lost = s.pilot == PAPER and s.clock[STEP] == PILOT  # in the printed version from the sums, not from the counts
        if not lost:
            s.success[arm] += total
        s.mean[arm] = total / n if lost else s.success[arm] / s.n[arm]
        if s.clock[STEP] != THEN:
            s.clock[AWAITED] -= 1
        update_mode(s, arm)
