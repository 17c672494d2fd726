"""How often a guardrail finds harm that is not there, how soon it finds harm that is, and what a change of arms costs.

python -m tools.guardrails alarms power late devices stages  # ten minutes on one core; each can be asked for alone
"""

import math
import sys
from collections.abc import Sequence
from random import Random

import numpy as np

import maskedbandit as mb
from maskedbandit.channels.channel import Channel
from maskedbandit.core import Release
from maskedbandit.law import draws_of_one
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.sampling import Bits
from maskedbandit.study.driver import Driver
from maskedbandit.study.guardrail import Guardrail
from maskedbandit.study.reward import Reward
from maskedbandit.study.watch import Watch

ARMS, FIRST, GROWTH = 3, 50, 1.25  # people of an arm in the first epoch, and how it grows
EPSILONS = (None, 1.0, 0.5, 0.25, 0.1)  # of the guardrail
PEOPLE = 20_000
BEFORE = (0, 3000, 15_000, 60_000)  # people of a study of three arms, until one begins to do harm
MOST = 20_000  # people of the arm after that


def channel_of(epsilon: float | None) -> Channel:
    """The channel of a guardrail; None: sums without noise."""
    return mb.channels.Raw() if epsilon is None else mb.channels.Central(epsilon=epsilon)


def release(channel: Channel, total: int, n: int, rng: np.random.Generator) -> float:
    """What is released of a sum of n bits."""
    law = channel.law()
    noise = channel.draws(law.scale, draws_of_one(law, n), rng)
    return float(channel.perturb(channel.parameters(), channel.memory(1), law, 0, total, n, noise, rng))


def found(
    channel: Channel, harm: dict[str, object], means: Sequence[float], seed: int, epochs: int, drift: float = 0.0
) -> dict[int, int]:
    """The arms that are found harmful in a study, with the people that each had until then."""
    table = {"name": "harm", "harm": harm}
    watch = Watch(Guardrail.from_table(table, Reward(), ("a", "b", "c")), channel.law(), ARMS)
    rng, size, people, harmful = np.random.default_rng(seed), float(FIRST), 0, dict[int, int]()
    for epoch in range(epochs):
        n, shift = int(size), drift * math.sin(epoch)
        people += n
        for arm in range(ARMS):
            total = release(channel, rng.binomial(n, min(max(means[arm] + shift, 0.0), 1.0)), n, rng)
            for each in watch.saw(Release(arm, n, total, epoch)):
                watch.declare(each.arm)
                harmful[each.arm] = people
        size *= GROWTH
    return harmful


def alarms(studies: int = 1000) -> None:
    """Studies with a false alarm, of arms that are all exactly at the limit."""
    print(f"false alarms of {studies} studies, alpha = 0.05")
    for epsilon in EPSILONS:
        for limit in (0.01, 0.1, 0.5):
            many = alarms_of(channel_of(epsilon), limit, studies)
            print(f"  epsilon {epsilon}, limit {limit}: {many / studies:.2%}", flush=True)
        harm = {"above": 1e-9, "against": "a"}
        many = sum(bool(found(channel_of(epsilon), harm, [0.3] * ARMS, seed, 20, 0.2)) for seed in range(studies))
        print(f"  epsilon {epsilon}, a difference of 0, in a common drift of ±0.2: {many / studies:.2%}", flush=True)


def alarms_of(channel: Channel, limit: float, studies: int, epochs: int = 20) -> int:
    """How many of so many studies have a false alarm, if all arms are at the limit."""
    return sum(bool(found(channel, {"above": limit}, [limit] * ARMS, seed, epochs)) for seed in range(studies))


def until_found(channel: Channel, mean: float, epochs: int, studies: int = 200) -> str:
    """People of a harmful arm until it is found, if the limit is 0.03 and the others are at 0.01."""
    means = [0.01, mean, 0.01]
    times = sorted(found(channel, {"above": 0.03}, means, seed, epochs).get(1, math.inf) for seed in range(studies))
    return f"{times[studies // 2]}, {times[studies * 9 // 10]}"


def power() -> None:
    """The same, with the noise of a trusted server."""
    print("people of the arm until it is found: median, and in nine of ten studies; the limit is 0.03")
    for epsilon in EPSILONS:
        for mean in (0.04, 0.05, 0.06, 0.09, 0.2):
            print(f"  epsilon {epsilon}, mean {mean}: {until_found(channel_of(epsilon), mean, 24)}", flush=True)


def until_found_late(channel: Channel, before: int, seed: int, growth: float, anew: bool) -> float:
    """People of an arm from when its mean goes from 0.01 to 0.09 until it is found, if the limit is 0.03."""
    table = {"name": "harm", "harm": {"above": 0.03}}
    watch = Watch(Guardrail.from_table(table, Reward(), ("a", "b", "c")), channel.law(), ARMS, anew)
    rng, size, people, well = np.random.default_rng(seed), float(FIRST), 0, before // ARMS
    while people - well < MOST:
        n = int(size)
        first = min(max(well - people, 0), n)
        total = rng.binomial(first, 0.01) + rng.binomial(n - first, 0.09)
        people, size = people + n, size * growth
        if watch.saw(Release(1, n, release(channel, total, n, rng), 0)):
            return people - well
    return math.inf


def late(studies: int = 200) -> None:
    """The same if an arm begins to do harm late, and by the rule under which it was watched before."""
    print(f"people of the arm until it is found, after {BEFORE} people of the study: median, and in nine of ten")
    for growth, cohorts in ((1.0, f"of {FIRST}"), (GROWTH, f"from {FIRST} on, each a quarter larger")):
        for epsilon in EPSILONS:
            for anew, name in ((True, "anew with each release"), (False, "once")):
                found = list[str]()
                for before in BEFORE:
                    times = sorted(
                        until_found_late(channel_of(epsilon), before, seed, growth, anew) for seed in range(studies)
                    )
                    found.append(f"{times[studies // 2]} ({times[studies * 9 // 10]})")
                print(f"  cohorts {cohorts}, epsilon {epsilon}, {name}: {', '.join(found)}", flush=True)


def many_releases(studies: int = 1000, releases: int = 400) -> None:
    """False alarms of arms at the limit that have many releases, with each of which evidence begins anew."""
    for epsilon in EPSILONS:
        channel, alarms = channel_of(epsilon), 0
        table = {"name": "harm", "harm": {"above": 0.03}}
        for seed in range(studies):
            rng = np.random.default_rng(seed)
            watch = Watch(Guardrail.from_table(table, Reward(), ("a", "b", "c")), channel.law(), ARMS)
            ones = rng.binomial(FIRST, 0.03, releases)
            alarms += any(
                watch.saw(Release(1, FIRST, release(channel, int(x), FIRST, rng), i)) for i, x in enumerate(ones)
            )
        print(f"  epsilon {epsilon}, an arm of {releases} releases at 0.03: {alarms / studies:.2%}", flush=True)


def devices() -> None:
    """The same, if each device adds the noise, and false alarms."""
    print("the same under local trust; studies of 200 with a false alarm, of arms that are all at the limit")
    for kind in (mb.channels.Response, mb.channels.Local):
        for epsilon in (4.0, 2.0, 1.0, 0.5):
            channel = kind(epsilon=epsilon)
            many = alarms_of(channel, 0.03, 200, 30)
            print(f"  {kind.__name__}, epsilon {epsilon}: {many} of 200 with a false alarm", flush=True)
            for mean in (0.06, 0.09, 0.2):
                print(f"    mean {mean}: {until_found(channel, mean, 38)}", flush=True)


def regret(policy: Policy, means: Sequence[float], seed: int, change: tuple[int, tuple[int, ...]]) -> float:
    """The regret of a study in which, before a person of this number, these arms stay in play; central at epsilon 1."""
    rng, bits = np.random.default_rng(seed), Bits(Random(seed).randbytes)
    channel = channel_of(1.0)
    driver = Driver(policy, channel.law(), len(means), PEOPLE, seed.to_bytes(16, "big"))
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
            size = driver.cohorts[given.cohort].size
            driver.tell(given.cohort, size, release(channel, sums[given.cohort], size, rng))
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
    of = {"alarms": alarms, "power": power, "late": late, "devices": devices, "stages": stages}
    for part in parts or of:
        of[part]()


if __name__ == "__main__":
    main(sys.argv[1:])
