"""The best arm by the exact likelihood of the releases: a top-two policy for every noise of known distribution.

The leader is the arm of the highest likeliest mean. It is the answer once the evidence that it is better than b (see
theory/evidence.py) is at least 1 / (δ v) for every rival b, v its share in the bets against b (see shares.py). Shares
add up to at most one, so all bets together gain 1 / δ against the best arm with probability ≤ δ. So the answer is wrong
with probability ≤ δ, plus the channel's `failure` for each sum that may wrap around its modulus. The evidence is valid
however pulls and cohorts are chosen, and where users may be lost with their noise, whatever noise is left (see
noise_pmf.py). The policy is this project's own; docs/released_likelihood.md has the proofs and the alternatives that
were tried.

The rest can be chosen freely, because it is post-processing. Every release has its own noise, so cohorts are few:

* a first one of each arm, of 17 standard deviations of the noise of a release, with many arms up to `LOUD`: the best of
  many noisy means is far from its own;
* then one at a time, of one of the top two arms [JD23]: of the leader, if a user of the leader adds more evidence than
  at the optimum of [GK16], relative to the rivals that are not beaten; else of the rival with the least evidence;
* while releases are in flight too, as if they had shown the same as those before: the evidence counts releases alone;
* of the users that the missing evidence should need, a part that is the larger the more of their variance is noise, and
  at most `growth` times as many as were released of the arm, or a twentieth of those it was asked for.

Forced exploration is needed: a best arm whose first release was far too low would never be tried again where other arms
tie, because these always have the least evidence. So a rival that is not beaten yet comes first while it has fewer than
`forced` times the users of the most-pulled rival. That costs little, as all rivals must be beaten in the end. A rival
that was beaten, perhaps wrongly, comes first while it has fewer than a thirteenth of that.

The shape of the guarantee is that of the lower bound [JA25, AJMB24]; no bound on samples is proved.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import check_cohort
from maskedbandit.core import Decision, Floats, kernel, large_kernel, lean_kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.batches import EARLY, FURTHER, all_released, begin_cohort, first_cohort
from maskedbandit.policies.parts.choice import pick_highest
from maskedbandit.policies.parts.known_releases import (
    AIM_MARGIN,
    BEATEN,
    MOST_RELEASES,
    NOT_COMPUTED,
    OUTWEIGHED,
    arm_releases,
    beginning_users,
    check_forced_growth,
    expect_evidence,
    keep_release,
    lacks_pmf,
    next_size,
    update_means,
)
from maskedbandit.policies.parts.shares import (
    FEW_ARMS,
    begin_ranks,
    count_equal_shares,
    give_share,
    has_share,
    in_favour,
    nats_of_share,
    shared_bets,
)
from maskedbandit.policies.policy import Policy, means_of
from maskedbandit.theory.evidence import evidence_at, find_weak_mean
from maskedbandit.theory.likelihood import mean_information

LOUD = 24.0  # standard deviations of the noise in the first cohorts of ten arms or more


class State(NamedTuple):
    """The releases, and what is computed from them."""

    total: np.ndarray  # [k, MOST]
    users: np.ndarray  # [k, MOST]
    m: np.ndarray  # [k] releases
    n: np.ndarray  # [k] users
    asked: np.ndarray  # [k] see batches.py
    flight: np.ndarray  # [k] see batches.py
    mean: np.ndarray  # [k] the likeliest
    found: np.ndarray  # [k] evidence that the leader is better
    gains: np.ndarray  # [2, k] of the best bets in it, on the leader and on the rival
    fraction: np.ndarray  # [k] of the leader's information in that of both arms
    weak: np.ndarray  # [k] where the evidence was last found too small, as a fraction of the way between both means
    sure: np.ndarray  # [k] 1: the evidence was sufficient for all z
    fresh: np.ndarray  # [k] 1: released since the last update
    leader: np.ndarray  # [1]
    rank: np.ndarray  # [k] see shares.py
    before: np.ndarray  # [k] see shares.py
    clock: np.ndarray  # [1] see batches.py
    threshold: float
    forced: float  # fraction of the most-pulled rival's users below which a rival is starved
    growth: float
    least: int


@large_kernel
def compare_rival(s: State, law: Law, b: int) -> None:
    """The evidence against a rival where it should be least, and where it was last found too small."""
    a = s.leader[0]
    gap, pooled = s.mean[a] - s.mean[b], (s.n[a] * s.mean[a] + s.n[b] * s.mean[b]) / (s.n[a] + s.n[b])
    of_a = mean_information(law, arm_releases(s, a), min(max(pooled, 0.01), 0.99))
    of_b = mean_information(law, arm_releases(s, b), min(max(pooled, 0.01), 0.99))
    s.fraction[b], s.found[b], s.sure[b] = of_a / (of_a + of_b), NOT_COMPUTED, 0
    s.gains[:, b] = 0.0
    if gap > 0.0:
        bet(s, law, b, s.fraction[b])
        if s.found[b] >= s.threshold and s.weak[b] >= 0.0:
            bet(s, law, b, s.weak[b])


@large_kernel
def bet(s: State, law: Law, b: int, at: float) -> None:
    """The evidence against a rival at a fraction of the way from its mean to the leader's."""
    a = s.leader[0]
    gap = s.mean[a] - s.mean[b]
    z = min(max(s.mean[b] + at * gap, 1e-9), 1 - 1e-9)  # at 0 and 1 likelihood ratios can be 0 / 0
    known = in_favour(s, a), arm_releases(s, b)
    s.found[b], s.gains[0, b], s.gains[1, b] = evidence_at(law, *known, shared_bets(s, a, b), gap, z)
    s.found[b] -= nats_of_share(s, a, b)


@large_kernel
def think(s: State, law: Law, rng: np.random.Generator) -> None:
    """Update all estimates with the new releases, if there are any."""
    k, before = s.n.size, s.leader[0]
    if not update_means(s, law):
        return
    s.leader[0] = pick_highest(s.mean, rng)
    for b in range(k):
        if b != s.leader[0] and (s.leader[0] != before or s.fresh[b] == 1 or s.fresh[s.leader[0]] == 1):
            compare_rival(s, law, b)
    s.fresh[:] = 0


@large_kernel
def certain(s: State, law: Law) -> bool:
    """Whether the leader is the answer; all z are checked only if the evidence suffices where it was computed."""
    a = s.leader[0]
    if not has_share(s, a):
        return False
    for b in range(s.n.size):
        if b != a and s.found[b] < s.threshold:
            return False
    for b in range(s.n.size):
        if b != a and s.sure[b] == 0:
            known, threshold = (in_favour(s, a), arm_releases(s, b)), s.threshold + nats_of_share(s, a, b)
            z = find_weak_mean(law, *known, shared_bets(s, a, b), s.mean[a], s.mean[b], threshold)
            if z <= 1.0:
                s.weak[b] = min(max((z - s.mean[b]) / (s.mean[a] - s.mean[b]), 0.0), 1.0)
                s.found[b] = s.threshold - AIM_MARGIN / 2
                return False
            s.sure[b] = 1
    return True


@kernel
def foresee_rival(s: State, b: int) -> float:
    """The factor by which the evidence against a rival grows, if users in flight show what the released ones did."""
    a = s.leader[0]
    now, then = s.n[a] * (s.n[b] / (s.n[a] + s.n[b])), s.asked[a] * (s.asked[b] / (s.asked[a] + s.asked[b]))
    return float(then / now)


@large_kernel
def challenger(s: State, rng: np.random.Generator) -> tuple[int, bool]:
    """The rival that is not beaten and has the least evidence against it; a starved one comes first."""
    a, most = s.leader[0], 0
    doubt, need = np.full(s.n.size, -math.inf), np.full(s.n.size, -math.inf)
    for b in range(s.n.size):
        if b != a:
            most = max(most, s.asked[b])
            doubt[b], need[b] = -1e300, -s.asked[b] / BEATEN  # if all are beaten, one of them
            if s.found[b] < s.threshold:
                doubt[b], need[b] = -expect_evidence(s.found[b], foresee_rival(s, b)), -float(s.asked[b])
    starved = pick_highest(need, rng)
    if -need[starved] < s.forced * most:
        return starved, True
    return pick_highest(doubt, rng), False


@large_kernel
def leader_lacks(s: State) -> bool:
    """Whether the leader needs users more than its rivals: at the optimum this sum of ratios of gains is 1 [GK16].

    Where bets gain little yet, their gains are taken from a normal model.
    """
    a, total = s.leader[0], 0.0
    for b in range(s.n.size):
        if b != a and s.found[b] < s.threshold:
            total += (s.gains[0, b] + 1 - s.fraction[b]) / (s.gains[1, b] + s.fraction[b]) * (s.asked[b] / s.asked[a])
    return total > 1.0


@large_kernel
def rival_size(s: State, law: Law, arm: int, rival: int) -> int:
    """Users of the next cohort of an arm, so that the evidence against the rival may suffice."""
    gain = s.gains[0, rival] + s.gains[1, rival]
    return next_size(s, law, arm, s.found[rival], gain, foresee_rival(s, rival))


@dataclass(frozen=True)
class ReleasedLikelihood(Policy):
    """Top-two on the exact likelihood, for noise of known distribution that is added to whole sums of bits.

    `forced` is for forced exploration: rivals with fewer than this fraction of the users of the most-pulled one come
    first (0: no rival does). A cohort has at most `growth` times the arm's released users, and at
    least `least`.

    >>> import maskedbandit as mb
    >>> channel, instance = mb.channels.Central(epsilon=0.5), mb.Bernoulli([0.8, 0.6])
    >>> found = mb.identify(ReleasedLikelihood(), channel, instance, delta=0.01)
    >>> found.correct[0], found.samples[0] < 2000
    (np.True_, np.True_)
    """

    goal = "identify"

    forced: float = 0.2
    growth: float = 2.0
    least: int = 1

    def __post_init__(self) -> None:
        check_forced_growth(self.forced, self.growth)
        check_cohort("least", self.least)

    def needs(self, law: Law) -> str:
        return lacks_pmf(law)

    def init(self, k: int, delta: float) -> State:
        total, users = np.zeros((k, MOST_RELEASES)), np.zeros((k, MOST_RELEASES), np.int64)
        m, n, asked, flight, sure, fresh = np.zeros((6, k), np.int64)
        mean, found, fraction, weak = np.zeros((4, k))
        found[:], weak[:] = NOT_COMPUTED, NOT_COMPUTED
        leader, clock = np.full(1, -1), np.zeros(1, np.int64)
        known = total, users, m, n, asked, flight, mean, found, np.zeros((2, k)), fraction, weak, sure, fresh
        state = *known, leader, begin_ranks(k), np.zeros(k, np.int64), clock
        return State(
            *state, math.log(count_equal_shares(k) / delta), float(self.forced), float(self.growth), int(self.least)
        )

    def means(self, s: State) -> Floats:
        return means_of(s.total.sum(axis=1), s.users.sum(axis=1))

    @staticmethod
    @large_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not all_released(s.n):
            of_many = OUTWEIGHED * math.log(s.n.size) / math.log(FEW_ARMS)
            users = beginning_users(s, law, min(max(OUTWEIGHED, of_many), LOUD))
            return first_cohort(s, users, FURTHER * users, EARLY, rng)
        think(s, law, rng)
        if certain(s, law):
            return Decision(int(s.leader[0]), 0, 0)
        rival, starves = challenger(s, rng)
        arm = int(s.leader[0]) if not starves and (leader_lacks(s) or s.found[rival] >= s.threshold) else rival
        if arm == s.leader[0]:
            give_share(s, arm, s.found[rival] >= s.threshold)
        return begin_cohort(s, arm, rival_size(s, law, arm, rival))

    @staticmethod
    @lean_kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        keep_release(s, arm, n, total)
