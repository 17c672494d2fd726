"""AdaP-UCB: episodes that double an arm's count, each judged by its own rewards alone [AB22].

An arm is played until its number of users has doubled, and only the X_a rewards of that episode count, n_a of them:

    arm = argmax_a  X_a / n_a + √(β ln t / (2 n_a)) + radius(noise of one release, β ln t) / n_a

X_a is the released total. Under central Laplace noise the last term is the paper's β ln t / (ε n_a); on every other
channel it bounds that channel's noise with the same probability. The first users of all arms, one of each, are released
as well. Between releases nothing changes that a decision depends on, so an episode is one cohort.

Regret ≤ Σ_a 16 β ln T / min{gap_a, ε} + 3 β / (β − 3) for β > 3 under central pure ε.

Departures: the constants of the bound are those of [Azi24], which corrects the residual term of the first version.
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


@dataclass(frozen=True)
class AdaPUCB(EpisodePolicy):
    """Optimism by episodes; the theorem needs `beta` above 3.

    >>> import numpy as np
    >>> from maskedbandit.law import NO_NOISE
    >>> s, rng = AdaPUCB().init(k=2, horizon=100), np.random.default_rng(1)
    >>> for _ in range(2):
    ...     arm = AdaPUCB.ask(s, Law(NO_NOISE), rng).arm
    ...     AdaPUCB.tell(s, arm, 1, float(arm))
    >>> AdaPUCB.ask(s, Law(NO_NOISE), rng)
    Decision(arm=1, n=1, close=1)
    >>> AdaPUCB.tell(s, 1, 1, 1.0)
    >>> AdaPUCB.ask(s, Law(NO_NOISE), rng)
    Decision(arm=1, n=2, close=1)
    """

    @staticmethod
    @kernel
    def ask(s: State, law: Law, rng: np.random.Generator) -> Decision:
        if not all_released(s.n):
            return first_cohort(s, 1, 1, 2.0, rng)
        x = s.beta * math.log(s.clock[USERS] + 1)
        for a in range(s.n.size):
            n = latest_size(s, a)
            s.score[a] = s.mean[a] + math.sqrt(x / (2 * n)) + radius(law, 1, n, x) / n
        return grow_arm(s, pick_highest(s.score, rng), 2.0)
