"""What a channel is: the protocol P = (R, S, A) that a reward passes before a policy hears of it [CZ23, Sec. 3.2].

R, `randomize`, runs on the device of each of the n users of a cohort; S, `aggregate`, sums what they send; A,
`analyze`, runs on the server and gives the released total. Trust models differ only in who adds noise: a trusted server
(central), all users together (distributed), each user alone (local). The lab draws `perturb` instead, which has the
same law; it is a real protocol that carries the sum if the channel's `backend` is one.

A user may add a vector of statistics instead of a reward, which is the vector of one number: `carrying` gives the
channel for it. Each number of a vector then passes as a reward does, by calls of its own, in the same cohort of n
users and in a sum of its own: number i of model a is stream a * size + i, which is what `arm` means to `analyze` and
`perturb` and what `numbers(models * size)` counts. The noise of each helps to hide the whole vector, and `loss(n)` is
that of the whole vector.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from maskedbandit.backends.backend import Aggregate, Backend
from maskedbandit.backends.ideal import Ideal
from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.privacy.exact import Number, exact
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.statistics import REWARD, Statistics


@kernel
def silence(scale: float, count: float, rng: np.random.Generator) -> int:
    """The noise of a channel that adds none."""
    return 0


def usable(epsilon: Number) -> Fraction:
    """The privacy epsilon of a channel; below a millionth its noise would drown every study."""
    found = exact("epsilon", epsilon)
    if found < Fraction(1, 10**6):
        raise InvalidValue("epsilon", epsilon, "at least 0.000001")
    return found


def refuse_size(n: int) -> None:
    """A cohort has users."""
    if not isinstance(n, Integral) or n < 1:
        raise InvalidValue("the size of a cohort", n, "a whole number of at least 1")


class Nothing(NamedTuple):
    """The numbers of a channel whose kernel needs only the law."""

    unused: int = 0


class Channel(ABC):
    """A channel. Subclasses are frozen dataclasses of parameters; `perturb` is a kernel."""

    trust: ClassVar[str]  # the name of the trust model
    sees: ClassVar[str]  # who sees what
    # kernel (numbers, law, arm, total, n, noise, rng) -> float: analyze(sum of randomize), in law; nan: cannot be told
    perturb: ClassVar[Any]

    def carrying(self, statistics: Statistics) -> Self:
        """This channel for users who add such vectors, at the same privacy for each whole vector."""
        if statistics != REWARD:
            raise InvalidValue("channel", self, "one that carries vectors: this one carries single bits")
        return self

    @property
    def draws(self) -> Any:
        """The kernel that draws a cohort's noise in the lab."""
        return silence

    def numbers(self, k: int) -> NamedTuple:
        """What `perturb` needs besides the law; its arrays are what is kept between the releases of k arms."""
        return Nothing()

    @abstractmethod
    def law(self) -> Law:
        """The law of the noise in what is released."""

    @abstractmethod
    def loss(self, n: int) -> Loss:
        """Loss of one user, by the release of the cohort of n in which the user took part."""

    @abstractmethod
    def randomize(self, reward: float, n: int, bits: Bits, place: int | None = None) -> float:
        """R: what the device of one of n users sends; the reward is in [0, 1].

        `place` is the user's number in the cohort, from 0 to n - 1: needed only where not all users do the same.
        """

    def aggregate(self, sent: Sequence[Any], bits: Bits, cohort: bytes = b"") -> Aggregate:
        """S: the sum of what the n devices of a cohort sent, of whom some may be lost; `cohort` names it."""
        return Aggregate(sum(sent), range(len(sent)))

    @abstractmethod
    def analyze(self, total: float, n: int, bits: Bits, kept: Any = None, arm: int = 0) -> float:
        """A: the released total, an unbiased estimate of the sum of n rewards, from the sum that S gave.

        `kept` is `numbers(k)`, for channels whose releases build on those before; without it this is the first one.
        """

    def refuse(self, n: int) -> None:
        """Raise why `perturb` gave nan for a cohort of n; channels that never do so need not say more."""
        raise InvalidValue("the size of a cohort", n, f"one that {type(self).__name__} can tell of")


@dataclass(frozen=True)
class Carrier(Channel, ABC):
    """A channel that can carry vectors; `statistics` says of what, and `carrying` sets it."""

    statistics: Statistics = field(default=REWARD, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.statistics, Statistics):
            raise InvalidValue("statistics", self.statistics, "Statistics, such as linear(6)")

    def carrying(self, statistics: Statistics) -> Self:
        return replace(self, statistics=statistics)


def real(channel: Channel) -> Backend | None:
    """The protocol that carries the channel's sums; None if the lab draws them at once."""
    backend: Backend = getattr(channel, "backend", Ideal())
    return None if isinstance(backend, Ideal) else backend
