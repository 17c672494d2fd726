"""AdaP-KLUCB: AdaP-UCB with the KL index for bits [AB22].

Episodes are those of AdaP-UCB; with the released mean m_a of an arm's last episode, of n_a users,

    arm = argmax_a  max{q : kl(clip(m_a + radius(noise of one release, β ln t) / n_a), q) ≤ β ln t / n_a},

clip to [0, 1]. The bound holds for all rewards in [0, 1], because a sum of bits of the same mean has the larger
moments.

Regret = O(Σ_a gap_a ln T / min{kl(μ_a, μ*), ε gap_a}) for β > 3 under central pure ε [AB22].

Departures: the radius is the paper's β ln t / ε under central Laplace noise, and on every other channel bounds that
channel's noise with the same probability.
"""

import math
from dataclasses import dataclass

import numpy as np

from maskedbandit.core import Decision, kernel
from maskedbandit.law import Law
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.parts.batches import USERS, all_released, first_cohort, grow_arm
from maskedbandit.policies.parts.choice import pick_highest
from maskedbandit.policies.parts.episodes import EpisodePolicy, State, latest_size
from maskedbandit.theory.divergences import kl_upper


@dataclass(frozen=True)
class AdaPKLUCB(EpisodePolicy):
    """Optimism by episodes, for bits; the theorem needs `beta` above 3.

    >>> s, rng = AdaPKLUCB(beta=4).init(k=2, horizon=100), np.random.default_rng(1)
    >>> AdaPKLUCB.ask(s, None, rng), AdaPKLUCB.ask(s, None, rng)
    (Decision(arm=1, n=1, close=1), Decision(arm=0, n=1, close=1))
    """

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not all_released(s.n):
            return first_cohort(s, 1, 1, 2.0, rng)
        x = s.beta * math.log(s.clock[USERS] + 1)
        for a in range(s.n.size):
            n = latest_size(s, a)
            mean = min(max(s.mean[a] + radius(law, 1, n, x) / n, 0.0), 1.0)
            s.score[a] = kl_upper(mean, x / n)
        return grow_arm(s, pick_highest(s.score, rng), 2.0)
