"""What `mb.estimate` refuses."""

import math
import re
from typing import Any

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from tests.for_each import for_each
from tests.reports.test_estimate import CENTRAL, ELIMINATION, WORLD, run


def test_what_cannot_be_estimated_is_refused() -> None:
    several = run(runs=2)
    for wrong, said in (
        (lambda: mb.estimate(mb.simulate(ELIMINATION, CENTRAL, WORLD, 100)), "keep_releases=True"),
        (lambda: mb.estimate(several), "the number of one run, from 0 to 1"),
        (lambda: mb.estimate(several, run=2), "run is 2: it must be the number of one run, from 0 to 1"),
        (lambda: mb.estimate(several, run=1.0), "run is 1.0"),
        (lambda: mb.estimate(several, run=True), "run is True"),
        (lambda: mb.estimate(run(), channel=CENTRAL), "left out unless a list of releases"),
        (lambda: mb.estimate(run(), 0), "alpha is 0"),
        (lambda: mb.estimate(run(), against="control"), "the name of an arm: 0, 1, 2"),
        (lambda: mb.estimate([], channel=CENTRAL), "a list of releases"),
        (lambda: mb.estimate([mb.Release(0, 1, 1.0)]), "the channel of these releases"),
        (lambda: mb.estimate([mb.Release(0, 1, 1.0)], channel=CENTRAL, run=1), "left out"),
        (lambda: mb.simulate(ELIMINATION, CENTRAL, WORLD, 100, keep_releases=1), "true or false"),
    ):
        with pytest.raises(InvalidValue, match=said):
            wrong()


WELL = mb.Release(0, 100, 50.0)


@for_each(
    ("fields", "said"),
    [
        ((0, 10.5, 4.0), "n of release 1 is 10.5: it must be a whole number of at least 1"),
        ((0, 0, 4.0), "n of release 1 is 0: it must be a whole number of at least 1"),
        ((0, -5, 4.0), "n of release 1 is -5"),
        ((0, True, 4.0), "n of release 1 is True"),
        ((0, 10, math.nan), "the total of release 1 is nan: it must be a finite number"),
        ((0, 10, math.inf), "the total of release 1 is inf"),
        ((0, 10, "4"), "the total of release 1 is '4'"),
        ((-1, 10, 4.0), "the arm of release 1 is -1: it must be a whole number of at least 0"),
        ((0.5, 10, 4.0), "the arm of release 1 is 0.5"),
        ((10**7, 10, 4.0), "the arm of release 1 is 10000000: it must be at most 9999"),
    ],
)
def test_a_release_that_cannot_be_is_refused(fields: tuple[Any, ...], said: str) -> None:
    lists: tuple[list[Any], ...] = ([WELL, mb.Release(*fields)], [WELL._replace(epoch=0), mb.Release(*fields, epoch=1)])
    for wrong in lists:
        with pytest.raises(InvalidValue, match=re.escape(said)):
            mb.estimate(wrong, channel=CENTRAL)


@pytest.mark.slow
def test_a_release_is_used_once_and_epochs_are_whole_numbers() -> None:
    known = [mb.Release(0, 100, 50.0, 0), mb.Release(1, 100, 60.0, 0), mb.Release(1, 100, 70.0, 0)]
    for wrong, said in (
        (known, "the epoch of release 2 is 0: it must be another one: arm 1 has a release of this epoch already"),
        ([*known[:2], WELL], "a list of releases, each or none with an epoch"),
        ([*known[:2], mb.Release(1, 100, 70.0, -2)], "the epoch of release 2 is -2"),
        ([*known[:2], mb.Release(1, 100, 70.0, 0.5)], "the epoch of release 2 is 0.5"),
    ):
        with pytest.raises(InvalidValue, match=said):
            mb.estimate(wrong, channel=CENTRAL)
    of_numpy: Any = [mb.Release(*map(np.float64, (0.0, 100.0, 50.0))), mb.Release(*map(np.int64, (1, 100, 60)))]
    assert mb.estimate(of_numpy, channel=CENTRAL).arms[1].n == 100
    assert len(mb.estimate([mb.Release(9999, 10, 4.0)], channel=CENTRAL).arms) == 10_000
