"""The sum by secure aggregation: its parameters, its rehearsal, and the noise that comes out at the end.

Seeds are fixed; under a new seed each random assertion rejects a correct backend with probability ALPHA = 1e-9.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from hashlib import sha256
from typing import ClassVar

import numpy as np
import pytest

from maskedbandit.backends import room, secagg
from maskedbandit.backends.secagg import SecAgg, rehearse_round
from maskedbandit.channels.distributed import Distributed
from maskedbandit.errors import InvalidValue, ProtocolError, TooFew
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.messages import KEY_SHARES
from maskedbandit.secagg.parameters import choose_neighbours, complete_graph
from maskedbandit.secagg.plan import RoundPlan
from tests.for_each import for_each
from tests.statistics import at_most, same_distribution, seeded

SEED = bytes(32)
TINY = SecAgg(smallest=1)


class TestParameters:
    @for_each(
        ("name", "value", "allowed"),
        [
            ("corrupted", 1, "below 1"),
            ("corrupted", -0.1, "0"),
            ("corrupted", "many", "number"),
            ("corrupted", float("nan"), "number"),
            ("dropout", 1.5, "below 1"),
            ("dropout", None, "number"),
            ("server", "kind", "'honest' or 'malicious'"),
            ("graph", "ring", "'auto', 'complete' or 'sparse'"),
            ("attempts", 0, "at least 1"),
            ("attempts", 1.0, "at least 1"),
            ("smallest", True, "at least 1"),
            ("smallest", -3, "at least 1"),
        ],
    )
    def test_what_is_refused_is_named(self, name, value, allowed):
        with pytest.raises(InvalidValue, match=f"{name} is .*{allowed}"):
            SecAgg(**{name: value})

    def test_is_found_by_its_name(self):
        assert room["secagg"] is SecAgg

    @for_each(
        ("backend", "n", "least", "message"),
        [
            (SecAgg(), 40, 31, "in a cohort of 40 is 31: it must be at least 32: use larger cohorts or two servers"),
            (SecAgg(corrupted=0.1), 100, 91, "is 91: it must be at most 90, as 10 may be corrupted: lower `honest`"),
            (SecAgg(smallest=1), 2, 2, "n is 2"),
            (SecAgg(smallest=1, corrupted=0.5), 10, 1, "lost is 4"),
            (SecAgg(server="malicious"), 100, 40, "lost is 60"),
            (SecAgg(server="malicious", graph="sparse"), 100, 40, "lost is 60"),
            (SecAgg(server="malicious", corrupted=0.6, smallest=1), 100, 20, "lost is 20: it must be from 0 to 19"),
        ],
    )
    def test_cohorts_that_cannot_be_are_refused(self, backend, n, least, message):
        with pytest.raises(InvalidValue, match=message):
            backend.rules.find_neighbourhood(n, least)
        with pytest.raises(InvalidValue, match=message):
            backend.sum([0] * n, 8, least, b"", seeded(1))

    @for_each("server", ["honest", "malicious"])
    @for_each("corrupted", [0, "0.05", "0.1"])
    @for_each(("graph", "n"), [("auto", 64), ("auto", 400), ("complete", 200), ("sparse", 400)])
    def test_plans_are_those_of_the_calculator(self, server, corrupted, graph, n):
        least, c = n * 8 // 10, int(Fraction(corrupted) * n)
        plan = SecAgg(corrupted, server, graph).rules.plan(n, least, 2**20, b"a", sha256(SEED).digest())
        lies, secrecy = server == "malicious", {"honest": 40, "malicious": 80}[server]
        whole = graph == "complete" or (graph == "auto" and (lies or n <= 128))
        lost = n - c - least
        found = complete_graph(n, c, lost, lies) if whole else choose_neighbours(n, c, lost, lies, secrecy)
        assert (plan.neighbours, plan.threshold) == found[:2]
        assert found.least <= found.most
        assert plan.least == least + c
        assert (plan.n, plan.modulus, plan.cohort, plan.signed) == (n, 2**20, b"a", server == "malicious")
        if server == "malicious" and whole:
            assert 2 * plan.threshold > plan.neighbours + c
        assert plan.threshold > c or not whole

    @for_each("n", [128, 129, 1000, 10_000])
    def test_a_sparse_graph_under_a_lying_server_must_be_asked_for(self, n):
        """There the number of values in the sum rests on the server; with an honest one nothing does."""
        found = {
            (server, graph): SecAgg("0.1", server, graph).rules.find_neighbourhood(n, n * 8 // 10).k
            for server in ("honest", "malicious")
            for graph in ("auto", "complete", "sparse")
        }
        assert found["malicious", "auto"] == found["malicious", "complete"] == found["honest", "complete"] == n - 1
        assert found["honest", "auto"] == (n - 1 if n <= 128 else found["honest", "sparse"])
        assert max(found["honest", "sparse"], found["malicious", "sparse"]) < n - 1

    def test_plans_name_the_noise(self):
        """Devices that add other noise, or for other survivors, are in another round."""
        seen = []

        class Spy(SecAgg):
            def sum(self, values, modulus, least, cohort, bits):
                seen.append((modulus, least, cohort))
                return super().sum(values, modulus, least, cohort, bits)

        for changed in ({}, {"epsilon": 2}, {"honest": "0.6"}, {"grid": 4}):
            channel = Distributed(backend=Spy(smallest=1), modulus=2**20, **({"honest": "0.8"} | changed))
            channel.aggregate([0] * 5, channel.offer(5), seeded(1), b"monday")
        assert len({cohort for _, _, cohort in seen}) == 4
        assert all(cohort.endswith(b"monday") for _, _, cohort in seen)
        assert [least for _, least, _ in seen] == [4, 4, 3, 4]


class TestPlan:
    @for_each(
        ("changed", "message"),
        [
            ({"users": (0, 1)}, "number of users is 2"),
            ({"users": (0, 2, 1)}, "in order"),
            ({"users": (0, 1, 1, 2)}, "in order"),
            ({"users": (-1, 0, 1)}, "in order"),
            ({"users": (0, 1, 2**64)}, "in order"),
            ({"neighbours": 3}, "neighbours is 3"),
            ({"neighbours": 6}, "neighbours is 6"),
            ({"neighbours": 0}, "neighbours is 0"),
            ({"threshold": 1}, "threshold is 1"),
            ({"threshold": 6}, "threshold is 6"),
            ({"least": 3}, "least is 3: it must be a whole number from 4 to 6"),
            ({"least": 7}, "least is 7"),
            ({"modulus": 1}, "modulus is 1"),
            ({"modulus": 2**65088 + 1}, "modulus is"),
        ],
    )
    def test_what_is_refused_is_named(self, changed, message):
        plan = RoundPlan(b"x", tuple(range(6)), 5, 3, 4, 100, True, sha256(SEED).digest())
        with pytest.raises(InvalidValue, match=message):
            replace(plan, **changed)

    @for_each("users", [(5, 70077, 6), (70077, 70077, 70078)])
    def test_users_are_not_printed(self, users):
        plan = RoundPlan(b"x", (5, 6, 70077), 2, 2, 3, 100, True, sha256(SEED).digest())
        assert "70077" not in repr(plan)
        with pytest.raises(InvalidValue, match="users is 'hidden'"):
            replace(plan, users=users)


class TestSum:
    @pytest.mark.slow
    @for_each("server", ["honest", "malicious"])
    @for_each("graph", ["complete", "sparse"])
    @for_each("n", [3, 20])
    def test_is_the_sum(self, server, graph, n):
        backend = SecAgg(server=server, graph=graph, smallest=1)
        found = backend.sum(range(n), 1000, n, b"", seeded(1))
        assert (found.total, list(found.survivors)) == (sum(range(n)) % 1000, list(range(n)))

    @for_each(
        ("server", "names"),
        [
            ("honest", ["keys", "sealed key shares", "masked values", "key shares"]),
            ("malicious", ["keys", "sealed key shares", "masked values", "votes", "key shares"]),
        ],
    )
    def test_phases(self, server, names):
        """Bytes are those of the formats: of n devices with n - 1 neighbours each, all of whom stay."""
        n, signed = 6, server == "malicious"
        plan = SecAgg(server=server, smallest=1).rules.plan(n, n, 100)
        found = SecAgg(server=server, smallest=1).sum([1] * n, 100, n, b"", seeded(1))
        k, t = plan.neighbours, plan.threshold
        head, flags, sealed, keys = 34, 1, 2 * 17 + 16, 64 + 64 * signed
        up = [head + keys, head + 32 + k * sealed, head + 8, *[head + 64] * signed, head + k * 17]
        down = [0, head + 64 + flags + k * keys, head + flags + k * sealed, head + flags]
        down += [head + flags + t * 64] * signed
        assert [phase.name for phase in found.phases] == names
        assert [phase.up for phase in found.phases] == [n * each for each in up]
        assert [phase.down for phase in found.phases] == [n * each for each in down]
        assert all(phase.seconds >= 0 for phase in found.phases)

    @pytest.mark.slow
    @pytest.mark.parametrize("signed", [False, True])
    def test_a_device_sends_at_most_6_kilobytes_to_48_neighbours(self, signed):
        """The number of neighbours of 1000 users of whom a tenth is corrupted, and a tenth lost."""
        plan = SecAgg(corrupted=0.1).rules.plan(1000, 800, 2**20)
        assert (plan.neighbours, plan.threshold) == (48, 27)
        small = RoundPlan(b"", tuple(range(50)), 48, 27, 40, 2**20, signed, sha256(SEED).digest())
        found = rehearse_round(small, SEED, dict.fromkeys(range(50), 1), {}, seeded(1))
        assert sum(phase.up for phase in found.phases) / 50 < (3700 if signed else 3500) < 6000

    @pytest.mark.slow
    def test_at_a_thousand_users(self):
        backend = SecAgg(corrupted=0.1, dropout=0.05)
        found = backend.sum([3] * 1000, 2**20, 800, b"", seeded(1))
        assert found.total == 3 * len(found.survivors)
        assert 900 <= len(found.survivors) < 1000
        assert sum(phase.up for phase in found.phases) / 1000 <= 6000

    @pytest.mark.slow
    def test_same_seed_same_result(self):
        def totals(seed):
            bits = seeded(seed)
            found = []
            for _ in range(20):
                try:
                    found.append(SecAgg(smallest=1, dropout=0.3).sum(range(8), 100, 4, b"", bits)[:2])
                except TooFew as why:
                    found.append(str(why))
            return found

        assert totals(1) == totals(1)
        assert totals(1) != totals(2)

    def test_another_cohort_or_seed_has_other_masks(self):
        sent = [masked_values([1] * 4, cohort, seed) for cohort, seed in [(b"a", 1), (b"b", 1), (b"a", 2)]]
        assert not sent[0] & sent[1] | sent[0] & sent[2] | sent[1] & sent[2]


def masked_values(values, cohort, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secagg, "RoundClient", Heard)
        Heard.sent.clear()
        TINY.sum(values, 2**62, len(values), cohort, seeded(seed))
    return {message for message in Heard.sent if message[1] == 5}


class Heard(RoundClient):
    """A device whose messages are written down."""

    sent: ClassVar[list[bytes]] = []

    def receive(self, message):
        answer = super().receive(message)
        Heard.sent.append(answer)
        return answer


class TestDropout:
    @for_each(("server", "phases"), [("honest", 4), ("malicious", 5)])
    def test_everybody_who_is_to_be_lost_is_lost(self, server, phases):
        """Before a phase drawn at random; the number of the lost is what it should be, and no phase is left out."""
        leaves = SecAgg(dropout="0.25", server=server).leaves(20_000, seeded(1))
        at_most(len(leaves), 20_000, 0.25)
        at_most(20_000 - len(leaves), 20_000, 0.75)
        assert set(leaves.values()) == set(range(phases))
        same_distribution(list(leaves.values()), lambda z: np.where((z >= 0) & (z < phases), 1 / phases, 0.0))

    @pytest.mark.slow
    @pytest.mark.parametrize("server", ["honest", "malicious"])
    def test_the_sum_is_that_of_survivors_or_there_is_none(self, server):
        backend, bits, ended = SecAgg(smallest=1, dropout=0.2, server=server), seeded(2), []
        for _ in range(60):
            try:
                found = backend.sum([1, 10, 100, 1000, 10_000, 100_000, 10**6], 10**7, 5, b"", bits)
            except TooFew:
                ended.append(False)
                continue
            assert found.total == sum(10**user for user in found.survivors)
            assert len(found.survivors) >= 5
            ended.append(True)
        assert 10 < sum(ended) < 60


@dataclass(frozen=True)
class Losing(SecAgg):
    """Loses the last users of every cohort before they send their masked values."""

    lost: int = 0

    def leaves(self, n, bits):
        return dict.fromkeys(range(n - self.lost, n), 2)


class Quick(Distributed):
    """The same channel, but it computes the numbers of a cohort once."""

    __hash__ = object.__hash__
    steps, release_noise = cache(Distributed.steps), cache(Distributed.release_noise)
    residues, counted_on = cache(Distributed.residues), cache(Distributed.counted_on)


@dataclass(frozen=True)
class ForAll(DiscreteLaplace):
    """A mutant whose noise shares are calibrated to all six users, whoever survives."""

    def stretch(self, factor):
        return ForAll(self.scale * factor)

    def noise_shares(self, size, n, bits):
        return super().noise_shares(size, 6, bits)


def noise(channel, rounds, n=6, seed=3):
    """What whole rounds release of rewards that are all 1, less the sum of the survivors' rewards."""
    bits, offer, found = seeded(seed), channel.offer(n), []
    for _ in range(rounds):
        sent = [channel.randomize(1, offer, bits) for _ in range(n)]
        heard = channel.aggregate(sent, offer, bits)
        found.append(
            round(channel.analyze(heard.total, offer, bits, answers=len(heard.survivors))) - len(heard.survivors)
        )
    return found


class TestEndToEnd:
    """Distributed noise over real rounds of six users, half of whom are counted on."""

    def channel(self, lost, **more):
        return Quick(1, honest="0.5", backend=Losing(smallest=1, lost=lost), **more)

    @pytest.mark.slow
    def test_exactly_as_many_survivors_as_are_counted_on_add_one_discrete_laplace(self):
        channel = self.channel(lost=3)
        assert channel.counted_on(6) == 3
        same_distribution(noise(channel, 1000), DiscreteLaplace(1).pmf)

    @pytest.mark.slow
    def test_noise_shares_for_all_users_are_caught(self):
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution(noise(self.channel(lost=3, noise=ForAll()), 1000), DiscreteLaplace(1).pmf)

    @pytest.mark.slow
    def test_more_survivors_add_more(self):
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution(noise(self.channel(lost=0), 700), DiscreteLaplace(1).pmf)

    def test_one_fewer_ends_it_before_anything_is_revealed(self, monkeypatch):
        monkeypatch.setattr(secagg, "RoundClient", Heard)
        Heard.sent.clear()
        with pytest.raises(TooFew, match="2 users are left after the phase of masked values: 3 are needed"):
            noise(self.channel(lost=4), 1)
        assert len(Heard.sent) == 6 + 6 + 2
        assert all(message[1] != KEY_SHARES for message in Heard.sent)

    def test_noise_is_drawn_before_the_round_begins(self, monkeypatch):
        """What devices bring to the round is fixed: their clients are made of noisy values, before any message."""
        order = []

        class Watched(DiscreteLaplace):
            def stretch(self, factor):
                return Watched(self.scale * factor)

            def noise_shares(self, size, n, bits):
                order.append("noise")
                return super().noise_shares(size, n, bits)

        class Made(RoundClient):
            def receive(self, message):
                order.append("message")
                return super().receive(message)

        monkeypatch.setattr(secagg, "RoundClient", Made)
        noise(self.channel(lost=3, noise=Watched()), 1)
        assert order[:6] == ["noise"] * 6
        assert set(order[6:]) == {"message"}

    def test_failure_is_named(self):
        with pytest.raises(ProtocolError):
            noise(self.channel(lost=5), 1)
