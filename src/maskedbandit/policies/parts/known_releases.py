"""The common part of policies of the exact likelihood: the releases, estimates, and sizes of cohorts.

docs/released_likelihood.md has the reasons for the sizes. All of it is post-processing.
"""

import math
from typing import Protocol

import numpy as np

from maskedbandit.checks import is_number
from maskedbandit.core import kernel, large_kernel, lean_kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law, adds_noise, draws_of_one, is_sub_gamma, unit_variance
from maskedbandit.policies.parts.batches import Schedule, close_cohort
from maskedbandit.theory.likelihood import ArmReleases, likeliest_mean

MOST_RELEASES = 256  # releases of one arm that are kept
MANY_RELEASES = 192  # from there on counts at least double, so there is space for as many as 64 bits can count
OUTWEIGHED = 17.0  # standard deviations of its noise in the first release of an arm
LEAST_GROWTH = 0.05
LEAST_FIRST_PART = 0.15  # of the users of a first cohort of few arms: a release of fewer is mostly noise
WHILE_WAITING = 0.5  # the same, while a release of the arm is in flight: more of them would not be known any sooner
MIXTURE_LOSS = 4.0  # nats that the mixture of bets loses to the best of them, about
AIMED = 0.3  # of the missing evidence, by a cohort whose release has no noise
COUNTED = 2.0  # how often the variance of the noise is counted there
AIM_MARGIN = 0.5  # a cohort aims at so much more evidence than the threshold needs
NOT_COMPUTED = -1.0  # evidence that was not computed
BEATEN = 0.075  # of `forced`, for arms of which all evidence suffices


class KnownState(Schedule, Protocol):
    """The part of the state that holds the releases."""

    @property
    def total(self) -> np.ndarray: ...  # [k, MOST]
    @property
    def users(self) -> np.ndarray: ...  # [k, MOST]
    @property
    def m(self) -> np.ndarray: ...  # [k] releases
    @property
    def mean(self) -> np.ndarray: ...  # [k] the likeliest
    @property
    def fresh(self) -> np.ndarray: ...  # [k] 1: released since the last update
    @property
    def threshold(self) -> float: ...  # of the evidence
    @property
    def growth(self) -> float: ...  # a cohort has at most so many times the arm's released users
    @property
    def least(self) -> int: ...  # users of a cohort


def lacks_pmf(law: Law) -> str:
    """What a channel lacks for these policies."""
    if law.counter > 0:
        return "releases that are independent of one another"
    if is_sub_gamma(law):
        return "noise whose probabilities are known"
    if adds_noise(law) and (law.grid != 1 or law.root > 0):
        return "rewards rounded to bits (grid = 1), as otherwise the distribution of a sum is not known"
    if law.per_pull > 0:
        return "noise that is added to whole sums, not to every reward"
    return ""


def check_growth(growth: float) -> None:
    """Check the largest size of a cohort, as a multiple of the arm's released users."""
    if not (is_number(growth) and 0.1 <= growth <= 100):
        raise InvalidValue("growth", growth, "a number from 0.1 to 100")


def check_forced_growth(forced: float, growth: float) -> None:
    """The fraction of users below which an arm is starved, and the growth of an arm by a cohort."""
    check_growth(growth)
    if not (is_number(forced) and 0 <= forced * (1 + growth) <= 1):  # else a cohort of one arm would starve all others
        raise InvalidValue("forced", forced, f"a number from 0 to 1 / (1 + growth) = {1 / (1 + growth):g}")


@kernel
def arm_releases(s: KnownState, a: int) -> ArmReleases:
    """The releases of an arm."""
    return ArmReleases(s.total[a], s.users[a], s.m[a])


@kernel
def release_deviation(law: Law, n: int) -> float:
    """Standard deviation of the noise of a release."""
    draw = law.scale * math.sqrt(unit_variance(law))
    return draw * math.sqrt(draws_of_one(law, n)) if adds_noise(law) else 0.0


@kernel
def first_users(law: Law, deviations: float = OUTWEIGHED) -> int:
    """Users in the first cohort of each arm: enough to tell means 1/8 apart, and to outweigh the noise."""
    bits = 8 / ((1 - 2 * law.flip) * (1 - 2 * law.flip))
    return math.ceil(max(bits, deviations * release_deviation(law, 1)))


@kernel
def beginning_users(s: KnownState, law: Law, deviations: float = OUTWEIGHED) -> int:
    """The same, but at least as many as the policy asks for."""
    return max(s.least, first_users(law, deviations))


@large_kernel
def update_means(s: KnownState, law: Law) -> bool:
    """Bring the likeliest means up to date; whether there is a new release."""
    news = False
    for a in range(s.n.size):
        if s.fresh[a] == 1:
            news = True
            guess = s.total[a, 0] / s.n[a] if s.m[a] == 1 else s.mean[a]
            s.mean[a] = likeliest_mean(law, arm_releases(s, a), guess)
    return news


@kernel
def expect_evidence(found: float, more: float) -> float:
    """The evidence once all users in flight are released, if they show the same as those before.

    What bets gain grows by the factor `more`, and what their mixture loses to the best of them does not.
    """
    return found + max(found + MIXTURE_LOSS, 1.0) * (more - 1.0)


@large_kernel
def next_size(s: KnownState, law: Law, arm: int, found: float, gain: float, more: float) -> int:
    """Users of the next cohort of an arm, so that the evidence may suffice.

    There are at most `growth` times as many as were released, or a twentieth of those asked for: what is in flight
    says nothing yet. A cohort that aims at all that is missing oversteps it by the random part of its evidence. Smaller
    ones stop sooner, but each has noise of its own. So it aims at the less of it, the less of its variance is noise
    that is added to releases: `loud` is how much.

    `found` is the evidence, `gain` that of the best bet in it, and `more` the factor by which both will have grown once
    the users in flight are released.
    """
    n = s.asked[arm]
    gain = max(gain, 0.3) * more
    short = s.threshold + AIM_MARGIN + max(gain - found * more, 2.0)  # the loss of the mixture of bets is added
    least = 1.0 if s.m[arm] + s.flight[arm] >= MANY_RELEASES else LEAST_GROWTH
    missing, mean = n * (short / gain - 1), min(max(s.mean[arm], 0.01), 0.99)
    deviation = release_deviation(law, n)
    noise = COUNTED * (deviation * deviation)
    loud = noise / (noise + max(missing, 1.0) * mean * (1 - mean))
    most = s.growth * s.n[arm]
    users = max(n * least, min((AIMED + (1 - AIMED) * loud) * missing, most))
    part = WHILE_WAITING if s.flight[arm] > 0 else LEAST_FIRST_PART
    return max(s.least, math.ceil(max(users, min(part * first_users(law), most))))


@lean_kernel
def keep_release(s: KnownState, arm: int, n: int, total: float) -> None:
    """Keep a release."""
    if s.m[arm] == MOST_RELEASES:  # only if most users drop out of most cohorts; the evidence is valid without it
        close_cohort(s, arm, 0)
        return
    s.total[arm, s.m[arm]] = total
    s.users[arm, s.m[arm]] = n
    s.m[arm] += 1
    s.fresh[arm] = 1
    close_cohort(s, arm, n)
