"""The life of a cohort: every step is a call of its own, none is made twice, and none out of turn."""

from fractions import Fraction

import pytest

from maskedbandit.backends.backend import Aggregate
from maskedbandit.channels.central import Central
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.tree import Tree
from maskedbandit.errors import Implausible, InvalidValue, OutOfTurn, TooFew
from maskedbandit.lab.rehearsal.cohorts import Cohort, Cohorts
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.study.rehearsed_device import RehearsedDevice
from tests.lab.scripted import Watched, over
from tests.statistics import same_distribution, seeded

WIDE = Fraction(1, 1000)  # noise that is never the same twice


def closed(channel, n=4, k=2, arm=1, rewards=1.0):
    """A closed cohort, what holds it, and its devices."""
    cohorts = Cohorts(channel, k, "study", seeded(1))
    return cohorts, *closed_of(cohorts, tuple(map(str, range(n))), arm, rewards)


def closed_of(cohorts, users, arm=1, rewards=1.0):
    """A closed cohort of these users, and their devices."""
    for user in users:
        cohorts.charge(user, len(users))
    devices = {user: RehearsedDevice(user, rewards, cohorts.channel, len(users)) for user in users}
    return cohorts.close(arm, users), devices


def sent(cohort, devices):
    """What the devices send in this attempt."""
    return [
        devices[user].send(cohort.name, cohort.attempt, cohort.offer.at(i), seeded(cohort.attempt * 100 + i))
        for i, user in enumerate(cohort.users)
    ]


STEPS = {
    "begin": lambda cohorts, cohort: cohorts.begin(cohort),
    "sum": lambda cohorts, cohort: cohorts.sum(cohort, [0] * cohort.offer.n),
    "analyze": lambda cohorts, cohort: cohorts.analyze(cohort, Aggregate(0, range(4))),
    "fail": lambda cohorts, cohort: cohorts.fail(cohort, TooFew("lost")),
}
ALLOWED = {
    "begin": {"begin"},
    "sum": {"sum", "analyze", "fail"},  # a sum made over a network comes to `analyze` at once
    "analyze": {"analyze", "fail"},
    "fail": {"fail"},
    "nothing": set(),
}


def in_turn(make=Cohorts):
    """Each step at each point of a cohort's life: refused, and nothing changed, unless it is due."""
    for now, allowed in ALLOWED.items():
        for step in STEPS.keys() - allowed:
            channel = over(Watched(attempts=2))
            cohorts = make(channel, 2, "study", seeded(1))
            cohort = Cohort(b"study", 1, tuple("0123"), channel.offer(4), attempt=1, next=now)
            with pytest.raises(OutOfTurn, match=f"the next step of this cohort is '{now}'"):
                STEPS[step](cohorts, cohort)
            assert (cohort.next, cohort.attempt, channel.backend.seen) == (now, 1, [])
            assert cohorts.loss() == ZERO


def test_no_step_is_made_out_of_turn():
    in_turn()


def test_a_cohort_that_forgets_its_turn_is_noticed(monkeypatch):
    monkeypatch.setattr(Cohort, "check_next", lambda cohort, *steps: None)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        in_turn()


def test_a_release_is_made_once():
    """A second one would have noise of its own, and the mean of many is the sum itself."""
    cohorts, cohort, devices = closed(Central(epsilon=WIDE))
    cohorts.begin(cohort)
    found = cohorts.sum(cohort, sent(cohort, devices))
    answers, total = cohorts.analyze(cohort, found)
    assert answers == 4
    assert total != 4
    for _ in range(2):
        with pytest.raises(OutOfTurn):
            cohorts.analyze(cohort, found)
    for again in ("begin", "sum", "fail"):
        with pytest.raises(OutOfTurn):
            STEPS[again](cohorts, cohort)


def test_values_are_summed_once_in_an_attempt():
    cohorts, cohort, devices = closed(over(Watched(attempts=3)))
    cohorts.begin(cohort)
    values = sent(cohort, devices)
    with pytest.raises(InvalidValue, match="the number of values that were sent is 3: it must be 4"):
        cohorts.sum(cohort, values[1:])
    cohorts.sum(cohort, values)
    with pytest.raises(OutOfTurn):
        cohorts.sum(cohort, values)
    assert len(cohorts.channel.backend.seen) == 1


def test_a_failed_attempt_is_charged_again_and_has_a_title_of_its_own():
    cohorts, cohort, devices = closed(over(Watched(attempts=2, fails=1), epsilon=WIDE))
    cohorts.begin(cohort)
    first = sent(cohort, devices)
    assert cohorts.loss() == Loss.pure(WIDE)
    with pytest.raises(TooFew):
        cohorts.sum(cohort, first)
    with pytest.raises(OutOfTurn):  # what was sent is not to be used again
        cohorts.sum(cohort, first)
    assert cohorts.fail(cohort, TooFew("it was to fail"))
    cohorts.begin(cohort)
    second = sent(cohort, devices)
    assert cohorts.loss() == 2 * Loss.pure(WIDE)
    assert first != second
    cohorts.analyze(cohort, cohorts.sum(cohort, second))
    assert [name[32:] for _, name in cohorts.channel.backend.seen] == [
        b"study, arm 1, cohort 1, attempt 1",
        b"study, arm 1, cohort 1, attempt 2",
    ]
    assert {name[:32] for _, name in cohorts.channel.backend.seen} == {cohort.offer.digest}


def test_after_the_last_attempt_there_is_none():
    cohorts, cohort, _ = closed(over(Watched(attempts=2)))
    for more in (True, False):
        cohorts.begin(cohort)
        assert cohorts.fail(cohort, TooFew("lost")) == more
    with pytest.raises(OutOfTurn):
        cohorts.begin(cohort)
    assert cohorts.thrown_away == 1


def test_an_implausible_sum_ends_a_cohort_at_its_first_attempt():
    cohorts, cohort, _ = closed(over(Watched(attempts=2)))
    cohorts.begin(cohort)
    assert not cohorts.fail(cohort, Implausible("far"))


def test_a_sum_over_a_network_is_analyzed_without_a_sum_here():
    cohorts, cohort, devices = closed(Distributed(epsilon=1))
    cohorts.begin(cohort)
    total = sum(sent(cohort, devices)) % cohort.offer.modulus
    assert cohorts.analyze(cohort, Aggregate(total, range(4)))[0] == 4


def test_too_few_survivors_are_not_released():
    cohorts, cohort, devices = closed(Distributed(epsilon=1, honest="3/4"))
    cohorts.begin(cohort)
    total = sum(sent(cohort, devices)[2:]) % cohort.offer.modulus
    with pytest.raises(TooFew, match="2 of 4 answers"):
        cohorts.analyze(cohort, Aggregate(total, range(2)))
    assert not cohorts.fail(cohort, TooFew("lost"))


def test_those_who_come_later_are_in_the_next_cohort():
    cohorts, cohort, _ = closed(Central())
    later, _ = closed_of(cohorts, ("late",))
    assert cohort.users == tuple("0123")
    assert later.users == ("late",)
    assert cohort.name != later.name


def test_nobody_is_in_a_cohort_who_was_not_charged():
    cohorts = Cohorts(Central(), 2, "study", seeded(1))
    with pytest.raises(OutOfTurn, match="was not charged"):
        cohorts.close(1, ["ann"])
    cohorts.charge("ann", 2)
    cohorts.charge("bob", 2)
    cohorts.close(1, ["ann", "bob"])
    with pytest.raises(OutOfTurn, match="was not charged"):  # a second time
        cohorts.close(0, ["ann"])
    cohorts.charge("cleo", 2)
    with pytest.raises(OutOfTurn, match="was not charged"):  # twice in one cohort
        cohorts.close(0, ["cleo", "cleo"])


def test_a_cohort_of_another_size_costs_what_was_charged_or_is_refused():
    """With narrower noise shares a release costs more; with pure losses any size costs the same."""
    for channel, charged, closes in (
        (Distributed("1/10", DiscreteGaussian()), 40, False),
        (Distributed("1/10", DiscreteGaussian()), 50, True),
        (Distributed("1/10"), 40, True),
    ):
        cohorts, users = Cohorts(channel, 2, "study", seeded(1)), [str(user) for user in range(50)]
        for user in users:
            cohorts.charge(user, charged)
        if closes:
            assert cohorts.close(1, users).offer.n == 50
        else:
            with pytest.raises(InvalidValue, match="a user was charged for a different cohort size"):
                cohorts.close(1, users)
    cohorts, users = Cohorts(Distributed("1/10", DiscreteGaussian()), 2, "study", seeded(1)), list(map(str, range(50)))
    for user in users:
        cohorts.charge(user, 40 if user == "49" else 50)  # all of them count
    with pytest.raises(InvalidValue, match="a user was charged for a different cohort size"):
        cohorts.close(1, users)


@pytest.mark.slow
def test_channels_without_a_backend_have_noise_from_the_server():
    noise = []
    for seed in range(400):
        cohorts, cohort, devices = closed(Central(epsilon="1/2"))
        cohorts.bits = seeded(seed)
        cohorts.begin(cohort)
        noise.append(round(cohorts.analyze(cohort, cohorts.sum(cohort, sent(cohort, devices)))[1]) - 4)
    same_distribution(noise, Central(epsilon="1/2").release_noise(4).pmf)


def test_a_stream_of_releases_has_its_memory_here():
    """Released changes of running sums: what is kept between them belongs to the cohorts of an arm."""
    channel, users = Tree(epsilon=1, length=4), iter(range(100))
    cohorts, bits = Cohorts(channel, 2, "study", seeded(1)), seeded(2)
    for _ in range(4):
        cohort, devices = closed_of(cohorts, tuple(str(next(users)) for _ in range(3)))
        cohorts.begin(cohort)
        values = [devices[user].send(cohort.name, 1, cohort.offer, bits) for user in cohort.users]
        cohorts.analyze(cohort, cohorts.sum(cohort, values))
    assert cohorts.memory.released.tolist() == [0, 4]
    with pytest.raises(InvalidValue, match="length"):
        channel.check_size(3, cohorts.memory, 1)
