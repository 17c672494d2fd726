"""Best-arm identification with a fixed probability of error: how many users a policy needs until it stops."""

from dataclasses import dataclass
from typing import ClassVar, Unpack

import numpy as np

from maskedbandit import theory
from maskedbandit.channels.channel import Channel
from maskedbandit.core import Integers
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.drive import check_compatible
from maskedbandit.lab.goals.runs import ReleaseOptions, Runs
from maskedbandit.lab.goals.search import Searched, run_search
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.policy import Policy
from maskedbandit.theory.transport import SAME_MEAN


def best_arm(instance: Instance) -> int:
    """The arm of the highest mean; raises if it is not unique, up to the precision of the theory."""
    means = instance.true_means()
    best = np.flatnonzero(means >= means.max() - SAME_MEAN)
    if means.size < 2:
        raise InvalidValue("instance", instance, "one of at least two arms")
    if best.size > 1:
        raise InvalidValue("instance", instance, f"one with a single best arm: arms {best.tolist()} have equal means")
    return int(best[0])


@dataclass(frozen=True, repr=False, kw_only=True)
class Found(Searched):
    """The result of `identify`: one row per run."""

    goal: ClassVar[str] = "identify"

    answer: Integers  # [runs] the arm it stopped with; -1 if it did not stop

    @property
    def answers(self) -> Integers:
        """The arms, by their numbers."""
        return self.answer

    def least_samples(self, name: str, means: list[float], epsilon: float) -> float:
        """The lower bound on mean samples of a trust model."""
        return theory.least_samples(name, means, self.delta, epsilon)


def identify(
    policy: Policy,
    channel: Channel,
    instance: Instance,
    delta: float = 0.01,
    runs: int = 1,
    seed: int = 0,
    *,
    max_pulls: int = 10**8,
    **how: Unpack[ReleaseOptions],
) -> Found:
    """Let a policy search for the best arm of an instance until it stops, `runs` times independently.

    `delta` is the allowed probability of a wrong answer; all else is as for `simulate`.

    >>> import maskedbandit as mb
    >>> channel = mb.channels.Central(epsilon=0.5)
    >>> found = mb.identify(mb.policies.BestArmDPSE(), channel, mb.Bernoulli([0.9, 0.5]), delta=0.1, runs=10, seed=7)
    >>> found.loss.epsilon(), found.stopped.all(), found.correct.all(), (found.samples == found.pulls.sum(axis=1)).all()
    (0.5, np.True_, np.True_, np.True_)
    """
    given = Runs.of(identify, runs, seed, how)
    check_compatible(policy, channel, instance, "identify", given.delay)
    best = best_arm(instance)
    found, fields = run_search(policy, channel, instance, delta, max_pulls, given)
    answer = np.where(found.stopped, found.answer, -1)
    return Found(**fields, answer=answer, correct=answer == best)
