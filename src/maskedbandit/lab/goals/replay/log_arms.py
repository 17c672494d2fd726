"""A log as an instance: what each of so many users would have brought under every arm.

Of the visits that show arm a, one with the probability p is kept with probability c_a / p, c_a the least with which a
was shown in the log. So each visit of the log is kept for a with probability c_a, whoever came [LCLW11], and those that
are kept are independent draws of what a brings, if visits are independent of one another and alike. Let n_a be their
number, and T the least of them. In a replay user t = 0, ..., T - 1 gets from arm a what visit floor(t n_a / T) of those
that are kept for a brought.

No visit is used twice, and which are used follows from arms, probabilities and coins: as each is kept with the same
probability whoever came, that says nothing of rewards. So for T users, and for every policy, a replay has the
distribution of a real study. (c_a is taken from the log: a visit that alone has the least probability is kept for
certain, a bias of one visit, and visitors with a smaller one who were never shown a are missing. With shares that are
fixed, or differ by groups each of which was shown a, neither happens.) A user's rewards under all arms are of about the
same time: what drifts in the log drifts in its replay.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maskedbandit.channels.channel import Channel, find_backend
from maskedbandit.core import Floats, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.engine.checkpoints import list_checkpoints
from maskedbandit.lab.goals.drive import LONGEST, check_compatible, drive_runs
from maskedbandit.lab.goals.replay.log_contexts import refuse_impossible
from maskedbandit.lab.goals.replay.replayed import Replayed
from maskedbandit.lab.goals.replay.scrutiny import Scrutiny
from maskedbandit.lab.goals.runs import Runs
from maskedbandit.lab.logs.log import Log
from maskedbandit.lab.streams import Rewards, Streams
from maskedbandit.lab.worlds.instance import Instance, no_sum
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import to_whole


class LogArmsParameters(NamedTuple):
    """The means of the arms, and the rewards."""

    means: Floats
    rewards: Floats  # [T, k]


@dataclass(frozen=True)
class LogArms(Instance):
    """The rewards that a log has for its arms; which visits are kept depends on the seed and the study."""

    log: Log
    seed: int = 0
    study: str = ""
    bits = True
    moves = True

    def __post_init__(self) -> None:
        if not isinstance(self.log, Log) or not self.log.recorded or self.log.pools()[0].size != 2:
            allowed = "a recorded log all of whose arms could be shown to every visitor, such as FrameLog(data_frame)"
            raise InvalidValue("log", self.log, f"{allowed}, for a policy without contexts")

    @cached_property
    def rewards(self) -> Floats:
        """What each user brings under every arm, [T, k]."""
        drawn: Any = Streams(self.seed, f"visits kept/{self.study}").of(0)
        _, coins, *_ = drawn
        found: list[list[Floats]] = [[] for _ in range(self.log.k)]
        least = find_least_propensities(self.log)
        for chunk in self.log.chunks():
            keeps = coins.random(chunk.arm.size) < least[chunk.arm] / chunk.propensity
            for arm, kept in enumerate(found):
                kept.append(chunk.click[keeps & (chunk.arm == arm)])
        each = [np.concatenate(kept) for kept in found]
        users = min(kept.size for kept in each)
        return np.stack([kept[np.arange(users) * kept.size // users] for kept in each], axis=1)

    def true_means(self) -> Floats:
        return np.zeros(self.log.k)  # nobody knows them: nothing is said of regret

    def parameters(self) -> LogArmsParameters:
        return LogArmsParameters(self.true_means(), self.rewards)

    @staticmethod
    @kernel
    def one(i: LogArmsParameters, arm: int, t: int, g: int, stream: Rewards) -> float:
        return max(g, 1.0) * i.rewards[t, arm]

    many = no_sum


def find_least_propensities(log: Log) -> Floats:
    """The least probability with which each arm was shown, of those with which it was."""
    least = np.ones(log.k)
    for chunk in log.chunks():
        np.minimum.at(least, chunk.arm, chunk.propensity)
    return least


def scrutinise_log(log: Log) -> float:
    """Raise unless the log can be believed; the click rate of a uniformly random arm in it."""
    scrutiny = Scrutiny(log)
    for chunk in log.chunks():
        refuse_impossible(chunk, log.least)
        scrutiny.add(chunk)
    scrutiny.judge()
    return scrutiny.random / scrutiny.visits


def refuse_arms_misfits(policy: Any, channel: Any, log: Any, context: str, delay: Any) -> None:
    """Raise unless a policy without contexts can be replayed on the log."""
    if context != "user":
        raise InvalidValue("context", context, "left out for a policy without contexts")
    if isinstance(channel, Channel) and (backend := find_backend(channel)):
        raise InvalidValue("backend", backend, "ideal in a replay")
    check_compatible(policy, channel, LogArms(log), "regret", delay)


def replay_arms(policy: Policy, channel: Channel, log: Log, context: str, horizon: int | None, how: Runs) -> Replayed:
    """These replays of a policy without contexts. All of them have the same visits, and the same horizon."""
    refuse_arms_misfits(policy, channel, log, context, how.delay)
    world, random = LogArms(log, how.seed, how.study), scrutinise_log(log)
    users = len(world.rewards)
    if horizon is not None:
        users = min(users, to_whole("horizon", horizon, 1, LONGEST))
    marks = list_checkpoints(users)
    found = drive_runs(policy, channel, world, users, marks, how)
    kept = {name: value for name, value in found.shared.items() if name not in ("instance", "recorded")}
    reward = np.rint(-found.realised)
    return Replayed(
        **kept,
        log=log,
        t=marks,
        reward=reward,
        users=found.users,
        clicks=reward[:, -1],
        random=np.full(len(reward), random),
    )
