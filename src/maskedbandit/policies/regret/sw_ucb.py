"""SW-UCB, for means that change: UCB on the last releases only [GM11].

    arm = argmax_a  S_a / n_a + √(f / n_a) + radius(noise of the n_a pulls, 2 f) / n_a,    f = ξ ln min{t, window}

S_a is the released total of the n_a pulls of an arm among the last `window` users, t the users so far. An arm without
any is next. Of cohorts the last window / batch count.

Without noise, if means change at most C times and ξ > 1/2, regret is O(√(C T ln T)) for the window 2 √(T ln T / C)
[GM11; LS20, Sec. 31.3]. Without `window` it is the one for C = 1. All releases of a window are in memory, so it has at
most a million cohorts.

Departures: the last term is this project's, and zero without noise. So are cohorts: the paper decides for every user,
which is `batch=1`, and pays for noise in every reward.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskedbandit.checks import check_cohort, check_positive
from maskedbandit.core import Decision, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.parts.choice import NONE_YET, pick_fewest, weigh_arm
from maskedbandit.policies.policy import Policy

TIME, TOLD = range(2)
MOST_COHORTS = 10**6  # cohorts in a window


class State(NamedTuple):
    """The last releases, in a ring."""

    total: np.ndarray  # [k] of those in the window
    n: np.ndarray  # [k] rewards in them
    m: np.ndarray  # [k] their number
    asked: np.ndarray  # [k] when an arm was asked for last
    arm: np.ndarray  # [cohorts in the window] whose release it was
    users: np.ndarray  # [the same] rewards in it; 0: none yet
    sums: np.ndarray  # [the same] released
    clock: np.ndarray  # [2] users asked for, releases told
    window: int
    batch: int
    xi: float


@dataclass(frozen=True)
class SWUCB(Policy):
    """Optimism on the last `window` users; without it, on as many as suit one change.

    >>> from maskedbandit.law import NO_NOISE
    >>> s, law, rng = SWUCB(window=2).init(k=2, horizon=100), Law(NO_NOISE), np.random.default_rng(1)
    >>> for _ in range(3):
    ...     SWUCB.tell(s, 0, 1, 1.0)
    >>> SWUCB.ask(s, law, rng), s.n  # arm 1 has no release, and of arm 0 two count
    (Decision(arm=1, n=1, close=1), array([2, 0]))
    """

    goal = "regret"

    window: int | None = None
    batch: int = 1
    xi: float = 0.6

    def __post_init__(self) -> None:
        if self.window is not None:
            check_cohort("window", self.window)
        check_cohort("batch", self.batch)
        check_positive("xi", self.xi)
        if self.window is not None and self.window > MOST_COHORTS * self.batch:
            allowed = f"at most {MOST_COHORTS:,} times batch, so here {MOST_COHORTS * int(self.batch):,}"
            raise InvalidValue("window", self.window, allowed)

    def init(self, k: int, horizon: int) -> State:
        for_one_change = math.ceil(2 * math.sqrt(horizon * math.log(horizon))) or 1
        window = self.window or min(for_one_change, MOST_COHORTS * self.batch)
        (n, m, asked), size = np.zeros((3, k), np.int64), -(-min(window, horizon) // self.batch)
        ring = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size)
        settings = int(window), int(self.batch), float(self.xi)
        return State(np.zeros(k), n, m, asked, *ring, np.zeros(2, np.int64), *settings)

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        level, missing, best = s.xi * math.log(min(s.clock[TIME] + 1, s.window)), -1, NONE_YET
        for a in range(s.n.size):
            if s.n[a] == 0:
                if missing < 0 or s.asked[a] < s.asked[missing]:
                    missing = a
            elif missing < 0:
                noise = radius(law, s.m[a], s.n[a], 2 * level)
                best = weigh_arm(best, a, (s.total[a] + noise) / s.n[a] + math.sqrt(level / s.n[a]), rng)
        if missing >= 0 and s.asked[missing] == 0:  # never asked for, and neither were its equals
            missing = pick_fewest(s.asked, rng)
        arm = missing if missing >= 0 else best.arm
        s.clock[TIME] += s.batch
        s.asked[arm] = s.clock[TIME]
        return Decision(int(arm), s.batch, 1)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        place = s.clock[TOLD] % s.arm.size
        s.clock[TOLD] += 1
        if s.users[place] > 0:
            old = s.arm[place]
            s.n[old] -= s.users[place]
            s.m[old] -= 1
            s.total[old] -= s.sums[place]
            if s.m[old] == 0:
                s.total[old] = 0.0  # no remains of rounding
        s.arm[place], s.users[place], s.sums[place] = arm, n, total
        s.total[arm] += total
        s.n[arm] += n
        s.m[arm] += 1
