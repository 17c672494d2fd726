"""How fast policies search for the best of five arms, beside a library that does so without privacy."""

from typing import Any

import numpy as np
from best_arm.algorithms.top_two import TopTwoBAI
from best_arm.stopping_conditions import TopTwoStoppingCondition

import maskedbandit as mb
from bench.least import ONE, least
from bench.report import row
from maskedbandit.lab.worlds.named_means import named_means

FIVE = mb.Bernoulli([0.75, 0.625, 0.5, 0.375, 0.25])
RAW = mb.channels.Raw()


class Coins:
    """Five arms for best_arm, a library for identification without privacy."""

    probs = FIVE.true_means().tolist()
    num_arms = 5

    def __init__(self) -> None:
        self.luck = np.random.default_rng(1)

    def sample(self, arm: int) -> float:
        return float(self.luck.random() < self.probs[arm])


def in_best_arm() -> float:
    """Nanoseconds per step of its EB-TCI, which stops at the threshold that ours calls "published"."""
    steps = 0

    def work() -> None:
        nonlocal steps
        np.random.seed(1)  # noqa: NPY002 - it draws from NumPy's global generator
        parts = {"beta": 0.5, "leader_type": "EB", "challenger_type": "TCI"}
        search = TopTwoBAI(Coins(), 0.1, stopping_condition=TopTwoStoppingCondition(), **parts)
        search.run()
        steps = search.n

    return 1e9 * least(work, repeats=3) / steps


def search(policy: Any, channel: Any = RAW, means: str = "mu1", runs: int = 20) -> float:
    """Nanoseconds per pull of a search for the best of five arms, delta = 0.01; no run is longer than 10^6."""
    instance = mb.Bernoulli(named_means(means, 5, 0))

    def work() -> Any:
        return mb.identify(policy, channel, instance, delta=0.01, runs=runs, seed=1, max_pulls=10**6, executor=ONE)

    return 1e9 * least(work, repeats=3) / int(work().samples.sum())


def identification() -> None:
    """Policies that search for the best of five arms."""
    ours, theirs = search(mb.policies.EBTCI(threshold="published"), means="SS19b"), in_best_arm()
    row("EBTCI, SS19b, without privacy", ours, "ns/pull", 250)
    row("  best_arm", theirs, "ns/pull", None, f"{theirs / ours:.0f} times ours")
    central, bits = mb.channels.Central(epsilon=0.464), mb.channels.Response(epsilon=2)
    row("TTUCB, mu1, without privacy", search(mb.policies.TTUCB()), "ns/pull", 70)
    row("TTUCB, mu1, on randomized response (CTB-TT)", search(mb.policies.TTUCB(), bits), "ns/pull")
    row("EBTCI, mu1, without privacy", search(mb.policies.EBTCI()), "ns/pull", 250)
    row("UniformGLR, mu1, without privacy", search(mb.policies.UniformGLR()), "ns/pull")
    row("TrackAndStop, mu1, without privacy", search(mb.policies.TrackAndStop(), runs=3), "ns/pull")
    for name, goal in (("AdaPTT", 100), ("AdaPTTStar", 100), ("DPTT", None)):
        row(f"{name}, mu1, central", search(getattr(mb.policies, name)(), central, runs=5), "ns/pull", goal)
    for means, epsilon in (("mu1", 0.1), ("mu1", 0.464), ("mu2", 0.464), ("SS19b", 0.1), ("SS19b", 1)):
        channel = mb.channels.Central(epsilon=epsilon)
        took = search(mb.policies.ReleasedLikelihood(), channel, means)
        row(f"ReleasedLikelihood, {means}, central, ε = {epsilon:g}", took, "ns/pull", 1000)
