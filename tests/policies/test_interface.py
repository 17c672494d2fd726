"""The interface serves phases of single pulls as well as batches: a throw-away policy shows it.

An arm is played until its number of pulls has doubled, and its index knows the sum of this phase alone (as in AdaP-UCB
of Azize and Basu, 2022). Users come one by one; the cohort closes with the last pull of the phase. The same engine and
the same channels serve it. No test here depends on luck but the one that finds the best arm: see there.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import Decision, kernel
from maskedbandit.errors import IllegalDecision
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.policy import Policy
from tests.for_each import for_each
from tests.golden import Trail, interpreted

HORIZON = 5000
CHANNEL = mb.channels.Central(epsilon=1)
INSTANCE = mb.Bernoulli([0.3, 0.9, 0.5])


class State(NamedTuple):
    mean: np.ndarray  # [k] of the last phase
    n: np.ndarray  # [k] its pulls
    pulls: np.ndarray  # [k] in all phases
    clock: np.ndarray  # [3] time, the arm that is played, pulls that its phase still needs


@dataclass(frozen=True)
class Doubling(Policy):
    goal = "regret"

    def init(self, k, horizon):
        return State(np.zeros(k), *np.zeros((2, k), np.int64), np.zeros(3, np.int64))

    @staticmethod
    @kernel
    def ask(s, law, rng):
        s.clock[0] += 1
        if s.clock[2] == 0:
            top, x = -math.inf, 3 * math.log(s.clock[0])
            for a in range(s.n.size):
                n = s.n[a]
                index = s.mean[a] + math.sqrt(x / (2 * n)) + radius(law, 1, n, x) / n if n > 0 else math.inf
                if index > top:
                    s.clock[1], top = a, index
            s.clock[2] = max(1, s.pulls[s.clock[1]])
        s.clock[2] -= 1
        return Decision(int(s.clock[1]), 1, int(s.clock[2] == 0))

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.mean[arm] = total / n
        s.n[arm] = n
        s.pulls[arm] += n


def phases(pulls: int) -> list[int]:
    """Sizes of the phases that fit into this many pulls: 1, 1, 2, 4, ..."""
    return [1, *(2**i for i in range(pulls.bit_length() - 1))] if pulls else []


def check_phases(found: Trail) -> None:
    """Every finished phase is released, whole and once; the one that the horizon cuts is not."""
    assert all(n == 1 for _, n, _ in found.decisions)
    assert sum(close for _, _, close in found.decisions) == found.releases == len(found.released)
    for arm, pulls in enumerate(found.pulls):
        assert [n for a, n, _ in found.released if a == arm] == phases(pulls)


def test_finds_the_best_arm():
    """Each run fails with probability below 1e-6: the indices hold with probability 1 - O(t^-3)."""
    run = mb.simulate(Doubling(), CHANNEL, INSTANCE, HORIZON, runs=50, seed=1)
    assert np.all(run.pulls[:, 1] > 0.8 * HORIZON)


def test_one_release_for_each_finished_phase():
    run = mb.simulate(Doubling(), CHANNEL, INSTANCE, HORIZON, runs=50, seed=1)
    assert run.releases.tolist() == [sum(len(phases(n)) for n in row) for row in run.pulls.tolist()]
    assert run.releases.max() < 50


def test_cohorts_hold_one_phase_and_the_last_one_is_never_released():
    found = interpreted(Doubling(), CHANNEL, INSTANCE, HORIZON, seed=1)
    check_phases(found)
    assert found.decisions[-1][2] == 0
    assert sum(n for _, n, _ in found.released) < HORIZON
    run = mb.simulate(Doubling(), CHANNEL, INSTANCE, HORIZON, seed=1)
    assert (run.pulls[0].tolist(), run.releases[0]) == (found.pulls, found.releases)


@for_each("horizon", [3, 4, 5, 6, 7, 100])
def test_every_horizon_cuts_off_what_is_open(horizon):
    check_phases(interpreted(Doubling(), CHANNEL, INSTANCE, horizon))


def test_a_user_pays_for_one_release():
    """The cohorts that cost something: finished phases, and what the horizon cut off."""
    sizes: list[int] = []

    class Witness(mb.channels.Central):
        def loss(self, n):
            sizes.append(n)
            return super().loss(n)

    run = mb.simulate(Doubling(), Witness(epsilon=1), INSTANCE, HORIZON, runs=5, seed=1)
    assert run.loss.epsilon() == 1.0
    expected = {n for pulls in run.pulls.flatten().tolist() for n in (*phases(pulls), pulls - sum(phases(pulls)))}
    assert set(sizes) == expected - {0}


def test_a_grid_that_needs_the_size_of_cohorts_is_refused():
    with pytest.raises(IllegalDecision, match="cohorts of unknown size"):
        mb.simulate(Doubling(), mb.channels.Central(epsilon=1, grid="paper"), INSTANCE, HORIZON)


def test_a_release_of_a_cut_phase_is_rejected():
    """Negative control: an engine that released what the horizon cut off."""
    found = interpreted(Doubling(), CHANNEL, INSTANCE, HORIZON, seed=1)
    arm = found.decisions[-1][0]
    cut = HORIZON - sum(n for _, n, _ in found.released)
    broken = found._replace(releases=found.releases + 1, released=[*found.released, (arm, cut, 0.0)])
    with pytest.raises(AssertionError):
        check_phases(broken)


def test_a_phase_that_closes_late_is_rejected():
    """Negative control: a policy whose cohorts hold more than one phase."""

    class Late(Doubling):
        @staticmethod
        @kernel
        def ask(s, law, rng):
            decision = Doubling.ask(s, law, rng)
            return Decision(decision.arm, 1, int(decision.close == 1 and rng.random() < 0.9))

    with pytest.raises(AssertionError):
        check_phases(interpreted(Late(), CHANNEL, INSTANCE, HORIZON, seed=1))
