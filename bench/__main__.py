"""How fast it is: every number beside its baselines, all measured in this one run on this one machine.

Times are CPU times of one thread, the best of several repeats, because machines are shared; starting a process is
wall-clock time. A step is one choice, one reward and one update. Compare ratios, not seconds, across machines.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from river import bandit, proba

import maskedbandit as mb
from bench.contextual import contextual
from bench.least import least
from bench.logs import logs
from bench.protocols import protocols
from bench.searches import identification
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.sampling import Bits, discrete_laplace

HERE = Path(__file__).parent
MEANS = np.linspace(0.1, 0.9, 10)
INSTANCE = mb.Bernoulli(MEANS.tolist())
FIVE = mb.Bernoulli([0.75, 0.625, 0.5, 0.375, 0.25])
RAW = mb.channels.Raw()


def wall(code: list[str], repeats: int = 7) -> float:
    """Seconds from the start of a new Python process to its end, the fastest of some repeats."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, *code], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def engine(policy: Any, horizon: int, runs: int, channel: Any = RAW, instance: Any = INSTANCE) -> float:
    """Nanoseconds per step."""
    return 1e9 * least(lambda: mb.simulate(policy, channel, instance, horizon, runs=runs, jobs=1)) / (horizon * runs)


def in_c(horizon: int, runs: int) -> tuple[float, float] | None:
    """Nanoseconds per step and mean regret of the C program; None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "ucb1"
        flags = ["-O3", "-march=native", str(HERE / "ucb1.c"), "-o", str(program), "-lm"]
        subprocess.run([compiler, *flags], check=True)
        lines = [
            subprocess.run([program, str(horizon), str(runs), "1"], capture_output=True, text=True, check=True).stdout
            for _ in range(5)
        ]
    return min(float(line.split()[0]) for line in lines), float(lines[0].split()[1])


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


def peak(horizon: int) -> float:
    """Megabytes that a new process needs at most to simulate up to a horizon."""
    code = (
        "import resource, maskedbandit as mb\n"
        "mb.simulate(mb.policies.SuccessiveElimination(), mb.channels.Distributed(epsilon=0.5),"
        f" mb.Bernoulli([{', '.join(map(str, MEANS))}]), {horizon}, runs=20, jobs=1)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def row(what: str, value: float, unit: str, goal: float | None = None, note: str = "") -> None:
    """Print one line of the table."""
    met = "" if goal is None else f"≤ {goal:<7g}{'yes' if value <= goal else 'NO'}"
    print(f"{what:58}{value:10.3g} {unit:8}{met:14}{note}", flush=True)


def batched() -> None:
    """Policies that ask for batches, K = 5: milliseconds per run, and how they grow with the horizon."""
    central, bits = mb.channels.Central(epsilon=0.5), mb.channels.Response(epsilon=0.5)
    gaussian = mb.channels.Central(epsilon=0.5, noise=mb.noises.DiscreteGaussian())
    names = ("NoiseAwareKLUCB", "DPKLUCB", "DPIMED", "AdaPKLUCB", "AdaPUCB", "AnytimeLazyUCB", "DPSE")
    studies = [(name, central) for name in names]
    studies += [("AdaCUCB", gaussian), ("NoiseAwareKLUCB", gaussian), ("NoiseAwareKLUCB", bits)]
    studies += [("NoiseAwareKLUCB", mb.channels.Shuffled(epsilon=0.5))]
    for name, channel in studies:
        policy = getattr(mb.policies, name)()
        short, long = (
            10 * least(lambda: mb.simulate(policy, channel, FIVE, horizon, runs=100, jobs=1))  # noqa: B023
            for horizon in (10**6, 10**9)
        )
        note = f"{long:.2g} ms at T = 10^9, {long / short:.1f} times that"
        row(
            f"{name}, {type(channel).__name__}, {type(getattr(channel, 'noise', None)).__name__}",
            short,
            "ms/run",
            5,
            note,
        )


def main() -> None:
    """Measure everything and print it."""
    print(f"{'':58}{'':10} {'':8}{'goal  met':14}")
    ucb = engine(mb.policies.UCB1(), 10**6, 10)
    row("UCB1, K = 10, long runs (T = 10^6)", ucb, "ns/step", 25)
    row("UCB1, K = 10, short runs (T = 10^4)", engine(mb.policies.UCB1(), 10**4, 300), "ns/step")
    c = in_c(10**6, 10)
    if c is None:
        print("  C: skipped, there is no C compiler on this machine")
    else:
        row(
            "  C, -O3 -march=native, T = 10^6",
            c[0],
            "ns/step",
            None,
            f"ours takes {ucb / c[0]:.2f} times that (goal 2)",
        )
    base = ucb_numpy()
    row("  NumPy, 1000 runs at once", base, "ns/step", None, f"{base / ucb:.1f} times ours")
    base = in_river(bandit.UCB(delta=1, seed=1))
    row("  river", base, "ns/step", None, f"{base / ucb:.0f} times ours")

    thompson = engine(mb.policies.ThompsonSampling(), 10**6, 10)
    row("Thompson sampling, K = 10, T = 10^6", thompson, "ns/step", 160)
    row("Thompson sampling, K = 10, T = 10^4", engine(mb.policies.ThompsonSampling(), 10**4, 100), "ns/step", 160)
    base = thompson_numpy()
    row("  NumPy, 1000 runs at once", base, "ns/step", None, f"{base / thompson:.1f} times ours")
    base = in_river(bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=1), 2000)
    row("  river", base, "ns/step", None, f"{base / thompson:.0f} times ours")

    channels = {
        "raw": RAW,
        "central": mb.channels.Central(epsilon=0.5),
        "distributed": mb.channels.Distributed(epsilon=0.5),
        "distributed, a fifth may drop out": mb.channels.Distributed(epsilon=0.5, honest=0.8),
        "distributed, Skellam": mb.channels.Distributed(epsilon=0.5, noise=mb.noises.Skellam()),
        "distributed, discrete Gaussian, paper's grid": mb.channels.Distributed(
            epsilon=0.5, noise=mb.noises.DiscreteGaussian(), grid="paper"
        ),
        "local": mb.channels.Local(epsilon=0.5),
        "local, Skellam": mb.channels.Local(epsilon=0.5, noise=mb.noises.Skellam()),
        "local, discrete Gaussian": mb.channels.Local(epsilon=1, noise=mb.noises.DiscreteGaussian()),
        "randomized response": mb.channels.Response(epsilon=0.5),
    }
    for horizon, goal in ((10**6, 1.0), (10**9, 2.0)):
        for name, channel in channels.items():
            policy = mb.policies.SuccessiveElimination()
            took = least(lambda: mb.simulate(policy, channel, INSTANCE, horizon, runs=100, jobs=1))  # noqa: B023
            row(f"elimination, T = {horizon:.0e}, {name}", 10 * took, "ms/run", goal)
    batched()
    identification(row)
    protocols(row)
    logs(row)
    contextual(row)
    tree = mb.channels.Tree(epsilon=0.5)
    for one in (mb.policies.DPUCB(), mb.policies.DPThompson()):
        row(f"{type(one).__name__}, K = 5, T = 10^6, on a tree", engine(one, 10**6, 5, tree, FIVE), "ns/step", 400)
    lazy = engine(mb.policies.LazyDPThompson(), 10**6, 5, mb.channels.Central(epsilon=0.5), FIVE)
    row("LazyDPThompson, K = 5, T = 10^6", lazy, "ns/step")
    klucb = engine(mb.policies.KLUCB(), 10**6, 5, mb.channels.Response(epsilon=0.5), FIVE)
    row("KLUCB on randomized response, K = 5, T = 10^6", klucb, "ns/step")
    gaussian = engine(mb.policies.GaussianThompson(), 10**6, 5, RAW, FIVE)
    row("GaussianThompson, K = 5, T = 10^6", gaussian, "ns/step")
    low, high = peak(10**6), peak(10**9)
    row("peak memory, elimination, T = 10^6", low, "MB")
    row("peak memory, elimination, T = 10^9", high, "MB", None, f"{high / low:.3f} times that at 10^6")

    bits, laplace, skellam = Bits(), DiscreteLaplace().stretch(Fraction(32)), Skellam()
    device = mb.channels.Distributed(epsilon=0.5)
    offer = device.offer(1000)

    def sends() -> float:
        device.check_offer(offer)
        return device.randomize(0.3, offer, bits)

    def microseconds(draw: Callable[[], object]) -> float:
        return 1e3 * least(lambda: [draw() for _ in range(1000)])

    row(
        "exact Pólya share, both variables, n = 1000, g/ε = 32",
        microseconds(lambda: laplace.noise_share(1000, bits)),
        "µs",
        15,
    )
    row("exact discrete Laplace draw, scale 10", microseconds(lambda: discrete_laplace(10, bits)), "µs", 10)
    row("exact Skellam share, n = 1000, ε = 1", microseconds(lambda: skellam.noise_share(1000, bits)), "µs")
    row("all that a device does to a reward, n = 1000", microseconds(sends), "µs")

    empty = wall(["-c", "pass"])
    row("a Python process that does nothing", empty, "s")
    row("import maskedbandit", wall(["-c", "import maskedbandit"]) - empty, "s", 0.15)
    row("maskedbandit --help", wall(["-m", "maskedbandit", "--help"]), "s", 0.4)
    study = "mb.policies.SuccessiveElimination(), mb.channels.Distributed(epsilon=0.5), mb.Bernoulli([0.2, 0.8]), 1"
    first = f"import maskedbandit as mb; mb.simulate({study})"
    row("a new process until the first step of a cached study", wall(["-c", first]), "s", 1.5)


if __name__ == "__main__":
    main()
