"""Secure aggregation by sites that keep the outcomes of their own people: hospitals, schools, branches.

A site is one party of a round, for as many people as it has in the cohort: it adds up their values, each with its noise
share, as a device would send it. So the sum has the distribution of one over the people's own devices, and the
coordinator learns no sum of a site. All rounds are signed, on the complete graph.

A site that colludes tells the coordinator its own sum, with its noise. So noise is counted on only of the people that
are left without the `colluding` heaviest of the sites in the sum, and a sum with fewer of them is not opened, by any
honest site (`RoundPlan.count_people`). `lost` sites may be away; a round waits for all others.

**Guarantee**: if at most `colluding` sites collude with the coordinator, all that they learn of the people of the
other sites is one sum over a list of sites, with noise shares of at least as many honest people as the channel counts
on. It holds for sure on the complete graph [BIK17], for signing keys that the sites know of each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from math import floor

from maskedbandit.backends.backend import Adder, Aggregate, parse_fraction
from maskedbandit.backends.secagg import rehearse_round
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number, to_fraction
from maskedbandit.privacy.sampling import Bits, bernoulli
from maskedbandit.secagg.masks import KEY, random_bytes
from maskedbandit.secagg.parameters import complete_threshold
from maskedbandit.secagg.plan import RoundPlan

MOST_SITES = 100
PHASES = 5  # of a signed round


@dataclass(frozen=True)
class Sites(Adder):
    """A rehearsal of rounds of sites. `shares` are the most places of a cohort that the people of each site may have.

    A site drops out with probability `dropout`, before a phase drawn at random. A cohort may be tried `attempts` times;
    each attempt is charged in full.

    >>> sites = Sites(shares=("0.5", "0.25", "0.25", "0.25"), colluding=1)
    >>> sites.places(1000), sites.least_people(1000)
    ((500, 250, 250, 250), 500)
    >>> sites.sum([3, 4, 6, 1], 16, least=2, cohort=b"example", bits=Bits()).total
    14
    """

    shares: tuple[Number, ...] = ("1/3", "1/3", "1/3")
    colluding: int = 0
    lost: int = 0
    attempts: int = 1
    dropout: Number = 0

    def __post_init__(self) -> None:
        shares = tuple(to_fraction("share", share) for share in self.shares)
        if not 3 <= len(shares) <= MOST_SITES:
            raise InvalidValue("the number of sites", len(shares), f"from 3 to {MOST_SITES}; for two, use two servers")
        if max(shares) > 1 or sum(shares) < 1:
            raise InvalidValue("shares", [str(each) for each in shares], "each at most 1, and 1 or more together")
        object.__setattr__(self, "shares", shares)
        object.__setattr__(self, "dropout", parse_fraction("dropout", self.dropout))
        for name in ("colluding", "lost"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 0:
                raise InvalidValue(name, getattr(self, name), "a whole number of at least 0")
        if type(self.attempts) is not int or self.attempts < 1:
            raise InvalidValue("attempts", self.attempts, "a whole number of at least 1")
        if self.threshold > len(shares) - 1:
            allowed = f"at most {len(shares) - 2} of {len(shares)} sites: two others must agree on what is opened"
            raise InvalidValue("colluding", self.colluding, allowed)
        if self.threshold > len(shares) - 1 - self.lost:
            most = len(shares) - 1 - self.threshold
            allowed = f"at most {most} of {len(shares)} sites, if {self.colluding} collude: sites open a sum together"
            raise InvalidValue("lost", self.lost, allowed)

    @property
    def threshold(self) -> int:
        """How many other sites must agree on what is opened."""
        return max(2, complete_threshold(len(self.shares) - 1, self.colluding, malicious=True))

    @cached_property
    def _ratios(self) -> list[tuple[int, int]]:
        """The shares in whole numbers, with which places are counted quickly."""
        return [Fraction(share).as_integer_ratio() for share in self.shares]

    def places(self, n: int, least: int = 0) -> tuple[int, ...]:
        """How many places of a cohort of n the people of each site may have, if so many must be left: whole numbers.

        Shares are rounded up. If that leaves too few, those of the `colluding` and `lost` heaviest sites are rounded
        down, and no other site has more places then, so that at least n (1 - their shares) people are left without
        them. If these are fewer than n places together, the smallest are rounded up all the same, as many as it takes.

        >>> sites = Sites(shares=("1/2", "1/2", "1/4", "1/4"), colluding=1)
        >>> sites.places(101), sites.places(101, 51), Sites(colluding=1).places(4, 3)
        ((51, 51, 26, 26), (50, 50, 26, 26), (1, 1, 2))
        """
        n = int(n)  # of NumPy's too, which has no numbers as large as these become
        up, many = [-(-top * n // bottom) for top, bottom in self._ratios], self.colluding + self.lost
        if n - sum(sorted(up, reverse=True)[:many]) >= least or not many:
            return tuple(up)
        exact = [Fraction(share) * n for share in self.shares]
        down = [top * n // bottom for top, bottom in self._ratios]
        lightest = sorted(exact, reverse=True)[many - 1]  # of the heaviest
        found = [down[i] if exact[i] >= lightest else min(up[i], floor(lightest)) for i in range(len(exact))]
        for i in sorted(range(len(exact)), key=lambda i: (exact[i], -i)):
            if sum(found) >= n:
                break
            found[i] = up[i]
        return tuple(found)

    def least_people(self, n: int, least: int = 0) -> int:
        """How many honest people are in a sum of a cohort of n, whichever sites are lost and collude."""
        heaviest = sorted(self.places(n, least), reverse=True)[: self.colluding + self.lost]
        return max(0, n - sum(heaviest))

    def check_size(self, n: int, least: int) -> None:
        if (left := self.least_people(n, least)) < least:
            allowed = (
                f"at most {left}, which are left if {self.colluding} sites collude and {self.lost} are "
                "lost: lower `honest` of the channel, or use larger cohorts, or smaller shares of the largest sites"
            )
            raise InvalidValue(f"the number of honest people counted on in a cohort of {n}", least, allowed)

    def plan(self, weights: Mapping[int, int], least: int, modulus: int, cohort: bytes, ring: bytes) -> RoundPlan:
        """What the sites of a round agree on: of each, by its number, so many people are in the cohort."""
        sites = tuple(weights)
        opened = len(sites) - self.lost
        return RoundPlan(
            *(cohort, sites, len(sites) - 1, self.threshold, opened, modulus, True, ring),
            *(tuple(weights.values()), least, self.colluding),
        )

    def sum(self, values: Sequence[int], modulus: int, least: int, cohort: bytes, bits: Bits) -> Aggregate:
        n, whole = len(values), sum(Fraction(share) for share in self.shares)
        ends = [int(share * n / whole) for share in accumulate(Fraction(share) for share in self.shares)]
        people = [range(start, end) for start, end in zip([0, *ends], ends, strict=False)]
        seed = random_bytes(KEY, bits)
        weights = {site: len(each) for site, each in enumerate(people)}
        plan = self.plan(weights, least, modulus, cohort, sha256(seed).digest())
        sums = {site: sum(values[user] for user in each) % modulus for site, each in enumerate(people)}
        leaves = {site: bits.below(PHASES) for site in sums if bernoulli(Fraction(self.dropout), bits)}
        found = rehearse_round(plan, seed, sums, leaves, bits)
        return found._replace(survivors=[user for site in found.survivors for user in people[site]])
