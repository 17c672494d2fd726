"""What a backend is: the S of the protocol P = (R, S, A), which turns what the devices of a cohort send into a sum.

The ideal one adds up, which is all that the lab needs to draw releases of the right law. A real one runs a protocol
with keys and messages, all parties in one process, as a rehearsal of the study: devices may be lost on the way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number, exact
from maskedbandit.privacy.sampling import Bits


def share(name: str, value: Number) -> Fraction:
    """A share of the users, exactly."""
    found = exact(name, value, strict=False)
    if found >= 1:
        raise InvalidValue(name, value, "a share of the users, at least 0 and below 1")
    return found


class Phase(NamedTuple):
    """One phase of a protocol: bytes of all devices together, and CPU seconds of all parties together."""

    name: str
    up: int
    down: int
    seconds: float


class Aggregate(NamedTuple):
    """What came of a cohort: the sum, and whose values are in it."""

    total: Any
    survivors: Sequence[int]  # places in the cohort, in order
    phases: tuple[Phase, ...] = ()


class Backend(ABC):
    """A way to a sum, of one kind below or several. Subclasses are frozen dataclasses of parameters.

    A cohort that cannot be summed up raises a `ProtocolError`, and nothing of it is released. It may then be tried
    again with fresh noise, `attempts` times in all, and each time costs its full price.
    """

    @property
    @abstractmethod
    def attempts(self) -> int:
        """How many times a cohort may be tried; a field of backends that can try again."""


class Adder(Backend):
    """Adds up residues: whoever hears the sum hears nothing else."""

    @abstractmethod
    def sum(self, values: Sequence[int], modulus: int, least: int, cohort: bytes, bits: Bits) -> Aggregate:
        """The sum, modulo the modulus, of the values of the survivors, if `least` of them are honest.

        `cohort` names the cohort and all that its devices must agree on; `bits` are for keys and losses.
        """


class NoisyAdder(Backend):
    """Adds up residues by two servers, each of which adds noise."""

    @abstractmethod
    def noisy_sum(
        self, values: Sequence[int], modulus: int, noise: Callable[[], int], cohort: bytes, bits: Bits
    ) -> Aggregate:
        """The sum of the survivors' values and of two draws of noise, modulo the modulus."""


class Mixer(Backend):
    """Hands over messages without their senders."""

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
        """All messages, whole numbers `below` a bound, in an order that tells nothing; and who sent them.

        The aggregate's total is the sum of the messages. It takes `least` honest survivors; if devices have weights,
        honest survivors of that weight.
        """
