"""What a step of UCB1 and of Thompson sampling costs, beside the same in C, in NumPy and in an interpreted library.

`python -m bench.steps` measures these alone.
"""

from typing import Any

import numba
import numpy as np
from river import bandit, proba

import maskedbandit as mb
from bench.least import ONE, least
from bench.report import row
from bench.ucb1 import measure_c

MEANS = np.linspace(0.1, 0.9, 10)
INSTANCE = mb.Bernoulli(MEANS.tolist())
RAW, CENTRAL = mb.channels.Raw(), mb.channels.Central(epsilon=1)


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


@numba.njit(error_model="numpy", nogil=True)
def draw_all_normals(rng: Any, means: Any, horizon: int) -> float:
    """Gaussian Thompson sampling as it is written: a normal for every arm in every step; the total reward."""
    k, rewards = means.size, 0.0
    total, n, mean, deviation = np.zeros(k), np.zeros(k), np.zeros(k), np.ones(k)
    for _ in range(horizon):
        best, top = 0, -np.inf
        for a in range(k):
            theta = mean[a] + deviation[a] * rng.standard_normal()
            if theta > top:
                best, top = a, theta
        reward = 1.0 if rng.random() < means[best] else 0.0
        rewards += reward
        total[best] += reward
        n[best] += 1
        mean[best], deviation[best] = total[best] / (n[best] + 1), 1 / np.sqrt(n[best] + 1)
    return rewards


@numba.njit(error_model="numpy", nogil=True)
def draw_all_betas(rng: Any, means: Any, horizon: int) -> float:
    """Thompson sampling as it is written: a Beta for every arm in every step; the total reward."""
    good, bad, rewards = np.ones(means.size), np.ones(means.size), 0.0
    for _ in range(horizon):
        best, top = 0, -1.0
        for a in range(means.size):
            theta = rng.beta(good[a], bad[a])
            if theta > top:
                best, top = a, theta
        if rng.random() < means[best]:
            good[best] += 1
            rewards += 1.0
        else:
            bad[best] += 1
    return rewards


def many_arms(k: int) -> Any:
    """Arms of evenly spaced means."""
    return mb.Bernoulli(np.linspace(0.1, 0.9, k).tolist())


def thompson_steps() -> None:
    """Thompson sampling with many arms, and its Gaussian form, beside plain loops."""
    for k, horizon in ((100, 10**5), (1000, 2 * 10**4)):
        luck, means = np.random.Generator(np.random.Philox(1)), np.linspace(0.1, 0.9, k)
        plain = 1e9 * least(lambda: draw_all_betas(luck, means, horizon), repeats=2) / horizon  # noqa: B023
        ours = engine(mb.policies.ThompsonSampling(), horizon, 1, instance=many_arms(k))
        what = f"Thompson sampling, K = {k}, T = {horizon:.0e}"
        row(what, ours, "ns/step", plain / 3, f"the goal is a third of a plain loop in Numba, {plain:.3g}")
    for k, horizon in ((10, 10**6), (100, 10**5)):
        luck, means = np.random.Generator(np.random.Philox(1)), np.linspace(0.1, 0.9, k)
        plain = 1e9 * least(lambda: draw_all_normals(luck, means, horizon)) / horizon  # noqa: B023
        ours = engine(mb.policies.GaussianThompson(), horizon, 1, instance=many_arms(k))
        what = f"GaussianThompson, K = {k}, T = {horizon:.0e}"
        row(what, ours, "ns/step", 1.3 * plain, f"the goal is 1.3 times a plain loop in Numba, {plain:.3g}")
    for k, goal in ((10, None), (100, None), (1000, 120)):
        means = np.random.default_rng(1).permutation(np.linspace(0.1, 0.9, k))
        live = engine(mb.policies.ContemporaneousKLUCB(), 10**6, 1, CENTRAL, mb.Bernoulli(means.tolist()))
        row(f"ContemporaneousKLUCB, K = {k}, T = 10^6", live, "ms/run", goal)  # a million nanoseconds, a million steps


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
            row("  C, -O3 -march=native", c[0], "ns/step")
            row("  ours over C", ours / c[0], "times", 1.3)
        if what == "long":
            for name, base in (
                ("NumPy, 1000 runs at once", ucb_numpy()),
                ("river", in_river(bandit.UCB(delta=1, seed=1))),
            ):
                row(f"  {name}", base, "ns/step", None, f"{base / ours:.1f} times ours")
    for k, horizon, runs, goal in ((100, 10**4, 30, None), (100, 10**6, 2, 13.8), (1000, 10**6, 1, 116)):
        for policy in (ucb, mb.policies.DPUCB()):
            ours, what = engine(policy, horizon, runs, instance=many_arms(k)), f"K = {k}, T = {horizon:.0e}"
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
    thompson_steps()


if __name__ == "__main__":
    steps()
