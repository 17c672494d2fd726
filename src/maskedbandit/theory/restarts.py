"""Evidence that begins anew with every release, so that what changes late is found as well.

M of sequences.py and of differences.py begins with the first release. If an arm was far within a limit for long, all
that has to be made up for before M shows that it is now beyond it. So let M_s be the same process from release s on,
1 before it, and

    S = sum over s = 1, 2, ... of M_s / (s (s + 1)).

The weights add up to 1. If the average over the people since any release was within the limit, each M_s is at most a
non-negative supermartingale from 1, and so is S. So S ever reaches 1 / a with probability <= a [Vil39], however long
releases go on. What begins with release s pays ln(s (s + 1)) nats for it: 0.7 with the first, 9 with the hundredth.

M_s is a mean over bets, and what a bet is worth is a product over releases. So one number for each bet is enough,
whatever the number of releases: (the sum before + the weight of what begins now) x the factor of this release.
"""

import math

import numpy as np

from maskedbandit.theory.sequences import Floats, log_mean_exp


class Restarts:
    """S so far, from what each release was worth to each bet; without `anew` M alone, which never begins again.

    >>> late, once = Restarts(), Restarts(anew=False)
    >>> for worth in [-0.5] * 40 + [0.5] * 30:
    ...     late.add(np.array([worth]))
    ...     once.add(np.array([worth]))
    >>> round(late.evidence, 1), once.evidence
    (9.0, -5.0)
    """

    def __init__(self, anew: bool = True) -> None:
        self.anew, self.releases = anew, 0
        self._worth: Floats | float = -math.inf  # ln of the weighted sum over all that has begun, of each bet

    def add(self, worth: Floats) -> None:
        """Take in ln of what the next release is worth to each bet."""
        s = self.releases = self.releases + 1
        weight = 1 / (s * (s + 1)) if self.anew else float(s == 1)
        begins = math.log(weight) if weight else -math.inf
        self._worth = np.logaddexp(self._worth, begins) + worth

    @property
    def evidence(self) -> float:
        """ln S, in nats."""
        if not self.releases:
            return 0.0
        begun = log_mean_exp(np.asarray(self._worth))
        later = -math.log(self.releases + 1) if self.anew else -math.inf  # what begins with releases that are to come
        return float(np.logaddexp(begun, later))
