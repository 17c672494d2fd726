"""Time-average regret of eliminations at one million users, against a table that an independent program made.

The setting is that of [CZ23, Sec. 6], of which no numbers are published: ten arms, Gaussian rewards clipped to [0, 1],
instances 0 to 19. The table's numbers are means of 20 instances with one run each. Forty runs of each instance tell how
far such a mean strays by itself: a standard error from the variance within instances, 1 to 5 % of the number. Each of
the 36 cells must lie within 5 of them and half a unit of its last digit; the fortieth of that variance that the mean of
forty runs has is counted in. With normal means a correct program fails with probability 36 * 6e-7 = 2e-5.
"""

import math
from functools import cache

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.channels.channel import Channel
from maskedbandit.policies.policy import Policy
from tests.statistics import same_distribution_of_two

HORIZON = 1_000_000
INSTANCES = 20
HALF = 0.5e-5

SE, DPSE = mb.policies.SuccessiveElimination, mb.policies.DPSE
PAPER = {"least": 1, "unfinished": "start"}
COLUMNS: dict[str, Policy] = {
    "paper 2^b": SE(base=2, failure=0.1, radius="paper", **PAPER),
    "paper 4^b": SE(base=4, failure=0.1, radius="paper", **PAPER),
    "corrected 2^b": SE(base=2, failure=0.1, **PAPER),
    "corrected 4^b": SE(base=4, failure=0.1, **PAPER),
    "corrected 2^b, p = 1/T": SE(base=2, **PAPER),
    "DP-SE": DPSE(failure=0.1, unfinished="start"),
}
TABLE = {
    ("easy", 0.1): (0.01436, 0.01346, 0.01151, 0.01047, 0.02394, 0.00684),
    ("easy", 0.5): (0.00641, 0.00570, 0.00592, 0.00492, 0.01157, 0.00423),
    ("easy", 1): (0.00513, 0.00456, 0.00487, 0.00406, 0.01006, 0.00369),
    ("hard", 0.1): (0.02346, 0.02055, 0.02141, 0.01908, 0.03276, 0.01686),
    ("hard", 0.5): (0.01578, 0.01397, 0.01544, 0.01360, 0.02508, 0.01230),
    ("hard", 1): (0.01466, 0.01354, 0.01442, 0.01252, 0.02351, 0.01095),
}


@cache
def regret(policy: Policy, channel: Channel, spread: str, runs: int = 40) -> np.ndarray:
    """Time-average regret, [instances, runs]."""
    rows = []
    for seed in range(INSTANCES):
        instance = mb.ClippedGaussian(mb.uniform_means(spread, 10, seed), 0.1)
        rows.append(mb.simulate(policy, channel, instance, HORIZON, runs=runs, seed=seed).regret[:, -1] / HORIZON)
    return np.array(rows)


def check_cell(found: np.ndarray, number: float) -> None:
    """The number is a mean of one run for each instance."""
    instances, runs = found.shape
    error = math.sqrt(found.var(axis=1, ddof=1).sum() * (1 + 1 / runs)) / instances
    distance = abs(found.mean() - number)
    assert distance <= 5 * error + HALF, f"{found.mean():.5f}, not {number}: {distance / error:.1f} standard errors"


@pytest.mark.slow
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", TABLE, ids=str)
def test_regret_is_that_of_the_table(row, column):
    spread, epsilon = row
    number = TABLE[row][list(COLUMNS).index(column)]
    check_cell(regret(COLUMNS[column], mb.channels.Central(epsilon=epsilon), spread), number)


@pytest.mark.slow
@pytest.mark.parametrize(("row", "column"), [(("easy", 0.5), "corrected 2^b"), (("hard", 0.1), "paper 4^b")], ids=str)
def test_regret_under_distributed_trust_is_that_of_the_table(row, column):
    spread, epsilon = row
    number = TABLE[row][list(COLUMNS).index(column)]
    check_cell(regret(COLUMNS[column], mb.channels.Distributed(epsilon=epsilon), spread), number)


@pytest.mark.slow
def test_a_number_of_another_row_is_rejected():
    """Negative control: the check tells a privacy of 0.1 from one of 0.5."""
    found = regret(COLUMNS["corrected 2^b"], mb.channels.Central(epsilon=0.5), "easy")
    with pytest.raises(AssertionError, match="standard errors"):
        check_cell(found, TABLE["easy", 0.1][2])


def final_regret(channel: Channel, study: str) -> np.ndarray:
    """Regret of 3000 runs on one instance, in whole users of the mean gap."""
    instance = mb.ClippedGaussian(mb.uniform_means("easy", 10, 0), 0.1)
    run = mb.simulate(SE(least=1, failure=0.1), channel, instance, 50_000, runs=3000, seed=1, study=study)
    return run.regret[:, -1]


def check_two(a: np.ndarray, b: np.ndarray) -> None:
    """Two samples of real numbers have one law, by twenty cells."""
    edges = np.unique(np.quantile(np.concatenate([a, b]), np.arange(1, 20) / 20))
    same_distribution_of_two(np.searchsorted(edges, a), np.searchsorted(edges, b))


@pytest.mark.slow
def test_distributed_and_central_trust_have_one_distribution():
    """[CZ23, Thm. 1 and 5]: the noise shares of all users add up to the draw of a trusted server."""
    central = final_regret(mb.channels.Central(epsilon=0.5), "central")
    check_two(central, final_regret(mb.channels.Distributed(epsilon=0.5), "distributed"))
    with pytest.raises(AssertionError, match="two distributions"):  # negative control: a little more privacy
        check_two(central, final_regret(mb.channels.Distributed(epsilon=0.45), "distributed"))
