"""Contexts: the features of users in a simulated contextual study, and the rewards of the arms given these."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple


class Contexts(ABC):
    """A source of contexts and rewards, event by event. Subclasses are frozen dataclasses with two kernels."""

    present: ClassVar[Any]  # kernel (parameters, i, t, x, stream) -> pool: write the contexts of event i, user t, to x
    answer: ClassVar[Any]  # kernel (parameters, i, t, x, arm, stream) -> Answer
    parameters: ClassVar[Any]  # () -> NamedTuple; a log has others for every chunk of it
    example: ClassVar[Mapping[str, Any]]  # parameters, as a TOML table has them: the contract's tests run on it
    signed: ClassVar[bool] = True  # whether contexts have negative numbers
    fixed: bool = False  # whether all users have the same contexts
    pools: ClassVar[bool] = False  # whether some users have fewer arms to choose from than others

    @property
    @abstractmethod
    def d(self) -> int:
        """The number of numbers in a context."""

    @property
    @abstractmethod
    def k(self) -> int:
        """The number of arms."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of contexts that are shown: one for each arm, or one for all."""


class ArmAnswer(NamedTuple):
    """The reward of an arm."""

    weight: float  # 1 / the chance that the arm is tried in this event; 0: it was not
    reward: float
    mean: float  # nan if it is unknown
    best: float
