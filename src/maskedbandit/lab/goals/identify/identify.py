"""Best-arm identification with a fixed probability of error: how many users a policy needs until it stops.

Every user counts: also those of arms that were dropped, those of a cohort that was open when the policy stopped, and
those who were served while it waited for late rewards. A run that does not stop before `max_pulls` users, a limit that
its policy does not know, is cut off there and reported as not stopped. Leaving such runs out of a mean would bias it
towards the fast ones.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from maskedbandit import theory
from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.drive import LONGEST, check_compatible, drive
from maskedbandit.lab.goals.result import ArmResult, Outcome, private_bound, who
from maskedbandit.lab.goals.runs import ReleaseOptions, Runs
from maskedbandit.lab.goals.tidy import Block
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


@dataclass(frozen=True, repr=False, kw_only=True)
class Found(ArmResult):
    """The result of `identify`: one row per run."""

    goal: ClassVar[str] = "identify"

    delta: float
    max_pulls: int
    samples: npt.NDArray[np.int64]  # [runs] users until the policy stopped; `max_pulls` if it did not
    answer: npt.NDArray[np.int64]  # [runs] the arm it stopped with; -1 if it did not stop
    correct: npt.NDArray[np.bool_]  # [runs] whether that is the best arm
    stopped: npt.NDArray[np.bool_]  # [runs]

    def outcome(self) -> Outcome:
        """Samples until it stopped."""
        return Outcome("samples", self.samples, cut=int(np.count_nonzero(~self.stopped)))

    def blocks(self) -> list[Block]:
        """One row for each run.

        `bound` is the lower bound on the mean samples of every policy with the same loss and probability of error.
        """
        return [
            {
                **who(self),
                "delta": self.delta,
                "max_pulls": self.max_pulls,
                "bound": bound(self),
                "run": self.runs_from + np.arange(self.samples.size),
                "samples": self.samples.astype(float),
                "answer": self.answer,
                "correct": self.correct,
                "stopped": self.stopped,
                "releases": self.releases,
                **self.findings,
            }
        ]


def bound(found: Found) -> float | None:
    """The lower bound of a run's trust model; known for bits alone, and where means stay.

    For delta >= 1/2 there is none: guessing may suffice.
    """
    if not found.instance.bits or found.instance.moves:
        return None
    name, epsilon = private_bound(found)
    return theory.least_samples(name, found.instance.true_means().tolist(), found.delta, epsilon) or None


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
    given = Runs(runs, seed, **how)
    check_compatible(policy, channel, instance, "identify", given.delay)
    delta, best = probability("delta", delta), best_arm(instance)
    max_pulls = whole("max_pulls", max_pulls, len(instance.true_means()), LONGEST)
    found = drive(policy, channel.carrying(instance.statistics), instance, delta, [max_pulls], given)
    answer = np.where(found.stopped, found.answer, -1)
    return Found(
        **found.shared,
        delta=delta,
        max_pulls=max_pulls,
        samples=found.users,
        answer=answer,
        correct=answer == best,
        stopped=found.stopped,
    )
