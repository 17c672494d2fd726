"""Contextual studies over real protocols: the runs and the distribution of the compiled lab, device by device.

Seeds are fixed; under a new seed each random assertion rejects a correct subject with probability ALPHA = 1e-9.
"""

from dataclasses import replace

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.backends.sealed_shares import SealedShares
from maskedbandit.backends.secagg import SecAgg
from maskedbandit.backends.shuffler import Shuffler
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.packing import unpack_residues
from maskedbandit.channels.split_and_mix import SplitAndMix
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue, TooFew
from maskedbandit.lab.rehearsal import rehearse_contexts
from maskedbandit.lab.rehearsal.rehearse_contexts import ContextRehearsal
from maskedbandit.policies.contextual.lin_thompson import LinThompson
from maskedbandit.policies.contextual.lin_ucb import LinUCB
from maskedbandit.policies.contextual.newton_ucb import NewtonUCB
from maskedbandit.privacy.statistics import linear_sums
from maskedbandit.study.rehearsed_device import RehearsedDevice
from tests.for_each import for_each
from tests.lab.scripted import Watched, in_python, over
from tests.statistics import same_distribution_of_two, seeded

CONTEXTS = mb.LinearContexts(d=2, k=2)
SHARED = mb.LinearContexts(d=2, k=3, model="shared")
FIRST = LinUCB(first=8)
GAUSSIAN = mb.noises.DiscreteGaussian()
QUIET = 10**8  # an epsilon at which there is hardly ever any noise


@pytest.fixture(autouse=True)
def python(monkeypatch):
    in_python(monkeypatch)


@pytest.mark.slow
@for_each("delay", [mb.delays.Constant(0), mb.delays.Constant(5), mb.delays.Geometric(mean=7)])
@for_each(
    ("policy", "contexts"),
    [
        (FIRST, CONTEXTS),
        (LinThompson(first=8, growth=0.0), CONTEXTS),
        (replace(FIRST, model="shared"), SHARED),
        (NewtonUCB(first=8), CONTEXTS),  # whose statistics are made when the reward arrives
    ],
)
def test_a_rehearsal_is_the_run_of_the_lab(policy, contexts, delay) -> None:
    """With the same seed, where noise is too small to change a decision."""
    backend = Watched()
    channels = Distributed(QUIET), over(backend, epsilon=QUIET)
    ideal, rehearsed = (mb.simulate(policy, each, contexts, 60, 2, seed=5, delay=delay) for each in channels)
    np.testing.assert_array_equal(rehearsed.pulls, ideal.pulls)
    np.testing.assert_array_equal(rehearsed.regret, ideal.regret)
    np.testing.assert_array_equal(rehearsed.reward, ideal.reward)
    np.testing.assert_array_equal(rehearsed.releases, ideal.releases)
    assert str(rehearsed.loss) == str(ideal.loss)
    models = policy.models(contexts.k)
    assert len(backend.seen) == rehearsed.releases.sum() / models > 2  # one round carries the vectors of all models


@pytest.mark.slow
@pytest.mark.parametrize(
    ("channel", "backend"),
    [
        (Distributed(QUIET), SecAgg(smallest=4)),
        (TwoServers(QUIET), SealedShares()),
        (SplitAndMix(1, eta="1e-12"), Shuffler()),
    ],
    ids=["secagg", "sealed_shares", "shuffler"],
)
def test_real_protocols_carry_contextual_studies(channel, backend) -> None:
    over_it = replace(channel, backend=backend)
    ideal, rehearsed = (mb.simulate(FIRST, each, CONTEXTS, 20, seed=5) for each in (channel, over_it))
    assert rehearsed.releases.tolist() == ideal.releases.tolist() == [4]
    assert rehearsed.loss == ideal.loss
    if channel.epsilon == QUIET:
        np.testing.assert_array_equal(rehearsed.regret, ideal.regret)


class Quiet(Distributed):
    """A mutant: devices that add no noise."""

    def draw_own_noise(self, size, n, bits):
        return [0] * size


class Heard(LinUCB):
    """A policy that finds the first number that it was told, in whole units, and nothing else."""

    @staticmethod
    @kernel
    def tell(s, law, model, n, sums):
        if s.users[model] == 0:
            s.response[model, 0] = sums[0]
        s.users[model] += n

    def findings(self, s):
        return {"first": float(round(s.response[0, 0]))}


def hear(channel, runs) -> np.ndarray:
    """What the policy was told first, of the first number of the first arm, in each run."""
    return mb.simulate(Heard(first=4), channel, CONTEXTS, 5, runs, seed=3).findings["first"].astype(np.int64)


@pytest.mark.slow
def test_what_a_policy_is_told_has_the_distribution_of_the_lab() -> None:
    ideal = hear(Distributed("0.5", GAUSSIAN), 150)
    same_distribution_of_two(hear(over(Watched(), epsilon="0.5", noise=GAUSSIAN), 150), ideal)
    with pytest.raises(AssertionError, match="two distributions"):
        same_distribution_of_two(hear(Quiet("0.5", GAUSSIAN, backend=Watched()), 150), ideal)


def describe_user(arm, z) -> list[float]:
    """What a device of a study of two arms adds to the sums."""
    study = ContextRehearsal(FIRST, Distributed(1).carrying(linear_sums(2)), CONTEXTS, "x", 9, seeded(1))
    return study.describe_user(arm, np.array(z), 1.0)


def test_a_user_adds_to_the_sums_of_all_arms() -> None:
    """A message has the same length whichever arm the device chose."""
    blocks = [[0] * 5, [0.25, 0.125, 0.0625, 0.5, 0.25]]
    assert np.reshape(describe_user(1, [0.5, 0.25]), (2, 5)).tolist() == blocks
    assert np.reshape(describe_user(0, [0.5, 0.25]), (2, 5)).tolist() == blocks[::-1]


def zeros_that_are_sent(kind, arm) -> list[int]:
    """The numbers that devices send in the block of the arm that they did not choose."""
    channel, bits, found = kind("0.5", GAUSSIAN).carrying(linear_sums(2)), seeded(3), []
    offer, vector = channel.offer(8), describe_user(arm, [0.5, 0.5])
    half = offer.modulus // 2
    for _ in range(60):
        sent = unpack_residues(channel.randomize_vector(vector, offer.at(0), bits), 10, offer.modulus, half)
        found += [(each + half) % offer.modulus - half for each in sent[5 * (1 - arm) :][:5]]
    return found


@for_each("arm", [0, 1])
def test_zeros_for_the_other_arms_have_noise_shares_too(arm) -> None:
    """Else they would tell which arm a device chose: the control."""
    channel, bits = Distributed("0.5", GAUSSIAN).carrying(linear_sums(2)), seeded(4)
    noise, least = channel.release_noise(8), channel.counted_on(8)
    drawn = [noise.noise_share(least, bits) for _ in range(300)]
    same_distribution_of_two(zeros_that_are_sent(Distributed, arm), drawn)
    with pytest.raises(AssertionError, match="two distributions"):
        same_distribution_of_two(zeros_that_are_sent(Quiet, arm), drawn)


def test_a_cohort_that_fails_is_thrown_away_with_its_users() -> None:
    backend = Watched(fails=1)
    run = mb.simulate(FIRST, over(backend, epsilon=QUIET), CONTEXTS, 64, seed=2)
    assert run.findings["thrown_away"].tolist() == [3]
    assert run.releases.tolist() == [4]  # two, of two arms
    again = mb.simulate(FIRST, over(Watched(fails=1, attempts=2), epsilon=QUIET), CONTEXTS, 64, seed=2)
    assert again.loss.epsilon() == 2 * QUIET
    assert again.findings["thrown_away"].tolist() == [0]
    with pytest.raises(TooFew, match="cohorts in a row"):
        mb.simulate(FIRST, over(Watched(fails=10**9), epsilon=QUIET), CONTEXTS, 170, seed=2)


def test_those_who_are_lost_are_not_counted() -> None:
    seen = []

    class Listening(LinUCB):
        @staticmethod
        def tell(s, law, model, n, sums):
            seen.append(n)
            LinUCB.tell(s, law, model, n, sums)

    mb.simulate(Listening(first=8), over(Watched(lost=2), epsilon=QUIET, honest="0.5"), CONTEXTS, 20, seed=2)
    assert set(seen) == {6}


def test_users_are_charged_before_they_are_shown_an_arm(monkeypatch) -> None:
    events = []
    charge, ask = rehearse_contexts.Cohorts.charge, LinUCB.ask
    monkeypatch.setattr(
        rehearse_contexts.Cohorts, "charge", lambda self, *given: (events.append("charge"), charge(self, *given))[1]
    )

    class Watching(LinUCB):
        @staticmethod
        def ask(*given):
            events.append("ask")
            return ask(*given)

    mb.simulate(Watching(first=8), over(Watched(), epsilon=QUIET), CONTEXTS, 20, seed=2, delay=mb.delays.Constant(3))
    assert events == ["charge", "ask"] * 20


def test_a_device_refuses_a_smaller_cohort_than_it_agreed_to() -> None:
    channel = Distributed(QUIET).carrying(linear_sums(2))
    device = RehearsedDevice("ann", [0.0] * 5, channel, 8)
    with pytest.raises(InvalidValue, match="at least 8"):
        device.send(b"x", 1, channel.offer(7).at(0), seeded(1))
    assert 0 <= device.send(b"x", 1, channel.offer(9).at(0), seeded(1)) < channel.offer(9).modulus ** 5


def test_policies_that_never_ask_for_a_release_need_no_protocol() -> None:
    backend = Watched()
    run = mb.simulate(mb.policies.RandomChoice(), over(backend), CONTEXTS, 30, seed=1)
    assert not backend.seen
    assert run.loss.epsilon() == 0


def test_what_cannot_be_rehearsed_is_named() -> None:
    shared, fixed = over(Watched(), noise=mb.noises.DiscreteGaussian()), mb.LinearContexts(d=2, k=3, model="shared")
    with pytest.raises(InvalidValue, match="one that protects users, such as LinUCB"):
        mb.simulate(mb.policies.AdaCOFUL(), shared, fixed, 30)
    with pytest.raises(InvalidValue, match="ideal where visits have pools of their own"):
        mb.replay(LinUCB(), over(Watched()), mb.Newsroom(events=1000))

    class Apart(LinUCB):
        @staticmethod
        def due(s, law, model, n):
            return n >= 8 + model

    with pytest.raises(InvalidValue, match="closes the cohorts of all arms at the same time"):
        mb.simulate(Apart(), over(Watched()), CONTEXTS, 30)
