"""Vectors as one number of many digits: all sums come back, and what is opened is a function of them alone.

Seeds are fixed; under a new seed each random assertion rejects a correct subject with probability ALPHA = 1e-9.
"""

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from maskedbandit.backends.prio3 import Prio3
from maskedbandit.backends.sealed_shares import SealedShares
from maskedbandit.backends.secagg import SecAgg
from maskedbandit.backends.shuffler import Shuffler
from maskedbandit.channels.central import Central
from maskedbandit.channels.central_sum import CentralSum
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.local_sum import LocalSum
from maskedbandit.channels.packing import pack_vector, unpack_residues
from maskedbandit.channels.split_and_mix import SplitAndMix
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.privacy.statistics import Statistics, reward_sums
from tests.contracts.channel_rules import agree, simulated
from tests.for_each import for_each
from tests.statistics import mean_is, seeded

SIGNED = Statistics(size=3, l1=4, square=4, low=-1, steps=4, moved=3)
VECTORS = [(-1, 0.5, 1), (0.75, -1, 0), (-0.25, 0, 0.5), (-1, 1, -0.5), (-0.5, 0.25, 0), (-1, -1, 1)]  # of six users


@for_each("m", [7, 64, 1000])
def test_sums_come_back(m: int) -> None:
    random = Random(m)
    for size in (1, 2, 40):
        for highest in (0, 3, m - 1):
            numbers = [[random.randrange(-50 * m, 50 * m) for _ in range(size)] for _ in range(5)]
            wanted = [random.randint(highest - m + 1, highest) for _ in range(size)]
            numbers.append([want - sum(each) for want, each in zip(wanted, zip(*numbers, strict=True), strict=True)])
            total = sum(pack_vector(each, m) for each in numbers) % m**size
            assert unpack_residues(total, size, m, highest) == [want % m for want in wanted]


def pack_residues(numbers: list[int], m: int) -> int:
    """A mutant: the digits are residues, of which a sum tells how often they wrapped around."""
    return pack_vector([number % m for number in numbers], m)


def test_what_is_opened_is_a_function_of_the_sums_alone() -> None:
    m, one, other = 16, [[-3, 2], [5, 1]], [[1, -30], [1, 33]]  # (2, 3) are the sums of both
    assert sum(pack_vector(each, m) for each in one) % m**2 == sum(pack_vector(each, m) for each in other) % m**2
    assert sum(pack_residues(each, m) for each in one) % m**2 != sum(pack_residues(each, m) for each in other) % m**2


def test_a_sum_beyond_its_margin_moves_the_next_one_by_one_step() -> None:
    m, size = 100, 3
    total = pack_vector([60, 5, 7], m)  # the first is above the highest, 49
    assert unpack_residues(total, size, m, highest=49) == [60, 6, 7]


def released(channel, cohorts: int) -> np.ndarray:
    """Released vectors, by way of the devices."""
    bits, n, found = seeded(3), len(VECTORS), []
    offer = channel.offer(n)
    for _ in range(cohorts):
        sent = [channel.randomize_vector(each, offer.at(i), bits) for i, each in enumerate(VECTORS)]
        total, survivors, _ = channel.aggregate_vectors(sent, 3, offer, bits)
        assert list(survivors) == list(range(n))
        found.append([channel.analyze(each, offer, bits, answers=n) for each in total])
    return np.array(found)


@pytest.mark.sparing(1)
@pytest.mark.parametrize(
    "channel",
    [
        Central("0.8"),
        CentralSum("0.8"),
        LocalSum("0.8"),
        Distributed("0.8"),
        Distributed("0.8", honest="0.5", modulus="tight"),
        Distributed("0.8", DiscreteGaussian()),
        TwoServers("0.8"),
        SplitAndMix("0.8"),
    ],
    ids=lambda channel: type(channel).__name__,
)
def test_each_number_has_the_distribution_of_the_lab(channel) -> None:
    made = channel.carrying(SIGNED)
    found = released(made, 200)
    for i in range(3):
        values = [each[i] for each in VECTORS]
        agree(found[:, i], simulated(made, values, 200, plain=True))
        mean_is(found[:, i], sum(values))
    narrow = channel.carrying(replace(SIGNED, l1=1, square=Fraction(1, 4)))
    with pytest.raises(AssertionError, match="two distributions"):
        agree(found[:, 0], simulated(narrow, [each[0] for each in VECTORS], 200, plain=True))
    assert len({tuple(each) for each in found}) > 150  # numbers have noise of their own


@pytest.mark.slow
@pytest.mark.parametrize(
    "channel",
    [
        Distributed(40, backend=SecAgg(smallest=1)),
        Distributed(40, backend=SecAgg(server="malicious", smallest=1)),
        TwoServers(40, backend=SealedShares()),
        SplitAndMix(20, eta="1e-30", backend=Shuffler()),
    ],
    ids=["secagg", "signed", "sealed_shares", "shuffler"],
)
def test_real_protocols_carry_vectors(channel) -> None:
    wide = Statistics(size=3, l1=4, square=4, low=-1, steps=4096, moved=3)
    made, n, bits = channel.carrying(wide), len(VECTORS), seeded(5)
    offer = made.offer(n)
    sent = [made.randomize_vector(each, offer.at(i), bits) for i, each in enumerate(VECTORS)]
    found = made.aggregate_vectors(sent, 3, offer, bits, b"cohort")
    released = [made.analyze(each, offer, bits, answers=n) for each in found.total]
    right = [sum(each[i] for each in VECTORS) for i in range(3)]
    assert max(abs(a - b) for a, b in zip(released, right, strict=True)) < 30 * 4 / 20


@for_each("statistics", [reward_sums(1), reward_sums(2)])
def test_proofs_of_rewards_are_not_asked_of_other_numbers(statistics) -> None:
    """A number from -1 to 1 fails the proof of a reward whenever it is negative, and its user would not be counted."""
    with pytest.raises(InvalidValue, match="proofs of this one are of single rewards"):
        TwoServers(1, backend=Prio3()).carrying(statistics)
