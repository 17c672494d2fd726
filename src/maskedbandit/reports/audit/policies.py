"""A policy on a channel: a whole run is played again with one person's rewards turned over and all decisions forced.

Then only the sums that reach the channel can differ. So the run reveals of the person only as much as these releases
do: a reward that enters one release, once, costs the channel's loss. Decisions are also played freely, for two
neighbours, and told apart by samples.
"""

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.noisy import NoisyChannel
from maskedbandit.channels.response import Response
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.channels.split_and_mix import SplitAndMix
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.regret.simulate import simulate
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import ZERO
from maskedbandit.reports.audit.audit import USUAL_AUDIT, AuditPart, How
from maskedbandit.reports.audit.bounds import Views
from maskedbandit.reports.audit.exact import (
    NOISY,
    Neighbours,
    judge_pair,
    loosen_channel,
    promise_of,
    released_bit,
    released_coins,
    shift_noise,
)
from maskedbandit.reports.audit.runs import Table, Twin, break_nothing, count_twice, keep_sums, play_audited_run
from maskedbandit.reports.audit.samples import MOST_SAMPLES, Both, at_worst, count_enough_samples, sampled_part

FEW_PEOPLE, MOST_AUDITED_PEOPLE, AUDITED_ARMS, TURNED = 250, 16_000, 3, 12
DECIDING = 12  # people in a run whose decisions are sampled
BROKEN: dict[str, Twin] = {"a sum that is kept after its release": keep_sums, "a reward that counts twice": count_twice}
PeopleRewards = tuple[tuple[float, ...], ...]


def list_people_rewards(users: int) -> PeopleRewards:
    """The rewards of so many people."""
    return tuple(tuple(float((7 * t + 3 * arm) % 5 < 2) for arm in range(AUDITED_ARMS)) for t in range(users))


def turned(rows: PeopleRewards, t: int) -> PeopleRewards:
    """The table with the rewards of one person turned over."""
    return (*rows[:t], tuple(1 - reward for reward in rows[t]), *rows[t + 1 :])


def find_moved_releases(policy: Policy, channel: Channel, rows: PeopleRewards) -> dict[str, list[tuple[int, float]]]:
    """The size of each release that one person's rewards change, and by how much; for the person who changes them most.

    In the engine, under "", and in each broken one; all take the decisions of the first run.
    """
    generator = np.random.Generator(np.random.PCG64(3))
    decisions = play_audited_run(policy, channel, rows, generator).decisions
    found = {}
    for name, twin in {"": break_nothing, **BROKEN}.items():

        def sums(table: PeopleRewards, twin: Twin = twin) -> list[tuple[int, int, float]]:
            return play_audited_run(
                policy, channel, table, np.random.Generator(np.random.PCG64(3)), decisions, twin
            ).sums

        first, worst = sums(rows), list[tuple[int, float]]()
        for t in {*range(6), *range(6, len(rows), max(len(rows) // TURNED, 1)), len(rows) - 1}:
            pairs = zip(first, sums(turned(rows, t)), strict=True)
            own = [(n, abs(x - y)) for (_, n, x), (_, _, y) in pairs if x != y]
            worst = max(worst, own, key=lambda each: sum(far for _, far in each))
        found[name] = worst
    return found


def move_release(channel: Channel, n: int, far: float) -> Neighbours:
    """A release of a cohort of n, and the same with a sum that is so far away."""
    apart: Neighbours = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    if isinstance(channel, Response | Shuffled):
        if far != 1:
            return apart
        return released_bit(channel) if isinstance(channel, Response) else released_coins(channel.needed())
    assert isinstance(channel, NoisyChannel)
    parts = channel.counted_on(n) if isinstance(channel, Distributed) else 1
    return shift_noise(channel.release_noise(n), parts, parts, round(far * channel.steps(n)))


def run_pair(channel: Channel, found: list[tuple[int, float]]) -> Neighbours:
    """The loss that all releases together show, for two neighbours: at least that of the two that changed most."""
    pair: Neighbours = np.array([1.0]), np.array([1.0])
    for n, far in sorted(found, key=lambda each: -each[1])[:2]:
        more: Neighbours = move_release(channel, n, far)
        if pair[0].size * more[0].size > 10**7:
            break
        a, b = (np.outer(x, y).ravel() for x, y in zip(pair, more, strict=True))
        pair = a, b
    return pair


def run_part(policy: Policy, channel: Channel) -> tuple[AuditPart | None, str]:
    """A whole run, with all decisions forced; or why it is not audited."""
    channel = channel.summed if isinstance(channel, SplitAndMix) else at_worst(channel)
    if type(channel) not in (*NOISY, Response, Shuffled):
        return None, f"runs on {type(channel).__name__}: its releases are not enumerated"
    users = FEW_PEOPLE
    while users <= MOST_AUDITED_PEOPLE:
        found = find_moved_releases(policy, channel, list_people_rewards(users))
        if own := found.pop(""):
            name, loss = f"a run of {users:,} people, one of them turned over", channel.loss(max(n for n, _ in own))
            twins = [(twin, run_pair(channel, each)) for twin, each in found.items()]
            part = judge_pair(name, policy.loss(loss, users), run_pair(channel, own), twins)
            if all(each.caught for each in part.controls):
                return part, ""
        users *= 4
    return None, f"runs of {type(policy).__name__}: {MOST_AUDITED_PEOPLE:,} people are too few for several releases"


def decide_many_times(policy: Policy, channel: Channel, samples: int, seed: int) -> Both:
    """Who got the arm of the first person, in many short runs in which that person has a reward of 0 or of 1, and all
    others 0. Which arm that is was drawn before there were rewards, so it says nothing."""
    views = []
    for world in (0.0, 1.0):
        rows = ((world, world), *((0.0, 0.0),) * (DECIDING - 1))
        found = simulate(policy, channel, Table(rows), DECIDING, runs=samples // 2, seed=seed, study=f"audit {world}")
        arms: Views = np.diff(found.regret, axis=1, prepend=0.0)
        views.append((np.round(arms) == np.round(arms[:, :1])).astype(float))
    return views[0], views[1]


def decisions_part(policy: Policy, channel: Channel, how: How = USUAL_AUDIT) -> tuple[AuditPart | None, str]:
    """The decisions of short runs; or why they are not audited."""
    if not policy.purpose.serves:
        return None, f"decisions of {type(policy).__name__}: a search has no short runs"
    worst = ZERO
    for n in range(1, DECIDING + 1):
        worst |= channel.loss(n)
    promise = promise_of(policy.loss(worst, DECIDING), 1e-2)
    many = count_enough_samples(promise) if how.samples is None else how.samples
    if many > MOST_SAMPLES:
        return None, f"decisions of {type(policy).__name__}: {promise} would take more than {MOST_SAMPLES:,} samples"
    found = decide_many_times(policy, channel, many, how.seed)
    how.advance(many)
    try:
        twin = "half of the noise", decide_many_times(policy, loosen_channel(channel), many, how.seed + 1)
    except (InvalidValue, TypeError, AttributeError):
        return None, f"decisions of {type(policy).__name__}: there is no broken twin of this channel"
    how.advance(many)
    names = [f"whether person {i + 1} gets the arm of person 1" for i in range(DECIDING)]
    return sampled_part(f"the decisions for {DECIDING} people", promise, found, [twin], names, how.error), ""
