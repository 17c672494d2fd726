"""What a plan is compared with: a classical test of a fixed size, at whose end the arms are looked at once.

Equal numbers of people get each arm, each arm has one release, and the best arm is to be told from each of k − 1 others
by a one-sided z-test of level δ / (k − 1), with power 1 − δ if the difference is the one that was planned for:

    difference = (z_{1 − δ/(k−1)} + z_{1 − δ}) √((p (1 − p) + q (1 − q)) / n + 2 v / n²),    v: variance of the noise

with means p and q, under randomized response those of the bits. It is normal theory, and no proof; nobody may look
before its end, and its size is right for one difference alone. A search that may stop at any time, at whatever
difference there is, takes more people at that difference, and fewer at larger ones.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from maskedbandit.lab.goals.plans import Row
from maskedbandit.law import NO_NOISE, Law, is_response
from maskedbandit.policies.parts.fixed_phases import noise_variance


def size_fixed_test(law: Law, arms: int, low: float, high: float, delta: float) -> int:
    """The people of the test, all arms together, if all but the best have the mean `low`.

    >>> size_fixed_test(Law(NO_NOISE), 2, 0.3, 0.35, 0.05)
    3788
    """
    from scipy.special import ndtri  # which takes a fifth of a second to load

    rivals = max(arms - 1, 1)
    reach = -float(ndtri(delta / rivals)) - float(ndtri(delta))
    gap = high - low
    if is_response(law):
        low, high, gap = (law.flip + (1 - 2 * law.flip) * mean for mean in (low, high, gap))
        gap -= law.flip
    spread = low * (1 - low) + high * (1 - high)

    def enough(n: int) -> bool:
        noise = 0.0 if is_response(law) else 2 * noise_variance(law, n) / n**2
        return bool(reach * math.sqrt(spread / n + noise) <= gap)

    least, most = 0, 1
    while not enough(most):
        least, most = most, 2 * most
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if enough(middle) else (middle, most)
    return arms * most


def say_fixed_test(question: Any, rows: Sequence[Row]) -> Iterator[str]:
    """What is said of it below a plan of a search for the best of arms of which all others are alike."""
    if question.goal != "identify" or question.means is not None or question.difference is None or not rows:
        return
    low, high = question.baseline, question.baseline + rows[0].difference
    sizes = [("no privacy", Law(NO_NOISE))]
    sizes += [(row.trust, question.channel_of(row.trust, row.epsilon).law()) for row in rows]
    found = "; ".join(
        f"{name} {size_fixed_test(law, question.arms, low, high, question.delta):,}" for name, law in sizes
    )
    yield f"A test of fixed size for a difference of {rows[0].difference:.3g}, looked at once, takes: {found} people."
