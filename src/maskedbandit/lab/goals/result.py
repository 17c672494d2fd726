"""What all results have in common, whatever the goal."""

from __future__ import annotations

from typing import Any, Protocol

from maskedbandit.channels.channel import Channel
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import Loss


class Result(Protocol):
    """The result of any number of runs, one row per run."""

    @property
    def policy(self) -> Policy: ...
    @property
    def channel(self) -> Channel: ...
    @property
    def delay(self) -> Delay: ...
    @property
    def loss(self) -> Loss: ...
    def to_frame(self) -> Any: ...


def brief(result: Result, runs: int, outcome: str) -> str:
    """A result on one line, without its arrays: the `repr` of every result."""
    names = ", ".join(type(each).__name__ for each in (result.policy, result.channel))
    return f"<{type(result).__name__}: {names}, {runs:,} run{'s' * (runs != 1)}, {outcome}, {result.loss}>"
