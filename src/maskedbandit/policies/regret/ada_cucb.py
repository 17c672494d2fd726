"""AdaC-UCB: the episodes of AdaP-UCB under Gaussian noise, in one bound for rewards and noise [AB24].

With the released mean m_a of an arm's last episode, of n_a users, and the variance v of the noise in its sum,

    arm = argmax_a  m_a + √(2 β ln t (1/(4 n_a) + v/n_a²)).

Rewards in [0, 1] and Gaussian noise are sub-Gaussian with variances of at most 1/4 and v, and those add up. Central
noise has v = 1/(2ρ), which gives the paper's √((1/(2 n_a) + 1/(ρ n_a²)) β ln t), under ρ-zCDP.

Regret ≤ Σ_a (8 β ln T / gap_a + 8 √(β ln T / ρ)) + 2 β / (β − 3) for β > 3 [Azi24]; with the default β = 1 nothing is
proved.

Departures: the default is β = 1, as in the published experiments, and the bound is that of [Azi24].
"""

import math
from dataclasses import dataclass

import numpy as np

from maskedbandit.core import Decision, kernel
from maskedbandit.law import Law, count_draws, is_gaussian, is_noiseless
from maskedbandit.policies.parts.batches import USERS, all_released, first_cohort, grow_arm
from maskedbandit.policies.parts.choice import pick_highest
from maskedbandit.policies.parts.episodes import EpisodePolicy, State, latest_size


@dataclass(frozen=True)
class AdaCUCB(EpisodePolicy):
    """Optimism by episodes, for Gaussian noise; the theorem needs `beta` above 3.

    >>> from maskedbandit.law import GAUSSIAN, LAPLACE
    >>> AdaCUCB().needs(Law(GAUSSIAN, 2.0, 1, 0, 1)), AdaCUCB().needs(Law(LAPLACE, 2.0, 1, 0, 1))
    ('', 'Gaussian noise, or none')
    """

    beta: float = 1.0

    def needs(self, law: Law) -> str:
        return super().needs(law) or ("" if is_gaussian(law) or is_noiseless(law) else "Gaussian noise, or none")

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not all_released(s.n):
            return first_cohort(s, 1, 1, 2.0, rng)
        x = s.beta * math.log(s.clock[USERS] + 1)
        for a in range(s.n.size):
            n = float(latest_size(s, a))
            noise = count_draws(law, 1, latest_size(s, a)) * law.scale * law.scale
            s.score[a] = s.mean[a] + math.sqrt(2 * x * (1 / (4 * n) + noise / (n * n)))
        return grow_arm(s, pick_highest(s.score, rng), 2.0)
