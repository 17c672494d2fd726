"""The means for which a study is planned: the hardest ones with a difference, or given ones and their difference."""

from collections.abc import Sequence

from maskedbandit.checks import is_number
from maskedbandit.errors import InvalidValue
from maskedbandit.policies.parts.selection import Above, Selection, SelectionQuestion, Top
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import to_whole


def question_of(policy: Policy | None) -> SelectionQuestion:
    """Which arms a policy looks for, by default the best one.

    >>> from maskedbandit.policies.select.top_arms import TopArms
    >>> question_of(TopArms(m=2)), question_of(None)
    (Top(m=2), Top(m=1))
    """
    return policy.question if isinstance(policy, Selection) else Top(1)


def find_hardest_means(policy: Policy, arms: int, baseline: float, difference: float) -> list[float]:
    """The means with which the best arms are hardest to find, if they are better than the others by the difference.

    Of arms above a threshold one is better.
    """
    better = _best(question_of(policy))
    return [baseline + difference] * better + [baseline] * (arms - better)


def described_by(means: Sequence[float], policy: Policy | None = None) -> tuple[int, float, float]:
    """The number of arms, the highest mean that is not among the best, and by how much the best are better.

    For arms above a threshold, the last two are the lower of the threshold and the mean nearest to it, and their
    difference.

    >>> from maskedbandit.policies.select.arms_above import ArmsAbove
    >>> described_by([0.25, 0.5, 0.125]), described_by([0.25, 0.875, 0.125], ArmsAbove(theta=0.5))
    ((3, 0.25, 0.25), (3, 0.25, 0.25))
    """
    if isinstance(means, str) or len(means) < 2 or not all(is_number(mean) and 0 <= mean <= 1 for mean in means):
        raise InvalidValue("means", means, "at least two numbers from 0 to 1")
    question = question_of(policy)
    if isinstance(question, Above):
        low, high = min((_told_apart(mean, question) for mean in means), key=lambda pair: pair[1] - pair[0])
    else:
        m = _best(question)
        to_whole("arms", len(means), m + 1)
        high, low = sorted(means, reverse=True)[m - 1 : m + 1]
        if low == high:
            best = "one is the highest" if m == 1 else f"the {m} best are better than all others"
            raise InvalidValue("means", list(means), f"such that {best}")
    return len(means), float(low), float(high - low)


def _best(question: SelectionQuestion) -> int:
    """The number of best arms."""
    return question.m if isinstance(question, Top) else 1


def _told_apart(mean: float, question: Above) -> tuple[float, float]:
    """The mean and the nearest one at which an answer that is right for it is wrong, the lower one first."""
    if mean < question.theta:
        return mean, question.theta + question.tolerance
    return question.theta - question.tolerance, mean
