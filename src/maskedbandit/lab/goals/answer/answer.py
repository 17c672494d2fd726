"""The best arm with a fixed number of people: how often the answer is wrong.

Every user counts among them, also those of arms that were dropped, and those who come while rewards are late, except
for the last rewards: who comes while these are awaited is served too, but the study is over for them. If it is over
before the policy answers, because more came in between than it was prepared for, the answer is the arm of the highest
mean in its releases; a run without any release has no answer, which counts as wrong.
"""

from collections.abc import Callable

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE, Constant
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine.each_run import Workers, numbered
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.goals.answer.result import Answered
from maskedbandit.lab.goals.drive import LONGEST, check_compatible, drive
from maskedbandit.lab.goals.identify.identify import best_arm
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import whole


def answer(
    policy: Policy,
    channel: Channel,
    instance: Instance,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    study: str = "",
    executor: Workers = Threads,
    advance: Callable[[], object] = lambda: None,
    delay: Delay = AT_ONCE,
    runs_from: int = 0,
    keep_releases: bool = False,
) -> Answered:
    """Let a policy name the best arm of an instance after at most `horizon` users, `runs` times independently.

    `study`, `executor`, `advance`, `delay`, `runs_from` and `keep_releases` are those of `simulate`.

    >>> import maskedbandit as mb
    >>> channel, instance = mb.channels.Central(epsilon=0.5), mb.Bernoulli([0.9, 0.5, 0.4])
    >>> found = mb.answer(mb.policies.PooledElimination(), channel, instance, horizon=1000, runs=10, seed=7)
    >>> found.loss.epsilon(), found.correct.all(), (found.pulls.sum(axis=1) <= 1000).all()
    (0.5, np.True_, np.True_)
    """
    check_compatible(policy, channel, instance, "answer", delay)
    if not isinstance(delay, Constant):
        raise InvalidValue("delay", delay, "a constant one: how many come while the last rewards are awaited is fixed")
    channel, best = channel.carrying(instance.statistics), best_arm(instance)
    horizon = whole("horizon", horizon, len(instance.true_means()), LONGEST)
    found = drive(
        policy,
        channel,
        instance,
        aim=horizon,
        marks=np.array([min(horizon + delay.parameters().longest + 1, LONGEST)]),
        runs=numbered(runs, runs_from),
        seed=seed,
        study=study,
        executor=executor,
        advance=advance,
        delay=delay,
        keep_releases=keep_releases,
    )
    named = np.where(found.stopped, found.answer, found.leader)
    return Answered(
        policy=policy,
        channel=channel,
        instance=instance,
        horizon=horizon,
        answer=named,
        correct=named == best,
        stopped=found.stopped,
        pulls=found.pulls,
        releases=found.releases,
        loss=found.loss,
        findings=found.findings,
        delay=delay,
        runs_from=runs_from,
        recorded=found.recorded,
    )
