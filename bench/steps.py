"""What a step of UCB1 and of Thompson sampling costs, beside the same in C, in NumPy and in an interpreted library.

`python -m bench.steps` measures these alone.
"""

from typing import Any

import numpy as np
from river import bandit, proba

import maskedbandit as mb
from bench.least import ONE, least
from bench.report import row
from bench.ucb1 import measure_c

MEANS = np.linspace(0.1, 0.9, 10)
INSTANCE = mb.Bernoulli(MEANS.tolist())
RAW = mb.channels.Raw()


def engine(policy: Any, horizon: int, runs: int, channel: Any = RAW, instance: Any = INSTANCE) -> float:
    """Nanoseconds per step."""
    return (
        1e9 * least(lambda: mb.simulate(policy, channel, instance, horizon, runs=runs, executor=ONE)) / (horizon * runs)
    )


def ucb_numpy(horizon: int = 2000, runs: int = 1000) -> float:
    """Nanoseconds per step of UCB1, NumPy working on all runs at once."""

    def work() -> None:
        rng, rows = np.random.default_rng(1), np.arange(runs)
        total, n = np.zeros((runs, 10)), np.zeros((runs, 10))
        for t in range(1, horizon + 1):
            if t <= 10:
                arm = np.full(runs, t - 1)
            else:
                arm = np.argmax(total / n + np.sqrt(2 * np.log(t) / n), axis=1)
            total[rows, arm] += rng.random(runs) < MEANS[arm]
            n[rows, arm] += 1

    return 1e9 * least(work, repeats=3) / (horizon * runs)


def thompson_numpy(horizon: int = 500, runs: int = 1000) -> float:
    """Nanoseconds per step of Thompson sampling, NumPy working on all runs at once."""

    def work() -> None:
        rng, rows = np.random.default_rng(1), np.arange(runs)
        good, bad = np.ones((runs, 10)), np.ones((runs, 10))
        for _ in range(horizon):
            arm = np.argmax(rng.beta(good, bad), axis=1)
            won = rng.random(runs) < MEANS[arm]
            good[rows, arm] += won
            bad[rows, arm] += ~won

    return 1e9 * least(work, repeats=3) / (horizon * runs)


def in_river(policy: object, horizon: int = 10_000) -> float:
    """Nanoseconds per step of a policy of river, an interpreted library."""
    arms = list(range(10))
    luck = np.random.default_rng(1)

    def work() -> None:
        mine = policy.clone()  # type: ignore[attr-defined]
        for _ in range(horizon):
            arm = mine.pull(arms)
            mine.update(arm, float(luck.random() < MEANS[arm]))

    return 1e9 * least(work, repeats=2) / horizon


def steps() -> None:
    """Ten arms, without privacy."""
    ucb, thompson = mb.policies.UCB1(), mb.policies.ThompsonSampling()
    for what, horizon, runs in (("long", 10**6, 10), ("short", 10**4, 300)):
        ours, c = engine(ucb, horizon, runs), measure_c(horizon, runs)
        row(f"UCB1, K = 10, {what} runs (T = {horizon:.0e})", ours, "ns/step", 25 if what == "long" else None)
        if c is None:
            print("  C: skipped, there is no C compiler on this machine")
        else:
            row("  C, -O3 -march=native", c[0], "ns/step", None, f"ours takes {ours / c[0]:.2f} times that (goal 1.3)")
        if what == "long":
            for name, base in (
                ("NumPy, 1000 runs at once", ucb_numpy()),
                ("river", in_river(bandit.UCB(delta=1, seed=1))),
            ):
                row(f"  {name}", base, "ns/step", None, f"{base / ours:.1f} times ours")
    for k, horizon, runs, goal in ((100, 10**4, 30, None), (100, 10**6, 2, 20), (1000, 10**6, 1, 120)):
        many = mb.Bernoulli(np.linspace(0.1, 0.9, k).tolist())
        for policy in (ucb, mb.policies.DPUCB()):
            ours, what = engine(policy, horizon, runs, instance=many), f"K = {k}, T = {horizon:.0e}"
            row(f"{type(policy).__name__}, {what}", ours, "ns/step", goal if policy == ucb else None)
        c = measure_c(horizon, runs, k)
        if c is not None:
            row("  C, -O3 -march=native, which looks at all arms", c[0], "ns/step", None)
    ours = engine(thompson, 10**6, 10)
    row("Thompson sampling, K = 10, T = 10^6", ours, "ns/step", 160)
    row("Thompson sampling, K = 10, T = 10^4", engine(thompson, 10**4, 100), "ns/step", 160)
    river = in_river(bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=1), 2000)
    for name, base in (("NumPy, 1000 runs at once", thompson_numpy()), ("river", river)):
        row(f"  {name}", base, "ns/step", None, f"{base / ours:.1f} times ours")


if __name__ == "__main__":
    steps()
