"""What tests of rehearsals share: a sum that is watched, a policy with a script, a lab that compiles nothing."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import maskedbandit as mb
from maskedbandit.backends.backend import Adder, Aggregate
from maskedbandit.channels.distributed import Distributed
from maskedbandit.core import Decision, kernel
from maskedbandit.errors import TooFew
from maskedbandit.policies.policy import Policy

INSTANCE = mb.Bernoulli([0.2, 0.9])


@dataclass(frozen=True)
class Watched(Adder):
    """Adds up what some devices sent, and writes down what it saw; a cohort fails so many times."""

    lost: int = 0  # so many of the first devices
    fails: int = 0  # times in a row, then a cohort succeeds
    attempts: int = 1
    seen: list[tuple[tuple[int, ...], bytes]] = field(default_factory=list)
    released: list[int] = field(default_factory=list)

    def sum(self, values, modulus, least, cohort, bits):
        self.seen.append((tuple(values), cohort))
        if len(self.seen) % (self.fails + 1):
            raise TooFew("it was to fail")
        self.released.append(sum(values[self.lost :]) % modulus)
        return Aggregate(self.released[-1], range(self.lost, len(values)))


def over(backend, **how) -> Distributed:
    return Distributed(**{"epsilon": 1, **how}, backend=backend)


class Asked(NamedTuple):
    """What a scripted policy asks for, and a list of what it was told."""

    arm: int
    n: int
    close: int
    stop: int
    released: list


class Scripted(Policy):
    """Asks for the same again and again, and stops after so many releases."""

    goal: ClassVar = "regret"

    def __init__(self, arm: int, n: int, close: int = 1, stop: int = -1) -> None:
        self.asks, self.released = (arm, n, close, stop), []

    def init(self, k, aim):
        return Asked(*self.asks, self.released)

    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(s.arm, 0 if len(s.released) == s.stop else s.n, s.close)

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.released.append((arm, n, total))


class Seeker(Scripted):
    goal: ClassVar = "identify"


def in_python(monkeypatch) -> None:
    """The lab's loop as it stands, with the same numbers: a few hundred users are not worth a compiler."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
