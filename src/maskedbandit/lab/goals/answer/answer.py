"""The best arm with a fixed number of people: how often the answer is wrong.

Every user counts, also those of arms that were dropped, and those who come while rewards are late; except those who
come while the last rewards are awaited: they are served too, but after the study. If the users run out before the
policy answers, because more came in between than it was prepared for, the answer is the arm with the highest mean in
its releases. A run without any release has no answer, which counts as wrong.
"""

from dataclasses import dataclass
from typing import ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel, find_backend
from maskedbandit.core import Integers
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE, Constant
from maskedbandit.lab.goals.drive import LONGEST, check_compatible, drive_runs
from maskedbandit.lab.goals.identify.identify import best_arm
from maskedbandit.lab.goals.result import ArmResult, Outcome, describe_run
from maskedbandit.lab.goals.runs import ReleaseOptions, Runs
from maskedbandit.lab.goals.tidy import Block
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.law import Law
from maskedbandit.policies.parts.fixed_phases import FixedPhases
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import to_whole


@dataclass(frozen=True, repr=False, kw_only=True)
class Answered(ArmResult):
    """The result of `answer`: one row per run."""

    goal: ClassVar[str] = "answer"

    horizon: int
    answer: Integers  # [runs] the arm that was named; -1: none, as nothing was released
    correct: npt.NDArray[np.bool_]  # [runs] whether that is the best arm
    stopped: npt.NDArray[np.bool_]  # [runs] whether the policy named it, before the users ran out

    @property
    def bound(self) -> float | None:
        """A bound on the probability of a wrong answer, where all rewards come at once, and nobody drops out.

        A sum that wraps around may have any value: the channel's `failure` is added for each release.
        """
        late = self.delay != AT_ONCE or self.instance.moves or not self.instance.tells_all
        if not isinstance(self.policy, FixedPhases) or late or find_backend(self.channel) is not None:
            return None
        law = Law(*self.channel.law())
        wraps = float(getattr(self.channel, "failure", 0.0)) * int(self.releases.max())
        return min(1.0, self.policy.most_wrong(self.instance.true_means().tolist(), self.horizon, law) + wraps)

    def outcome(self) -> Outcome:
        """The share of wrong answers."""
        return Outcome("wrong", (~self.correct).astype(float), digits=4)

    def blocks(self) -> list[Block]:
        """One row for each run; `bound` is the policy's proved bound, if there is one."""
        return [
            {
                **describe_run(self),
                "horizon": self.horizon,
                "bound": self.bound,
                "run": self.runs_from + np.arange(self.correct.size),
                "answer": self.answer,
                "correct": self.correct,
                "stopped": self.stopped,
                "users": self.pulls.sum(axis=1),
                "releases": self.releases,
                **self.findings,
            }
        ]


def answer(
    policy: Policy,
    channel: Channel,
    instance: Instance,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    **how: Unpack[ReleaseOptions],
) -> Answered:
    """Let a policy name the best arm of an instance after at most `horizon` users, `runs` times independently.

    All else is as for `simulate`.

    >>> import maskedbandit as mb
    >>> channel, instance = mb.channels.Central(epsilon=0.5), mb.Bernoulli([0.9, 0.5, 0.4])
    >>> found = mb.answer(mb.policies.PooledElimination(), channel, instance, horizon=1000, runs=10, seed=7)
    >>> found.loss.epsilon(), found.correct.all(), (found.pulls.sum(axis=1) <= 1000).all()
    (0.5, np.True_, np.True_)
    """
    given = Runs.of(answer, runs, seed, how)
    check_compatible(policy, channel, instance, "answer", given.delay)
    if not isinstance(given.delay, Constant):
        allowed = "a constant one: how many come while the last rewards are awaited is fixed"
        raise InvalidValue("delay", given.delay, allowed)
    best = best_arm(instance)
    horizon = to_whole("horizon", horizon, len(instance.true_means()), LONGEST)
    end = min(horizon + given.delay.parameters().longest + 1, LONGEST)
    found = drive_runs(policy, channel.carrying(instance.statistics), instance, horizon, [end], given)
    named = np.where(found.stopped, found.answer, found.leader)
    return Answered(**found.shared, horizon=horizon, answer=named, correct=named == best, stopped=found.stopped)
