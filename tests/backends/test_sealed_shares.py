"""The rehearsal of two servers: the survivors' sum with two draws, whoever is lost."""

import subprocess
import sys

import pytest

from maskedbandit.backends.sealed_shares import SealedShares
from maskedbandit.errors import InvalidValue, TooFew
from maskedbandit.secagg.server_pair import HASH_BYTES, SEALED
from tests.for_each import for_each
from tests.statistics import at_most, seeded


def added(backend, values, noise=lambda: 0, modulus=2**20, seed=1):
    return backend.noisy_sum(values, modulus, max(values), noise, b"cohort", seeded(seed))


class TestSum:
    @pytest.mark.slow
    @pytest.mark.parametrize("dropout", [0, 0.1, "0.5", 0.6])
    def test_is_that_of_the_survivors(self, dropout):
        values = [2**i for i in range(18)]
        lost = 0
        for seed in range(30):
            total, survivors, _ = added(SealedShares(dropout), values, lambda: -3, seed=seed)
            assert total == (sum(values[user] for user in survivors) - 6) % 2**20
            assert list(survivors) == sorted(set(survivors))
            lost += len(values) - len(survivors)
        fraction = float(dropout)
        at_most(lost, 30 * 18, fraction)
        at_most(30 * 18 - lost, 30 * 18, 1 - fraction)

    def test_nobody_is_lost_unasked(self):
        assert added(SealedShares(), range(50)).survivors == tuple(range(50))

    def test_noise_is_two_draws(self):
        draws = iter([5, 7])
        assert added(SealedShares(), [1, 2], lambda: next(draws)).total == 15
        assert next(draws, None) is None

    def test_a_cohort_of_whom_nobody_is_left_ends_with_an_error(self):
        with pytest.raises(TooFew, match="of 0 users"):
            added(SealedShares("0.999999"), [1, 2])

    def test_any_cohort_will_do(self):
        assert added(SealedShares(), [3]).total == 3


class TestPhases:
    def test_bytes_are_those_of_the_devices(self):
        keys, value_shares, totals = added(SealedShares(), [1, 2, 3]).phases
        assert (keys.name, keys.up, keys.down) == ("keys", 0, 3 * 2 * HASH_BYTES)
        assert (value_shares.name, value_shares.up, value_shares.down) == (
            "value shares",
            3 * 2 * (3 + HASH_BYTES + SEALED),
            0,
        )
        assert (totals.name, totals.up, totals.down) == ("totals", 0, 0)
        assert all(phase.seconds >= 0 for phase in (keys, value_shares, totals))

    def test_a_device_that_is_lost_between_its_messages_sent_one(self):
        ups = {
            added(SealedShares("0.3"), [1] * 20, seed=seed).phases[1].up // (3 + HASH_BYTES + SEALED)
            for seed in range(9)
        }
        assert {up % 2 for up in ups} == {0, 1}
        assert max(ups) < 40


@for_each("dropout", [-0.1, 1, "all", float("nan"), None])
def test_dropout_is_a_share(dropout):
    with pytest.raises(InvalidValue, match="dropout"):
        SealedShares(dropout)


def loads(code):
    """Whether a fresh interpreter loads cryptography for it."""
    script = f"{code}\nimport sys\nprint('cryptography' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.strip() == "True"


@pytest.mark.slow
def test_only_a_real_protocol_loads_cryptography():
    assert not loads(
        "import maskedbandit as mb\nmb.channels.Distributed(), mb.channels.TwoServers(), mb.backends.Ideal()"
    )
    assert loads("import maskedbandit as mb\nmb.backends.SealedShares()")
