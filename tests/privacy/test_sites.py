"""Sites of unequal size: the exact loss of what a coalition sees, and which coalitions cost nothing.

Seeds are fixed; under a new seed each random assertion rejects a correct channel with probability ALPHA = 1e-9.
"""

from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest

from maskedbandit.backends.sealed_shares import SealedShares
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.sites import SitePeople
from tests.for_each import for_each
from tests.statistics import same_distribution, seeded

PEOPLE = (7, 4, 3, 2, 1, 1)
Z = np.arange(-4000, 4001)


def subsets(count):
    return chain.from_iterable(combinations(range(count), size) for size in range(count + 1))


def view_costs(channel, n, people):
    """The largest log-ratio of the sum of honest sites alone: what a coalition sees when it has subtracted its own."""
    noise = channel.release_noise(n).pmf(Z, people / channel.counted_on(n))
    g = channel.steps(n)
    p, q = noise[g:], noise[:-g]
    seen = (p > 1e-280) & (q > 1e-280)
    return float(np.max(np.abs(np.log(p[seen] / q[seen]))))


class TestCoalitions:
    @for_each("honest", [1, "0.9", "0.6", "0.5", "1/3", "0.01"])
    def test_are_all_that_are_within_what_is_spared(self, honest):
        sites = SitePeople(PEOPLE, honest)
        allowed = [set(each) for each in subsets(len(PEOPLE)) if sites.allows(each)]
        assert all(sum(PEOPLE[site] for site in each) <= sites.spare for each in allowed)
        largest = [set(each) for each in sites.largest_coalitions()]
        assert all(any(each <= other for other in largest) for each in allowed)
        assert not any(each < other for each in largest for other in allowed)
        assert all(each in allowed for each in largest)
        assert max(map(len, allowed)) == sites.most_lost
        every = [size for size in range(7) if all(sites.allows(each) for each in combinations(range(6), size))]
        assert max(every) == sites.any_lost

    def test_counts_people_and_not_sites(self):
        sites = SitePeople((900, 50, 50), honest="0.9")
        assert sites.allows({1, 2})
        assert not sites.allows({0})
        assert (sites.any_lost, sites.most_lost) == (0, 2)

    @for_each(("people", "honest"), [((), 1), ((0, 0), 1), ((1, -1, 3), 1), ((2.5,), 1), ((3,), 0), ((3,), 1.1)])
    def test_wrong_values_are_named(self, people, honest):
        with pytest.raises(InvalidValue, match=r"people of sites|honest"):
            SitePeople(people, honest)

    def test_of_many_sites_one_may_ask(self):
        many = SitePeople((3,) * 50, "0.9")
        assert many.any_lost == many.most_lost == 5
        with pytest.raises(InvalidValue, match="at most 20"):
            many.largest_coalitions()
        with pytest.raises(InvalidValue, match="site is 50"):
            many.allows({50})


class TestLoss:
    @pytest.mark.slow
    @for_each("honest", ["0.5", "0.8", 1])
    @for_each(("epsilon", "grid"), [("0.5", 1), (1, 4)])
    def test_of_every_coalition_is_what_it_sees(self, epsilon, grid, honest):
        channel, sites = Distributed(epsilon, grid=grid, honest=honest), SitePeople(PEOPLE, honest)
        assert sites.least == channel.counted_on(sites.n)
        for lost in subsets(len(PEOPLE)):
            if left := sites.people_left(lost):
                said, found = float(channel.loss_left(sites.n, left).pure_epsilon), view_costs(channel, sites.n, left)
                assert found <= said * (1 + 1e-7)
                if sites.allows(lost):
                    assert said == Fraction(epsilon)
                else:
                    assert said > Fraction(epsilon)
                    assert found == pytest.approx(said, rel=1e-7)

    def test_sites_that_calibrate_to_all_people_lose_more(self):
        """The broken twin: noise shares for n_s of n people, whoever colludes."""
        sites, honest = SitePeople(PEOPLE, "0.6"), Distributed(1, honest="0.6")
        lost = sites.largest_coalitions()[0]
        left = sites.people_left(lost)
        assert view_costs(honest, sites.n, left) <= 1 + 1e-9
        assert view_costs(Distributed(1), sites.n, left) > 1.4

    @for_each("noise", [Skellam(), DiscreteGaussian()])
    def test_other_noises_cost_more_with_fewer_people_and_no_more_with_enough(self, noise):
        channel = Distributed("0.5", noise, grid=40, honest="0.5")
        losses = [channel.loss_left(18, people).epsilon(1e-6) for people in (4, 8, 9, 18)]
        assert losses == sorted(losses, reverse=True)
        assert losses[2] <= channel.loss(18).epsilon(1e-6) * (1 + 1e-9)
        assert losses[1] > channel.loss(18).epsilon(1e-6)

    @for_each("people", [0, 19, 2.0, None])
    def test_people_are_some_of_the_cohort(self, people):
        with pytest.raises(InvalidValue, match="people is"):
            Distributed().loss_left(18, people)


class TestNoise:
    @pytest.mark.slow
    @for_each("noise", [DiscreteLaplace(2), Skellam(3), DiscreteGaussian(8)])
    def test_of_unequal_sites_adds_up_to_that_of_their_people(self, noise):
        bits = seeded(8)
        sums = [sum(noise.sum_of_shares(people, 9, bits) for people in PEOPLE) for _ in range(1500)]
        same_distribution(np.array(sums), lambda z: noise.pmf(z, sum(PEOPLE) / 9))
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution(np.array(sums), noise.pmf)

    @pytest.mark.slow
    @for_each("noise", [DiscreteLaplace(2), Skellam(3)])
    def test_of_one_site_is_that_of_its_people_alone(self, noise):
        """What a coordinator cannot see, so that it does not matter who draws it."""
        bits = seeded(9)
        for people in (1, 4, 12):
            one = [noise.sum_of_shares(people, 9, bits) for _ in range(1500)]
            same_distribution(np.array(one), lambda z, people=people: noise.pmf(z, people / 9))


@pytest.mark.slow
def test_two_sites_are_two_servers():
    """Each adds a whole draw, so neither gains by what it knows; of two sites with noise shares each would."""
    shares, n = Distributed(1), 100
    assert shares.loss_left(n, 50).epsilon() > 1.6
    channel, bits = TwoServers(1, backend=SealedShares()), seeded(3)
    assert channel.loss(n).epsilon() == 1
    offer, found = channel.offer(6), []
    for cohort in range(300):
        sent = [channel.randomize(1, offer, bits) for _ in range(6)]
        heard = channel.aggregate(sent, offer, bits, b"%d" % cohort)
        found.append(round(channel.analyze(heard.total, offer, bits, answers=6)) - 6)
    same_distribution(np.array(found), lambda z: DiscreteLaplace(1).pmf(z, 2.0))
