"""A backend is the S of the protocol P = (R, S, A): it computes a sum from what the devices of a cohort send.

The ideal backend just adds; the lab needs no more to draw releases of the right distribution. A real backend runs the
protocol with keys and messages, all parties in one process, as a rehearsal of the study: devices may drop out.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number, to_fraction
from maskedbandit.privacy.sampling import Bits


def parse_fraction(name: str, value: Number) -> Fraction:
    """A fraction of the users as an exact number; raises unless 0 <= value < 1."""
    found = to_fraction(name, value, strict=False)
    if found >= 1:
        raise InvalidValue(name, value, "a fraction of the users, at least 0 and below 1")
    return found


class Phase(NamedTuple):
    """One phase of a protocol: bytes of all devices together, and CPU seconds of all parties together."""

    name: str
    up: int
    down: int
    seconds: float


class Aggregate(NamedTuple):
    """The result of a cohort: the sum, and the users whose values are in it."""

    total: Any
    survivors: Sequence[int]  # positions in the cohort, in order
    phases: tuple[Phase, ...] = ()


class Backend(ABC):
    """A way to compute a sum, of one or several of the kinds below. Subclasses are frozen dataclasses of parameters.

    A cohort whose sum cannot be computed raises a `ProtocolError`, and nothing about it is released. It may be tried
    again with fresh noise, up to `attempts` times in all; every attempt is charged in full.
    """

    @property
    @abstractmethod
    def attempts(self) -> int:
        """How many times a cohort may be tried; a field in backends that can try again."""


class Adder(Backend):
    """Adds residues, and reveals their sum alone."""

    def check_size(self, n: int, least: int) -> None:
        """Raise `InvalidValue` if cohorts of n cannot be sure of so many honest people."""

    @abstractmethod
    def sum(self, values: Sequence[int], modulus: int, least: int, cohort: bytes, bits: Bits) -> Aggregate:
        """The sum of the survivors' values modulo `modulus`; raises `TooFew` if fewer than `least` honest ones survive.

        `cohort` names the cohort and everything its devices must agree on; `bits` are for keys and dropouts.
        """


class NoisyAdder(Backend):
    """Adds residues with the help of two servers, each of which adds noise."""

    modulus: ClassVar[int] = 0  # the only one of its sums; 0: any

    @abstractmethod
    def noisy_sum(
        self, values: Sequence[int], modulus: int, largest: int, noise: Callable[[], int], cohort: bytes, bits: Bits
    ) -> Aggregate:
        """The sum of the survivors' values and of two draws of noise, modulo the modulus.

        An honest device's value is from 0 to `largest`, or minus such a number.
        """


class Mixer(Backend):
    """Delivers messages without their senders."""

    @abstractmethod
    def mix(
        self,
        bundles: Sequence[Sequence[int]],
        below: int,
        least: int,
        cohort: bytes,
        bits: Bits,
        weights: Sequence[int] | None = None,
    ) -> tuple[list[int], Aggregate]:
        """All messages, whole numbers `below` a bound, in an order that reveals nothing, and the users who sent them.

        The aggregate's total is the sum of the messages. Raises `TooFew` if fewer than `least` honest users survive,
        or, if devices have weights, honest users of less total weight.
        """
