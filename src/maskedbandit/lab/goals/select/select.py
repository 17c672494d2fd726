"""All arms of a kind with a fixed probability of error: how many users a policy needs until it stops.

An answer is right if it is right in every arm. The policy says which arms are asked for: the m best, or those above a
threshold.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel
from maskedbandit.core import Floats
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.goals.drive import check_compatible
from maskedbandit.lab.goals.runs import ReleaseOptions, Runs
from maskedbandit.lab.goals.search import Searched, run_search
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.parts.selection import Above, Selection


def check_question(policy: Any, channel: Any, instance: Any, delay: Any = AT_ONCE) -> None:
    """Raise unless they fit together, and the question of the policy has an answer on the instance."""
    check_compatible(policy, channel, instance, "select", delay)
    if lacks := policy.question.lacks(instance.told_means()) or policy.question.lacks(answer_means(instance)):
        raise InvalidValue("instance", instance, lacks)
    if isinstance(policy.question, Above) and delay.parameters().lost > 0:
        allowed = "one by which all rewards come in time: defaults in place of rewards may move means across theta"
        raise InvalidValue("delay", delay, allowed)


def answer_means(instance: Instance) -> Floats:
    """The means that an answer is about: of all rewards of a person, in units of the cap, as a threshold is."""
    return instance.true_means() / instance.statistics.cap


@dataclass(frozen=True, repr=False, kw_only=True)
class Selected(Searched):
    """The result of `select`: one row per run."""

    goal: ClassVar[str] = "select"

    policy: Selection
    answer: npt.NDArray[np.bool_]  # [runs, k] whether it named the arm; no arm if it did not stop

    @property
    def answers(self) -> npt.NDArray[np.str_]:
        """The numbers of the arms that it named."""
        return np.array([" ".join(map(str, np.flatnonzero(named))) for named in self.answer])

    def least_samples(self, name: str, means: list[float], epsilon: float) -> float:
        """The lower bound on mean samples of a trust model."""
        return self.policy.question.least_samples(name, means, self.delta, epsilon)


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
    given = Runs.of(select, runs, seed, how)
    check_question(policy, channel, instance, given.delay)
    found, fields = run_search(policy, channel, instance, delta, max_pulls, given)
    answer = found.selected & found.stopped[:, None]
    return Selected(
        **fields, answer=answer, correct=policy.question.right(answer_means(instance), answer) & found.stopped
    )
