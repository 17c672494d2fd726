"""What the releases say of the further outcomes of each arm: of its guardrail and of its metrics.

Like all estimates it is computed from released sums and from the distribution of their noise alone. Each interval is
valid at any time, whatever the policy does by the reward, and whenever somebody looks.
"""

from collections.abc import Sequence
from functools import lru_cache

from maskedbandit import core
from maskedbandit.law import Law
from maskedbandit.service.views.answers import Compared, GuardrailResult, MetricResult
from maskedbandit.service.views.estimates import estimate_differences
from maskedbandit.store.book.book import Book
from maskedbandit.study.outcomes import MeasuredOutcome
from maskedbandit.study.reward import Reward
from maskedbandit.theory.sequences import mean_interval


def list_released(book: Book, number: int) -> list[list[core.Release]]:
    """The releases of each arm, of the outcome with this number in the protocol: the reward has 0."""
    cohorts, found = book.demand.deck.cohorts, [list[core.Release]() for _ in book.protocol.arms]
    for each in book.releases:
        found[each.arm].append(each.in_epoch(cohorts[each.cohort].epoch, number))
    return found


def estimate_guardrail(book: Book) -> tuple[GuardrailResult | None, ...]:
    """What was released of the guardrail of each arm; None of one without a release, or if there is no guardrail."""
    if book.protocol.guardrail is None:
        return (None,) * book.protocol.k
    outcome = book.protocol.outcomes[1]
    return tuple(
        GuardrailResult(*estimate_further(outcome.reward, outcome.channel.law(), tuple(each))) if each else None
        for each in list_released(book, 1)
    )


def estimate_metrics(book: Book) -> tuple[list[MetricResult], ...]:
    """What was released of the metrics of each arm, in the order of the protocol; nothing of one without a release."""
    outcomes = book.protocol.outcomes
    first = len(outcomes) - len(book.protocol.metrics)
    found = [estimate_metric(outcomes[i], list_released(book, i), book) for i in range(first, len(outcomes))]
    return tuple([each for each in arm if each] for arm in zip(*found, strict=True)) or ([],) * book.protocol.k


def estimate_metric(
    outcome: MeasuredOutcome, arms: Sequence[Sequence[core.Release]], book: Book
) -> list[MetricResult | None]:
    """What was released of a metric of each arm, and what it has more than the first one or the control."""
    law, control, found = outcome.channel.law(), book.protocol.control_arm, list[MetricResult | None]()
    base, _ = book.protocol.arms[control or 0]
    for each, more in zip(arms, estimate_differences(law, arms, control), strict=True):
        known, compared = estimate_further(outcome.reward, law, tuple(each)) if each else None, None
        if more is not None:
            ends = (outcome.reward.width * end for end in (more.mean, *more.interval))
            compared = Compared(base, *ends)
        found.append(known and MetricResult(outcome.metric, *known, compared))
    return found


@lru_cache(maxsize=4096)
def estimate_further(reward: Reward, law: Law, released: tuple[core.Release, ...]) -> tuple[int, float, float, float]:
    """Of how many people these releases are, their mean in units of the outcome, and the interval that it is in."""
    n, units = sum(each.n for each in released), reward.in_units
    low, high = mean_interval(law, released)
    return n, units(sum(each.total for each in released) / n), units(low), units(high)
