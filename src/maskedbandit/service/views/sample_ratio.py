"""Whether the application shows all arms equally often: an exact test, which is valid whenever somebody looks.

If it shows some arms less often, the people who saw an arm are not those who were given it at random, and all that the
study finds is biased. What is tested is that nobody's coming, and nobody's seeing an arm, depends on which arms people
are given.

**Why it is exact.** Cut the study at each time at which a place went back. Between two cuts nothing is added to what is
left of an epoch's cohorts, and whoever comes is dealt one of the places that are left, at random. So of the people of
one epoch between two cuts, any order of their arms is as likely as any other, given how many were dealt each arm: they
were assigned together. Of m such people let m_j have arm j, and let u have not seen theirs in time. If seeing does not
depend on arms, those u are as good as drawn from the m without replacement, whoever they are, so the number U of them
with arm j is hypergeometric. Hence, for any odds w > 1,

    w^U / E w^U,    U ~ Hypergeometric(m, m_j, u),

has mean 1 given all that happened before: a fair bet that the odds of missing arm j are w times those of the others.
How many come, how many of them see their arms, and when, may change in any way, and so may the shares of the arms: all
of that is given. The product over all such groups is a martingale, and so is the mean of these products over arms and
odds. It ever reaches 1/alpha with probability at most alpha [Vil39], whenever somebody looks.

A person may be refused because of what a place costs, which depends on the size of its cohort, so the places of a group
cost the same. Whoever came in the very millisecond of a cut is left out, as nobody knows on which side of it that was.
A group in which all have one arm says nothing. But whoever came last, when the places of one arm alone were left, is
part of a group with the others: who that is depends on their arms. For the same reason whoever pauses an arm, which
ends the groups of the moment, must not do so because of which arms the newest people were given.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import exp, lgamma, log

from msgspec import Struct

from maskedbandit.service.views.counted_places import KEPT_OR_DISCARDED
from maskedbandit.store.databases.database import Database

RATIO_ALARM = 0.001  # the probability with which an application that shows all arms alike is ever warned of
ODDS = (1.5, 4.0, 16.0)  # by which an arm is bet to be missed more often
FEW_CUTS = 256  # stretches that are read at once


class RatioEvidence(Struct, frozen=True):
    """What the test has found so far."""

    groups: int  # in which arms could be compared
    nats: float  # the logarithm of the largest product so far
    arm: int | None  # for which it was largest then
    since: int | None  # when the alarm began


class SampleRatio(Struct):
    """The bets of a study, which go on from where they were.

    >>> bets = SampleRatio(2)
    >>> for each in range(20):
    ...     bets.add_group((10, 10), (0, 2), at=each)
    >>> bets.found.arm, bets.found.since, round(bets.found.nats, 1)
    (1, 7, 23.7)
    """

    first: int  # arms at the start; those that are added share the other half of what is bet
    found: RatioEvidence = RatioEvidence(0, 0.0, None, None)
    worth: list[list[float]] = []  # nats of each bet, by arm and odds
    scanned: int = 0  # places before it were read
    cut: int = 0  # and stretches before it
    cuts: set[int] = set()  # that are known and later

    def add_group(self, dealt: Sequence[int], unseen: Sequence[int], at: int) -> None:
        """People who were assigned together: how many of each arm, and of those how many did not see it in time."""
        many, lost, before = sum(dealt), sum(unseen), self.found
        if not 0 < lost < many or max(dealt) == many:
            return
        self.worth += [[0.0] * len(ODDS) for _ in dealt[len(self.worth) :]]
        for arm, of_arm in enumerate(dealt):
            if of_arm:
                gains = bet_on(many, of_arm, lost, unseen[arm])
                self.worth[arm] = [now + gain for now, gain in zip(self.worth[arm], gains, strict=True)]
        each = [add_logs(worth) - log(len(ODDS)) + log(self._share(arm)) for arm, worth in enumerate(self.worth)]
        nats, since = add_logs(each), before.since
        best = before.nats, before.arm
        if nats > before.nats:
            best = nats, each.index(max(each))
        if since is None and nats >= -log(RATIO_ALARM):
            since = at
        self.found = RatioEvidence(before.groups + 1, *best, since)

    def _share(self, arm: int) -> float:
        """The part of what is bet that is bet on an arm: they add up to at most 1, however many are added."""
        return 0.5 / self.first if arm < self.first else 0.5 ** (arm - self.first + 2)

    def upto(
        self, database: Database, study: str, epochs: Sequence[int], k: int, until: int, discards: Iterable[int] = ()
    ) -> RatioEvidence:
        """With all places that were given before a time, of which it is decided whether they were seen.

        When a cohort is discarded, places that were seen go back too.
        """
        if until <= self.scanned:
            return self.found
        back = "SELECT DISTINCT returned FROM place WHERE study = ? AND assigned >= ? AND assigned < ?"
        found = database.rows(f"{back} AND returned IS NOT NULL", study, self.scanned, until)
        cuts = sorted(each for each in self.cuts.union(discards, (int(at) for (at,) in found)) if each > self.cut)
        known = bisect_left(cuts, until + 1)
        for start in range(0, known, FEW_CUTS):
            self._add(database, study, epochs, k, cuts[start : min(start + FEW_CUTS, known)])
        self.cuts, self.scanned = set(cuts[known:]), until
        return self.found

    def _add(self, database: Database, study: str, epochs: Sequence[int], k: int, cuts: list[int]) -> None:
        """Add the places that were given between these times."""
        find = (
            f"SELECT assigned, cohort, arm, loss, CASE WHEN {KEPT_OR_DISCARDED} THEN 0 ELSE 1 END FROM place "
            "WHERE study = ? AND assigned > ? AND assigned < ?"
        )
        groups = dict[tuple[int, int, int], tuple[list[int], list[int]]]()
        for assigned, cohort, arm, loss, back in database.rows(find, study, self.cut, cuts[-1]):
            stretch = bisect_left(cuts, assigned)
            if cuts[stretch] == assigned:
                continue
            dealt, unseen = groups.setdefault((stretch, epochs[cohort], loss), ([0] * k, [0] * k))
            dealt[arm] += 1
            unseen[arm] += back
        for (stretch, _, _), (dealt, unseen) in sorted(groups.items()):
            self.add_group(dealt, unseen, cuts[stretch])
        self.cut = cuts[-1]


@lru_cache(maxsize=65_536)
def bet_on(many: int, of_arm: int, lost: int, unseen: int) -> tuple[float, ...]:
    """The nats that each bet gains if so many of those who did not see their arm have this one."""
    least, most = max(0, lost - many + of_arm), min(lost, of_arm)
    chance = choose(of_arm, least) + choose(many - of_arm, lost - least) - choose(many, lost)
    chances = [chance]
    for u in range(least, most):
        chance += log((of_arm - u) * (lost - u)) - log((u + 1) * (many - of_arm - lost + u + 1))
        chances.append(chance)
    return tuple(
        unseen * log(odds) - add_logs([each + u * log(odds) for u, each in enumerate(chances, least)]) for odds in ODDS
    )


def choose(n: int, k: int) -> float:
    """ln of the number of ways to choose k of n."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def add_logs(terms: Sequence[float]) -> float:
    """ln of the sum of e^x."""
    top = max(terms)
    return top + log(sum([exp(each - top) for each in terms]))
