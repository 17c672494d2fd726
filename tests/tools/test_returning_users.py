"""The figure of returning users shows what the function says."""

import numpy as np

from maskedbandit.privacy.repeated_batches import returning_users
from tools.figures.returning_users import DELTA, EPSILON, NAMES, returning


def test_curves_are_the_numbers_of_the_function():
    lines = returning().axes[0].lines
    assert len(lines) == len(NAMES) == 3
    for line, field in zip(lines, NAMES, strict=True):
        for i in (0, -1):
            batches = int(line.get_xdata()[i])
            np.testing.assert_allclose(
                line.get_ydata()[i], getattr(returning_users(batches, EPSILON, DELTA), field), rtol=1e-12
            )


def test_every_batch_more_needs_more_noise_and_curves_differ():
    advanced, basic, concentrated = (line.get_ydata() for line in returning().axes[0].lines)
    assert all(np.all(np.diff(y) > 0) for y in (advanced, basic, concentrated))
    assert np.all(advanced > 5 * concentrated)
    assert basic[0] < concentrated[0]
    assert basic[-1] > concentrated[-1]
