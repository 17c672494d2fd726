"""The rules of a round of single devices: who may be corrupted, and whom the server may deceive.

They stand in the protocol of a study, and each device that agreed to them computes the plan of its round from them, and
from its offer. See backends/secagg.py for what they mean.
"""

from fractions import Fraction
from typing import NamedTuple

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
            return choose_neighbours(n, c, n - c - least, malicious, SECRECY[self.server])
        except InvalidValue as wrong:
            advice = f"in a cohort of {n} of whom {least} are counted on: use larger cohorts, or a larger `honest`"
            wrong.args = (f"{wrong} ({advice})",)
            raise

    def plan(self, n: int, least: int, modulus: int, cohort: bytes = b"", ring: bytes = bytes(KEY)) -> RoundPlan:
        """What the parties of a round agree on before it begins."""
        k, threshold, _ = self.find_neighbourhood(n, least)
        opened = least + self.count_corrupted(n)
        return RoundPlan(cohort, tuple(range(n)), k, threshold, opened, modulus, self.server == "malicious", ring)
