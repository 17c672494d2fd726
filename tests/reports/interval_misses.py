"""How often intervals miss the truth at any time: `python -m tests.reports.interval_misses identify` plays all rules.

A run counts as missed if at any release the interval of an arm, or of a difference, did not have the truth in it. So
the numbers hold for every rule that stops at a release, not only for the one that did.
"""

import sys
import time
from functools import lru_cache
from typing import Any

import numpy as np

import maskedbandit as mb
from maskedbandit.errors import MaskedBanditError
from maskedbandit.law import Law, is_noiseless, is_response
from maskedbandit.policies import room
from maskedbandit.theory.differences import PairSums, cost_of_epoch, evidence_of_pair
from maskedbandit.theory.sequences import BETS, Sums, mean_evidence, noise_moments, sum_releases

ALPHA, RUNS, CHUNK = 0.05, 2000, 100
MEANS = [0.6, 0.4, 0.3]
Rows = np.ndarray


@lru_cache(maxsize=10**5)
def of_tree(law: Law, m: int, n: int) -> Rows:
    """What is counted for the noise in an arm's first m releases."""
    known = [mb.Release(0, n - m + 1, 0.0)] + [mb.Release(0, 1, 0.0)] * (m - 1)
    return sum_releases(law, known).moments


def prefixes(law: Law, rows: Rows) -> Sums:
    """What the first 1, 2, ... releases of an arm add up to: a row of arrays for each."""
    n, total = rows[:, 1], rows[:, 2]
    if law.counter > 0:
        of = zip(range(1, len(rows) + 1), n.cumsum().astype(int), strict=True)
        return Sums(total.cumsum(), n.cumsum(), np.array([of_tree(law, m, int(people)) for m, people in of]))
    moments = np.zeros((len(rows), BETS))
    if is_response(law):
        total = total * (1 - 2 * law.flip) + n * law.flip
    elif not is_noiseless(law):
        sizes, which = np.unique(n.astype(int), return_inverse=True)
        moments = np.stack([noise_moments(law, int(size)) for size in sizes])[which].cumsum(axis=0)
    return Sums(total.cumsum(), n.cumsum(), moments)


def bit_mean(law: Law, mean: Any) -> Any:
    """The mean of what devices send."""
    return law.flip + (1 - 2 * law.flip) * mean if is_response(law) else mean


def misses_mean(law: Law, rows: Rows, mean: Any, alpha: float = ALPHA) -> bool:
    """Whether the interval of an arm with these releases ever misses its mean, which may be an array by release."""
    if not len(rows):
        return False
    known, p = prefixes(law, rows), bit_mean(law, mean)
    high = mean_evidence(law, known, p)
    low = mean_evidence(law, known._replace(total=known.n - known.total), 1 - p)
    return bool(max(high.max(), low.max()) >= np.log(2 / alpha))


def misses_difference(law: Law, a: Rows, b: Rows, difference: float, alpha: float = ALPHA) -> bool:
    """Whether the interval of the difference of two arms, over the epochs that they share, ever misses it."""
    _, i, j = np.intersect1d(a[:, 3], b[:, 3], return_indices=True)
    if not len(i):
        return False
    order = np.argsort(np.maximum(i, j))
    a, b = a[i[order]], b[j[order]]
    flip = law.flip if is_response(law) else 0.0
    w = np.minimum(a[:, 1], b[:, 1])
    x, y = (w * (each[:, 2] / each[:, 1] * (1 - 2 * flip) + flip) for each in (a, b))
    found = False
    for of, sign, sizes in ((x - y, 1, (a, b)), (y - x, -1, (b, a))):
        cost = np.stack(
            [cost_of_epoch(law, int(n), int(m)) for n, m in zip(sizes[0][:, 1], sizes[1][:, 1], strict=True)]
        )
        known = PairSums(of.cumsum(), (x + y).cumsum(), w.cumsum(), cost.cumsum(axis=0))
        found |= bool(evidence_of_pair(law, known, sign * difference * (1 - 2 * flip)).max() >= np.log(2 / alpha))
    return found


def may_miss_apart(law: Law, a: Rows, b: Rows, of_a: float, of_b: float, alpha: float = ALPHA) -> bool:
    """Whether the interval of a difference, from each arm's own people, may ever miss it, at the true m."""
    if not len(a) or not len(b):
        return False
    found, one, two = False, prefixes(law, a), prefixes(law, b)
    times = np.sort(np.concatenate([a[:, 4], b[:, 4]]))
    times = times[times >= max(a[0, 4], b[0, 4])]
    i, j = (np.searchsorted(each[:, 4], times, side="right") - 1 for each in (a, b))
    for sign in (1, -1):
        terms = 0.0
        for known, mean, which, up in ((one, of_a, i, sign), (two, of_b, j, -sign)):
            p = bit_mean(law, mean)
            known = known if up > 0 else known._replace(total=known.n - known.total)
            terms = terms + mean_evidence(law, known, p if up > 0 else 1 - p)[which]
        found |= bool(terms.max() >= np.log(2 / alpha))
    return found


def played(policy: Any, channel: Any, world: Any, runs: int, first: int, people: int, delay: int) -> tuple[Rows, ...]:
    """The releases of these runs."""
    how: dict[str, Any] = {"runs": runs, "seed": 11, "runs_from": first, "keep_releases": True}
    how["delay"] = mb.delays.Constant(delay)
    if policy.goal == "regret":
        return mb.simulate(policy, channel, world, people, **how).recorded or ()
    if policy.goal == "answer":
        return mb.answer(policy, channel, world, people, **how).recorded or ()
    search = mb.select if policy.goal == "select" else mb.identify
    return search(policy, channel, world, delta=0.1, max_pulls=people, **how).recorded or ()


def missed(
    policy: Any, channel: Any, world: Any, runs: int = RUNS, people: int = 4000, delay: int = 0
) -> dict[str, int]:
    """In how many of the runs an interval ever missed: of each mean if it stays, and of each shared difference."""
    law, means = channel.law(), world.true_means()
    found = {} if world.moves else {f"mean {a}": 0 for a in range(len(means))}
    found |= {f"{a} − 0": 0 for a in range(1, len(means)) if law.counter == 0}
    found |= {} if world.moves else {f"{a} − 0, apart": 0 for a in range(1, len(means))}
    for first in range(0, runs, CHUNK):
        for rows in played(policy, channel, world, min(CHUNK, runs - first), first, people, delay):
            rows = np.column_stack([rows, np.arange(len(rows))])
            of = [rows[rows[:, 0] == a] for a in range(len(means))]
            for a, mean in enumerate(means):
                if not world.moves:
                    found[f"mean {a}"] += misses_mean(law, of[a], mean)
                if not world.moves and a > 0:
                    found[f"{a} − 0, apart"] += may_miss_apart(law, of[a], of[0], mean, means[0])
                if a > 0 and law.counter == 0:
                    found[f"{a} − 0"] += misses_difference(law, of[a], of[0], mean - means[0])
    return found


CHANNELS: dict[str, Any] = {
    "none": lambda: mb.channels.Raw(),
    "central": lambda: mb.channels.Central(epsilon=1),
    "central, Gaussian": lambda: mb.channels.Central(epsilon=1, noise=mb.noises.DiscreteGaussian()),
    "central, Skellam": lambda: mb.channels.Central(epsilon=1, noise=mb.noises.Skellam()),
    "tree": lambda: mb.channels.Tree(epsilon=1),
    "two servers": lambda: mb.channels.TwoServers(epsilon=1),
    "distributed": lambda: mb.channels.Distributed(epsilon=1, honest="0.7"),
    "shuffled": lambda: mb.channels.Shuffled(epsilon=1, delta=1e-6),
    "pure shuffled": lambda: mb.channels.PureShuffled(epsilon="0.5"),
    "local": lambda: mb.channels.Local(epsilon=1),
    "local, response": lambda: mb.channels.Response(epsilon=1),
}


def main(goal: str, *trusts: str) -> None:
    """A line for each policy with this goal and each of these channels, or all."""
    still = mb.Bernoulli(MEANS)
    drift = mb.Drifting(mb.Bernoulli(MEANS), amplitude=0.25, period=500, shape="step")
    worst, count = 0, 0
    for name in room:
        kind: Any = room[name]
        if kind.goal != goal:
            continue
        for trust in trusts or CHANNELS:
            try:
                policy, channel, start = kind(), CHANNELS[trust](), time.time()
                found = missed(policy, channel, still)
                if name.startswith(("contemporaneous", "successive")):
                    found |= {f"{k}, drift": v for k, v in missed(policy, channel, drift, delay=100).items()}
            except MaskedBanditError as why:
                print(f"{name:28} {trust:18} refused: {str(why)[:90]}", flush=True)
                continue
            worst, count = max(worst, *found.values()), count + len(found)
            print(f"{name:28} {trust:18} {found} {time.time() - start:.0f} s", flush=True)
    print(f"{count} intervals, {RUNS} runs each: the worst was missed in {worst}, {100 * worst / RUNS:.2f} %")


if __name__ == "__main__":
    main(*sys.argv[1:])
