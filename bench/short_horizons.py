"""What policies lose where people are few for their arms, beside the best of the others.

`python -m bench.short_horizons` measures these alone. These are no times: the same seeds give the same numbers.
"""

from typing import Any

import maskedbandit as mb
from bench.least import ONE
from bench.report import row

MANY = mb.Bernoulli([0.62] + [0.58] * 199)
CLOSE = mb.Bernoulli([0.51, 0.505, 0.5])
FIVE = mb.Bernoulli([0.75, 0.625, 0.5, 0.375, 0.25])


def lost(policy: Any, instance: Any, epsilon: float, runs: int) -> Any:
    """The regret of each run of a million people, under central trust."""
    channel = mb.channels.Central(epsilon=epsilon)
    return mb.simulate(policy, channel, instance, 10**6, runs=runs, seed=1, executor=ONE).regret[:, -1]


def short_horizons() -> None:
    """Many arms, arms that are hardly told apart, and searches that may often be wrong."""
    ours = lost(mb.policies.NoiseAwareKLUCB(), MANY, 0.05, 100).mean()
    row("NoiseAwareKLUCB, .62 and 199 of .58, ε = 0.05, T = 10^6", ours, "regret")
    for other in (mb.policies.DPIMED(), mb.policies.ContemporaneousKLUCB()):
        what = f"  over that of {type(other).__name__}"
        row(what, ours / lost(other, MANY, 0.05, 100).mean(), "times", 1.02)
    runs = lost(mb.policies.NoiseAwareKLUCB(), CLOSE, 8, 2000)
    row("NoiseAwareKLUCB, .51 .505 .5, ε = 8, T = 10^6", runs.mean(), "regret")
    row("  the worst of 2000 runs over the mean", runs.max() / runs.mean(), "times")
    for delta in (0.01, 0.2):
        least = mb.theory.least_samples("central", FIVE.true_means().tolist(), delta=delta, epsilon=0.1)
        policy, channel = mb.policies.ReleasedLikelihood(), mb.channels.Central(epsilon=0.1)
        found = mb.identify(policy, channel, FIVE, delta=delta, runs=200, seed=1, executor=ONE)
        row(f"ReleasedLikelihood, SS19b, ε = 0.1, δ = {delta:g}, over bound", found.samples.mean() / least, "times")


if __name__ == "__main__":
    short_horizons()
