"""Best-arm identification with a fixed probability of error: how many users a policy needs until it stops.

Every user counts: also those of arms that were dropped, those of a cohort that was open when the policy stopped, and
those who were served while it waited for late rewards. A run that does not stop before `max_pulls` users, a limit that
its policy does not know, is cut off there and reported as not stopped. Leaving such runs out of a mean would bias it
towards the fast ones.
"""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine.each_run import Workers, numbered
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.goals.drive import LONGEST, check_compatible, drive
from maskedbandit.lab.goals.identify.result import Found
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import whole
from maskedbandit.theory.transport import SAME

LEAST = 1e-100  # of delta; thresholds and their logarithms stay far from the limits of floats


def probability(name: str, value: Any) -> float:
    """Check a real number of at least LEAST and below 1; returns a float."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not LEAST <= value < 1 or float(value) == 1:
        raise InvalidValue(name, value, f"a number of at least {LEAST:g} and below 1")
    return float(value)


def best_arm(instance: Instance) -> int:
    """The arm of the highest mean; raises if it is not unique, up to the precision of the theory."""
    means = instance.true_means()
    best = np.flatnonzero(means >= means.max() - SAME)
    if means.size < 2:
        raise InvalidValue("instance", instance, "one of at least two arms")
    if best.size > 1:
        raise InvalidValue("instance", instance, f"one with a single best arm: arms {best.tolist()} have equal means")
    return int(best[0])


def identify(
    policy: Policy,
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
) -> Found:
    """Let a policy search for the best arm of an instance until it stops, `runs` times independently.

    `delta` is the allowed probability of a wrong answer; `study`, `executor`, `advance`, `delay`,
    `runs_from` and `keep_releases` are those of `simulate`.

    >>> import maskedbandit as mb
    >>> channel = mb.channels.Central(epsilon=0.5)
    >>> found = mb.identify(mb.policies.BestArmDPSE(), channel, mb.Bernoulli([0.9, 0.5]), delta=0.1, runs=10, seed=7)
    >>> found.loss.epsilon(), found.stopped.all(), found.correct.all(), (found.samples == found.pulls.sum(axis=1)).all()
    (0.5, np.True_, np.True_, np.True_)
    """
    check_compatible(policy, channel, instance, "identify", delay)
    channel = channel.carrying(instance.statistics)
    delta, best = probability("delta", delta), best_arm(instance)
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
    answer = np.where(found.stopped, found.answer, -1)
    return Found(
        policy=policy,
        channel=channel,
        instance=instance,
        delta=delta,
        max_pulls=max_pulls,
        samples=found.pulls.sum(axis=1),
        answer=answer,
        correct=answer == best,
        stopped=found.stopped,
        pulls=found.pulls,
        releases=found.releases,
        loss=found.loss,
        findings=found.findings,
        delay=delay,
        runs_from=runs_from,
        recorded=found.recorded,
    )
