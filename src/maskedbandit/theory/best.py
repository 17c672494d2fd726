"""The confidence that an arm is the best, and that another one is better: over the same people, at any time.

Means of each arm's own people do not show which arm is best: a policy gives better arms more people as time goes on, so
if days differ, the mean of an arm depends on its days. So arms are compared over the people to whom both were dealt.
Arm b is better than a if the average difference of theory/differences.py, over the epochs that both have had so far, is
above 0. M for a difference of 0 is evidence of it: while b is not better, M ever reaches 1 / x with probability ≤ x,
whatever rule chose cohorts and stopped, and however people and days differ.

All ordered pairs of arms are looked at together. The k (k − 1) of the arms with which a study began share α; the 2 j
that the arm of number j, the i-th that was added, makes with those before it share α / (i (i + 1)). So

* an arm is *beaten* with a confidence of 1 − α if M of another arm in play against it reaches the number of equal
  parts into which α is divided for that pair, over α;
* an arm is the *best* with that confidence if with it each other arm in play is beaten by this one. That others are
  beaten by others is not enough: if drift is not common to all arms, each of three may be beaten by the next.

With probability at least 1 − α no statement about any pair with a confidence of 1 − α is ever false. If arms are added,
this probability is 1 − 2 α. If an arm is at least as good as each other in play, it is not beaten; and if drift is
common to all arms there is such an arm, that of the highest mean.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from maskedbandit.core import Release
from maskedbandit.law import Law
from maskedbandit.theory.differences import evidence_of_pair, pair_sums


class Confidence(NamedTuple):
    """The confidence that an arm is the best of those in play, and that another one is better: from 0 to 1."""

    best: float
    beaten: float


def confidence_of_best(
    law: Law, arms: Sequence[Sequence[Release]], in_play: Collection[int], began: int
) -> dict[int, Confidence]:
    """The confidence for each arm in play, from its releases, in a study that began with so many arms.

    Nothing is known, and the result is empty, if no two arms in play have had releases of the same epoch.

    **Guarantee**: the probability that any statement with confidence 1 - alpha is ever false is at most alpha, or 2
    alpha if arms were added, for any people, any drift, and any rule that chose cohorts and stopped.

    >>> from maskedbandit.law import NO_NOISE
    >>> a, b = (Release(0, 900, 520.0, 0), Release(0, 900, 611.0, 1)), (Release(1, 900, 404.0, 0),)
    >>> confidence_of_best(Law(NO_NOISE), [a, b], (0, 1), 2)[0].best > 0.9999
    True
    """
    by_epoch = {arm: {each.epoch: each for each in arms[arm]} for arm in in_play}
    pairs = {pair: shared_epochs(*(by_epoch[arm] for arm in pair)) for pair in combinations(sorted(in_play), 2)}
    if not any(pairs.values()):
        return {}
    better: dict[tuple[int, int], float] = {}  # the confidence that the one arm is better than the other
    for pair, epochs in pairs.items():
        ahead, found = evidence_of_order(law, epochs)
        sure = max(1 - parts_of_alpha(max(pair), began) * math.exp(-found), 0.0)
        better[pair[ahead], pair[1 - ahead]], better[pair[1 - ahead], pair[ahead]] = sure, 0.0
    others = {arm: [each for each in sorted(by_epoch) if each != arm] for arm in sorted(by_epoch)}
    return {
        arm: Confidence(min(better[arm, each] for each in of), max(better[each, arm] for each in of))
        for arm, of in others.items()
    }


def parts_of_alpha(newer: int, began: int) -> int:
    """The number of equal parts into which alpha is divided for an ordered pair of arms; the newer has this number."""
    added = newer - began + 1
    return began * (began - 1) if added <= 0 else 2 * newer * added * (added + 1)


Epochs = tuple[tuple[Release, Release], ...]


def shared_epochs(a: Mapping[int, Release], b: Mapping[int, Release]) -> Epochs:
    """The releases of the epochs in which both arms have one."""
    return tuple((each, b[epoch]) for epoch, each in a.items() if epoch in b)


@lru_cache(maxsize=4096)
def evidence_of_order(law: Law, epochs: Epochs) -> tuple[int, float]:
    """Which of the two arms of these epochs is ahead, 0 or 1, and the evidence that it is better, in nats."""
    lead = math.fsum(min(a.n, b.n) * (a.total / a.n - b.total / b.n) for a, b in epochs)
    ahead = int(lead < 0)
    known = pair_sums(law, [(b, a) for a, b in epochs] if ahead else epochs)
    return ahead, float(evidence_of_pair(law, known, 0.0)) if epochs else 0.0
