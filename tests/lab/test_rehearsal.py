"""Rehearsals: the law of the compiled lab, honest books, and a policy that hears of nothing but releases.

Seeds are fixed; under a new seed each random assertion rejects a correct subject with probability ALPHA = 1e-9.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.backends import room as backends
from maskedbandit.backends.backend import Adder, Aggregate
from maskedbandit.backends.ideal import Ideal
from maskedbandit.backends.secagg import SecAgg
from maskedbandit.channels import room as channels
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.codec import Grid
from maskedbandit.channels.distributed import Distributed
from maskedbandit.core import WAIT, Decision, kernel
from maskedbandit.errors import AlreadySpent, BudgetExceeded, IllegalDecision, InvalidValue, TooFew
from maskedbandit.lab import rehearsal
from maskedbandit.lab.protocols import takes
from maskedbandit.lab.rehearsal import HOPELESS, Cohorts, Device, real
from maskedbandit.law import draws_of_one
from maskedbandit.policies import room as policies
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import ZERO, Loss
from tests.statistics import same_law_of_two, seeded

INSTANCE = mb.Bernoulli([0.2, 0.9])


@dataclass(frozen=True)
class Watched(Adder):
    """Adds up what some devices sent, and writes down what it saw; a cohort fails so many times."""

    lost: int = 0  # so many of the first devices
    fails: int = 0  # times in a row, then a cohort succeeds
    attempts: int = 1
    seen: list[tuple[tuple[int, ...], bytes]] = field(default_factory=list)
    told: list[int] = field(default_factory=list)

    def refuse(self, n, least):
        pass

    def sum(self, values, modulus, least, cohort, bits):
        self.seen.append((tuple(values), cohort))
        if len(self.seen) % (self.fails + 1):
            raise TooFew("it was to fail")
        self.told.append(sum(values[self.lost :]) % modulus)
        return Aggregate(self.told[-1], range(self.lost, len(values)))


class Asked(NamedTuple):
    """What a scripted policy asks for, and a list of what it was told."""

    arm: int
    n: int
    close: int
    stop: int
    told: list


class Scripted(Policy):
    """Asks for the same again and again, and stops after so many releases."""

    goal: ClassVar = "regret"

    def __init__(self, arm: int, n: int, close: int = 1, stop: int = -1) -> None:
        self.asks, self.told = (arm, n, close, stop), []

    def init(self, k, aim):
        return Asked(*self.asks, self.told)

    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(s.arm, 0 if len(s.told) == s.stop else s.n, s.close)

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.told.append((arm, n, total))


class Seeker(Scripted):
    goal: ClassVar = "identify"


def over(backend, **how) -> Distributed:
    return Distributed(**{"epsilon": 1, **how}, backend=backend)


def test_only_a_backend_that_is_not_ideal_is_rehearsed() -> None:
    assert not real(mb.channels.Raw())
    assert not real(mb.channels.Distributed())
    assert real(over(Watched()))


# --- the law ------------------------------------------------------------------------------------------------


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


def outcomes(channel: Channel, runs: int, horizon: int = 20) -> np.ndarray:
    """Users of the first arm, and its sums, of each run, as one number."""
    run = mb.simulate(Greedy(), channel, INSTANCE, horizon, runs, seed=11, jobs=1)
    return (run.pulls[:, 0] * 100 + np.clip(run.findings["first"], -20, 40)).astype(np.int64)


class Quiet(Distributed):
    """The broken twin: devices that add no noise."""

    def randomize(self, reward, n, bits, place=None):
        return int(reward)


def test_a_rehearsal_has_the_law_of_the_compiled_lab() -> None:
    ideal = outcomes(mb.channels.Distributed(epsilon=1), 600)
    same_law_of_two(outcomes(over(Watched()), 600), ideal)
    with pytest.raises(AssertionError):
        same_law_of_two(outcomes(Quiet(epsilon=1, backend=Watched()), 600), ideal)


def test_so_has_one_over_secure_aggregation() -> None:
    same_law_of_two(outcomes(over(SecAgg(smallest=1)), 100), outcomes(mb.channels.Distributed(epsilon=1), 100))


def test_users_who_are_served_alone_get_the_rewards_of_the_compiled_lab() -> None:
    uniform = mb.policies.Uniform()
    runs = [mb.simulate(uniform, channel, INSTANCE, 100, 2, seed=5) for channel in (over(Watched()), over(Ideal()))]
    assert (runs[0].pulls == runs[1].pulls).all()
    assert runs[0].regret == pytest.approx(runs[1].regret)
    assert runs[0].realised_regret == pytest.approx(runs[1].realised_regret)


def test_realised_regret_is_known_where_the_compiled_lab_rounds() -> None:
    instance = mb.ClippedGaussian([0.2, 0.8], sd=0.1)
    run = mb.simulate(Scripted(0, 5), over(Watched()), instance, 400)
    gaps = instance.true_means().max() - instance.true_means()
    assert run.realised_regret[0, -1] == pytest.approx(400 * gaps[0], abs=6.11 * 0.1 * 20)


def test_the_same_seed_gives_the_same_numbers() -> None:
    channel = over(SecAgg(smallest=1, dropout=0.1, attempts=2), honest=0.75)
    one, two = (mb.simulate(Greedy(), channel, INSTANCE, 24, 4, seed=3, jobs=jobs) for jobs in (1, 2))
    other = mb.simulate(Greedy(), channel, INSTANCE, 24, 4, seed=4)
    assert (one.pulls == two.pulls).all()
    assert (one.realised_regret == two.realised_regret).all()
    assert one.loss == two.loss
    assert not (one.realised_regret == other.realised_regret).all()


# --- what a policy is told ----------------------------------------------------------------------------------


def test_a_policy_is_told_releases_and_nothing_else() -> None:
    policy, channel = Scripted(1, 5), over(Watched())
    run = mb.simulate(policy, channel, INSTANCE, 53)
    expected = [(1, 5, channel.analyze(total, 5, seeded(1))) for total in channel.backend.told]
    assert policy.told == expected
    assert run.releases[0] == len(expected) == 10


def test_a_cohort_that_the_horizon_cuts_off_is_never_summed() -> None:
    channel, cut, whole = over(Watched()), Scripted(1, 30), Scripted(1, 25)
    run = mb.simulate(cut, channel, INSTANCE, 100)
    assert [n for _, n, _ in cut.told] == [30] * 3
    assert [len(values) for values, _ in channel.backend.seen] == [30] * 3
    assert run.pulls[0].tolist() == [0, 100]
    mb.simulate(whole, channel, INSTANCE, 100)
    assert [n for _, n, _ in whole.told] == [25] * 4  # a cohort that ends with the horizon is whole


def test_a_cohort_may_be_asked_for_piece_by_piece() -> None:
    channel, policy = over(Watched()), Scripted(1, 5, close=0)
    run = mb.simulate(policy, channel, INSTANCE, 100)
    assert (run.releases[0], policy.told, channel.backend.seen) == (0, [], [])
    assert run.loss == Loss.pure(1)  # they were charged when they were shown the arm


def test_who_is_lost_is_not_counted() -> None:
    policy = Scripted(1, 5)
    run = mb.simulate(policy, over(Watched(lost=2), honest=0.6), INSTANCE, 20)
    assert [n for _, n, _ in policy.told] == [3] * 4
    assert run.pulls[0].tolist() == [0, 20]


def test_real_losses_are_told_as_survivors() -> None:
    policy = Scripted(1, 8)
    channel = over(SecAgg(smallest=1, dropout=0.2), honest=0.5)
    mb.simulate(policy, channel, INSTANCE, 80, seed=1)
    assert {n for _, n, _ in policy.told} <= set(range(4, 9))
    assert min(n for _, n, _ in policy.told) < 8


def test_after_a_stop_users_are_served_and_nobody_asks_for_their_rewards() -> None:
    policy, channel = Scripted(1, 5, stop=2), over(Watched())
    run = mb.simulate(policy, channel, INSTANCE, 1000)
    assert (run.releases[0], run.pulls[0].tolist(), len(channel.backend.seen)) == (2, [0, 1000], 2)
    assert mb.simulate(Scripted(1, 5, stop=0), channel, INSTANCE, 1000).loss == ZERO
    found = mb.identify(Seeker(1, 5, stop=2), channel, INSTANCE, max_pulls=1000)
    assert (found.samples[0], found.answer[0], found.correct[0]) == (10, 1, True)
    cut = mb.identify(Seeker(1, 5), channel, INSTANCE, max_pulls=13)
    assert (cut.samples[0], cut.stopped[0]) == (13, False)


@pytest.mark.parametrize(
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


# --- losses of devices, and what they cost ------------------------------------------------------------------


def test_a_second_attempt_has_fresh_noise_a_name_of_its_own_and_a_second_charge() -> None:
    once, twice = over(Watched(attempts=2)), over(Watched(attempts=2, fails=1), epsilon="0.0001")
    assert mb.simulate(Scripted(1, 30), once, INSTANCE, 60).loss == Loss.pure(1)
    run = mb.simulate(Scripted(1, 30), twice, INSTANCE, 60)
    assert run.loss == Loss.pure("0.0001") * 2 == twice.loss(30)
    assert (run.releases[0], run.pulls[0].tolist()) == (2, [0, 60])
    (first, name), (second, other) = twice.backend.seen[:2]
    assert fresh(first, second)
    assert name != other
    assert len({name for _, name in twice.backend.seen}) == 4


def fresh(first, second) -> bool:
    """Shares of wide noise for 30 devices are 0 now and then, but most differ if they are drawn again."""
    return sum(a != b for a, b in zip(first, second, strict=True)) > 5


def test_noise_that_is_used_again_is_noticed(monkeypatch) -> None:
    class Sticky(Device):
        """The broken twin: it sends again what it sent before."""

        def send(self, *how):
            if not hasattr(self, "sent"):
                self.sent = super().send(*how)
            return self.sent

    monkeypatch.setattr(rehearsal, "Device", Sticky)
    channel = over(Watched(attempts=2, fails=1), epsilon="0.0001")
    mb.simulate(Scripted(1, 30), channel, INSTANCE, 30)
    (first, _), (second, _) = channel.backend.seen
    assert not fresh(first, second)


def test_what_sticky_noise_would_betray() -> None:
    """Two sums of the same noisy values, over all devices and over all but one, differ by that one's value."""
    channel, n, alone = mb.channels.Distributed(epsilon=0.1), 30, 0
    for attempt in range(60):
        sent = [channel.randomize(attempt % 2, n, seeded(1000 * attempt + user)) for user in range(n)]
        m = channel.residues(n)[0]
        alone += (sum(sent) - sum(sent[1:])) % m == attempt % 2
    assert alone > 40  # its own share of the noise is 0 most of the time


def test_a_cohort_that_fails_too_often_is_thrown_away_with_its_users(monkeypatch) -> None:
    joined: list[tuple[int, bytes, int]] = []

    class Seen(Device):
        def send(self, channel, cohort, attempt, *how):
            joined.append((self.user, cohort, attempt))
            return super().send(channel, cohort, attempt, *how)

    monkeypatch.setattr(rehearsal, "Device", Seen)
    policy, channel = Scripted(1, 5), over(Watched(attempts=2, fails=2))
    run = mb.simulate(policy, channel, INSTANCE, 23)
    assert [(arm, n) for arm, n, _ in policy.told] == [(1, 5)] * 2  # of cohorts 2 and 4: the first and third failed
    assert (run.pulls[0].tolist(), run.releases[0]) == ([0, 23], 2)
    assert run.regret[0, -1] == 0
    assert run.loss == channel.loss(5) == Loss.pure(1) * 2
    of = {user: {cohort for who, cohort, _ in joined if who == user} for user, _, _ in joined}
    assert sorted(of) == list(range(20))
    assert all(len(cohorts) == 1 for cohorts in of.values())  # nobody is in two cohorts
    assert [sum(attempt == each for _, _, attempt in joined) for each in (1, 2)] == [20, 10]


def test_regret_counts_users_who_were_thrown_away() -> None:
    run = mb.simulate(Scripted(0, 5), over(Watched(attempts=1, fails=1)), INSTANCE, 20)
    assert (run.regret[0, -1], run.releases[0]) == (pytest.approx(20 * 0.7), 2)


def test_a_study_without_hope_ends_with_advice() -> None:
    channel = over(SecAgg(smallest=1, dropout=0.9), honest=0.8)
    with pytest.raises(TooFew, match=r"20 cohorts in a row were thrown away.*`dropout`.*`attempts`.*`honest`"):
        mb.simulate(Scripted(1, 4), channel, INSTANCE, 1000)
    watched = Watched(fails=HOPELESS + 5)
    with pytest.raises(TooFew):
        mb.simulate(Scripted(1, 4), over(watched), INSTANCE, 1000)
    assert len(watched.seen) == HOPELESS


def test_nobody_is_charged_more_than_was_promised() -> None:
    cohorts = Cohorts(Scripted(0, 4), over(Watched(attempts=2), epsilon="1/10"), 2, "study", seeded(1))
    cohorts.charge(7, 4)
    cohorts.charge(7, 4)
    assert cohorts.loss() == Loss.pure("1/10") * 2
    with pytest.raises(BudgetExceeded):
        cohorts.charge(7, 4)
    cohorts.charge(8, 4)
    assert cohorts.loss() == Loss.pure("1/10") * 2


def test_server_and_device_know_who_took_part() -> None:
    device, bits, channel = Device(7, 1.0, attempts=2), seeded(1), over(Watched(attempts=2))
    device.send(channel, b"monday", 1, 4, 0, bits)
    device.send(channel, b"monday", 2, 4, 0, bits)
    for cohort, attempt in ((b"monday", 2), (b"monday", 3), (b"tuesday", 1)):
        with pytest.raises(AlreadySpent):
            device.send(channel, cohort, attempt, 4, 0, bits)
    cohorts = Cohorts(Scripted(0, 2), channel, 2, "study", bits)
    for user in (1, 2, 2):
        cohorts.join(1, user, 1.0)
    with pytest.raises(AlreadySpent):  # user 2 waits twice
        cohorts.close(1)


EVENTS: list[str] = []


class Telling(mb.Bernoulli):
    """Says when a reward is born."""

    @staticmethod
    @kernel
    def one(i, arm, t, g, stream):
        EVENTS.append(f"reward {t}")
        return 1.0


def test_a_user_is_charged_before_there_is_a_reward(monkeypatch) -> None:
    charge = Cohorts.charge

    def noted(self, user, n):
        EVENTS.append(f"charge {user}")
        charge(self, user, n)

    monkeypatch.setattr(Cohorts, "charge", noted)
    EVENTS.clear()
    mb.simulate(Scripted(1, 3), over(Watched()), Telling([0.2, 0.9]), 6)
    assert [f"{what} {user}" for user in range(6) for what in ("charge", "reward")] == EVENTS


# --- small cohorts ------------------------------------------------------------------------------------------


def test_a_cohort_that_is_too_small_says_what_to_do() -> None:
    with pytest.raises(InvalidValue, match=r"at least 32.*SuccessiveElimination asked for a cohort of 8: its `least`"):
        mb.simulate(mb.policies.SuccessiveElimination(least=8), over(SecAgg()), INSTANCE, 1000)
    with pytest.raises(InvalidValue, match=r"AdaPKLUCB asked for a cohort of 1; policies .*successive_elimination"):
        mb.simulate(mb.policies.AdaPKLUCB(), over(SecAgg()), INSTANCE, 1000)
    with pytest.raises(InvalidValue, match=r"`least`: released_likelihood\)"):
        mb.identify(mb.policies.BestArmDPSE(), over(SecAgg(smallest=10**4)), INSTANCE)


# --- every policy, every protocol ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Lossy(Watched):
    """Loses a device now and then."""

    def sum(self, values, modulus, least, cohort, bits):
        here = [place for place in range(len(values)) if bits.below(10) or len(values) < 3]
        return Aggregate(sum(values[place] for place in here) % modulus, here)


def fitting(goal: str) -> list[str]:
    law = over(Lossy(), honest=0.5).law()
    return [name for name in policies if policies[name].goal == goal and not policies[name]().needs(law)]


@pytest.mark.parametrize("name", [name for goal in ("regret", "identify") for name in fitting(goal)])
def test_every_policy_goes_on_when_devices_are_lost(name) -> None:
    policy, channel = policies[name](), over(Lossy(), epsilon=5, honest=0.5)
    if policy.goal == "regret":
        run = mb.simulate(policy, channel, INSTANCE, 400, seed=2)
        assert run.pulls.sum() == 400
        assert not np.isnan(run.regret).any()
    else:
        found = mb.identify(policy, channel, INSTANCE, delta=0.1, max_pulls=1500, seed=2)
        assert found.samples[0] <= 1500


PROTOCOLS = [
    (channel, backend)
    for channel in channels
    for backend in backends
    if backend != "ideal" and takes(channels[channel], backends[backend]())
]


def test_every_protocol_carries_a_channel() -> None:
    assert {backend for _, backend in PROTOCOLS} == set(backends) - {"ideal"}
    assert ("distributed", "secagg") in PROTOCOLS


@pytest.mark.parametrize(("channel", "backend"), PROTOCOLS)
def test_every_channel_runs_over_every_protocol_that_it_takes(channel, backend) -> None:
    policy, kind, n = Scripted(1, 60), channels[channel], 60
    how = {"honest": 0.75} if "honest" in kind.__dataclass_fields__ else {}
    carried = kind(epsilon=2, **how, backend=backends[backend](dropout=0.03))
    run = mb.simulate(policy, carried, INSTANCE, 4 * n, seed=6)
    assert run.loss == carried.loss(n) == replace(carried, backend=Ideal()).loss(n)
    assert len(policy.told) == 4
    deviation = np.sqrt(n * 0.09 + 2 * draws_of_one(carried.law(), n) * carried.law().scale ** 2)
    for _, told, total in policy.told:
        assert 45 <= told <= n
        assert abs(total - 0.9 * told) < 10 * deviation
    assert min(told for _, told, _ in policy.told) < n
    assert run.to_frame()["sees"][0] == f"{carried.sees}, over {backends[backend].__name__}"
