"""DP-SE for best-arm identification: elimination in epochs that halve the gap they look for [SS19, Alg. 1].

Epochs and tests are those of DP-SE for regret (see policies/regret/dpse.py) with p = δ and no end: epoch e gives every
arm that is left to R_e new users, forgets the epochs before, and drops the arms whose mean is more than 2 h + 2 c below
the highest. The last arm is the answer.

**Guarantee**: wrong with probability ≤ δ, on every channel: the best arm leaves only if its mean of an epoch is too
low, or another too high, by more than h + c. Of the A arms left rewards do that to each with probability ≤ δ / 8 A e²,
noise with ≤ δ / 4 A e², and (3/8) ζ(2) < 1.

E τ = O(Σ_a (1 / gap_a² + 1 / (ε gap_a)) ln(K / (δ gap_a))) under central trust.

Departures: none from [SS19]. But the program with which DP-SE was compared in [AJMB23; AJMB24; JA25] divides the sum of
an epoch by the users of all epochs so far. That shrinks means, and all gaps, by a fifth to a quarter, while the
threshold stays the same: `counts="published"` is for reproducing their figures. It needs up to twice as many users
where noise dominates, and is not wrong more often; but nothing is proved of it where devices drop out, as means of arms
then shrink unequally.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from maskedbandit.checks import check_choice
from maskedbandit.core import Floats, kernel
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.regret.dpse import DPSE
from maskedbandit.policies.regret.successive_elimination import UNLIMITED_USERS, batch_means, note_sum


class State(NamedTuple):
    """The arms that are left and the epoch under way."""

    mean: np.ndarray  # [k] of the last epoch
    left: np.ndarray  # [k] 1: not eliminated
    clock: np.ndarray  # [6] as in successive elimination
    p: float
    users: np.ndarray  # [k] of all epochs
    published: int


@dataclass(frozen=True)
class BestArmDPSE(Policy):
    """Epochs until one arm is left; `counts` says which users a sum is divided by, "epoch" or "published".

    >>> from maskedbandit.law import NO_NOISE, Law
    >>> BestArmDPSE.ask(BestArmDPSE().init(k=5, delta=0.01), Law(NO_NOISE), rng=None)
    Decision(arm=0, n=1062, close=2)
    """

    goal = "identify"

    counts: Literal["epoch", "published"] = "epoch"

    def __post_init__(self) -> None:
        check_choice("counts", self.counts, ("epoch", "published"))

    def init(self, k: int, delta: float) -> State:
        clock = np.array([0, 0, k, 0, UNLIMITED_USERS, 0])
        return State(
            np.zeros(k), np.ones(k, np.int64), clock, delta, np.zeros(k, np.int64), int(self.counts == "published")
        )

    ask = DPSE.ask

    def means(self, s: State) -> Floats:
        return batch_means(s)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        s.users[arm] += n
        s.mean[arm] = total / (s.users[arm] if s.published else n)
        note_sum(s, n)
