"""How often a guardrail finds harm that is not there, how soon it finds harm that is, and what a change of arms costs.

python -m tools.guardrails alarms power stages        # ten minutes on one core; each part can be asked for alone
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from random import Random

import numpy as np

import maskedbandit as mb
from maskedbandit.channels.channel import Channel
from maskedbandit.core import Recorded
from maskedbandit.privacy.sampling import Bits
from maskedbandit.study.driver import Driver
from maskedbandit.study.guardrail import Guardrail
from maskedbandit.study.reward import Reward
from maskedbandit.study.watch import Watch

ARMS, FIRST, GROWTH = 3, 50, 1.25  # people of an arm in the first epoch, and how it grows
EPSILONS = (None, 1.0, 0.5, 0.25, 0.1)  # of the guardrail
PEOPLE = 20_000


def channel_of(epsilon: float | None) -> Channel:
    """The channel of a guardrail; None: sums without noise."""
    return mb.channels.Raw() if epsilon is None else mb.channels.Central(epsilon=epsilon)


def noise(rng: np.random.Generator, epsilon: float | None) -> float:
    """The noise of a release."""
    if epsilon is None:
        return 0.0
    success = -math.expm1(-epsilon)
    return float(rng.geometric(success) - rng.geometric(success))


def found(
    epsilon: float | None, harm: dict[str, object], means: Sequence[float], seed: int, epochs: int, drift: float = 0.0
) -> dict[int, int]:
    """The arms that are found harmful in a study, with the people that each had until then."""
    table = {"name": "harm", "harm": harm}
    watch = Watch(Guardrail.from_table(table, Reward(), ("a", "b", "c")), channel_of(epsilon).law(), ARMS)
    rng, size, people, harmful = np.random.default_rng(seed), float(FIRST), 0, dict[int, int]()
    for epoch in range(epochs):
        n, shift = int(size), drift * math.sin(epoch)
        people += n
        for arm in range(ARMS):
            total = rng.binomial(n, min(max(means[arm] + shift, 0.0), 1.0)) + noise(rng, epsilon)
            for each in watch.saw(Recorded(arm, n, float(total), epoch)):
                watch.declare(each.arm)
                harmful[each.arm] = people
        size *= GROWTH
    return harmful


def alarms(studies: int = 1000) -> None:
    """Studies with a false alarm, of arms that are all exactly at the limit."""
    print(f"false alarms of {studies} studies, alpha = 0.05")
    for epsilon in EPSILONS:
        for limit in (0.01, 0.1, 0.5):
            many = sum(bool(found(epsilon, {"above": limit}, [limit] * ARMS, seed, 20)) for seed in range(studies))
            print(f"  epsilon {epsilon}, limit {limit}: {many / studies:.2%}", flush=True)
        harm = {"above": 1e-9, "against": "a"}
        many = sum(bool(found(epsilon, harm, [0.3] * ARMS, seed, 20, 0.2)) for seed in range(studies))
        print(f"  epsilon {epsilon}, a difference of 0, in a common drift of ±0.2: {many / studies:.2%}", flush=True)


def power(studies: int = 200) -> None:
    """People of a harmful arm until it is found, if the limit is 0.03 and the others are at 0.01."""
    print("people of the arm until it is found: median, and in nine of ten studies; the limit is 0.03")
    for epsilon in EPSILONS:
        for mean in (0.04, 0.05, 0.06, 0.09, 0.2):
            times = [
                found(epsilon, {"above": 0.03}, [0.01, mean, 0.01], seed, 24).get(1, math.inf)
                for seed in range(studies)
            ]
            middle, most = sorted(times)[studies // 2], sorted(times)[studies * 9 // 10]
            print(f"  epsilon {epsilon}, mean {mean}: {middle}, {most}", flush=True)


def regret(policy: mb.policies.Policy, means: Sequence[float], seed: int, change: tuple[int, tuple[int, ...]]) -> float:
    """The regret of a study in which, before a person of this number, these arms stay in play; central at epsilon 1."""
    rng, bits = np.random.default_rng(seed), Bits(Random(seed).randbytes)
    driver = Driver(policy, channel_of(1.0).law(), len(means), PEOPLE, seed.to_bytes(16, "big"))
    sums, lost = dict[int, int](), 0.0
    for i in range(PEOPLE):
        if i == change[0]:
            driver.begin_stage(change[1], PEOPLE - i)
        given = driver.assign(bits)
        lost += max(means) - means[given.arm]
        if given.cohort is None:
            continue
        sums[given.cohort] = sums.get(given.cohort, 0) + int(rng.random() < means[given.arm])
        if driver.cohorts[given.cohort].full:
            driver.close(given.cohort)
            driver.tell(given.cohort, driver.cohorts[given.cohort].size, sums[given.cohort] + noise(rng, 1.0))
    return lost


def stages(studies: int = 60) -> None:
    """The regret of studies of 20 000 people in which the worst arm is paused after a while, or never, or at once."""
    print("regret of 20 000 people, central at epsilon 1")
    for means in ([0.5, 0.45, 0.4], [0.12, 0.1, 0.05]):
        for when in (PEOPLE, PEOPLE // 2, PEOPLE // 10, 0):
            policy = mb.policies.ContemporaneousKLUCB()
            lost = np.array([regret(policy, means, seed, (when, (0, 1))) for seed in range(studies)])
            print(f"  {means}, paused at {when}: {lost.mean():.0f} ± {lost.std() / studies**0.5:.0f}", flush=True)


def main(parts: Sequence[str]) -> None:
    """Do what is asked for."""
    for part in parts or ("alarms", "power", "stages"):
        {"alarms": alarms, "power": power, "stages": stages}[part]()


if __name__ == "__main__":
    main(sys.argv[1:])
