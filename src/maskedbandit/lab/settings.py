"""What an experiment is made of: settings that run, and curves that are computed or were published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from maskedbandit.channels.channel import Channel
from maskedbandit.lab.contexts import Contexts
from maskedbandit.lab.delays import AT_ONCE, Delay
from maskedbandit.lab.identification import identify
from maskedbandit.lab.instances import Instance
from maskedbandit.lab.logs import Log
from maskedbandit.lab.replay import replay
from maskedbandit.lab.simulation import simulate
from maskedbandit.policies.policy import Policy

AIMS = {"regret": ("horizon",), "identify": ("delta", "max_pulls"), "replay": ("context",)}  # by the goal of a file
GOES: dict[str, Callable[..., Any]] = {"regret": simulate, "identify": identify, "replay": replay}


@dataclass(frozen=True)
class Setting:
    """One cell of an experiment: everything that a simulation needs."""

    id: str
    label: str
    goal: str
    policy: Policy
    channel: Channel
    instance: Instance | Contexts | Log
    aim: dict[str, Any]  # what is asked of the policy, see AIMS
    runs: int
    seed: int
    values: dict[str, Any]  # what varies, by its key
    delay: Delay = AT_ONCE

    def run(self, **how: Any) -> Any:
        """Simulate it, or replay the log; the id names the random streams."""
        what = self.policy, self.channel, self.instance
        how |= {"runs": self.runs, "seed": self.seed, "study": self.id, "delay": self.delay}
        return GOES[self.goal](*what, **self.aim, **how)


@dataclass(frozen=True)
class Line:
    """A curve of theory, computed instead of simulated."""

    id: str
    label: str
    theory: str
    epsilon: float
    instance: Instance
    aim: dict[str, Any]
    values: dict[str, Any]
    runs: int = 0


@dataclass(frozen=True)
class Point:
    """Mean samples that others found, as a paper shows them."""

    id: str
    label: str
    samples: float
    aim: dict[str, Any]
    values: dict[str, Any]
    runs: int = 0
