"""All arms of a kind with a fixed probability of error: how many users a policy needs until it stops.

Users are counted, and runs are cut off, as in identify.py. An answer is right if it is right in every arm. The policy
says which arms are asked for: the m best, or those above a threshold.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.goals.drive import LONGEST, check_compatible, drive
from maskedbandit.lab.goals.identify.identify import probability
from maskedbandit.lab.goals.result import ArmResult, Outcome, private_bound, who
from maskedbandit.lab.goals.runs import ReleaseOptions, Runs
from maskedbandit.lab.goals.tidy import Block
from maskedbandit.lab.worlds.instance import Floats, Instance
from maskedbandit.policies.parts.selection import Above, Selection
from maskedbandit.privacy.exact import whole


def check_question(policy: Any, channel: Any, instance: Any, delay: Any = AT_ONCE) -> None:
    """Raise unless they fit together, and the question of the policy has an answer on the instance."""
    check_compatible(policy, channel, instance, "select", delay)
    if lacks := policy.question.lacks(instance.told_means()) or policy.question.lacks(asked(instance)):
        raise InvalidValue("instance", instance, lacks)
    if isinstance(policy.question, Above) and delay.parameters().lost > 0:
        allowed = "one by which all rewards come in time: a default in place of some moves means across theta"
        raise InvalidValue("delay", delay, allowed)


def asked(instance: Instance) -> Floats:
    """The means that an answer is about: of all rewards of a person, in units of the cap, as a threshold is."""
    return instance.true_means() / instance.statistics.cap


@dataclass(frozen=True, repr=False, kw_only=True)
class Selected(ArmResult):
    """The result of `select`: one row per run."""

    goal: ClassVar[str] = "select"

    policy: Selection
    delta: float
    max_pulls: int
    samples: npt.NDArray[np.int64]  # [runs] users until the policy stopped; `max_pulls` if it did not
    answer: npt.NDArray[np.bool_]  # [runs, k] whether it named the arm; no arm if it did not stop
    correct: npt.NDArray[np.bool_]  # [runs] whether it stopped, and its answer is right in every arm
    stopped: npt.NDArray[np.bool_]  # [runs]

    def outcome(self) -> Outcome:
        """Samples until it stopped."""
        return Outcome("samples", self.samples, cut=int(np.count_nonzero(~self.stopped)))

    def blocks(self) -> list[Block]:
        """One row for each run.

        `answer` names arms by their numbers, and `bound` is the lower bound on the mean samples of every policy with
        the same question, loss and probability of error.
        """
        return [
            {
                **who(self),
                "delta": self.delta,
                "max_pulls": self.max_pulls,
                "bound": bound(self),
                "run": self.runs_from + np.arange(self.samples.size),
                "samples": self.samples.astype(float),
                "answer": np.array([" ".join(map(str, np.flatnonzero(named))) for named in self.answer]),
                "correct": self.correct,
                "stopped": self.stopped,
                "releases": self.releases,
                **self.findings,
            }
        ]


def bound(found: Selected) -> float | None:
    """The lower bound of a run's trust model; known for bits alone, and where means stay."""
    if not found.instance.bits or found.instance.moves:
        return None
    name, epsilon = private_bound(found)
    means = found.instance.true_means().tolist()
    return found.policy.question.least_samples(name, means, found.delta, epsilon) or None


def select(
    policy: Selection,
    channel: Channel,
    instance: Instance,
    delta: float = 0.01,
    runs: int = 1,
    seed: int = 0,
    *,
    max_pulls: int = 10**8,
    **how: Unpack[ReleaseOptions],
) -> Selected:
    """Let a policy name the arms that it asks for, until it stops, `runs` times independently.

    `delta` is the allowed probability of an answer that is wrong in any arm; all else is as for `simulate`.

    >>> import maskedbandit as mb
    >>> channel, instance = mb.channels.Central(epsilon=0.5), mb.Bernoulli([0.9, 0.8, 0.3])
    >>> found = mb.select(mb.policies.TopArms(m=2), channel, instance, delta=0.1, runs=10, seed=7)
    >>> found.loss.epsilon(), found.stopped.all(), found.correct.all(), found.answer[0].tolist()
    (0.5, np.True_, np.True_, [True, True, False])
    """
    given = Runs(runs, seed, **how)
    check_question(policy, channel, instance, given.delay)
    delta = probability("delta", delta)
    max_pulls = whole("max_pulls", max_pulls, len(instance.true_means()), LONGEST)
    found = drive(policy, channel.carrying(instance.statistics), instance, delta, [max_pulls], given)
    answer = found.selected & found.stopped[:, None]
    return Selected(
        **found.shared,
        delta=delta,
        max_pulls=max_pulls,
        samples=found.users,
        answer=answer,
        correct=policy.question.right(asked(instance), answer) & found.stopped,
        stopped=found.stopped,
    )
