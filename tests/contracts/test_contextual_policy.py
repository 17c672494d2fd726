"""The contract of policies that see contexts: whole numbers of Python's own, and a state that can be stored as text."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.policies.contextual_policy import Aim, ContextualPolicy
from maskedbandit.policies.state_text import state_from_text, state_to_text
from tests.contracts.rules import RAW, damaged, of_goal

K, USERS, AIM = 3, 150, Aim(d=2, horizon=1000)
CONTEXTS = np.array([[0.6, 0.2], [0.1, 0.7], [0.4, 0.4]])  # of the arms, the same in every round
WEIGHTS = np.array([0.9, 0.3])


def made(name: str) -> ContextualPolicy:
    found: ContextualPolicy
    if name == "fixed_weights":
        found = mb.policies.FixedWeights([[0.1, 0.2]])
    else:
        found = mb.policies.room[name]()
    return found


def drive(policy: ContextualPolicy, keep: Callable[[Any], Any] = lambda s: s) -> list[int]:
    """Arms of users who come one by one, as the policy chooses them; every closed cohort is told at once."""
    law, models, protected = RAW.law(), policy.models(K), policy.protects == "users"
    rng, own = (np.random.Generator(np.random.PCG64([1, purpose])) for purpose in range(2))
    s, pool, arms, n = policy.init(K, AIM), np.arange(K), [], 0
    sums = np.zeros((models, 5 if protected else 2))
    for _ in range(USERS):
        s = keep(s)
        arm, z = policy.ask(s, CONTEXTS, pool, law, own), np.zeros(2)
        assert type(arm) is int, f"{arm!r} is not one of Python's own whole numbers"
        arms.append(arm)
        policy.direction(s, arm, CONTEXTS[arm], z)
        policy.arrived(s, arm, z)
        reward = float(rng.random() < CONTEXTS[arm] @ WEIGHTS)
        model = arm if models > 1 else 0
        of = policy.factors(s, model, z, reward)
        products = of.products * np.outer(z, z)[np.triu_indices(2)] if protected else np.zeros(0)
        sums[model] += np.concatenate([products, of.reward * z])
        n += 1
        if policy.due(s, law, 0, n):
            for model in range(models):
                policy.tell(s, law, model, n, sums[model])
            sums[:], n = 0.0, 0
    return arms


def check_text(policy: ContextualPolicy) -> None:
    """A state that became text before every decision goes on as if it had not."""
    kept = drive(policy, lambda s: state_from_text(policy, K, AIM, state_to_text(policy, s)))
    assert kept == drive(policy), "the state that came back decides otherwise"


@pytest.fixture(params=of_goal("contextual"))
def policy(request):
    return made(request.param)


@pytest.mark.sparing(1)
def test_state_survives_being_text(policy):
    check_text(policy)


def test_text_that_is_no_state_is_refused(policy):
    for text in damaged(state_to_text(policy, policy.init(K, AIM))):
        with pytest.raises(InvalidValue):
            state_from_text(policy, K, AIM, text)


class AnswersInNumPy(mb.policies.RandomChoice):
    @staticmethod
    @kernel
    def ask(s, x, pool, law, rng):
        return pool[0]


class Counts(mb.policies.RandomChoice):
    """It counts users where no text finds the number."""

    served = 0

    @staticmethod
    @kernel
    def ask(s, x, pool, law, rng):
        Counts.served += 1
        return min(Counts.served // 100, 2)


def test_a_number_of_numpy_is_rejected():
    with pytest.raises(AssertionError, match="Python's own"):
        drive(AnswersInNumPy())


def test_what_is_known_outside_the_state_is_rejected():
    with pytest.raises(AssertionError, match="decides otherwise"):
        check_text(Counts())
