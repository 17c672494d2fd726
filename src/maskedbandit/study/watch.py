"""The rule that finds harm: how surprising the releases of an arm's guardrail would be, if the arm did none.

After each release the evidence is M of theory/sequences.py, for a mean at the limit, or of theory/differences.py, for a
difference at the limit. While the arm's mean is within the limit, or its difference is, M is at most a non-negative
supermartingale from 1, whatever rule chose the cohorts. So it ever reaches 1 / a with probability <= a [Vil39], and the
arm is found harmful when it does. Of alpha, the m arms with which the study began share a half, and the arm that is
added as number j has alpha / (2 j (j + 1)): that adds up to alpha, however many are added. The arm that others are
compared with is not watched.

A difference counts in the epochs in which both arms have a cohort, and only once both are released. So it may drift in
common with all arms. A mean is that of the people who came, averaged; it may drift too.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from maskedbandit.core import Recorded
from maskedbandit.law import Law
from maskedbandit.study.guardrail import Guardrail
from maskedbandit.theory.differences import Pair, evidence_of_pair, pair_sums
from maskedbandit.theory.sequences import Sums, evidence, failures, of_sums, sums


class Found(NamedTuple):
    """An arm that was found harmful, and the evidence, in nats."""

    arm: int
    evidence: float


class Watch:
    """What is known of the guardrail of each arm of a study that began with k.

    >>> from maskedbandit.law import LAPLACE
    >>> from maskedbandit.study.reward import Reward
    >>> guardrail = Guardrail.from_table({"name": "errors", "harm": {"above": 0.1}}, Reward(), ("a", "b"))
    >>> watch = Watch(guardrail, Law(LAPLACE, scale=2.0, grid=1, per_release=1), 2)
    >>> watch.saw(Recorded(0, 200, 22.0, 0)), watch.saw(Recorded(1, 200, 61.0, 0))[0].arm
    ([], 1)
    """

    def __init__(self, guardrail: Guardrail, law: Law, k: int) -> None:
        self.guardrail, self.law, self.k = guardrail, law, k
        self.declared: set[int] = set()
        self._known: dict[int, Any] = {}  # Sums or Pair of each arm
        self._epochs: dict[int, dict[int, Recorded]] = {}  # releases of epochs, by arm

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
        known, limit = self._known.get(arm), self.guardrail.limit
        if known is None:
            return 0.0
        if isinstance(known, Pair):
            difference = limit * (1 - 2 * self.law.flip)  # of bits under randomized response
            return float(evidence_of_pair(self.law, known, -difference if self.guardrail.below else difference))
        if self.guardrail.below:
            return float(evidence(self.law, failures(known), of_sums(self.law, 1 - limit)))
        return float(evidence(self.law, known, of_sums(self.law, limit)))

    def saw(self, release: Recorded) -> list[Found]:
        """Take a release of the guardrail in: the arms that are now found harmful, and were not before."""
        changed = self._alone(release) if self.guardrail.against is None else self._compared(release)
        now = [Found(arm, self.evidence(arm)) for arm in changed if arm not in self.declared]
        return [each for each in now if each.evidence >= self.enough(each.arm)]

    def declare(self, arm: int) -> None:
        """The arm was found harmful: it is watched no longer."""
        self.declared.add(arm)

    def _alone(self, release: Recorded) -> list[int]:
        new, before = sums(self.law, [release]), self._known.get(release.arm)
        self._known[release.arm] = new if before is None else Sums(*map(np.add, before, new))
        return [release.arm]

    def _compared(self, release: Recorded) -> list[int]:
        control = self.guardrail.against
        epoch = self._epochs.setdefault(release.epoch, {})
        epoch[release.arm] = release
        arms = [arm for arm in epoch if arm != control] if release.arm == control else [release.arm]
        if control not in epoch:
            return []
        for arm in arms:
            both = (epoch[arm], epoch[control])
            new, before = pair_sums(self.law, [both[::-1] if self.guardrail.below else both]), self._known.get(arm)
            self._known[arm] = new if before is None else Pair(*map(np.add, before, new))
        return arms
