"""The rule that finds harm errs as rarely as it says, at the limit itself, and finds harm that is there.

An arm is watched through many cohorts at once, each of whose sizes may depend on the releases before it. Broken twins
of the rule err far more often: one forgets the noise, one looks at an interval for a fixed number of people again and
again, and one takes the bits that devices send under randomized response for outcomes. The older rule, by which all
that was ever released of an arm counts alike, does not find harm that begins late.
"""

import math
from typing import Any

import numpy as np
import pytest

from maskedbandit.channels.central import Central
from maskedbandit.channels.local import Local
from maskedbandit.channels.response import Response
from maskedbandit.core import Release
from maskedbandit.law import Law
from maskedbandit.noise_bounds import deviation
from maskedbandit.study.guardrail import Guardrail
from maskedbandit.study.reward import Reward
from maskedbandit.study.watch import HarmFound, Watch
from maskedbandit.theory.differences import PairSums
from maskedbandit.theory.sequences import Floats, Sums
from tests.for_each import for_each
from tests.statistics import at_most

LOCAL, RESPONSE = Local(epsilon=2).law(), Response(epsilon=1).law()
LAW, ALPHA, STUDIES, LIMIT = Central(epsilon=0.25).law(), 0.05, 300, 0.1
EPOCHS, ARMS = 16, 3


def rule(harm: dict[str, Any], kind: type[Watch] = Watch, law: Law = LAW) -> Watch:
    """A watch of three arms at a level of ALPHA."""
    table = {"name": "harm", "harm": harm, "alpha": ALPHA}
    return kind(Guardrail.from_table(table, Reward(), ("a", "b", "c")), law, ARMS)


def released(law: Law, ones: int, n: int, rng: np.random.Generator) -> float:
    """The sum of n bits, with the noise of a server or of n devices, or each turned over now and then."""
    if law.flip > 0:
        bits = rng.binomial(ones, 1 - law.flip) + rng.binomial(n - ones, law.flip)
        return float((bits - n * law.flip) / (1 - 2 * law.flip))
    draws, success = 1 if law.per_release else n, -math.expm1(-1 / law.scale)  # differences of geometric numbers
    return float(ones + rng.negative_binomial(draws, success) - rng.negative_binomial(draws, success))


def found(watch: Watch, means: list[float], seed: int, drift: float = 0.0) -> set[int]:
    """The arms that are ever found harmful; an arm that looks harmful gets smaller cohorts, as if by a policy."""
    rng, sizes = np.random.default_rng(seed), [40] * ARMS
    for epoch in range(EPOCHS):
        shift = drift * math.sin(epoch)
        for arm in rng.permutation(ARMS):
            n = sizes[arm]
            total = released(watch.law, rng.binomial(n, means[arm] + shift), n, rng)
            for each in watch.saw(Release(int(arm), n, total, epoch)):
                watch.declare(each.arm)
            sizes[arm] = 40 + 10 * epoch if total < n * (LIMIT + 0.05) else 25
    return watch.declared


def alarms(harm: dict[str, Any], kind: type[Watch] = Watch, drift: float = 0.0, law: Law = LAW) -> int:
    """In how many studies an arm is found harmful that is exactly at the limit."""
    return sum(bool(found(rule(harm, kind, law), [LIMIT] * ARMS, seed, drift)) for seed in range(STUDIES))


class Forgets(Watch):
    """It takes sums with noise for sums without."""

    def _worth(self, known: Sums) -> Floats:
        return super()._worth(known._replace(moments=0 * known.moments))


class Bits(Watch):
    """It takes the bits that devices send for outcomes."""

    def _worth(self, known: Sums) -> Floats:
        return Watch(self.guardrail, self.law._replace(flip=0.0), self.k)._worth(known)

    def _worth_of_pair(self, known: PairSums) -> Floats:
        return Watch(self.guardrail, self.law._replace(flip=0.0), self.k)._worth_of_pair(known)


class Once(Watch):
    """An interval that is right if it is looked at once."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.sums = dict.fromkeys(range(ARMS), (0, 0.0))

    def saw(self, release: Release) -> list[HarmFound]:
        n, total = self.sums[release.arm]
        n, total = self.sums[release.arm] = n + release.n, total + release.total
        spread = math.sqrt(n * LIMIT * (1 - LIMIT) + deviation(LAW, max(n // 40, 1), n) ** 2)
        z = (total - n * LIMIT) / spread
        return [HarmFound(release.arm, z)] if z > 2.1 and release.arm not in self.declared else []  # 0.05 / 3 one-sided


class Older(Watch):
    """The rule by which all that was ever released of an arm counts alike."""

    def __init__(self, guardrail: Guardrail, law: Law, k: int) -> None:
        super().__init__(guardrail, law, k, anew=False)


DIFFERENCE = {"above": 1e-9, "against": "a"}


@pytest.mark.slow
@pytest.mark.parametrize(("harm", "drift"), [({"above": LIMIT}, 0.0), ({"below": LIMIT}, 0.0), (DIFFERENCE, 0.08)])
@pytest.mark.parametrize("law", [LAW, LOCAL, RESPONSE], ids=["central", "local", "response"])
def test_false_alarms_are_as_rare_as_the_protocol_says(harm: dict[str, Any], drift: float, law: Law) -> None:
    at_most(alarms(harm, drift=drift, law=law), STUDIES, ALPHA)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "harm", "law"),
    [
        (Forgets, {"above": LIMIT}, Central(epsilon=0.1).law()),
        (Forgets, {"above": LIMIT}, LOCAL),
        (Once, {"above": LIMIT}, LAW),
        (Bits, {"above": LIMIT}, RESPONSE),
    ],
)
def test_broken_rules_err_more_often(kind: type[Watch], harm: dict[str, Any], law: Law) -> None:
    with pytest.raises(AssertionError, match="is more than"):
        at_most(alarms(harm, kind, law=law), STUDIES, ALPHA)


@pytest.mark.slow
def test_a_limit_of_a_difference_is_of_outcomes_and_not_of_bits() -> None:
    """The limit is below 0, and every difference is exactly at it."""
    harm, means = {"above": -0.6, "against": "a"}, [0.7, 0.1, 0.1]
    for kind, often in ((Watch, False), (Bits, True)):
        many = sum(bool(found(rule(harm, kind, RESPONSE), means, seed)) for seed in range(STUDIES))
        assert often == (many > STUDIES // 2)
        if not often:
            at_most(many, STUDIES, ALPHA)


@pytest.mark.slow
@for_each("law", [LAW, Local(epsilon=8).law(), Response(epsilon=6).law()])
@pytest.mark.parametrize(
    ("harm", "means"), [({"above": LIMIT}, [0.05, 0.3, 0.05]), ({"below": LIMIT + 0.2}, [0.5, 0.05, 0.5])]
)
def test_harm_is_found(harm: dict[str, Any], means: list[float], law: Law) -> None:
    right = sum(found(rule(harm, law=law), means, seed) == {1} for seed in range(60))
    at_most(60 - right, 60, 0.1)


@pytest.mark.slow
def test_a_difference_is_found_in_a_drift() -> None:
    right = sum(found(rule({"above": 0.05, "against": "a"}), [0.2, 0.6, 0.2], seed, 0.1) == {1} for seed in range(60))
    at_most(60 - right, 60, 0.1)


def until_found(kind: type[Watch], harm: dict[str, Any], seed: int, well: int = 130) -> float:
    """People of an arm from when it begins to do harm until it is found, of 3000: before it were so many cohorts."""
    watch, rng = rule(harm, kind, Central(epsilon=1).law()), np.random.default_rng(seed)
    for epoch in range(well + 20):
        for arm, mean in ((0, 0.01), (1, 0.01 if epoch < well else 0.09)):
            total = released(watch.law, rng.binomial(150, mean), 150, rng)
            if found := watch.saw(Release(arm, 150, total, epoch)):
                assert (found[0].arm, epoch >= well) == (1, True)
                return 150 * (epoch - well + 1)
    return math.inf


@pytest.mark.slow
@pytest.mark.parametrize("harm", [{"above": 0.03}, {"above": 0.02, "against": "a"}], ids=["mean", "difference"])
def test_harm_that_begins_late_is_found(harm: dict[str, Any]) -> None:
    """After 60 000 people of a study of three arms. By the older rule it takes 9000 people of the arm."""
    studies = 20
    at_most(sum(math.isinf(until_found(Watch, harm, seed)) for seed in range(studies)), studies, 0.1)
    with pytest.raises(AssertionError, match="is more than"):
        at_most(sum(math.isinf(until_found(Older, harm, seed)) for seed in range(studies)), studies, 0.1)


def test_alpha_is_shared_by_all_arms_that_may_ever_be_added() -> None:
    for harm in ({"above": 0.1}, {"above": 0.1, "against": "a"}):
        watch = rule(harm)
        own = [math.exp(-watch.enough(arm)) for arm in range(ARMS) if arm != watch.guardrail.against]
        more = [math.exp(-watch.enough(arm)) for arm in range(ARMS, 3000)]
        assert sum(own) == pytest.approx(ALPHA / 2)
        assert ALPHA / 2 * 0.999 < sum(more) < ALPHA / 2


def test_a_difference_counts_once_both_are_released() -> None:
    watch = rule({"above": 0.1, "against": "a"})
    assert watch.saw(Release(1, 500, 480.0, 0)) == []
    assert watch.evidence(1) == 0.0
    assert watch.saw(Release(0, 500, 20.0, 1)) == []  # of another epoch
    assert [each.arm for each in watch.saw(Release(0, 500, 20.0, 0))] == [1]
