"""How often an elimination in rounds drops an arm that it must keep: counted over many runs, driven from Python."""

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.law import count_draws, count_steps
from maskedbandit.policies.policy import Policy


def drops(policy: Policy, channel: Channel, k: int, horizon: int, runs: int, seed: int = 1) -> int:
    """Runs in which one of k arms of mean 1/2 leaves before the policy stops: whichever it is, that is wrong."""
    law, numbers, bad = channel.law(), (channel.parameters(), channel.memory(1)), 0
    rng = np.random.Generator(np.random.PCG64(seed))
    for _ in range(runs):
        s = policy.init(k, horizon)
        while (decision := policy.ask(s, law, rng)).n > 0:
            arm, n, _ = decision
            g = count_steps(law, n)
            noise = channel.draws(law.scale * g, count_draws(law, 1, n), rng)
            if s.left.sum() < k:
                break
            total = g * float(rng.binomial(n, 0.5))
            policy.tell(s, arm, n, channel.perturb(*numbers, law, arm, total, n, noise, rng))
        bad += int(decision.n > 0)
    return bad
