"""Searches, which stop by themselves, with a fixed probability of error: how many users a policy needs until then.

Every user counts: also those of arms that were dropped, those of a cohort that was open when the policy stopped, and
those who were served while it waited for late rewards. A run that does not stop before `max_pulls` users, a limit that
its policy does not know, is cut off there and reported as not stopped. Leaving such runs out of a mean would bias it
towards the fast ones.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel
from maskedbandit.core import Integers
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.drive import LONGEST, Driven, drive_runs
from maskedbandit.lab.goals.plans import Played
from maskedbandit.lab.goals.result import ArmResult, Outcome, describe_run, private_bound
from maskedbandit.lab.goals.runs import Runs
from maskedbandit.lab.goals.tidy import Block
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import to_whole

LEAST = 1e-100  # of delta; thresholds and their logarithms stay far from the limits of floats
MOST = 10**9  # people in a simulated study
LOST = 0.001  # studies that may not end


def probability(name: str, value: Any) -> float:
    """Check a real number of at least LEAST and below 1; returns a float."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not LEAST <= value < 1 or float(value) == 1:
        raise InvalidValue(name, value, f"a number of at least {LEAST:g} and below 1")
    return float(value)


def check_search(given: dict[str, Any], instance: Instance) -> dict[str, Any]:
    """The probability of an error, and where a run is cut off."""
    most = to_whole("max_pulls", given["max_pulls"], len(instance.true_means()), LONGEST)
    return {"delta": probability("delta", given["delta"]), "max_pulls": most}


@dataclass(frozen=True, repr=False, kw_only=True)
class Searched(ArmResult):
    """The result of a search: one row per run."""

    delta: float
    max_pulls: int
    samples: Integers  # [runs] users until the policy stopped; `max_pulls` if it did not
    correct: npt.NDArray[np.bool_]  # [runs] whether it stopped with a right answer
    stopped: npt.NDArray[np.bool_]  # [runs]

    @property
    @abstractmethod
    def answers(self) -> npt.NDArray[Any]:
        """[runs] what it stopped with, as it stands in a table."""

    @abstractmethod
    def least_samples(self, name: str, means: list[float], epsilon: float) -> float:
        """The lower bound on mean samples of a trust model."""

    @property
    def bound(self) -> float | None:
        """The lower bound of a run's trust model; known for bits alone, and where means stay.

        For delta >= 1/2 there is none: guessing may suffice.
        """
        if not self.instance.bits or self.instance.moves:
            return None
        name, epsilon = private_bound(self)
        return self.least_samples(name, self.instance.true_means().tolist(), epsilon) or None

    def outcome(self) -> Outcome:
        """Samples until it stopped."""
        return Outcome("samples", self.samples, cut=int(np.count_nonzero(~self.stopped)))

    def blocks(self) -> list[Block]:
        """One row for each run.

        `bound` is the lower bound on the mean samples of every policy with the same question, loss and probability of
        error.
        """
        return [
            {
                **describe_run(self),
                "delta": self.delta,
                "max_pulls": self.max_pulls,
                "bound": self.bound,
                "run": self.runs_from + np.arange(self.samples.size),
                "samples": self.samples.astype(float),
                "answer": self.answers,
                "correct": self.correct,
                "stopped": self.stopped,
                "releases": self.releases,
                **self.findings,
            }
        ]


def run_search(
    policy: Policy, channel: Channel, instance: Instance, delta: float, max_pulls: int, how: Runs
) -> tuple[Driven, dict[str, Any]]:
    """These runs of a policy that stops by itself, and the fields of a `Searched` but its answers."""
    task = check_search({"delta": delta, "max_pulls": max_pulls}, instance)
    found = drive_runs(policy, channel.carrying(instance.statistics), instance, task["delta"], [task["max_pulls"]], how)
    return found, {**found.shared, **task, "samples": found.users, "stopped": found.stopped}


def play_search(verb: Callable[..., Searched], refused: Callable[[Instance], Any], *study: Any, **how: Any) -> Played:
    """Play studies that end by themselves; `refused` is the name and the value of what makes them too long."""
    found = verb(*study, max_pulls=MOST, **how)
    if np.mean(~found.stopped) > LOST:
        name, value = refused(found.instance)
        raise InvalidValue(name, value, f"one that fewer than {MOST:.0e} people can show")
    return Played(found.samples.astype(float), found.pulls, 1 - float(found.correct.mean()))
