"""Rounds whose values are packed vectors, so numbers of hundreds of bits: sums, messages and terms."""

import pytest

from maskedbandit.backends.sealed_shares import SealedShares
from maskedbandit.backends.secagg import SecAgg
from maskedbandit.errors import InvalidValue
from maskedbandit.secagg.masks import LARGEST_PACKED, SPARE, derive_mask, measure_residue
from maskedbandit.secagg.plan import RoundPlan
from maskedbandit.secagg.server_pair import PairTerms, server_keys
from tests.for_each import for_each
from tests.statistics import at_most, seeded

WIDE = 10**90  # no power of two
VALUES = [WIDE // 3 + 7**i for i in range(12)]


@for_each("server", ["honest", "malicious"])
def test_secure_aggregation_adds_wide_values(server) -> None:
    backend = SecAgg(server=server, smallest=1, dropout="0.1")
    found = backend.sum(VALUES, WIDE, 8, b"cohort", seeded(4))
    assert found.total == sum(VALUES[user] for user in found.survivors) % WIDE
    up = next(phase.up for phase in found.phases if phase.name == "masked values")
    assert up == len(found.survivors) * (34 + measure_residue(WIDE))


def test_two_servers_add_wide_values() -> None:
    found = SealedShares("0.1").noisy_sum(VALUES, WIDE, 0, lambda: -5, b"cohort", seeded(4))
    assert found.total == (sum(VALUES[user] for user in found.survivors) - 10) % WIDE


def test_a_residue_of_up_to_64_bits_has_eight_bytes() -> None:
    assert [measure_residue(m) for m in (2, 2**64, 2**64 + 1, 2**72, 2**72 + 1)] == [8, 8, 9, 9, 10]


def test_masks_of_wide_values_are_uniform_in_all_their_bits() -> None:
    """A mask of 32 bytes would leave all higher bits bare: the control."""
    drawn = [derive_mask(bytes([i]), b"session", b"purpose", 2**600) for i in range(200)]
    for bit in (0, 300, 599):
        ones = sum(each >> bit & 1 for each in drawn)
        at_most(ones, 200, 0.5)
        at_most(200 - ones, 200, 0.5)
    short = [each % 2**256 for each in drawn]
    with pytest.raises(AssertionError):
        at_most(200 - sum(each >> 599 & 1 for each in short), 200, 0.5)
    assert measure_residue(2**600) + SPARE == 99


def test_names_of_rounds_tell_wide_moduli_apart() -> None:
    plans = [RoundPlan(b"x", (0, 1, 2), 2, 2, 3, m, False, bytes(32)) for m in (2**64, 2**70, 2**71, 2**640)]
    assert len({plan.round for plan in plans}) == 4
    keys = server_keys(seeded(1))[1], server_keys(seeded(2))[1]
    assert len({PairTerms(b"x", m, 1, keys).session for m in (2**63, 2**64, 2**70, 2**640)}) == 4


@for_each("modulus", [0, 1, LARGEST_PACKED + 1])
def test_moduli_have_a_range(modulus) -> None:
    with pytest.raises(InvalidValue, match=r"a whole number .*2\^65088"):
        RoundPlan(b"x", (0, 1, 2), 2, 2, 3, modulus, False, bytes(32))
    with pytest.raises(InvalidValue, match=r"a whole number .*2\^65088"):
        PairTerms(b"x", modulus, 1, (server_keys(seeded(1))[1], server_keys(seeded(2))[1]))
