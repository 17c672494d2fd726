"""A shuffler hands messages over without senders, whole or not at all; each attack ends in a named error.

Seeds are fixed; under a new seed each random assertion rejects a correct subject with probability ALPHA = 1e-9.
"""

import inspect
from itertools import permutations

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from maskedbandit.errors import Forged, InvalidValue, Malformed, OutOfTurn, ProtocolError, TooFew
from maskedbandit.shuffle import sealed_messages
from maskedbandit.shuffle.sealed_messages import (
    MESSAGE_SEAL_SIZE,
    MESSAGE_SUITE,
    Analyzer,
    BundleShuffler,
    bind_message,
    message_width,
    seal_bundle,
    shuffle,
)
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import same_distribution, seeded

BELOW, COHORT = 1000, b"arm 1, batch 3"
LENGTH = message_width(BELOW) + MESSAGE_SEAL_SIZE


@pytest.fixture
def analyzer():
    return Analyzer(BELOW, COHORT)


def middle(counts=(2, 2, 2), least=2, weights=None):
    return BundleShuffler(counts, BELOW, least, seeded(1), weights)


def sealed(analyzer, *messages, cohort=COHORT):
    return seal_bundle(messages, BELOW, analyzer.key, cohort)


def cut(bundle):
    return [bundle[at : at + LENGTH] for at in range(0, len(bundle), LENGTH)]


@pytest.mark.slow
@given(
    st.lists(st.lists(st.integers(0, BELOW - 1), max_size=4), min_size=1, max_size=6),
    st.sets(st.integers(0, 5)),
    st.integers(1, 6),
)
def test_every_message_of_those_who_came_arrives_or_none_does(bundles, lost, least):
    analyzer, counts = Analyzer(BELOW, COHORT), [len(bundle) for bundle in bundles]
    least = min(least, len(bundles))
    here = [device for device in range(len(bundles)) if device not in lost]
    mixer = middle(counts, least)
    for device in reversed(here):
        mixer.receive(device, sealed(analyzer, *bundles[device]))
    if len(here) < least:
        with pytest.raises(TooFew):
            mixer.release()
    else:
        batch, came = mixer.release()
        assert came == here
        found = analyzer.open(batch, sum(counts[device] for device in came))
        assert sorted(found) == sorted(message for device in here for message in bundles[device])


class TestSeals:
    def test_all_have_one_length_and_none_is_the_same_twice(self, analyzer):
        found = [part for message in (0, 1, 255, 256, 999) for part in cut(sealed(analyzer, message, message))]
        assert {len(part) for part in found} == {LENGTH}
        assert len(set(found)) == len(found)

    @for_each(("below", "bytes_"), [(1, 1), (2, 1), (256, 1), (257, 2), (2**16, 2), (2**16 + 1, 3), (2**62, 8)])
    def test_width_holds_every_message(self, below, bytes_):
        assert message_width(below) == bytes_
        analyzer = Analyzer(below, COHORT)
        assert analyzer.open([seal_bundle([below - 1], below, analyzer.key, COHORT)], 1) == [below - 1]

    @pytest.mark.parametrize("message", [-1, BELOW, 2**40])
    def test_a_message_out_of_range_is_not_sealed_and_not_shown(self, analyzer, message):
        with pytest.raises(InvalidValue) as refused:
            sealed(analyzer, 3, message)
        assert "outside" in str(refused.value)

    @for_each("key", [b"", bytes(31), bytes(33), bytes(32), b"\1" + bytes(31)])
    def test_a_key_that_hides_nothing_is_refused(self, key):
        with pytest.raises(Malformed, match="key"):
            seal_bundle([1], BELOW, key, COHORT)

    def test_a_seal_is_bound_to_cohort_and_range(self):
        assert (
            len({bind_message(below, cohort) for below in (2, 21) for cohort in (b"", b"1", b", ", b"below 2, ")}) == 8
        )


class TestShuffler:
    def test_a_second_bundle(self, analyzer):
        mixer = middle()
        mixer.receive(0, sealed(analyzer, 1, 2))
        with pytest.raises(OutOfTurn, match="device 0 sent a second bundle"):
            mixer.receive(0, sealed(analyzer, 1, 2))

    def test_a_replay_of_another_device_and_within_a_bundle(self, analyzer):
        first, one = sealed(analyzer, 1, 2), sealed(analyzer, 5)
        for copied in (first, first[:LENGTH] + one, one + one):
            mixer = middle()
            mixer.receive(0, first)
            with pytest.raises(OutOfTurn, match="sent before"):
                mixer.receive(1, copied)

    def test_bundles_of_another_length(self, analyzer):
        whole = sealed(analyzer, 1, 2)
        for wrong in (b"", whole[:-1], whole + b"x", whole[:LENGTH], whole + sealed(analyzer, 3), list(whole), None):
            with pytest.raises(Malformed, match="another length"):
                middle().receive(0, wrong)

    @pytest.mark.parametrize("device", [-1, 3, "0", None, True, 1.0])
    def test_a_device_that_is_not_enrolled(self, analyzer, device):
        with pytest.raises(Malformed, match="not enrolled"):
            middle().receive(device, sealed(analyzer, 1, 2))

    def test_too_few(self, analyzer):
        mixer = middle()
        mixer.receive(2, sealed(analyzer, 1, 2))
        with pytest.raises(TooFew, match="1 of 3 devices"):
            mixer.release()

    def test_enough_by_weight(self, analyzer):
        for came, enough in (((0, 1), False), ((2,), True), ((0, 1, 2), True)):
            mixer = middle(least=5, weights=(1, 1, 5))
            for device in came:
                mixer.receive(device, sealed(analyzer, 1, 2))
            if enough:
                assert mixer.release()[1] == list(came)
            else:
                with pytest.raises(TooFew):
                    mixer.release()

    def test_after_a_release_or_a_violation_nothing_is_left(self, analyzer):
        def release(mixer):
            mixer.receive(0, sealed(analyzer, 1, 2))
            mixer.receive(1, sealed(analyzer, 1, 2))
            mixer.release()

        def violate(mixer):
            mixer.receive(0, sealed(analyzer, 1, 2))
            mixer.receive(1, sealed(analyzer, 1, 2))
            with pytest.raises(Malformed):
                mixer.receive(2, b"x")

        for end in (release, violate):
            mixer = middle()
            end(mixer)
            assert not mixer._sealed
            for call in (mixer.release, lambda m=mixer: m.receive(2, sealed(analyzer, 1, 2))):
                with pytest.raises(OutOfTurn, match="stopped"):
                    call()

    @for_each("least", [0, 4])
    def test_least(self, least):
        with pytest.raises(InvalidValue, match="least"):
            middle(least=least)

    @pytest.mark.slow
    @given(st.integers(-1, 4), st.binary(max_size=3 * LENGTH))
    def test_what_no_device_sends_is_refused_or_does_not_open(self, device, noise):
        analyzer, mixer = Analyzer(BELOW, COHORT), middle()
        mixer.receive(0, sealed(analyzer, 7, 8))
        try:
            mixer.receive(device, noise)
        except ProtocolError:
            return
        with pytest.raises(Forged):
            analyzer.open(mixer.release()[0], 4)


class TestAnalyzer:
    @pytest.mark.slow
    @given(st.integers(0, LENGTH - 1), st.integers(1, 255), st.booleans())
    def test_a_flipped_byte_anywhere(self, at, by, second):
        analyzer = Analyzer(BELOW, COHORT)
        batch = cut(sealed(analyzer, 7, 8))
        changed = bytearray(batch[second])
        changed[at] ^= by
        batch[second] = bytes(changed)
        with pytest.raises(Forged):
            analyzer.open(batch, 2)

    @given(st.lists(st.binary(max_size=2 * LENGTH), max_size=4, unique=True))
    def test_noise_does_not_open(self, noise):
        with pytest.raises(ProtocolError):
            Analyzer(BELOW, COHORT).open([*noise, b""], len(noise) + 1)

    def test_a_seal_of_another_cohort(self, analyzer):
        batch = cut(sealed(analyzer, 7)) + cut(sealed(analyzer, 8, cohort=b"arm 1, batch 4"))
        with pytest.raises(Forged, match="this cohort"):
            analyzer.open(batch, 2)

    def test_a_seal_to_another_analyzer(self, analyzer):
        with pytest.raises(Forged):
            analyzer.open(cut(sealed(Analyzer(BELOW, COHORT), 7)), 1)

    def test_a_seal_of_another_range(self):
        analyzer = Analyzer(2, COHORT)
        with pytest.raises(Forged):
            analyzer.open([seal_bundle([1], 3, analyzer.key, COHORT)], 1)

    def test_a_wrong_number_of_messages(self, analyzer):
        for expected in (0, 1, 3):
            other = Analyzer(BELOW, COHORT)
            with pytest.raises(Malformed, match=f"must have {expected}"):
                other.open(cut(sealed(other, 7, 8)), expected)

    def test_a_message_twice(self, analyzer):
        with pytest.raises(OutOfTurn, match="twice"):
            analyzer.open(cut(sealed(analyzer, 7)) * 2, 2)

    def test_a_message_out_of_range_that_is_well_sealed(self, analyzer):
        public = X25519PublicKey.from_public_bytes(analyzer.key)
        large = MESSAGE_SUITE.encrypt((BELOW).to_bytes(2, "big"), public, info=bind_message(BELOW, COHORT))
        with pytest.raises(Malformed, match="not below"):
            analyzer.open([large], 1)

    def test_a_message_of_another_length_that_is_well_sealed(self):
        for plain in (b"", b"\0", b"\0\0\1"):
            other = Analyzer(BELOW, COHORT)
            public = X25519PublicKey.from_public_bytes(other.key)
            with pytest.raises(Malformed, match="another length"):
                other.open([MESSAGE_SUITE.encrypt(plain, public, info=bind_message(BELOW, COHORT))], 1)

    def test_opens_once_whatever_comes_of_it(self, analyzer):
        batch = cut(sealed(analyzer, 7))
        with pytest.raises(Malformed):
            analyzer.open(batch, 2)
        with pytest.raises(OutOfTurn, match="used its key"):
            analyzer.open(batch, 1)
        assert not any(isinstance(held, X25519PrivateKey) for held in vars(analyzer).values())

    def test_nothing_secret_is_shown(self, analyzer):
        mixer = middle()
        mixer.receive(0, sealed(analyzer, 7, 8))
        assert "object at" in repr(mixer)
        assert "object at" in repr(analyzer)


class TestOrder:
    """The released order is uniform, whatever the order of arrival."""

    def orders(self, mix, size=6000, seed=5):
        found, bits = {order: i for i, order in enumerate(permutations(range(4)))}, seeded(seed)
        sample = []
        for _ in range(size):
            items = [0, 1, 2, 3]
            mix(items, bits)
            sample.append(found[tuple(items)])
        return np.array(sample)

    def law(self, z):
        return np.where((z >= 0) & (z < 24), 1 / 24, 0.0)

    def test_every_order_is_as_likely(self):
        same_distribution(self.orders(shuffle), self.law)

    def test_a_swap_with_any_place_is_caught(self):
        """The classic blunder."""

        def naive(items, bits):
            for i in range(len(items)):
                j = bits.below(len(items))
                items[i], items[j] = items[j], items[i]

        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution(self.orders(naive), self.law)

    def test_of_a_release_too(self):
        bits, sample = seeded(8), []
        for _ in range(3000):
            mixer = BundleShuffler([2, 2], 2, 2, bits)
            length = message_width(2) + MESSAGE_SEAL_SIZE
            parts = [bytes([i]) * length for i in range(4)]
            mixer.receive(0, parts[0] + parts[1])
            mixer.receive(1, parts[2] + parts[3])
            sample.append([part[0] for part in mixer.release()[0]].index(0))
        same_distribution(np.array(sample), lambda z: np.where((z >= 0) & (z < 4), 1 / 4, 0.0))


def test_no_floats():
    assert offences(inspect.getsource(sealed_messages)) == []
