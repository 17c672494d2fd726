"""Users who return: each way of adding up gives noise that suffices, and hardly less would not."""

import math
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.channels.central import Central
from maskedbandit.errors import BudgetExceeded, InvalidValue
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.budget import Ledger
from maskedbandit.privacy.gaussian import gaussian_epsilon
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.repeated_batches import by_batches, concentrated_deviation, ledger_deviation, returning_users
from tests.for_each import for_each
from tests.statistics import seeded

COUNTS = [1, 2, 5, 10, 100, 1000]


def concentrated(deviation, batches, delta):
    """Epsilon of the composition of Gaussian batches, by adding up their losses one by one."""
    return sum((Loss.gaussian(Fraction(deviation) ** 2) for _ in range(batches)), 0 * Loss.pure(1)).epsilon(delta)


@for_each("epsilon", ["0.1", "0.5", "1"])
@for_each("delta", ["1e-5", "1e-6"])
@for_each("batches", [1, 7, 100])
class TestSuffices:
    @pytest.mark.slow
    def test_concentrated(self, batches, epsilon, delta):
        deviation = returning_users(batches, epsilon, delta).concentrated
        assert concentrated(deviation, batches, delta) <= Fraction(epsilon)
        assert concentrated(0.99 * deviation, batches, delta) > Fraction(epsilon)

    @pytest.mark.slow
    def test_advanced(self, batches, epsilon, delta):
        """Each batch has the fraction of [DR14, Cor. 3.21], and 1 % less noise has not."""
        deviation = returning_users(batches, epsilon, delta).advanced
        fraction = float(Fraction(epsilon)) / math.sqrt(8 * batches * math.log(2 / Fraction(delta)))
        tail = Fraction(delta) / (2 * batches)
        assert gaussian_epsilon(1 / deviation, tail) <= fraction < gaussian_epsilon(1 / (0.99 * deviation), tail)

    @pytest.mark.slow
    def test_basic(self, batches, epsilon, delta):
        deviation = returning_users(batches, epsilon, delta).basic
        rate = math.sqrt(2) / deviation  # of Laplace noise
        assert batches * rate <= float(Fraction(epsilon)) < batches * rate / 0.99


def test_by_hand():
    """rho + 2 sqrt(rho ln(1/delta)) = epsilon at rho = 0.02082, delta = 1e-5; the best order needs less noise.

    Advanced composition at B = 10, epsilon = 1, delta = 1e-6: batches of epsilon 1 / (2 sqrt(20 ln 2e6)) = 0.02935
    and delta 5e-8.
    """
    deviation = returning_users(10, 1, 1e-5).concentrated
    rho, delta = 10 / (2 * deviation**2), 1e-5
    orders = (1 + i / 100 for i in range(1, 10_000))
    best = min(rho * a + math.log(1 - 1 / a) - math.log(delta * a) / (a - 1) for a in orders)
    assert 0.99 < best <= 1
    assert 0.8 * math.sqrt(10 / (2 * 0.02082)) < deviation < math.sqrt(10 / (2 * 0.02082))
    assert returning_users(10, 1, 1e-6).advanced == pytest.approx(1 / shift(0.02935, 5e-8), rel=1e-3)
    assert returning_users(4, "0.5", 1e-6).basic == pytest.approx(8 * math.sqrt(2), rel=1e-9)


def shift(epsilon, delta):
    """The mu of which Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) = delta, with nothing but erfc."""
    low, high = 1e-6, 10.0
    for _ in range(100):
        mu = (low + high) / 2
        near, far = ((epsilon / mu + sign * mu / 2) / math.sqrt(2) for sign in (-1, 1))
        if (math.erfc(near) - math.exp(epsilon) * math.erfc(far)) / 2 <= delta:
            low = mu
        else:
            high = mu
    return low


@pytest.mark.slow
def test_noise_grows_with_batches_and_with_privacy():
    rows = by_batches(COUNTS, "0.5", 1e-6)
    assert [row.batches for row in rows] == COUNTS
    for way in ("concentrated", "advanced", "basic", "ledger"):
        found = [getattr(row, way) for row in rows]
        assert found == sorted(found)
        assert getattr(returning_users(10, "0.4", 1e-6), way) > getattr(returning_users(10, "0.5", 1e-6), way)
    assert returning_users(10, "0.5", 1e-7).concentrated > returning_users(10, "0.5", 1e-6).concentrated


def test_growth_is_as_a_root_of_the_batches_and_linear_for_pure_noise():
    one, many = returning_users(1, "0.5", 1e-6), returning_users(10_000, "0.5", 1e-6)
    assert many.concentrated / one.concentrated == pytest.approx(100, rel=1e-5)
    assert many.basic / one.basic == pytest.approx(10_000)
    assert 100 < many.advanced / one.advanced < 150


def test_concentrated_beats_advanced_by_a_logarithm():
    """The squared ratio is a constant times ln(B / delta), to 10 %, where ln(B / delta) itself grows by half."""
    rows = by_batches([1, 100, 10_000, 10**6], "0.5", 1e-8)
    gains = [(row.advanced / row.concentrated) ** 2 / math.log(row.batches / 1e-8) for row in rows]
    assert max(gains) < 1.1 * min(gains)
    assert [row.concentrated < row.basic for row in rows] == [False, True, True, True]
    plain = [(row.advanced / row.concentrated) ** 2 for row in rows]  # the control: without the logarithm
    assert max(plain) > 1.4 * min(plain)


def releases_of_a_person(channel, reward, visits, bits):
    """What is released of cohorts of five, one for each visit, in which the four others have no reward."""
    offer, found = channel.offer(5), []
    for _ in range(visits):
        sent = [channel.randomize(each, offer, bits) for each in (reward, 0, 0, 0, 0)]
        found.append(channel.analyze(channel.aggregate(sent, offer, bits).total, offer, bits, answers=5))
    return found


def chance_of_much(channel, visits, epsilon, bits, people=4000):
    """How much of δ is used at this ε by people who come back, and an error of that: E (1 - e^(ε - L))^+.

    L is the log-ratio of the probabilities of all of a person's releases with the reward and without it.
    """
    noise, spent = channel.release_noise(5), []
    for _ in range(people):
        seen = np.array(releases_of_a_person(channel, 1, visits, bits)).round().astype(int)
        with_it, without = noise.pmf(seen - 1), noise.pmf(seen)
        spent.append(max(0.0, -math.expm1(epsilon - float(np.log(with_it / without).sum()))))
    return float(np.mean(spent)), float(np.std(spent)) / math.sqrt(people)


class TestASimulatedPersonInManyCohorts:
    """Real releases of a channel, person by person, with exact noise: at a δ that is large enough to be seen.

    A mean of 4000 values in [0, 1] is more than eight of its standard errors above the true one with probability below
    1e-9, as here the values have hardly any skew.
    """

    visits, epsilon, delta = 12, 0.5, 0.05

    def gaussian(self, visits):
        deviation = returning_users(visits, self.epsilon, self.delta).concentrated
        return Central(epsilon=1 / Fraction(deviation), noise=DiscreteGaussian())

    @pytest.mark.slow
    def test_all_releases_together_use_no_more_than_delta(self):
        mean, error = chance_of_much(self.gaussian(self.visits), self.visits, self.epsilon, seeded(3))
        assert mean + 8 * error < self.delta
        assert mean > self.delta / 50  # the releases do tell something

    @pytest.mark.slow
    def test_noise_for_one_visit_would_not_do(self):
        """The broken twin: who forgets that people come back."""
        mean, error = chance_of_much(self.gaussian(1), self.visits, self.epsilon, seeded(3))
        assert mean - 8 * error > self.delta

    @for_each(("epsilon", "delta"), [(0.5, 0.05), ("1/2", 1e-6), (2, 1e-6)])
    def test_a_ledger_takes_as_many_visits_and_no_more(self, epsilon, delta):
        channel = Central(epsilon=1 / Fraction(ledger_deviation(12, epsilon, delta)), noise=DiscreteGaussian())
        ledger = Ledger(budget=Loss.approximate(epsilon, delta))
        for _ in range(12):
            ledger.charge("ann", channel.loss(5))
        with pytest.raises(BudgetExceeded):
            ledger.charge("ann", channel.loss(5))

    def test_a_ledger_is_more_careful_than_one_who_knows_all_charges(self):
        row = returning_users(20, "1/2", 1e-6)
        assert row.concentrated < row.ledger < 1.06 * row.concentrated

    @pytest.mark.slow
    def test_pure_noise_never_tells_more_than_epsilon(self):
        deviation = returning_users(self.visits, self.epsilon, self.delta).basic
        channel = Central(epsilon=Fraction(math.sqrt(2) / deviation), noise=DiscreteLaplace())
        noise, bits = channel.release_noise(5), seeded(4)
        for _ in range(200):
            seen = np.array(releases_of_a_person(channel, 1, self.visits, bits)).round().astype(int)
            ratio = float(np.log(noise.pmf(seen - 1) / noise.pmf(seen)).sum())
            assert abs(ratio) <= self.epsilon * (1 + 1e-9)


@for_each(("epsilon", "delta"), [("1/2", 1e-6), (1, 1e-5)])
@for_each("batches", [1, 7, 100])
def test_the_sum_of_all_releases_has_no_more_than_delta(batches, epsilon, delta):
    """Exactly, for discrete Gaussian noise: of B releases the ratio of probabilities depends on their sum alone."""
    deviation = returning_users(batches, epsilon, delta).concentrated
    assert spent_at(deviation, batches, float(Fraction(epsilon))) <= delta
    assert spent_at(0.7 * deviation, batches, float(Fraction(epsilon))) > delta  # the control


def spent_at(deviation, batches, epsilon):
    """δ of B draws that are shifted by one each: ln(P/Q) = (2 S - B) / 2σ², S the sum, nearly Gaussian here."""
    spread = math.sqrt(batches) / deviation
    near, far = ((epsilon / spread + sign * spread / 2) / math.sqrt(2) for sign in (-1, 1))
    return (math.erfc(near) - math.exp(epsilon) * math.erfc(far)) / 2


def test_curves_of_divergences_need_no_small_epsilon():
    assert concentrated_deviation(100, "1/2", 1e-6) == returning_users(100, "1/2", 1e-6).concentrated
    assert concentrated_deviation(100, 4, 1e-6) < concentrated_deviation(100, 2, 1e-6)


@for_each(
    ("values", "name"),
    [
        ((0, 0.5, 1e-6), "batches"),
        ((1.5, 0.5, 1e-6), "batches"),
        ((True, 0.5, 1e-6), "batches"),
        ((3, 1.01, 1e-6), "epsilon"),
        ((3, 0, 1e-6), "epsilon"),
        ((3, 0.001, 1e-6), "epsilon"),
        ((3, 0.5, 0), "delta"),
        ((3, 0.5, 1), "delta"),
    ],
)
def test_values(values, name):
    with pytest.raises(InvalidValue, match=name):
        returning_users(*values)
