"""The rule that finds harm: how surprising the releases of an arm's guardrail would be, if the arm did none.

After each release the evidence is S of theory/sequences.py: a mean of processes M of which one begins with each release
of the arm. M is that of theory/sequences.py, for a mean at the limit, or of theory/differences.py, for a difference at
the limit. While the mean of the arm's people is within the limit since each of its releases, or the difference is, S is
at most a non-negative supermartingale from 1, whatever rule chose the cohorts. So it ever reaches 1 / a with
probability <= a [Vil39], and the arm is found harmful when it does. Of alpha, the m arms with which the study began
share a half, and the arm that is added as number j has alpha / (2 j (j + 1)): that adds up to alpha, however many are
added. The arm that others are compared with is not watched.

A difference counts in the epochs in which both arms have a cohort, and only once both are released. So it may drift in
common with all arms. A mean is that of the people who came, averaged; within the limit it may drift too.

Studies that began under an older rule keep it: of all these processes theirs has the first alone, so harm that begins
late may never be found.
"""

import math
from typing import NamedTuple

from maskedbandit.core import Floats, Release
from maskedbandit.law import Law
from maskedbandit.study.guardrail import Guardrail
from maskedbandit.theory.differences import PairSums, pair_sums, worth_of_bets_on_pair
from maskedbandit.theory.sequences import Restarts, Sums, of_sums, sum_failures, sum_releases, worth_of_bets


class HarmFound(NamedTuple):
    """An arm that was found harmful, and the evidence, in nats."""

    arm: int
    evidence: float


class Watch:
    """What is known of the guardrail of each arm of a study that began with k; `anew`: not under the older rule.

    >>> from maskedbandit.law import LAPLACE
    >>> from maskedbandit.study.reward import Reward
    >>> guardrail = Guardrail.from_table({"name": "errors", "harm": {"above": 0.1}}, Reward(), ("a", "b"))
    >>> watch = Watch(guardrail, Law(LAPLACE, scale=2.0, grid=1, per_release=1), 2)
    >>> watch.saw(Release(0, 200, 22.0, 0)), watch.saw(Release(1, 200, 61.0, 0))[0].arm
    ([], 1)
    """

    def __init__(self, guardrail: Guardrail, law: Law, k: int, anew: bool = True) -> None:
        self.guardrail, self.law, self.k, self.anew = guardrail, law, k, anew
        self.declared: set[int] = set()
        self._known: dict[int, Restarts] = {}  # of each arm
        self._epochs: dict[int, dict[int, Release]] = {}  # releases of epochs, by arm

    def enough(self, arm: int) -> float:
        """The evidence, in nats, at which an arm is harmful."""
        if arm < self.k:
            parts = 2 * (self.k - (self.guardrail.against is not None))
        else:
            j = arm - self.k + 1
            parts = 2 * j * (j + 1)
        return math.log(parts / self.guardrail.alpha)

    def evidence(self, arm: int) -> float:
        """In nats, by what was released so far."""
        return self._known[arm].evidence if arm in self._known else 0.0

    def saw(self, release: Release) -> list[HarmFound]:
        """Take a release of the guardrail in: the arms that are now found harmful, and were not before."""
        changed = self._alone(release) if self.guardrail.against is None else self._compared(release)
        now = [HarmFound(arm, self.evidence(arm)) for arm in changed if arm not in self.declared]
        return [each for each in now if each.evidence >= self.enough(each.arm)]

    def declare(self, arm: int) -> None:
        """The arm was found harmful: it is watched no longer."""
        self.declared.add(arm)

    def _alone(self, release: Release) -> list[int]:
        self._add(release.arm, self._worth(sum_releases(self.law, [release])))
        return [release.arm]

    def _compared(self, release: Release) -> list[int]:
        control = self.guardrail.against
        epoch = self._epochs.setdefault(release.epoch, {})
        epoch[release.arm] = release
        arms = [arm for arm in epoch if arm != control] if release.arm == control else [release.arm]
        if control not in epoch:
            return []
        for arm in arms:
            both = (epoch[arm], epoch[control])
            self._add(arm, self._worth_of_pair(pair_sums(self.law, [both[::-1] if self.guardrail.below else both])))
        return arms

    def _add(self, arm: int, worth: Floats) -> None:
        self._known.setdefault(arm, Restarts(self.anew)).add(worth)

    def _worth(self, known: Sums) -> Floats:
        """What a release is worth to each bet against a mean at the limit."""
        if self.guardrail.below:
            return worth_of_bets(self.law, sum_failures(known), of_sums(self.law, 1 - self.guardrail.limit))
        return worth_of_bets(self.law, known, of_sums(self.law, self.guardrail.limit))

    def _worth_of_pair(self, known: PairSums) -> Floats:
        """What an epoch is worth to each bet against a difference at the limit."""
        difference = self.guardrail.limit * (1 - 2 * self.law.flip)  # of bits under randomized response
        return worth_of_bets_on_pair(self.law, known, -difference if self.guardrail.below else difference)
