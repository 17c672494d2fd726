"""What the published points of best-arm identification are: `python -m tools.published_points` prints it.

Rules of the authors' public program, as far as its text goes, beside the same with another cost. g is the gap of two
means of closed phases of w_a and w_b users, S = 1 / w_a + 1 / w_b and L = ln(1/δ):

    AdaP-TT    stop at    c g² / S ≥ L + ln(1 + ln w_a) + ln(1 + ln w_b) + S L² / ε²,           counted: closed phases
    TTUCB      stop at    c g² / S ≥ ln((1 + ln t) / δ),          over randomized bits it is CTB-TT

The program has c = 1/2. See docs/published_points.md for what follows.
"""

import math
from typing import Any, NamedTuple

import numpy as np

import maskedbandit as mb
from maskedbandit.core import Floats, kernel
from maskedbandit.lab.engine.compiler import compile_loop

DELTA = 0.01
MU1 = (0.95, 0.9, 0.9, 0.9, 0.5)
PANELS = {
    "(.75, .53125, .375, .28125, .25)": (0.75, 0.53125, 0.375, 0.28125, 0.25),
    "linspace": (0, 0.25, 0.5, 0.75, 1),
}
WEIGHTS = (0.32, 0.32, 0.32, 0.04)  # of the four seeds behind a published point
# as printed in [AJMB24]: of AdaP-TT by ε, of CTB-TT by ε, and of TTUCB without privacy
ADA_P_TT = {0.1: 74_752.0, 0.464: 79_226.9, 2.15: 70_906.9, 10: 68_613.1}
CTB_TT = {2.15: 37_259.0, 7.74: 27_000.0, math.inf: 25_617.3}
MU2_PANEL = {0.00464: 79_630, 0.0215: 15_480, 0.1: 5_304, 0.464: 1_966, 2.15: 1_966, 10: 1_989}
DP_SE = {0.00464: (2_413_722, 524_364), 0.464: (108_801.9, 0)}


def on_grid(epsilon: float) -> float:
    """The ε that is meant: one of 10^(−3 + 2 i / 3)."""
    return 10 ** (-3 + 2 / 3 * round((math.log10(epsilon) + 3) * 3 / 2))


class MeanOfRuns(NamedTuple):
    """The mean of a number of runs, with its standard error."""

    mean: float
    error: float


@kernel
def play_ada_p_tt(means: Floats, epsilon: float, delta: float, c: float, largest: bool, rng: Any) -> tuple[int, int]:
    """Users in all and users of closed phases, when AdaP-TT stops: the `largest` mean is tested, or else the leader."""
    k, least = means.size, math.log(1 / delta)
    pulls, closed, width = np.ones(k, np.int64), np.ones(k, np.int64), np.ones(k, np.int64)
    total, mean, n = np.zeros(k), np.zeros(k), k
    for a in range(k):
        mean[a] = (1.0 if rng.random() < means[a] else 0.0) + rng.laplace(0.0, 1 / epsilon)
    while n < 100_000_000:
        n += 1
        log_n, leader, top = math.log(n), 0, -math.inf
        for a in range(k):
            bound = mean[a] + log_n / (epsilon * width[a]) + math.sqrt(log_n / (2 * width[a]))
            if bound > top:
                leader, top = a, bound
        best, enough = leader, True
        if largest:
            best = int(mean.argmax())
        for b in range(k):
            if b != best:
                s = 1 / width[best] + 1 / width[b]
                logs = math.log(1 + math.log(width[best])) + math.log(1 + math.log(width[b]))
                gap = mean[best] - mean[b]
                if c * gap * gap / s < least + logs + s * least * least / (epsilon * epsilon):
                    enough = False
        if enough:
            break
        arm = leader
        if rng.random() < 0.5:
            nearest = math.inf
            for a in range(k):
                if a != leader:
                    apart = mean[leader] - mean[a] + 1 / (1 + math.sqrt(n))
                    apart /= math.sqrt(1 / pulls[leader] + 1 / pulls[a])
                    if apart < nearest:
                        arm, nearest = a, apart
        pulls[arm] += 1
        total[arm] += 1.0 if rng.random() < means[arm] else 0.0
        if pulls[arm] >= 2 * closed[arm]:
            width[arm] = pulls[arm] - closed[arm]
            mean[arm] = total[arm] / width[arm] + rng.laplace(0.0, 1 / (epsilon * width[arm]))
            total[arm], closed[arm] = 0.0, pulls[arm]
    return n, int(closed.sum())


@kernel
def play_ttucb(means: Floats, delta: float, c: float, rng: Any) -> tuple[int, int]:
    """Users when TTUCB stops, without privacy or on randomized bits, whose means are given; twice."""
    k = means.size
    pulls, total, t = np.ones(k), np.zeros(k), k
    for a in range(k):
        total[a] = 1.0 if rng.random() < means[a] else 0.0
    while t < 100_000_000:
        mean = total / pulls
        best, enough, arm, nearest = int(mean.argmax()), True, 0, math.inf
        for b in range(k):
            if b != best:
                s, gap = 1 / pulls[best] + 1 / pulls[b], mean[best] - mean[b]
                if c * gap * gap / s < math.log((1 + math.log(t)) / delta):
                    enough = False
                apart = (gap + math.log(1 + t) ** -0.25) / math.sqrt(s)
                if apart < nearest:
                    arm, nearest = b, apart
        if enough:
            break
        if rng.random() < 0.5:
            arm = best
        pulls[arm] += 1
        total[arm] += 1.0 if rng.random() < means[arm] else 0.0
        t += 1
    return t, t


def mean_of(numbers: list[float]) -> MeanOfRuns:
    """Of independent runs."""
    return MeanOfRuns(float(np.mean(numbers)), float(np.std(numbers) / math.sqrt(len(numbers))))


def run_ada_p_tt(
    means: tuple[float, ...], epsilon: float, c: float, largest: bool, runs: int = 100
) -> tuple[MeanOfRuns, MeanOfRuns]:
    """All users, and users of closed phases."""
    play = compile_loop(play_ada_p_tt.function)
    rng = np.random.Generator(np.random.PCG64(7))
    found = [play(np.array(means, float), on_grid(epsilon), DELTA, c, largest, rng) for _ in range(runs)]
    return mean_of([each[0] for each in found]), mean_of([each[1] for each in found])


def run_ttucb(means: tuple[float, ...], epsilon: float, c: float, runs: int = 100) -> MeanOfRuns:
    """Of TTUCB on randomized bits; ε = ∞: on rewards."""
    flip = 1 / (1 + math.exp(min(epsilon, 700.0)))
    bits, rng = flip + (1 - 2 * flip) * np.array(means, float), np.random.Generator(np.random.PCG64(7))
    play = compile_loop(play_ttucb.function)
    return mean_of([play(bits, DELTA, c, rng)[0] for _ in range(runs)])


def run_dp_se(epsilon: float, runs: int = 1000) -> dict[int, float]:
    """How often DP-SE, with the counts of the published program, takes which number of users on mu1."""
    policy, channel = mb.policies.BestArmDPSE(counts="published"), mb.channels.Central(epsilon=str(on_grid(epsilon)))
    found = mb.identify(policy, channel, mb.Bernoulli(MU1), delta=DELTA, runs=runs, seed=7).samples
    values, counts = np.unique(found, return_counts=True)
    order = counts.argsort()[::-1]
    return {int(values[i]): float(counts[i] / runs) for i in order}


def main() -> None:
    print("DP-SE with the published counts, mu1: users, and how often")
    for epsilon, (printed, spread) in DP_SE.items():
        chances = run_dp_se(epsilon)
        common = ", ".join(f"{users:,} ({chance:.0%})" for users, chance in list(chances.items())[:4])
        print(f"  ε = {epsilon:g}: {common}; published {printed:,} ± {spread:,}")
    print("AdaP-TT on mu1: users of closed phases (all users)")
    for epsilon, printed in ADA_P_TT.items():
        line = [f"  ε = {epsilon:g}: published {printed:,.0f}"]
        for c, largest in ((0.5, False), (1.0, True)):
            everyone, closed = run_ada_p_tt(MU1, epsilon, c, largest)
            line.append(f"c = {c:g}: {closed.mean:,.0f} ± {closed.error:,.0f} ({everyone.mean:,.0f})")
        print("; ".join(line), flush=True)
    print("TTUCB on mu1, on randomized bits: users")
    for epsilon, printed in CTB_TT.items():
        line = [f"  ε = {epsilon:g}: published {printed:,.0f}"]
        for c in (0.5, 1.0):
            found = run_ttucb(MU1, epsilon, c)
            line.append(f"c = {c:g}: {found.mean:,.0f} ± {found.error:,.0f}")
        print("; ".join(line), flush=True)
    print("AdaP-TT with c = 1 on what the panel mu2 may be: users of closed phases over the published number")
    for name, means in PANELS.items():
        ratios = []
        for epsilon, printed in MU2_PANEL.items():
            closed = run_ada_p_tt(means, epsilon, 1.0, True)[1]
            ratios.append(f"{closed.mean / printed:.2f} ± {closed.error / printed:.2f}")
        print(f"  {name}: {', '.join(ratios)}")


if __name__ == "__main__":
    main()
