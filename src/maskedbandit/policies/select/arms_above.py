"""All arms above a threshold by the exact likelihood of the releases, for every noise of known distribution.

Every arm has a test of its own: it is above θ once the evidence that its mean is not θ − tolerance or less is at least
K / δ, and below once the evidence that it is not θ + tolerance or more is (theory/evidence.py). The search stops when
all arms are decided. All releases count, and the evidence is valid however pulls and cohorts are chosen. Of the two
tests of an arm only one can err, that of the class in which it must not be, with probability ≤ δ / K; and the union
over arms is paid once. So an answer is wrong in any arm with probability ≤ δ, plus the channel's `failure` for each sum
that may wrap around its modulus. The policy is this project's own; docs/top_arms.md has the proof.

An arm whose mean is θ itself is never decided if the tolerance is 0. With a tolerance the search always stops, and arms
within it may be named or not.

Arms that are not decided get cohorts as `ReleasedLikelihood` sizes them, the arm with the fewest users first. Which arm
is first does not matter for the sum of all users, as no arm says anything about another.

Users: each arm has the shape of the lower bound, ln(K / δ) / d(μ_a, θ); no bound on samples is proved.
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
    MOST_RELEASES,
    arm_releases,
    beginning_users,
    check_growth,
    keep_release,
    lacks_pmf,
    next_size,
    update_means,
)
from maskedbandit.policies.parts.selection import Above, SelectedArms, Selection
from maskedbandit.policies.policy import means_of
from maskedbandit.theory.evidence import evidence_beyond

BELOW, OPEN, ABOVE = -1, 0, 1


class State(NamedTuple):
    """The releases, and which arms are decided."""

    total: np.ndarray  # [k, MOST]
    users: np.ndarray  # [k, MOST]
    m: np.ndarray  # [k] releases
    n: np.ndarray  # [k] users
    asked: np.ndarray  # [k] see batches.py
    flight: np.ndarray  # [k] see batches.py
    mean: np.ndarray  # [k] the likeliest
    found: np.ndarray  # [k] evidence for the side of theta on which the mean is
    gain: np.ndarray  # [k] of the best bet in it
    side: np.ndarray  # [k] BELOW, OPEN: not decided, or ABOVE
    fresh: np.ndarray  # [k] 1: released since the last update
    clock: np.ndarray  # [1] see batches.py
    threshold: float
    growth: float
    least: int
    theta: float
    tolerance: float


@kernel
def rejected(s: State, a: int) -> float:
    """The nearest mean on the other side of theta that would make the class of an arm wrong."""
    return s.theta - s.tolerance if s.mean[a] >= s.theta else s.theta + s.tolerance


@large_kernel
def think(s: State, law: Law) -> None:
    """Decide which arms the new releases decide."""
    if not update_means(s, law):
        return
    for a in range(s.n.size):
        if s.fresh[a] == 1 and s.side[a] == OPEN:
            z = rejected(s, a)
            s.found[a], s.gain[a] = 0.0, 0.0
            if s.mean[a] != z:
                s.found[a], s.gain[a] = evidence_beyond(law, arm_releases(s, a), z, s.mean[a])
            if s.found[a] >= s.threshold:
                s.side[a] = ABOVE if s.mean[a] > z else BELOW
    s.fresh[:] = 0


@kernel
def next_arm(s: State, rng: np.random.Generator) -> int:
    """The arm with the fewest users of those that are not decided; -1 if all are."""
    few = np.full(s.n.size, -math.inf)
    for a in range(s.n.size):
        if s.side[a] == OPEN:
            few[a] = -float(s.asked[a])
    arm = pick_highest(few, rng)
    return arm if s.side[arm] == OPEN else -1


@dataclass(frozen=True)
class ArmsAbove(Selection):
    """A test of its own for every arm, on the exact likelihood.

    Arms whose means are within `tolerance` of `theta` may be named or not. A cohort has at most `growth` times the
    arm's released users, and at least `least`.

    >>> import maskedbandit as mb
    >>> channel, instance = mb.channels.Central(epsilon=0.5), mb.Bernoulli([0.8, 0.6, 0.3])
    >>> found = mb.select(ArmsAbove(theta=0.5), channel, instance, delta=0.01)
    >>> found.correct[0], found.answer[0].tolist(), found.samples[0] < 2000
    (np.True_, [True, True, False], np.True_)
    """

    theta: float = 0.5
    tolerance: float = 0.0
    growth: float = 2.0
    least: int = 1

    def __post_init__(self) -> None:
        Above(self.theta, self.tolerance)
        check_growth(self.growth)
        check_cohort("least", self.least)

    @property
    def question(self) -> Above:
        return Above(float(self.theta), float(self.tolerance))

    def needs(self, law: Law) -> str:
        return lacks_pmf(law)

    def init(self, k: int, delta: float) -> State:
        total, users = np.zeros((k, MOST_RELEASES)), np.zeros((k, MOST_RELEASES), np.int64)
        m, n, asked, flight, side, fresh = np.zeros((6, k), np.int64)
        mean, found, gain = np.zeros((3, k))
        known = total, users, m, n, asked, flight, mean, found, gain, side, fresh, np.zeros(1, np.int64)
        how = math.log(k / delta), float(self.growth), int(self.least), float(self.theta), float(self.tolerance)
        return State(*known, *how)

    def means(self, s: State) -> Floats:
        return means_of(s.total.sum(axis=1), s.users.sum(axis=1))

    def selected(self, s: State) -> SelectedArms:
        answer: SelectedArms = s.side == ABOVE
        return answer

    @staticmethod
    @large_kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not all_released(s.n):
            users = beginning_users(s, law)
            return first_cohort(s, users, FURTHER * users, EARLY, rng)
        think(s, law)
        arm = next_arm(s, rng)
        if arm < 0:
            return Decision(int(np.argmax(s.mean)), 0, 0)
        more = s.asked[arm] / s.n[arm]
        return begin_cohort(s, arm, next_size(s, law, arm, s.found[arm], s.gain[arm], more))

    @staticmethod
    @lean_kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        keep_release(s, arm, n, total)
