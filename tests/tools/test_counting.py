"""The figure of counting queries shows what the functions say."""

import math

import numpy as np

from maskedbandit.privacy.counting import LaplaceMechanism, queries_affordable
from tools.figures.counting import ACCURACIES, BETA, DATA, EPSILON, PEOPLE, SIGMA, counting


def test_curves_are_the_numbers_of_the_functions() -> None:
    limit, tail = counting().axes
    for line, (accuracy, _) in zip(limit.lines, ACCURACIES.values(), strict=False):
        for i in (0, -1):
            found = queries_affordable(PEOPLE[i], EPSILON, accuracy(PEOPLE[i]), BETA)
            assert math.isclose(line.get_ydata()[i], found * math.log(PEOPLE[i]) / PEOPLE[i])
    for line, n in zip(tail.lines, DATA, strict=False):
        assert math.isclose(line.get_ydata()[0], LaplaceMechanism(SIGMA).failure(f"1/{n}", n))


def test_the_ratio_of_a_fixed_accuracy_levels_off_and_of_a_growing_one_falls() -> None:
    """What [LN11, Thm. 11.13] says, as a picture; and the noise that is released errs a little more often."""
    limit, tail = counting().axes
    fixed, growing = (np.asarray(line.get_ydata()) for line in limit.lines[:2])
    assert 0.05 < fixed[-1] < 0.065
    assert growing[-1] < 0.01 * growing[0]
    small, large, continuous = (line.get_ydata()[-1] for line in tail.lines)
    assert continuous < large < small < 2 * continuous
