"""The rehearsal of two operators with proofs: the survivors' sum with two draws, without whoever lies or is lost."""

import pytest

from maskedbandit.backends import prio3
from maskedbandit.backends.prio3 import Prio3
from maskedbandit.backends.sealed_shares import SealedShares
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.errors import InvalidValue, TooFew
from maskedbandit.privacy.statistics import capped_sum, linear_sums
from maskedbandit.secagg.prio3 import FIELD, NONCE, Range
from maskedbandit.secagg.server_pair import HASH_BYTES
from maskedbandit.secagg.uploads import SEAL, seal_report
from tests.contracts.test_channel import released_noise
from tests.for_each import for_each
from tests.statistics import at_most, same_distribution, seeded


def added(backend, values, noise=lambda: 0, seed=1, largest=0):
    return backend.noisy_sum(values, FIELD, largest or max(values), noise, b"cohort", seeded(seed))


class TestSum:
    @pytest.mark.slow
    @pytest.mark.parametrize("dropout", [0.1, 0, "0.5", 0.6])
    def test_is_that_of_the_survivors(self, dropout):
        values = [2**i for i in range(12)]
        lost = 0
        for seed in range(20):
            total, survivors, _ = added(Prio3(dropout), values, lambda: -3, seed=seed)
            assert total == (sum(values[user] for user in survivors) - 6) % FIELD
            assert list(survivors) == sorted(set(survivors))
            lost += len(values) - len(survivors)
        fraction = float(dropout)
        at_most(lost, 20 * 12, fraction)
        at_most(20 * 12 - lost, 20 * 12, 1 - fraction)

    def test_nobody_is_lost_unasked(self):
        assert added(Prio3(), range(20)).survivors == tuple(range(20))

    def test_noise_is_two_whole_draws(self):
        draws = iter([5, 7])
        assert added(Prio3(), [1, 2], lambda: next(draws)).total == 15
        assert next(draws, None) is None

    def test_noise_is_drawn_before_a_report_is_opened(self, monkeypatch):
        happened = []
        read = prio3.ShareReader.read
        monkeypatch.setattr(prio3.ShareReader, "read", lambda *given: happened.append("read") or read(*given))
        added(Prio3(), [1, 0], lambda: happened.append("draw") or 0)
        assert happened == ["draw"] * 2 + ["read"] * 4

    def test_a_sum_below_zero_is_a_number_of_the_field(self):
        assert added(Prio3(), [1], lambda: -5).total == FIELD - 9

    def test_a_cohort_of_whom_nobody_is_left_ends_with_an_error(self):
        with pytest.raises(TooFew, match="of 0 users"):
            added(Prio3("0.999999"), [1, 2])

    def test_any_cohort_will_do(self):
        assert added(Prio3(), [3]).total == 3


class TestLies:
    @for_each("largest", [1, 255])
    def test_a_device_that_forged_its_proof_is_left_out(self, largest):
        """Device 1 would move the sum by a thousand rewards."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(prio3, "seal_report", self.seal)
            total, survivors, _ = added(Prio3(), [1, 1, 1, 0], largest=largest)
        assert (total, survivors) == (2, (0, 2, 3))

    def test_operators_who_check_no_proof_are_found(self, monkeypatch):
        monkeypatch.setattr(prio3, "seal_report", self.seal)
        monkeypatch.setattr(Range, "check", lambda values, leader, helper: None)
        assert added(Prio3(), [1, 1, 1, 0], largest=255).total == 1002

    @staticmethod
    def seal(terms, value, keys, turn, draw):
        if terms.place == 1:
            with pytest.MonkeyPatch.context() as patch:
                bits = [1000, *[0] * (len(terms.range.weights) - 1)]
                patch.setattr(Range, "encode", lambda values, value: bits)
                return seal_report(terms, value, keys, turn, draw)
        return seal_report(terms, value, keys, turn, draw)


def test_bytes_are_those_of_the_devices():
    keys, reports, totals = added(Prio3(), [1, 0, 1]).phases
    assert (keys.name, keys.up, keys.down) == ("keys", 0, 3 * 2 * HASH_BYTES)
    assert (reports.name, reports.up, reports.down) == ("reports", 3 * (NONCE + 8 + 2 * SEAL + 48 + 32), 0)
    assert (totals.name, totals.up, totals.down) == ("totals", 0, 0)
    assert all(phase.seconds >= 0 for phase in (keys, reports, totals))


@for_each("dropout", [-0.1, 1, "all", float("nan"), None])
def test_dropout_is_a_share(dropout):
    with pytest.raises(InvalidValue, match="dropout"):
        Prio3(dropout)


class TestChannel:
    FINE = TwoServers(grid=255, backend=Prio3())

    def test_offers_the_field(self):
        offer = self.FINE.offer(6)
        assert (offer.modulus, offer.steps) == (FIELD, 255)
        assert TwoServers(grid=255).offer(6).modulus < 2**20

    def test_carries_rewards_in_fine_steps(self, monkeypatch):
        rewards, bits = [0, 1, 0.2, 0.4, 1, 0.8], seeded(1)
        offer = self.FINE.offer(len(rewards))
        monkeypatch.setattr(type(self.FINE.release_noise(6)), "noise_share", lambda noise, n, bits: -300)
        sent = [self.FINE.randomize(reward, offer, bits) for reward in rewards]
        assert sent == [0, 255, 51, 102, 255, 204]
        total, survivors, _ = self.FINE.aggregate(sent, offer, bits, b"")
        assert self.FINE.analyze(total, offer, bits, answers=len(survivors)) == pytest.approx(3.4 - 600 / 255)

    def test_carries_a_capped_sum(self):
        assert self.FINE.carrying(capped_sum(3)).offer(6).terms == (("cap", 3), ("epsilon", 1))

    @pytest.mark.slow
    def test_releases_the_distribution_of_the_lab(self):
        same_distribution(*released_noise(TwoServers(grid=51, backend=Prio3())))

    def test_vectors_are_refused(self):
        with pytest.raises(InvalidValue, match=r"SealedShares\(\): the proofs of this one are of single"):
            TwoServers(backend=Prio3()).carrying(linear_sums(3, signed=False))
        assert TwoServers(backend=SealedShares()).carrying(linear_sums(3)).statistics.low == -1
