"""All arms of a kind with a fixed probability of error: how many users a policy needs until it stops.

Users are counted, and runs are cut off, as in identify.py. An answer is right if it is right in every arm. The policy
says which arms are asked for: the m best, or those above a threshold.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.core import Floats
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine.each_run import Workers, numbered
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.goals.drive import LONGEST, check_compatible, drive
from maskedbandit.lab.goals.identify.identify import probability
from maskedbandit.lab.goals.select.result import Selected
from maskedbandit.lab.worlds.instance import Instance
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


def select(
    policy: Selection,
    channel: Channel,
    instance: Instance,
    delta: float = 0.01,
    runs: int = 1,
    seed: int = 0,
    max_pulls: int = 10**8,
    study: str = "",
    executor: Workers = Threads,
    advance: Callable[[], object] = lambda: None,
    delay: Delay = AT_ONCE,
    runs_from: int = 0,
    keep_releases: bool = False,
) -> Selected:
    """Let a policy name the arms that it asks for, until it stops, `runs` times independently.

    `delta` is the allowed probability of an answer that is wrong in any arm; `study`, `executor`, `advance`, `delay`,
    `runs_from` and `keep_releases` are those of `simulate`.

    >>> import maskedbandit as mb
    >>> channel, instance = mb.channels.Central(epsilon=0.5), mb.Bernoulli([0.9, 0.8, 0.3])
    >>> found = mb.select(mb.policies.TopArms(m=2), channel, instance, delta=0.1, runs=10, seed=7)
    >>> found.loss.epsilon(), found.stopped.all(), found.correct.all(), found.answer[0].tolist()
    (0.5, np.True_, np.True_, [True, True, False])
    """
    check_question(policy, channel, instance, delay)
    channel = channel.carrying(instance.statistics)
    delta = probability("delta", delta)
    max_pulls = whole("max_pulls", max_pulls, len(instance.true_means()), LONGEST)
    found = drive(
        policy,
        channel,
        instance,
        aim=delta,
        marks=np.array([max_pulls]),
        runs=numbered(runs, runs_from),
        seed=seed,
        study=study,
        executor=executor,
        advance=advance,
        delay=delay,
        keep_releases=keep_releases,
    )
    answer = found.selected & found.stopped[:, None]
    return Selected(
        policy=policy,
        channel=channel,
        instance=instance,
        delta=delta,
        max_pulls=max_pulls,
        samples=found.pulls.sum(axis=1),
        answer=answer,
        correct=policy.question.right(asked(instance), answer) & found.stopped,
        stopped=found.stopped,
        pulls=found.pulls,
        releases=found.releases,
        loss=found.loss,
        findings=found.findings,
        delay=delay,
        runs_from=runs_from,
        recorded=found.recorded,
    )
