"""The shuffler as a backend: the messages of the survivors, or a named error and nothing."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskedbandit.backends.backend import Mixer
from maskedbandit.backends.ideal import Ideal
from maskedbandit.backends.shuffler import Shuffler
from maskedbandit.errors import Forged, InvalidValue, OutOfTurn, TooFew
from maskedbandit.shuffle import sealed_messages
from maskedbandit.shuffle.sealed_messages import MESSAGE_SEAL_SIZE
from tests.for_each import for_each
from tests.statistics import seeded

BUNDLES = st.lists(st.lists(st.integers(0, 99), max_size=4), min_size=1, max_size=6)


@pytest.mark.slow
@given(BUNDLES, st.sampled_from([0, "0.2", "0.6"]), st.integers(1, 6), st.integers(0, 2**32))
def test_all_messages_of_survivors_and_no_others(bundles, dropout, least, seed):
    least = min(least, len(bundles))
    try:
        mixed, aggregate = Shuffler(dropout=dropout).mix(bundles, 100, least, b"cohort", seeded(seed))
    except TooFew:
        assert dropout
        return
    survivors = aggregate.survivors
    assert len(survivors) >= least
    assert sorted(mixed) == sorted(message for device in survivors for message in bundles[device])
    assert aggregate.total == sum(mixed)
    assert dropout or list(survivors) == list(range(len(bundles)))


@pytest.mark.slow
@given(BUNDLES)
def test_the_same_messages_as_the_ideal_one(bundles):
    ideal, real = (backend.mix(bundles, 100, len(bundles), b"cohort", seeded(1)) for backend in (Ideal(), Shuffler()))
    assert sorted(real[0]) == sorted(ideal[0])
    assert (real[1].total, list(real[1].survivors)) == (ideal[1].total, list(ideal[1].survivors))


def test_bytes_and_seconds_of_the_phases():
    _, aggregate = Shuffler().mix([[1, 2, 3]] * 5, 300, 5, b"cohort", seeded(1))
    assert [(phase.name, phase.up, phase.down) for phase in aggregate.phases] == [
        ("seal", 5 * 3 * (2 + MESSAGE_SEAL_SIZE), 5 * 32),
        ("shuffle", 0, 0),
        ("open", 0, 0),
    ]
    assert all(phase.seconds >= 0 for phase in aggregate.phases)


def test_devices_are_lost_as_often_as_is_said():
    bits, n = seeded(3), 4000
    _, aggregate = Shuffler(dropout="1/4").mix([[]] * n, 2, 1, b"", bits)
    assert 800 < n - len(aggregate.survivors) < 1200  # 7 deviations


class TestThoseWhoAreCountedOn:
    def lose(self, monkeypatch, *devices):
        """Let these devices be lost."""
        turns = iter(range(10**6))
        monkeypatch.setattr("maskedbandit.backends.shuffler.bernoulli", lambda p, bits: next(turns) in devices)

    @pytest.mark.parametrize(("lost", "enough"), [((), True), ((1, 3), True), ((0, 1, 2), False)])
    def test_by_number(self, monkeypatch, lost, enough):
        self.lose(monkeypatch, *lost)
        self.check(enough, Shuffler(dropout="0.1"), least=3)

    @pytest.mark.parametrize(("lost", "enough"), [((), True), ((1,), True), ((1, 3), False)])
    def test_the_corrupted_are_not_counted(self, monkeypatch, lost, enough):
        self.lose(monkeypatch, *lost)
        self.check(enough, Shuffler(corrupted="0.2", dropout="0.1"), least=3)

    @pytest.mark.parametrize(("lost", "enough"), [((), True), ((0, 1, 2, 3), True), ((4,), False)])
    def test_by_weight(self, monkeypatch, lost, enough):
        self.lose(monkeypatch, *lost)
        self.check(enough, Shuffler(dropout="0.1"), least=6, weights=[1, 1, 1, 1, 6])

    @pytest.mark.parametrize(("lost", "enough"), [((), True), ((0,), True), ((1,), False), ((3, 4), False)])
    def test_the_corrupted_may_be_the_heaviest(self, monkeypatch, lost, enough):
        self.lose(monkeypatch, *lost)
        self.check(enough, Shuffler(corrupted="0.2", dropout="0.1"), least=5, weights=[0, 2, 2, 1, 3])

    def check(self, enough, backend, **counted):
        def mix():
            return backend.mix([[1]] * 5, 2, cohort=b"cohort", bits=seeded(1), **counted)

        if enough:
            assert sum(mix()[0]) >= 1
        else:
            with pytest.raises(TooFew):
                mix()

    def test_more_than_can_be_are_refused(self):
        Shuffler(corrupted="0.2").awaited([1] * 10, 8)
        for backend, least in ((Shuffler(corrupted="0.2"), 9), (Shuffler(), 11), (Shuffler(), 0)):
            with pytest.raises(InvalidValue, match="counted on in a cohort of 10"):
                backend.awaited([1] * 10, least)
        with pytest.raises(InvalidValue, match="3 may be corrupted"):
            Shuffler(corrupted="0.5").mix([[1]] * 2, 2, 2, b"", seeded(1), weights=[1, 3])


class TestAttacks:
    """What a dishonest party does inside the rehearsal ends it."""

    def ends(self, error):
        with pytest.raises(error):
            Shuffler().mix([[1, 2]] * 3, 100, 3, b"cohort", seeded(1))

    def test_a_tampered_seal(self, monkeypatch):
        honest = sealed_messages.seal_bundle
        monkeypatch.setattr(
            sealed_messages, "seal_bundle", lambda *args: (bundle := honest(*args))[:-1] + bytes([bundle[-1] ^ 1])
        )
        self.ends(Forged)

    def test_a_seal_of_another_cohort(self, monkeypatch):
        honest = sealed_messages.seal_bundle
        monkeypatch.setattr(
            sealed_messages, "seal_bundle", lambda messages, below, key, _: honest(messages, below, key, b"other")
        )
        self.ends(Forged)

    def test_a_replay(self, monkeypatch):
        honest, kept = sealed_messages.seal_bundle, []

        def replay(*args):
            kept.append(honest(*args))
            return kept[0]

        monkeypatch.setattr(sealed_messages, "seal_bundle", replay)
        self.ends(OutOfTurn)


class TestValues:
    @for_each("name", ["dropout", "corrupted"])
    @for_each("fraction", [-0.1, 1, 2, "x", None, float("nan")])
    def test_fractions(self, name, fraction):
        with pytest.raises(InvalidValue, match=name):
            Shuffler(**{name: fraction})

    def test_is_a_mixer_and_a_record(self):
        backend = Shuffler(dropout=0.1)
        assert isinstance(backend, Mixer)
        assert backend == Shuffler(0, Fraction(1, 10))
        assert hash(backend) == hash(Shuffler(0, "0.1"))
