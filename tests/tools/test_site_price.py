"""The figure of the price of sites: its numbers, from simple sums."""

import pytest

from maskedbandit.channels.central import Central
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.reports.plan.sites import count_people
from tools.figures.site_price import DIFFERENCE, LINES


@pytest.mark.parametrize(("channel", "noise"), [(Central("0.125"), 128), (TwoServers("0.125"), 256)])
def test_so_many_people_reach_the_standard_error_and_fewer_do_not(channel, noise):
    n = count_people(channel, DIFFERENCE) // 2
    errors = [2 * (1 / (4 * size) + noise / size**2) for size in (n, n - 1)]
    assert errors[0] <= (DIFFERENCE / 3) ** 2 < errors[1]


def test_a_secure_sum_costs_what_may_be_lost_and_each_site_alone_as_many_times_as_there_are_sites():
    for sites in (3, 20):
        counts = [count("0.1", sites) for _, count in LINES.values()]
        assert counts[0] == sites * count_people(Central("0.1"), DIFFERENCE)
        assert counts == sorted(counts, reverse=True)
    assert (
        count_people(Distributed("0.01", honest="0.5"), DIFFERENCE)
        <= 2**0.5 * count_people(Central("0.01"), DIFFERENCE) * 1.001
    )
