"""Rehearsals: the distribution of the compiled lab, and a policy that hears of nothing but releases.

Seeds are fixed; under a new seed each random assertion rejects a correct subject with probability ALPHA = 1e-9.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.backends import room as backends
from maskedbandit.backends.backend import Aggregate
from maskedbandit.backends.ideal import Ideal
from maskedbandit.backends.secagg import SecAgg
from maskedbandit.backends.shuffler import Shuffler
from maskedbandit.channels import room as channels
from maskedbandit.channels.channel import Channel, find_backend
from maskedbandit.channels.codec import Grid
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.core import TOGETHER, WAIT, Decision, kernel
from maskedbandit.errors import IllegalDecision, InvalidValue
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.experiments.protocol_option import takes_protocol
from maskedbandit.law import draws_of_one
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.policies import room as policies
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import ZERO, Loss
from tests.for_each import for_each
from tests.lab.scripted import INSTANCE, Scripted, Seeker, Watched, in_python, over
from tests.statistics import same_distribution, same_distribution_of_two, seeded


def test_only_a_backend_that_is_not_ideal_is_rehearsed() -> None:
    assert not find_backend(mb.channels.Raw())
    assert not find_backend(mb.channels.Distributed())
    assert find_backend(over(Watched()))


# --- the distribution ------------------------------------------------------------------------------------------------


class Sums(NamedTuple):
    """What was told of each arm."""

    total: np.ndarray
    n: np.ndarray


class Greedy(Policy):
    """Four users for each arm, then again and again for the one that looks best."""

    goal: ClassVar = "regret"

    def init(self, k, horizon):
        return Sums(np.zeros(k), np.zeros(k, np.int64))

    @staticmethod
    @kernel
    def ask(s, law, rng):
        for a in range(s.n.size):
            if s.n[a] == 0:
                return Decision(a, 4, 1)
        return Decision(int(np.argmax(s.total / s.n)), 4, 1)

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.total[arm] += total
        s.n[arm] += n

    def findings(self, s):
        return {"first": float(s.total[0]), "second": float(s.total[1])}


def outcomes(channel: Channel, runs: int) -> np.ndarray:
    """Users of the first arm, and its sums, of each run, as one number."""
    run = mb.simulate(Greedy(), channel, INSTANCE, 20, runs, seed=11, executor=partial(Threads, 1))
    return (run.pulls[:, 0] * 100 + np.clip(run.findings["first"], -20, 40)).astype(np.int64)


class Quiet(Distributed):
    """A mutant: devices that add no noise."""

    def randomize(self, reward, offer, bits):
        return int(reward)


class Half(Distributed):
    """A mutant: devices that add half of their noise, the noise shares of a cohort twice as large."""

    def randomize(self, reward, offer, bits):
        noise_share = self.release_noise(offer.n).noise_share(2 * self.counted_on(offer.n), bits)
        return (int(reward) + noise_share) % offer.modulus


@pytest.mark.slow
def test_a_rehearsal_has_the_distribution_of_the_compiled_lab(monkeypatch) -> None:
    """Of what a policy decides, and of what it was told."""
    in_python(monkeypatch)
    ideal = outcomes(mb.channels.Distributed(epsilon="0.5"), 150)
    same_distribution_of_two(outcomes(over(Watched(), epsilon="0.5"), 150), ideal)
    with pytest.raises(AssertionError, match="two distributions"):
        same_distribution_of_two(outcomes(Quiet(epsilon="0.5", backend=Watched()), 150), ideal)


def noise(channel: Channel, cohorts: int, n: int = 3) -> list[int]:
    """What was told to a policy of arm 0, all of whose rewards are 1, less the number of them."""
    policy = Scripted(0, n)
    mb.simulate(policy, channel, mb.Bernoulli([1.0, 0.5]), n * cohorts, seed=1)
    return [round(total) - n for _, n, total in policy.released]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "twins"),
    [(Watched(), ((Quiet, 60), (Half, 1000))), (SecAgg(smallest=1), ((Quiet, 60),))],
    ids=["watched", "secagg"],
)
def test_the_noise_of_a_release_is_one_whole_draw(backend, twins) -> None:
    """Devices draw it, whatever the backend: those that halve it are looked for where cohorts are quick."""
    whole = DiscreteLaplace(5).pmf  # of epsilon = 1/5
    same_distribution(noise(over(backend, epsilon="0.2"), 700), whole)
    for broken, cohorts in twins:
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution(noise(broken("0.2", backend=backend), cohorts), whole)


@pytest.mark.slow
def test_as_many_devices_as_are_counted_on_make_one_whole_draw() -> None:
    whole = DiscreteLaplace(5).pmf
    same_distribution(noise(over(Watched(lost=1), epsilon="0.2", honest="2/3"), 400), whole)
    with pytest.raises(AssertionError, match="another distribution"):  # one of three may be lost, and nobody is
        same_distribution(noise(over(Watched(), epsilon="0.2", honest="1/3"), 400), whole)


class Turns(Greedy):
    """Serves one user with each arm in turn."""

    @staticmethod
    @kernel
    def ask(s, law, rng):
        s.n[0] += 1
        return Decision(s.n[0] % s.n.size, 1, 0)


def test_users_who_are_served_alone_get_the_rewards_of_the_compiled_lab(monkeypatch) -> None:
    """The same rewards, but not the same draws of a policy, each of whose decisions has a stream of its own here."""
    in_python(monkeypatch)
    runs = [mb.simulate(Turns(), channel, INSTANCE, 100, 2, seed=5) for channel in (over(Watched()), over(Ideal()))]
    assert runs[0].pulls.tolist() == [[50, 50]] * 2
    assert (runs[0].pulls == runs[1].pulls).all()
    assert runs[0].regret == pytest.approx(runs[1].regret)
    assert runs[0].realised_regret == pytest.approx(runs[1].realised_regret)


def test_realised_regret_is_known_where_the_compiled_lab_rounds() -> None:
    instance = mb.ClippedGaussian([0.2, 0.8], sd=0.1)
    run = mb.simulate(Scripted(0, 5), over(Watched()), instance, 400)
    gaps = instance.true_means().max() - instance.true_means()
    assert run.realised_regret[0, -1] == pytest.approx(400 * gaps[0], abs=6.11 * 0.1 * 20)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers() -> None:
    channel = over(SecAgg(smallest=1, dropout=0.1, attempts=2), honest=0.75)
    one, two = (
        mb.simulate(Greedy(), channel, INSTANCE, 24, 4, seed=3, executor=partial(Threads, jobs)) for jobs in (1, 2)
    )
    other = mb.simulate(Greedy(), channel, INSTANCE, 24, 4, seed=4)
    assert (one.pulls == two.pulls).all()
    assert (one.realised_regret == two.realised_regret).all()
    assert one.loss == two.loss
    assert not (one.realised_regret == other.realised_regret).all()


# --- what a policy is told ----------------------------------------------------------------------------------


def test_a_policy_is_told_releases_and_nothing_else() -> None:
    policy, channel = Scripted(1, 5), over(Watched())
    run = mb.simulate(policy, channel, INSTANCE, 53)
    expected = [
        (1, 5, channel.analyze(total, channel.offer(5), seeded(1), answers=5)) for total in channel.backend.released
    ]
    assert policy.released == expected
    assert run.releases[0] == len(expected) == 10


@pytest.mark.sparing(1)
@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_sum_is_read_as_that_of_the_whole_cohort(lost) -> None:
    """Its modulus is that of the users who were asked, however many are lost."""
    channel, policy = over(Watched(lost=lost), honest="0.6", modulus="tight"), Scripted(0, 5)
    mb.simulate(policy, channel, INSTANCE, 500)
    assert policy.released == [
        (0, 5 - lost, channel.analyze(total, channel.offer(5), seeded(1), answers=5))
        for total in channel.backend.released
    ]
    assert any(total < 0 for _, _, total in policy.released)
    assert channel.residues(5) != channel.residues(5 - max(lost, 1))


def test_every_device_has_its_place_in_the_cohort() -> None:
    """Some toss a coin more than others, and together they toss all."""
    positions = []

    class Placed(Shuffled):
        def randomize(self, reward, offer, bits):
            positions.append(offer.position)
            return super().randomize(reward, offer, bits)

    mb.simulate(Scripted(1, 7), Placed(backend=Shuffler()), INSTANCE, 21)
    assert positions == [0, 1, 2, 3, 4, 5, 6] * 3


def test_a_cohort_that_the_horizon_cuts_off_is_never_summed() -> None:
    channel, cut, whole = over(Watched()), Scripted(1, 30), Scripted(1, 25)
    run = mb.simulate(cut, channel, INSTANCE, 100)
    assert [n for _, n, _ in cut.released] == [30] * 3
    assert [len(values) for values, _ in channel.backend.seen] == [30] * 3
    assert run.pulls[0].tolist() == [0, 100]
    mb.simulate(whole, channel, INSTANCE, 100)
    assert [n for _, n, _ in whole.released] == [25] * 4  # a cohort that ends with the horizon is whole


def test_a_cohort_may_be_asked_for_piece_by_piece() -> None:
    channel, policy = over(Watched()), Scripted(1, 5, close=0)
    run = mb.simulate(policy, channel, INSTANCE, 100)
    assert (run.releases[0], policy.released, channel.backend.seen) == (0, [], [])
    assert run.loss == Loss.pure(1)  # they were charged when they were shown the arm


def test_who_is_lost_is_not_counted() -> None:
    policy = Scripted(1, 5)
    run = mb.simulate(policy, over(Watched(lost=2), honest=0.6), INSTANCE, 20)
    assert [n for _, n, _ in policy.released] == [3] * 4
    assert run.pulls[0].tolist() == [0, 20]


def test_real_losses_are_told_as_survivors() -> None:
    policy = Scripted(1, 8)
    channel = over(SecAgg(smallest=1, dropout=0.2), honest=0.5)
    mb.simulate(policy, channel, INSTANCE, 80, seed=1)
    assert {n for _, n, _ in policy.released} <= set(range(4, 9))
    assert min(n for _, n, _ in policy.released) < 8


def test_after_a_stop_users_are_served_and_nobody_asks_for_their_rewards() -> None:
    policy, channel = Scripted(1, 5, stop=2), over(Watched())
    run = mb.simulate(policy, channel, INSTANCE, 1000)
    assert (run.releases[0], run.pulls[0].tolist(), len(channel.backend.seen)) == (2, [0, 1000], 2)
    assert mb.simulate(Scripted(1, 5, stop=0), channel, INSTANCE, 1000).loss == ZERO
    found = mb.identify(Seeker(1, 5, stop=2), channel, INSTANCE, max_pulls=1000)
    assert (found.samples[0], found.answer[0], found.correct[0]) == (10, 1, True)
    cut = mb.identify(Seeker(1, 5), channel, INSTANCE, max_pulls=13)
    assert (cut.samples[0], cut.stopped[0]) == (13, False)


@for_each(
    ("arm", "n", "said"), [(2, 1, "arm 2, which does not exist"), (0, -1, "for -1 users"), (WAIT.arm, 0, "waits")]
)
def test_what_a_policy_may_not_ask_for(arm, n, said) -> None:
    with pytest.raises(IllegalDecision, match=said):
        mb.simulate(Scripted(arm, n), over(Watched()), INSTANCE, 100)


def test_cohorts_of_unknown_size_need_noise_and_price_that_do_not_depend_on_it() -> None:
    gaussian = over(Watched(), epsilon=0.1, noise=mb.noises.DiscreteGaussian())
    for channel in (over(Watched(), grid=Grid(fineness=1)), gaussian):
        with pytest.raises(IllegalDecision, match="unknown size"):
            mb.simulate(Scripted(0, 5, close=0), channel, INSTANCE, 100)
        mb.simulate(Scripted(0, 5), channel, INSTANCE, 100)


# --- decks --------------------------------------------------------------------------------------------------


class Decks(Greedy):
    """Six users of one arm and four of the other, in random order, again and again."""

    @staticmethod
    @kernel
    def ask(s, law, rng):
        s.n[1] = 1 - s.n[1]
        return Decision(0, 6, TOGETHER) if s.n[1] == 1 else Decision(1, 4, 1)

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.total[arm] += n


SHOWN: list[int] = []


class Shown(mb.Bernoulli):
    """Says which arm a user was shown."""

    @staticmethod
    @kernel
    def one(world, arm, t, g, stream):
        SHOWN.append(arm)
        return 1.0


@pytest.mark.slow
def test_cohorts_that_are_asked_for_together_are_dealt_together() -> None:
    backend = Watched()
    SHOWN.clear()
    run = mb.simulate(Decks(), over(backend), Shown([0.2, 0.9]), 5003, seed=8)
    decks = [SHOWN[t : t + 10] for t in range(0, 5000, 10)]
    assert {sum(deck) for deck in decks} == {4}
    assert [len(values) for values, _ in backend.seen] == [6, 4] * 500
    assert (run.releases[0], run.findings["first"][0], run.findings["second"][0]) == (1000, 3000, 2000)
    places = np.array([place for deck in decks for place in range(10) if deck[place] == 1])
    same_distribution(places, lambda z: np.where((z >= 0) & (z < 10), 0.1, 0.0))


def test_a_cohort_of_a_deck_that_is_thrown_away_is_dealt_again_alone() -> None:
    backend = Watched(fails=1)
    SHOWN.clear()
    run = mb.simulate(Decks(), over(backend), Shown([0.2, 0.9]), 40, seed=8)
    assert [len(values) for values, _ in backend.seen] == [6, 4, 6, 6, 6, 4, 6]  # the first and every other one fails
    decks = [SHOWN[t:end] for t, end in ((0, 10), (10, 16), (16, 22), (22, 32), (32, 38), (38, 40))]
    assert [(deck.count(0), deck.count(1)) for deck in decks] == [(6, 4), (6, 0), (6, 0), (6, 4), (6, 0), (2, 0)]
    assert (run.releases[0], run.findings["thrown_away"][0]) == (3, 4)


# --- small cohorts ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_cohort_that_is_too_small_says_what_to_do() -> None:
    with pytest.raises(InvalidValue, match=r"at least 32.*SuccessiveElimination asked for a cohort of 8: its `least`"):
        mb.simulate(mb.policies.SuccessiveElimination(least=8), over(SecAgg()), INSTANCE, 1000)
    with pytest.raises(InvalidValue, match=r"AdaPKLUCB asked for a cohort of 1; policies .*successive_elimination"):
        mb.simulate(mb.policies.AdaPKLUCB(), over(SecAgg()), INSTANCE, 1000)
    with pytest.raises(InvalidValue, match=r"`least`: contemporaneous_elimination, released_likelihood\)"):
        mb.identify(mb.policies.BestArmDPSE(), over(SecAgg(smallest=10**4)), INSTANCE)


# --- every policy, every protocol ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Lossy(Watched):
    """Loses a device now and then."""

    def sum(self, values, modulus, least, cohort, bits):
        here = [position for position in range(len(values)) if bits.below(10) or len(values) < 3]
        return Aggregate(sum(values[position] for position in here) % modulus, here)


def fitting(goal: str) -> list[str]:
    law = over(Lossy(), honest=0.5).law()
    return [name for name in policies if policies[name].goal == goal and not policies[name]().needs(law)]


@pytest.mark.sparing(1)
@pytest.mark.parametrize(
    "name", [name for goal in ("regret", "identify", "select", "answer") for name in fitting(goal)]
)
def test_every_policy_goes_on_when_devices_are_lost(name) -> None:
    policy, channel = policies[name](), over(Lossy(), epsilon=5, honest=0.5)
    if policy.goal == "regret":
        run = mb.simulate(policy, channel, INSTANCE, 400, seed=2)
        assert run.pulls.sum() == 400
        assert not np.isnan(run.regret).any()
    elif policy.goal == "answer":
        found = mb.answer(policy, channel, INSTANCE, 400, seed=2)
        assert found.stopped.all()
        assert found.pulls.sum() <= 400
    elif policy.goal == "identify":
        found = mb.identify(policy, channel, INSTANCE, delta=0.1, max_pulls=1500, seed=2)
        assert found.samples[0] <= 1500
    else:
        three = mb.Bernoulli([0.9, 0.8, 0.1])
        assert mb.select(policy, channel, three, delta=0.1, max_pulls=1500, seed=2).samples[0] <= 1500


PROTOCOLS = [
    (channel, backend)
    for channel in channels
    for backend in backends
    if backend != "ideal" and takes_protocol(channels[channel], backends[backend]())
]


def test_every_protocol_carries_a_channel() -> None:
    assert {backend for _, backend in PROTOCOLS} == set(backends) - {"ideal"}
    assert ("distributed", "secagg") in PROTOCOLS


@pytest.mark.slow
@pytest.mark.parametrize(("channel", "backend"), PROTOCOLS)
def test_every_channel_runs_over_every_protocol_that_it_takes(channel, backend) -> None:
    n, kind = 44, channels[channel]
    policy = Scripted(1, n)
    how = {"honest": 0.75} if "honest" in kind.__dataclass_fields__ else {}
    of_sites = {"shares": ("1/8",) * 9, "lost": 1, "dropout": 0.06}  # who are few, and of whom one may be lost
    carried = kind(
        epsilon=2, **how, backend=backends[backend](**(of_sites if backend == "sites" else {"dropout": 0.03}))
    )
    run = mb.simulate(policy, carried, INSTANCE, 4 * n, seed=10)
    assert run.loss == carried.loss(n) == replace(carried, backend=Ideal()).loss(n)
    assert len(policy.released) == 4
    deviation = np.sqrt(n * 0.09 + 2 * draws_of_one(carried.law(), n) * carried.law().scale ** 2)
    for _, left, total in policy.released:
        assert 0.75 * n <= left <= n
        assert abs(total - 0.9 * left) < 10 * deviation
    assert min(left for _, left, _ in policy.released) < n
    assert run.to_frame()["sees"][0] == f"{carried.sees}, over {backends[backend].__name__}"
