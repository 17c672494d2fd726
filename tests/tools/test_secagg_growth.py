"""The figure of what secure aggregation costs a device: what is measured, and the line that it is held against."""

from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from maskedbandit.backends.backend import Aggregate, Phase
from maskedbandit.backends.secagg import SecAgg
from tests.for_each import for_each
from tools.figures import secagg_growth as growth
from tools.figures.secagg_growth import Cost, measured


class Known(SecAgg):
    """A round of which all costs are known."""

    def sum(self, values, modulus, least, cohort, bits):
        phases = Phase("keys", 64_000, 10**9, 0.5), Phase("values", 32_000, 10**9, 1.5)
        return Aggregate(0, range(len(values)), phases)


def test_a_device_bears_its_part_of_the_round_and_a_whole_ring(monkeypatch) -> None:
    """Bytes that it sends, and the time of all over n, but of the ring, which each draws for itself."""
    ticks = count(100.0, 0.25)  # a quarter of a second from one look at the clock to the next
    monkeypatch.setattr(growth, "time", SimpleNamespace(process_time=lambda: next(ticks)))
    monkeypatch.setattr(growth, "SecAgg", Known)
    k = SecAgg(corrupted="0.1", graph="sparse", smallest=1).rules.find_neighbourhood(100, 80).k
    assert measured("sparse", 100) == Cost(n=100, k=k, sent=0.96, busy=20, ring=250)


@pytest.mark.slow
@for_each(("graph", "n", "k"), [("complete", 32, 31), ("sparse", 64, 14)])
def test_a_real_round_is_measured(graph, n, k) -> None:
    found = measured(graph, n)
    head, sealed = 34, 50
    assert (found.n, found.k) == (n, k)
    assert found.sent == pytest.approx((head + 64 + head + 32 + k * sealed + head + 8 + head + k * 17) / 1000)
    assert found.busy > 0


def test_lines_are_neighbours_times_the_cost_of_one_in_the_largest_cohort() -> None:
    costs = {
        "complete": [Cost(32, 31, 3.0, 5.0, 0.1), Cost(64, 63, 6.3, 12.6, 0.1)],
        "sparse": [Cost(64, 40, 5.0, 6.0, 0.1), Cost(1024, 50, 6.0, 9.0, 3.2)],
    }
    figure = growth.growth(costs)
    sent, busy = figure.axes
    for plot, field, lines in ((sent, "sent", ([3.1, 6.3], [4.8, 6.0])), (busy, "busy", ([6.2, 12.6], [7.2, 9.0]))):
        assert (plot.get_xscale(), plot.get_yscale()) == ("log", "log")
        for graph, expected, line, dots in zip(costs, lines, plot.lines[0:4:2], plot.lines[1:4:2], strict=True):
            assert line.get_ydata() == pytest.approx(expected)
            assert dots.get_ydata().tolist() == [getattr(cost, field) for cost in costs[graph]]
            assert (np.array(line.get_xdata()) == dots.get_xdata()).all()
            assert line.get_color() == dots.get_color() == growth.COLOURS[graph]
    line, dots = busy.lines[4:]  # the ring: hashes, one for each device
    assert line.get_ydata() == pytest.approx([0.2, 3.2])
    assert dots.get_ydata().tolist() == [0.1, 3.2]
    assert "sends" in sent.get_ylabel()
    assert "ms" in busy.get_ylabel()
