"""The figure of amplification by shuffling shows what the functions say."""

import math
from fractions import Fraction

import pytest

from maskedbandit.channels.shuffled import coins_needed
from maskedbandit.theory.amplification import closed_epsilon, local_epsilon_for, shuffled_epsilon
from tools.figures import amplification
from tools.figures.amplification import DELTA, EPSILON, LOCAL, USERS

FEW = (2, 4)


def test_curves_are_the_numbers_of_the_functions(monkeypatch) -> None:
    monkeypatch.setattr(amplification, "USERS", USERS[:2])
    monkeypatch.setattr(amplification, "LOCAL", {local: LOCAL[local] for local in FEW})
    worth, noise = amplification.amplification().axes
    lines, n = iter(worth.lines), USERS[0]
    for local in FEW:
        found = [next(lines).get_ydata()[0] for _ in range(3)]
        assert found[0] == shuffled_epsilon(local, n, DELTA)
        assert found[1] == shuffled_epsilon(local, n, DELTA, "exact_response")
        assert found[2] == closed_epsilon(local, n, DELTA)
    anyone, response, exact, coins, _ = noise.lines
    for line, randomizer in ((anyone, "any"), (response, "response"), (exact, "exact_response")):
        flip = 1 / (1 + math.exp(local_epsilon_for(EPSILON, n, DELTA, randomizer)))
        assert line.get_ydata()[0] == pytest.approx(math.sqrt(n * flip * (1 - flip)) / (1 - 2 * flip))
    assert coins.get_ydata()[0] == math.sqrt(coins_needed(Fraction(1), Fraction(1, 10**6)) / 4)
    lowest = [min(line.get_ydata()) for line in (coins, exact, response, anyone)]
    highest = [max(line.get_ydata()) for line in (coins, exact, response, anyone)]
    assert all(below < above for below, above in zip(highest, lowest[1:], strict=False))
