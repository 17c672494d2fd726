"""What a rehearsal costs a user: cohorts that are tried again, or thrown away, and the books of who took part.

Seeds are fixed; under a new seed each random assertion rejects a correct subject with probability ALPHA = 1e-9.
"""

import re
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import pytest

import maskedbandit as mb
from maskedbandit.backends.backend import Adder, Aggregate
from maskedbandit.backends.secagg import SecAgg
from maskedbandit.core import Decision, kernel
from maskedbandit.errors import AlreadySpent, BudgetExceeded, Implausible, InvalidValue, TooFew
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.rehearsal import rehearse
from maskedbandit.lab.rehearsal.cohorts import HOPELESS, Cohorts
from maskedbandit.lab.rehearsal.rehearse import carry_cohort
from maskedbandit.privacy.loss import Loss
from maskedbandit.study.rehearsed_device import RehearsedDevice
from tests.for_each import for_each
from tests.lab.scripted import INSTANCE, Scripted, Watched, over
from tests.statistics import seeded


@pytest.mark.slow
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
    """Noise shares of wide noise for 30 devices are 0 now and then, but most differ if they are drawn again."""
    return sum(a != b for a, b in zip(first, second, strict=True)) > 5


def test_noise_that_is_used_again_is_noticed(monkeypatch) -> None:
    class Sticky(RehearsedDevice):
        """The mutant: it sends again what it sent before."""

        def send(self, *how):
            if not hasattr(self, "sent"):
                self.sent = super().send(*how)
            return self.sent

    monkeypatch.setattr(rehearse, "RehearsedDevice", Sticky)
    channel = over(Watched(attempts=2, fails=1), epsilon="0.0001")
    mb.simulate(Scripted(1, 30), channel, INSTANCE, 30)
    (first, _), (second, _) = channel.backend.seen
    assert not fresh(first, second)


def test_what_sticky_noise_would_betray() -> None:
    """Two sums of the same noisy values, over all devices and over all but one, differ by that one's value."""
    channel, n, alone = mb.channels.Distributed(epsilon=0.1), 30, 0
    for attempt in range(60):
        offer = channel.offer(n)
        sent = [channel.randomize(attempt % 2, offer, seeded(1000 * attempt + user)) for user in range(n)]
        alone += (sum(sent) - sum(sent[1:])) % offer.modulus == attempt % 2
    assert alone > 40  # its own noise share of the noise is 0 most of the time


def test_a_cohort_that_fails_too_often_is_thrown_away_with_its_users(monkeypatch) -> None:
    joined: list[tuple[int, bytes, int]] = []

    class Seen(RehearsedDevice):
        def send(self, cohort, attempt, *how):
            joined.append((self.user, cohort, attempt))
            return super().send(cohort, attempt, *how)

    monkeypatch.setattr(rehearse, "RehearsedDevice", Seen)
    policy, channel = Scripted(1, 5), over(Watched(attempts=2, fails=2))
    run = mb.simulate(policy, channel, INSTANCE, 23)
    assert [(arm, n) for arm, n, _ in policy.released] == [(1, 5)] * 2  # of cohorts 2 and 4: the first and third failed
    assert (run.pulls[0].tolist(), run.releases[0]) == ([0, 23], 2)
    assert run.regret[0, -1] == 0
    assert run.loss == channel.loss(5) == Loss.pure(1) * 2
    cohorts_of = {user: {cohort for who, cohort, _ in joined if who == user} for user, _, _ in joined}
    assert sorted(map(int, cohorts_of)) == list(range(20))
    assert all(len(each) == 1 for each in cohorts_of.values())  # nobody is in two cohorts
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


def test_a_size_that_the_channel_refuses_is_refused_before_anybody_is_asked() -> None:
    class Untouched(mb.Bernoulli):
        def one(self, *how):
            raise AssertionError("a user was shown an arm for a cohort that cannot be released")

    channel = over(Watched(), modulus=16)
    with pytest.raises(InvalidValue, match=r"modulus is 16.*Scripted asked for a cohort of 40"):
        mb.simulate(Scripted(1, 40), channel, Untouched([0.2, 0.9]), 80)
    assert channel.backend.seen == []


def test_nobody_is_charged_more_than_was_promised() -> None:
    cohorts = Cohorts(over(Watched(attempts=2), epsilon="1/10"), 2, "study", seeded(1))
    cohorts.charge("7", 4)
    cohorts.charge("7", 4)
    assert cohorts.loss() == Loss.pure("1/10") * 2
    with pytest.raises(BudgetExceeded):
        cohorts.charge("7", 4)
    cohorts.charge("8", 4)
    assert cohorts.loss() == Loss.pure("1/10") * 2


def test_server_and_device_know_who_took_part() -> None:
    bits, channel = seeded(1), over(Watched(attempts=2))
    device, offer = RehearsedDevice("7", 1.0, channel, 4), channel.offer(4)
    device.send(b"monday", 1, offer, bits)
    device.send(b"monday", 2, offer, bits)
    for cohort, attempt in ((b"monday", 2), (b"monday", 3), (b"tuesday", 1)):
        with pytest.raises(AlreadySpent):
            device.send(cohort, attempt, offer, bits)
    cohorts = Cohorts(channel, 2, "study", bits)
    both = []
    for users in ("12", "32"):
        for user in users:
            cohorts.charge(user, 2)
        both.append(cohorts.close(1, users))
    cohorts.begin(both[0])
    with pytest.raises(AlreadySpent):  # user 2 is in both
        cohorts.begin(both[1])


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


# --- several runs -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Once(Watched):
    """Fails at one of its sums."""

    at: int = 1

    def sum(self, values, modulus, least, cohort, bits):
        self.seen.append((tuple(values), cohort))
        if len(self.seen) == self.at:
            raise TooFew("it was to fail")
        return Aggregate(sum(values) % modulus, range(len(values)))


@for_each("at", [1, 2, 3, 4], ids=["first", "second", "third", "none"])
def test_the_loss_of_all_runs_is_that_of_the_worst(at) -> None:
    """Each of three runs is one cohort, and one of them is tried twice."""
    backend = Once(attempts=2, at=at if at < 4 else 99)
    run = mb.simulate(Scripted(1, 20), over(backend), INSTANCE, 20, runs=3, executor=partial(Threads, 1))
    assert run.loss == Loss.pure(1) * (2 if at < 4 else 1)
    assert run.releases.tolist() == [1, 1, 1]


def test_no_two_cohorts_have_one_name() -> None:
    """Nor in other runs, nor in other studies: keys and seals are bound to it."""
    backend = Watched()
    for study in ("spring", "autumn"):
        mb.simulate(Scripted(1, 5), over(backend), INSTANCE, 20, runs=3, study=study)
    names = {cohort for _, cohort in backend.seen}
    assert len(names) == len(backend.seen) == 2 * 3 * 4


# --- cohorts that are thrown away ---------------------------------------------------------------------------


def test_others_are_asked_in_the_place_of_those_who_were_thrown_away() -> None:
    """As many, for the same arm, though the policy has its mind on what comes next."""
    policy = mb.policies.NoiseAwareKLUCB(least=8)
    backend = Watched(fails=1)
    run = mb.simulate(policy, over(backend), INSTANCE, 400, seed=1)
    asked = [(len(values), arm_of(cohort)) for values, cohort in backend.seen]
    assert len(asked) > 4
    assert asked[::2][: len(asked) // 2] == asked[1::2]
    assert run.releases[0] == len(asked) // 2 == run.findings["thrown_away"][0] - len(asked) % 2
    assert asked[::2] == [(len(values), arm) for values, arm in without_failures(policy)][: len(asked[::2])]


def without_failures(policy) -> list[tuple[tuple[int, ...], bytes]]:
    backend = Watched()
    mb.simulate(policy, over(backend), INSTANCE, 400, seed=1)
    return [(values, arm_of(cohort)) for values, cohort in backend.seen]


def arm_of(cohort: bytes) -> bytes:
    """The arm in the name of a cohort, which follows the digest of its offer."""
    (arm,) = re.findall(rb"arm [0-9]+", cohort[32:])
    return arm


class Script(NamedTuple):
    """What is still to be asked for, and what was told."""

    asks: list
    released: list


class Pieces(Scripted):
    """Asks for two users, then for five who close the cohort, and is then done."""

    def init(self, k, aim):
        return Script([Decision(1, 2, 0), Decision(1, 5, 1)], self.released)

    @staticmethod
    @kernel
    def ask(s, law, rng):
        return s.asks.pop(0) if s.asks else Decision(1, 0, 1)


def test_a_cohort_of_pieces_is_asked_for_again_as_a_whole() -> None:
    policy, backend = Pieces(1, 7), Watched(fails=1)
    mb.simulate(policy, over(backend), INSTANCE, 50)
    assert [len(values) for values, _ in backend.seen] == [7, 7]
    assert [n for _, n, _ in policy.released] == [7]


def test_hope_comes_back_with_a_release() -> None:
    """Cohorts are counted that were thrown away in a row."""
    policy, channel = Scripted(1, 2), over(Watched(fails=HOPELESS - 1))
    run = mb.simulate(policy, channel, INSTANCE, 2 * 3 * HOPELESS, runs=2, executor=partial(Threads, 1))
    assert run.releases.tolist() == [3, 3]
    assert run.findings["thrown_away"].tolist() == [3 * (HOPELESS - 1)] * 2


def test_a_run_in_which_nothing_was_released_ends_with_advice() -> None:
    """Though it was too short for a row of cohorts that all fail."""
    for horizon, said in ((12, "3 cohorts in a row"), (14, "3 cohorts in a row"), (4, "1 cohorts in a row")):
        with pytest.raises(TooFew, match=rf"^{said} were thrown away, the last because it was to fail.*`dropout`"):
            mb.simulate(Scripted(1, 4), over(Watched(fails=99)), INSTANCE, horizon)
    assert mb.simulate(Scripted(1, 4), over(Watched(fails=99)), INSTANCE, 3).releases[0] == 0  # no cohort was whole
    assert mb.simulate(Scripted(1, 4), over(Watched(fails=2)), INSTANCE, 12).findings["thrown_away"] == [2]
    assert mb.simulate(Scripted(1, 4), over(Watched()), INSTANCE, 12).findings["thrown_away"] == [0]


def test_a_sum_of_nobody_is_no_release() -> None:
    policy = Scripted(1, 4)
    with pytest.raises(
        TooFew, match="2 cohorts in a row were thrown away, the last because 0 of 4 answers are in the total"
    ):
        mb.simulate(policy, over(Watched(lost=4)), INSTANCE, 8)
    assert policy.released == []


@dataclass(frozen=True)
class Far(Watched):
    """Every other sum is one that no honest cohort gives."""

    def sum(self, values, modulus, least, cohort, bits):
        found = super().sum(values, modulus, least, cohort, bits)
        return found._replace(total=modulus // 2) if len(self.seen) % 2 else found


def test_an_implausible_sum_is_seen_and_not_tried_again() -> None:
    policy, channel = Scripted(1, 4), over(Far(attempts=3), modulus=2**20)
    run = mb.simulate(policy, channel, INSTANCE, 24)
    assert len(channel.backend.seen) == 6
    assert (run.releases[0], len(policy.released), run.findings["thrown_away"][0]) == (3, 3, 3)
    assert run.loss == Loss.pure(1)  # of the three that were promised
    with pytest.raises(TooFew, match=r"1 cohorts in a row .*because the sum of 4 rewards is") as why:
        mb.simulate(policy, over(Far(attempts=3), modulus=2**20), INSTANCE, 4)
    assert isinstance(why.value.__cause__, Implausible)


# --- the books ----------------------------------------------------------------------------------------------


def test_a_device_that_takes_part_elsewhere_ends_the_study() -> None:
    """It is no failure of the protocol that another attempt could mend."""
    channel, bits = over(Watched(attempts=2)), seeded(1)
    cohorts, devices = Cohorts(channel, 2, "study", bits), [RehearsedDevice(user, 1.0, channel, 3) for user in "012"]
    for user in "012":
        cohorts.charge(user, 3)
    devices[2].send(b"elsewhere", 1, channel.offer(3), bits)
    with pytest.raises(AlreadySpent, match="this user took part in another cohort"):
        carry_cohort(cohorts, 1, devices, bits)
    assert channel.backend.seen == []


@for_each("attempts", [1, 3])
def test_both_books_have_room_for_all_attempts_and_no_more(attempts) -> None:
    channel, bits = over(Watched(attempts=attempts, fails=99)), seeded(1)
    cohorts, device = Cohorts(channel, 2, "study", bits), RehearsedDevice("7", 1.0, channel, 1)
    cohorts.charge("7", 1)
    assert carry_cohort(cohorts, 1, [device], bits) is None
    assert len(channel.backend.seen) == attempts
    for book in (cohorts._book, device._book):
        for late in (attempts, attempts + 1):
            with pytest.raises(AlreadySpent, match=r"this user took part|a cohort has at most"):
                book.join("7", b"study, arm 1, cohort 1", late)


def test_every_backend_says_how_often_a_cohort_may_be_tried() -> None:
    class Silent(Adder):
        def sum(self, values, modulus, least, cohort, bits):
            return self

    with pytest.raises(TypeError, match="attempts"):
        Silent()
