"""The rules of a round of single devices: who may be corrupted, and whom the server may deceive.

They stand in the protocol of a study, and each device that agreed to them computes the plan of its round from them, and
from its offer. See backends/secagg.py for what they mean.

A device refuses what it could not compute or send in reasonable time. A protocol is held to the same limits, as nobody
could take part in a study that exceeds them.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple, Self

from maskedbandit.errors import InvalidValue
from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.parameters import Neighbourhood, choose_neighbours, complete_graph
from maskedbandit.secagg.plan import RoundPlan

SMALL_COHORT = 128  # in cohorts up to this size a complete graph costs little
SECRECY = {
    "honest": 40,
    "malicious": 80,
}  # a ring fails to protect with probability 2^-this; a liar may draw many rings
SERVERS, GRAPHS = ("honest", "malicious"), ("auto", "complete", "sparse")
MOST_DEVICES = 10**6  # of a cohort: each of them computes the order of all, once in each phase
MOST_NEIGHBOURS = 7800  # of a device, which sends each of them key shares, all in one message
MOST_ATTEMPTS, LARGEST_SMALLEST = 100, 2**32
PART_TEXT = re.compile("0|0?[.][0-9]{1,9}|[1-9][0-9]{0,8}/[1-9][0-9]{0,8}")


class RoundRules(NamedTuple):
    """What the devices of a cohort agree on beside the offer.

    >>> RoundRules(Fraction(1, 10)).plan(1000, least=800, modulus=2**11).neighbours
    48
    """

    corrupted: Fraction = Fraction(0)  # of the devices of a cohort, at most
    server: str = "honest"  # or malicious
    graph: str = "auto"  # or complete, or sparse
    smallest: int = 32  # the least number of honest people that is counted on

    def count_corrupted(self, n: int) -> int:
        """How many of n devices may be corrupted."""
        return int(self.corrupted * n)

    def find_neighbourhood(self, n: int, least: int) -> Neighbourhood:
        """How many neighbours a device has, and how many of them can rebuild its secrets."""
        c = self.count_corrupted(n)
        if least < self.smallest:
            allowed = f"at least {self.smallest}: use larger cohorts or two servers, or set `smallest` lower"
            raise InvalidValue(f"the number of honest users counted on in a cohort of {n}", least, allowed)
        if least + c > n:
            allowed = f"at most {n - c}, as {c} may be corrupted: lower `honest` of the channel"
            raise InvalidValue(f"the number of honest users counted on in a cohort of {n}", least, allowed)
        malicious = self.server == "malicious"
        whole = self.graph == "complete" or (self.graph == "auto" and (malicious or n <= SMALL_COHORT))
        try:
            if whole:
                return complete_graph(n, c, n - c - least, malicious)
            return choose_neighbours(n, c, n - c - least, malicious, SECRECY[self.server], most=MOST_NEIGHBOURS)
        except InvalidValue as wrong:
            advice = f"in a cohort of {n} of whom {least} are counted on: use larger cohorts, or a larger `honest`"
            wrong.args = (f"{wrong} ({advice})",)
            raise

    def check_devices(self, n: int, least: int) -> None:
        """Raise `InvalidValue` unless devices, each by itself, can take part in the round of a cohort of n."""
        if n > MOST_DEVICES:  # first: all else takes longer, the more there are
            raise InvalidValue("the number of devices of a cohort", n, f"at most {MOST_DEVICES}")
        if (k := self.find_neighbourhood(n, least).k) > MOST_NEIGHBOURS:
            way = 'graph = "sparse"' if self.graph == "complete" else "a smaller `corrupted`"
            allowed = f"at most {MOST_NEIGHBOURS}, whose key shares fit into one message: use {way}, or fewer people"
            raise InvalidValue(f"the number of neighbours of a device in a cohort of {n}", k, allowed)

    def plan(self, n: int, least: int, modulus: int, cohort: bytes = b"", ring: bytes = bytes(KEY)) -> RoundPlan:
        """What the parties of a round agree on before it begins."""
        k, threshold, _ = self.find_neighbourhood(n, least)
        opened = least + self.count_corrupted(n)
        return RoundPlan(cohort, tuple(range(n)), k, threshold, opened, modulus, self.server == "malicious", ring)


class AgreedRounds(NamedTuple):
    """What the devices of a cohort agree on, and how often they try.

    >>> AgreedRounds.from_table(AgreedRounds(RoundRules(), 2).to_table(), "a place") == AgreedRounds(RoundRules(), 2)
    True
    """

    rules: RoundRules
    attempts: int

    def to_table(self) -> dict[str, Any]:
        """As a place says it."""
        return {**self.rules._asdict(), "corrupted": str(self.rules.corrupted), "attempts": self.attempts}

    @classmethod
    def from_table(cls, given: Any, whose: str) -> Self:
        """What `to_table` wrote, or raise `InvalidValue`, with the name of whoever says it."""
        if not isinstance(given, Mapping):
            raise InvalidValue(f"rounds of {whose}", type(given).__name__, "an object of JSON, or left out")
        part = given.get("corrupted")
        if not isinstance(part, str) or not PART_TEXT.fullmatch(part) or Fraction(part) >= 1:
            allowed = "a fraction such as 1/10, at least 0 and below 1, of numbers with at most nine digits"
            raise InvalidValue(f"corrupted of {whose}", part, allowed)
        for name, words in (("server", SERVERS), ("graph", GRAPHS)):
            if given.get(name) not in words:
                raise InvalidValue(f"{name} of {whose}", given.get(name), " or ".join(words))
        for name, most in (("smallest", LARGEST_SMALLEST), ("attempts", MOST_ATTEMPTS)):
            if type(given.get(name)) is not int or not 1 <= given[name] <= most:
                raise InvalidValue(f"{name} of {whose}", given.get(name), f"a whole number from 1 to {most}")
        return cls(RoundRules(Fraction(part), given["server"], given["graph"], given["smallest"]), given["attempts"])
