"""How often a search is wrong where it is hardest, and how much sooner it would end if its proof counted all bets.

`python -m tools.unspent_error` prints both. Arms whose means are 1e-9 apart are tied for as many users as there are. So
of a rule that is wrong with probability e there, no proof for all means can give a smaller bound than e: a threshold
that is lower by ln(δ / e) nats or more would be wrong with probability δ or more, however it was proved.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

import maskedbandit as mb
from maskedbandit.core import Floats, Integers, kernel
from maskedbandit.lab.engine.compiler import compile_loop
from maskedbandit.law import Law
from maskedbandit.theory.evidence import SCALES, Bets, bet_weights, both, log_sum, scale, shifted_logs, single_bets
from maskedbandit.theory.likelihood import ArmReleases, likeliest_mean, log_likelihood

TIED = 1e-9
MOST_PULLS = 10**7
POINTS = 41  # of z
Search = mb.policies.ReleasedLikelihood


class HowOften(NamedTuple):
    """A share of runs, and its standard error."""

    share: float
    error: float


def count_wrong(
    means: Sequence[float], channel: mb.channels.Raw | mb.channels.Central, growth: float, delta: float, runs: int
) -> HowOften:
    """How often a search with cohorts of at most this growth is wrong, within `MOST_PULLS` users."""
    search, world = Search(growth=growth), mb.Bernoulli(means)
    found = mb.identify(search, channel, world, delta=delta, runs=runs, seed=11, max_pulls=MOST_PULLS)
    share = float((found.stopped & ~found.correct).mean())
    return HowOften(share, math.sqrt(share * (1 - share) / runs))


def list_ties(runs: int) -> Iterator[tuple[str, str, float, float, HowOften]]:
    """Arms, noise, growth, δ, and how often the answer is wrong."""
    two, one_of_five, five = (0.5, 0.5 - TIED), (0.5, 0.5 - TIED, 0.3, 0.3, 0.3), (0.5, *(4 * [0.5 - TIED]))
    raw, central = mb.channels.Raw(), mb.channels.Central(epsilon=0.5)
    for delta in (0.05, 0.2):
        for growth in (2.0, 0.1):
            yield "two tied", "none", growth, delta, count_wrong(two, raw, growth, delta, runs)
        yield "two tied", "ε = 0.5", 2.0, delta, count_wrong(two, central, 2.0, delta, runs)
        yield "two tied, three of 0.3", "none", 2.0, delta, count_wrong(one_of_five, raw, 2.0, delta, runs)
        yield "five tied", "none", 2.0, delta, count_wrong(five, raw, 2.0, delta, runs)


@kernel
def least_evidence(law: Law, total: Floats, users: Integers, m: Integers, mean: Floats, a: int) -> tuple[float, float]:
    """The least, over rivals and values z, of the evidence that the rule counts, and of that of all arms together.

    Bets on arms below the rival are left out, which gain nothing.
    """
    k, least, least_of_all = m.size, math.inf, math.inf
    of_best, of_rival, ratios = bet_weights(Bets(1.0, k - 1.0, False))
    at_c, at_b = np.empty(SCALES), np.empty(SCALES)
    for b in range(k):
        if b == a:
            continue
        gap = mean[a] - mean[b]
        for i in range(POINTS):
            z = min(max(mean[b] + gap * (1.4 * i / (POINTS - 1) - 0.2), 1e-6), 1 - 1e-6)
            of_leader, of_all, known_b = -math.inf, -math.inf, ArmReleases(total[b], users[b], m[b])
            of_b = log_likelihood(law, known_b, z)[0]
            for c in range(k):
                if c == b or mean[c] <= mean[b]:
                    continue
                known_c, first = ArmReleases(total[c], users[c], m[c]), scale(2 * (mean[c] - mean[b]))
                of_c = log_likelihood(law, known_c, z)[0]
                shifted_logs(law, known_c, z, 1.0, first, at_c)
                shifted_logs(law, known_b, z, -1.0, first, at_b)
                gains = log_sum(
                    both(ratios, first, z, z, at_c, at_b, at_c, at_b) - of_c - of_b,
                    single_bets(of_best, first, 1 - z, at_c, of_c),
                )
                of_all = log_sum(of_all, gains)
                if c == a:
                    alone = single_bets(of_rival, first, z, at_b, of_b)
                    of_leader = log_sum(gains, alone)
                    of_all = log_sum(of_all, alone)
            least, least_of_all = min(least, of_leader), min(least_of_all, of_all)
    return least, least_of_all


@kernel
def find_stops(law: Law, recorded: Floats, k: int, threshold: float) -> tuple[float, float]:
    """The users after whom the rule would stop, and after whom it would if all arms' bets counted together."""
    total, users, m, mean = np.zeros((k, 256)), np.zeros((k, 256), np.int64), np.zeros(k, np.int64), np.zeros(k)
    n, first, best, seen = 0.0, 0.0, 0, 0
    for row in range(recorded.shape[0]):
        arm = int(recorded[row, 0])
        total[arm, m[arm]], users[arm, m[arm]] = recorded[row, 2], int(recorded[row, 1])
        seen += int(m[arm] == 0)
        m[arm] += 1
        n += recorded[row, 1]
        guess = total[arm, 0] / users[arm, 0] if m[arm] == 1 else mean[arm]
        mean[arm] = likeliest_mean(law, ArmReleases(total[arm], users[arm], m[arm]), guess)
        if seen < k:
            continue
        best = 0
        for c in range(k):
            if mean[c] > mean[best]:
                best = c
        alone, together = least_evidence(law, total, users, m, mean, best)
        if together >= threshold and first == 0.0:
            first = n
        if alone >= threshold:
            return n, first
    return n, n if first == 0.0 else first


def compare_stops(means: Sequence[float], epsilon: float, delta: float, runs: int) -> HowOften:
    """The users that are saved if all arms' bets count together, as a share of all users."""
    channel, world, k = mb.channels.Central(epsilon=epsilon), mb.Bernoulli(means), len(means)
    found = mb.identify(Search(), channel, world, delta=delta, runs=runs, seed=12, keep_releases=True)
    play, law, threshold = compile_loop(find_stops.function), channel.law(), math.log((k - 1) / delta)
    stops = np.array([play(law, each, k, threshold) for each in found.recorded or ()])
    saved = 1 - stops[:, 1] / stops[:, 0]
    return HowOften(float(saved.mean()), float(saved.std(ddof=1) / math.sqrt(runs)))


def main(runs: int = 2000, few: int = 60) -> None:
    """Print both tables."""
    print("arms, noise, growth of cohorts, δ: wrong, as a share of δ, and ln(δ / e) nats")
    for arms, noise, growth, delta, wrong in list_ties(runs):
        part, error = wrong.share / delta, wrong.error / delta
        nats = f"{-math.log(part):.1f}" if part > 0 else "no run was wrong"
        print(f"{arms}, {noise}, {growth:g}, {delta:g}: {part:.3f} ± {error:.3f}, {nats}", flush=True)
    print("means, ε, δ: users saved if all arms' bets count together")
    for means in ((0.95, 0.9, 0.9, 0.9, 0.5), (0.75, 0.625, 0.5, 0.375, 0.25)):
        for epsilon in (0.1, 2.15):
            saved = compare_stops(means, epsilon, 0.01, few)
            print(f"{means}, {epsilon}, 0.01: {saved.share:.2%} ± {saved.error:.2%}", flush=True)


if __name__ == "__main__":
    main()
