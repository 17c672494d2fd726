"""The parts of an experiment: settings that are run, and curves that are computed or were published."""

from dataclasses import dataclass
from typing import Any

from maskedbandit.channels.channel import Channel
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.logs.log import Log
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.policy import Policy


@dataclass(frozen=True)
class Setting:
    """One cell of an experiment: everything that a simulation needs."""

    id: str
    label: str
    policy: Policy
    channel: Channel
    instance: Instance | Contexts | Log
    task: dict[str, Any]  # the task of the policy; its keys depend on the goal
    runs: int
    seed: int
    values: dict[str, Any]  # what varies, by its key
    delay: Delay = AT_ONCE


@dataclass(frozen=True)
class TheoryCurve:
    """A curve of theory, computed instead of simulated."""

    id: str
    label: str
    theory: str
    epsilon: float
    instance: Instance
    task: dict[str, Any]
    values: dict[str, Any]
    runs: int = 0


@dataclass(frozen=True)
class PublishedPoint:
    """Mean samples that a paper reports."""

    id: str
    label: str
    samples: float
    task: dict[str, Any]
    values: dict[str, Any]
    runs: int = 0
