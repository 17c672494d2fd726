"""Sites of unequal size: which of them may collude or be lost, and how much noise is left then.

In a cohort of n people, site s has n_s of them. It adds up their values and adds a noise share for n_s of `least`
people, least = ceil(honest n): for discrete Laplace noise the difference of two Pólya(n_s / least, b) variables, which
is what its people's own devices would add together. The sum over all sites is opened, and nothing else.

**Theorem.** Let the sites in A collude with the coordinator or be lost, and let h people be at the other sites. For a
person at one of these, all that A, the coordinator and the public see costs

    h >= least:   epsilon, exactly,
    h < least:    ln P(0) / P(g) > epsilon,     P the distribution of h / least draws of noise, g the steps in a reward.

So a coalition costs nothing exactly if it has at most n - least people, however many sites that are.

*Proof.* A knows its own people's values and its own noise, which are independent of all else, and subtracts them. What
is left of the view is the sum of the other sites' values and of their noise shares. Pólya variables of one b add up,
and their orders with them, so this noise is the difference of two Pólya(h / least, b) variables, whoever the sites are.
With h >= least that is one complete draw and independent noise of order h / least - 1, or none: the loss is at most
epsilon, and no less, as the ratio of the probabilities of neighbours tends to e^epsilon (privacy/laplace_sums.py).
With h < least the probabilities are log-convex from 0 on, so their ratio falls from P(0) / P(g), which is largest, to
e^epsilon, which it exceeds. A site that is lost gives neither values nor noise, and a site that colludes gives values
that A knows and noise that A subtracts: for the others both are the same. ∎

A person's own site sees the outcome anyway, so it is never against that person here. For Skellam noise order h / least
is a variance, and the same holds with its own loss; of discrete Gaussian noise a site adds n_s separate shares.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number, to_fraction

MOST_COALITION_SITES = 20  # of which all coalitions are looked at


@dataclass(frozen=True)
class SitePeople:
    """How many people of a cohort are at each site, and what part of all people must be honest.

    **Guarantee**: if the sites in `lost` collude with the coordinator or are lost, and `allows(lost)`, then a person
    at another site loses no more than is promised.

    >>> sites = SitePeople((500, 250, 150, 100), honest="0.6")
    >>> sites.least, sites.spare, sites.any_lost
    (600, 400, 0)
    >>> sites.allows({1, 2}), sites.allows({0}), sites.largest_coalitions()
    (True, False, [(1, 2), (1, 3), (2, 3)])
    """

    people: tuple[int, ...]
    honest: Number = 1

    def __post_init__(self) -> None:
        people = tuple(self.people)
        if not people or any(type(each) is not int or each < 0 for each in people) or sum(people) < 1:
            raise InvalidValue("people of sites", self.people, "whole numbers of at least 0, and one person or more")
        honest = to_fraction("honest", self.honest)
        if honest > 1:
            raise InvalidValue("honest", float(honest), "a fraction of the people, above 0 and at most 1")
        object.__setattr__(self, "people", people)
        object.__setattr__(self, "honest", honest)

    @property
    def n(self) -> int:
        """People in the cohort."""
        return sum(self.people)

    @property
    def least(self) -> int:
        """The least number of honest people in a sum, whose noise shares make one draw."""
        return -int(-Fraction(self.honest) * self.n // 1)

    @property
    def spare(self) -> int:
        """How many people may be at sites that collude or are lost."""
        return self.n - self.least

    def people_left(self, lost: Collection[int]) -> int:
        """How many people are at the sites that are neither lost nor collude."""
        for site in lost:
            if type(site) is not int or not 0 <= site < len(self.people):
                raise InvalidValue("site", site, f"the number of a site, from 0 to {len(self.people) - 1}")
        return sum(each for site, each in enumerate(self.people) if site not in lost)

    def allows(self, lost: Collection[int]) -> bool:
        """Whether such a coalition, and such losses, cost the people at other sites nothing."""
        return self.people_left(lost) >= self.least

    @property
    def any_lost(self) -> int:
        """How many sites may collude or be lost, whichever they are: so many of the largest are within `spare`."""
        return sum(together <= self.spare for together in accumulate(sorted(self.people, reverse=True)))

    @property
    def most_lost(self) -> int:
        """How many sites may collude or be lost at most: so many of the smallest are within `spare`."""
        return sum(together <= self.spare for together in accumulate(sorted(self.people)))

    def largest_coalitions(self) -> list[tuple[int, ...]]:
        """All coalitions that are allowed and to which no site could be added, in order."""
        if len(self.people) > MOST_COALITION_SITES:
            allowed = f"at most {MOST_COALITION_SITES}, for a list of coalitions; ask `allows` of one"
            raise InvalidValue("the number of sites", len(self.people), allowed)
        return sorted(coalition for coalition in self.extend((), 0, self.spare) if self.is_largest(coalition))

    def extend(self, coalition: tuple[int, ...], site: int, left: int) -> Iterator[tuple[int, ...]]:
        """All allowed coalitions that have these sites, and of those from `site` on any, while people are left."""
        if site == len(self.people):
            yield coalition
            return
        if self.people[site] <= left:
            yield from self.extend((*coalition, site), site + 1, left - self.people[site])
        yield from self.extend(coalition, site + 1, left)

    def is_largest(self, coalition: tuple[int, ...]) -> bool:
        """Whether no other site has few enough people to join."""
        left = self.spare - sum(self.people[site] for site in coalition)
        return all(each > left for site, each in enumerate(self.people) if site not in coalition)
