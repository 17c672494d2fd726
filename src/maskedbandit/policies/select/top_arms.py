"""The m best arms by the exact likelihood of the releases, for every noise of known distribution.

The answer is the m arms of the highest likeliest means, once the evidence that i is better than j (theory/evidence.py)
is at least m (K − m) / δ for each of them and each other arm j. All releases count, and the evidence is valid however
pulls and cohorts are chosen. A wrong answer has some i that is not among the m best, and leaves out some j that is:
then the evidence for this pair is wrong, which happens for any of the m (K − m) pairs with probability ≤ δ, plus the
channel's `failure` for each sum that may wrap around its modulus. The policy is this project's own; docs/top_arms.md
has the proof. For m = 1 and up to five arms this is the stopping rule of `ReleasedLikelihood`.

The rest can be chosen freely, because it is post-processing. The next cohort is of the arm whose users should lower

    sum over pairs (i, j) without enough evidence of  exp(−evidence)

most, for each of them: at the optimum of the lower bound all that are needed lower it alike. Sizes of cohorts, and
that users in flight count as if they had shown the same, are as in `ReleasedLikelihood`.

Forced exploration is needed, for the same reason as there: an arm with fewer than `forced` times the users of the
most-pulled arm on its side comes first, while it is in a pair without enough evidence; else below a thirteenth of that.

The shape of the guarantee is that of the lower bound (theory/selection.py); no bound on samples is proved.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import check_cohort
from maskedbandit.core import Decision, Floats, kernel, large_kernel, lean_kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.batches import EARLY, FURTHER, all_released, begin_cohort, first_cohort
from maskedbandit.policies.parts.choice import mark_highest, pick_highest
from maskedbandit.policies.parts.known_releases import (
    AIM_MARGIN,
    BEATEN,
    MOST_RELEASES,
    NOT_COMPUTED,
    arm_releases,
    beginning_users,
    check_forced_growth,
    expect_evidence,
    keep_release,
    lacks_pmf,
    next_size,
    update_means,
)
from maskedbandit.policies.parts.selection import SelectedArms, Selection, Top
from maskedbandit.policies.policy import means_of
from maskedbandit.theory.evidence import Bets, evidence_at, find_weak_mean
from maskedbandit.theory.likelihood import mean_information


class State(NamedTuple):
    """The releases, and what is computed from them; of pairs, the first arm is inside, and the second outside."""

    total: np.ndarray  # [k, MOST]
    users: np.ndarray  # [k, MOST]
    m: np.ndarray  # [k] releases
    n: np.ndarray  # [k] users
    asked: np.ndarray  # [k] see batches.py
    flight: np.ndarray  # [k] see batches.py
    mean: np.ndarray  # [k] the likeliest
    inside: np.ndarray  # [k] 1: among the m highest means
    found: np.ndarray  # [k, k] evidence that the first arm is better
    gains: np.ndarray  # [2, k, k] of the best bets in it, on the first arm and on the second
    fraction: np.ndarray  # [k, k] of the first arm's information in that of both arms
    weak: np.ndarray  # [k, k] where the evidence was last found too small, as a fraction of the way between both means
    sure: np.ndarray  # [k, k] 1: the evidence was sufficient for all z
    seen: np.ndarray  # [k, k] releases of both arms when all this was computed
    fresh: np.ndarray  # [k] 1: released since the last update
    clock: np.ndarray  # [1] see batches.py
    threshold: float
    forced: float  # fraction of the most-pulled arm's users below which an arm is starved
    growth: float
    least: int
    best: int  # how many arms are asked for


@large_kernel
def compare_pair(s: State, law: Law, i: int, j: int) -> None:
    """The evidence for a pair where it should be least, and where it was last found too small."""
    gap, pooled = s.mean[i] - s.mean[j], (s.n[i] * s.mean[i] + s.n[j] * s.mean[j]) / (s.n[i] + s.n[j])
    of_i = mean_information(law, arm_releases(s, i), min(max(pooled, 0.01), 0.99))
    of_j = mean_information(law, arm_releases(s, j), min(max(pooled, 0.01), 0.99))
    s.fraction[i, j], s.found[i, j], s.sure[i, j] = of_i / (of_i + of_j), NOT_COMPUTED, 0
    s.gains[:, i, j] = 0.0
    if gap > 0.0:
        bet(s, law, i, j, s.fraction[i, j])
        if s.found[i, j] >= s.threshold and s.weak[i, j] >= 0.0:
            bet(s, law, i, j, s.weak[i, j])


@kernel
def share_bets(s: State) -> Bets:
    """All pairs share alike."""
    return Bets(float(s.best), float(s.n.size - s.best), False)


@large_kernel
def bet(s: State, law: Law, i: int, j: int, at: float) -> None:
    """The evidence for a pair at a fraction of the way from the lower mean to the higher."""
    gap = s.mean[i] - s.mean[j]
    z = min(max(s.mean[j] + at * gap, 1e-9), 1 - 1e-9)  # at 0 and 1 likelihood ratios can be 0 / 0
    known = evidence_at(law, arm_releases(s, i), arm_releases(s, j), share_bets(s), gap, z)
    s.found[i, j], s.gains[0, i, j], s.gains[1, i, j] = known


@large_kernel
def think(s: State, law: Law, rng: np.random.Generator) -> None:
    """Update all estimates with the new releases, if there are any."""
    if not update_means(s, law):
        return
    mark_highest(s.mean, s.best, s.inside, rng)
    for i in range(s.n.size):
        for j in range(s.n.size):
            if s.inside[i] == 1 and s.inside[j] == 0 and s.seen[i, j] != s.m[i] + s.m[j]:
                s.seen[i, j] = s.m[i] + s.m[j]
                compare_pair(s, law, i, j)
    s.fresh[:] = 0


@large_kernel
def certain(s: State, law: Law) -> bool:
    """Whether the arms inside are the answer; all z are checked only if the evidence suffices where it was computed."""
    k = s.n.size
    for i in range(k):
        for j in range(k):
            if s.inside[i] == 1 and s.inside[j] == 0 and s.found[i, j] < s.threshold:
                return False
    for i in range(k):
        for j in range(k):
            if s.inside[i] == 1 and s.inside[j] == 0 and s.sure[i, j] == 0:
                known = arm_releases(s, i), arm_releases(s, j)
                z = find_weak_mean(law, *known, share_bets(s), s.mean[i], s.mean[j], s.threshold)
                if z <= 1.0:
                    s.weak[i, j] = min(max((z - s.mean[j]) / (s.mean[i] - s.mean[j]), 0.0), 1.0)
                    s.found[i, j] = s.threshold - AIM_MARGIN / 2
                    return False
                s.sure[i, j] = 1
    return True


@kernel
def foresee_pair(s: State, i: int, j: int) -> float:
    """The factor by which the evidence for a pair grows, if users in flight show what the released ones did."""
    now, then = s.n[i] * (s.n[j] / (s.n[i] + s.n[j])), s.asked[i] * (s.asked[j] / (s.asked[i] + s.asked[j]))
    return float(then / now)


@large_kernel
def next_pair(s: State, rng: np.random.Generator) -> tuple[int, int]:
    """The arm that gets the next cohort, and the other arm of the pair for which that is most needed.

    Where bets gain little yet, their gains are taken from a normal model.
    """
    k = s.n.size
    useful, need, most = np.zeros(k), np.full(k, -math.inf), np.zeros(2)
    partner, worst, open_to = np.full(k, -1), np.full(k, math.inf), np.zeros(k, np.int64)
    for i in range(k):
        most[s.inside[i]] = max(most[s.inside[i]], s.asked[i])
        for j in range(k):
            if s.inside[i] == 1 and s.inside[j] == 0:
                there = max(expect_evidence(s.found[i, j], foresee_pair(s, i, j)), 0.0)
                for a, other in ((i, j), (j, i)):
                    if s.found[i, j] < s.threshold:
                        open_to[a] = 1
                    if there < worst[a]:
                        partner[a], worst[a] = other, there
                if s.found[i, j] < s.threshold:
                    useful[i] += math.exp(-there) * (s.gains[0, i, j] + 1 - s.fraction[i, j]) / s.asked[i]
                    useful[j] += math.exp(-there) * (s.gains[1, i, j] + s.fraction[i, j]) / s.asked[j]
    for a in range(k):
        need[a] = -s.asked[a] / (most[s.inside[a]] * (1.0 if open_to[a] == 1 else BEATEN))
    arm = pick_highest(need, rng)
    if -need[arm] >= s.forced:
        arm = pick_highest(useful, rng)
    return arm, int(partner[arm])


@dataclass(frozen=True)
class TopArms(Selection):
    """The m best arms, on the exact likelihood.

    `forced` is for forced exploration: arms with fewer than this fraction of the users of the most-pulled one on their
    side come first (0: no arm does). A cohort has at most `growth` times the arm's released users, and at least
    `least`.

    >>> import maskedbandit as mb
    >>> channel, instance = mb.channels.Central(epsilon=0.5), mb.Bernoulli([0.8, 0.7, 0.3, 0.2])
    >>> found = mb.select(TopArms(m=2), channel, instance, delta=0.01)
    >>> found.correct[0], found.answer[0].tolist(), found.samples[0] < 2000
    (np.True_, [True, True, False, False], np.True_)
    """

    m: int = 2
    forced: float = 0.2
    growth: float = 2.0
    least: int = 1

    def __post_init__(self) -> None:
        Top(self.m)
        check_forced_growth(self.forced, self.growth)
        check_cohort("least", self.least)

    @property
    def question(self) -> Top:
        return Top(int(self.m))

    def needs(self, law: Law) -> str:
        return lacks_pmf(law)

    def init(self, k: int, delta: float) -> State:
        best = min(int(self.m), k)
        total, users = np.zeros((k, MOST_RELEASES)), np.zeros((k, MOST_RELEASES), np.int64)
        m, n, asked, flight, inside, fresh = np.zeros((6, k), np.int64)
        found, fraction, weak = np.zeros((3, k, k))
        sure, seen = np.zeros((2, k, k), np.int64)
        found[:], weak[:] = NOT_COMPUTED, NOT_COMPUTED
        pairs = found, np.zeros((2, k, k)), fraction, weak, sure, seen
        known = total, users, m, n, asked, flight, np.zeros(k), inside, *pairs, fresh, np.zeros(1, np.int64)
        threshold = math.log(max(best * (k - best), 1) / delta)
        return State(*known, threshold, float(self.forced), float(self.growth), int(self.least), best)

    def means(self, s: State) -> Floats:
        return means_of(s.total.sum(axis=1), s.users.sum(axis=1))

    def selected(self, s: State) -> SelectedArms:
        answer: SelectedArms = s.inside == 1
        return answer

    @staticmethod
    @large_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not all_released(s.n):
            users = beginning_users(s, law)
            return first_cohort(s, users, FURTHER * users, EARLY, rng)
        think(s, law, rng)
        if certain(s, law):
            return Decision(int(np.argmax(s.mean)), 0, 0)
        arm, other = next_pair(s, rng)
        i, j = (arm, other) if s.inside[arm] == 1 else (other, arm)
        gain = s.gains[0, i, j] + s.gains[1, i, j]
        return begin_cohort(s, arm, next_size(s, law, arm, s.found[i, j], gain, foresee_pair(s, i, j)))

    @staticmethod
    @lean_kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        keep_release(s, arm, n, total)
