"""Rules that every policy keeps, whatever its goal. Each is a function, which broken policies show can fail."""

import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

import numpy as np

import maskedbandit as mb
from maskedbandit.core import TOGETHER, WAIT, Decision
from maskedbandit.errors import InvalidValue
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.state_text import state_from_text, state_to_text
from tests.contracts.guide import NAME, guide_policy
from tests.golden import choose_aim
from tests.statistics import same_distribution_of_two

LONG = 5000  # long enough for every policy to learn something of three arms
BY_HAND = 2000  # the same, of most policies, in runs that Python makes
SHORT = 1000  # long enough for several releases of every arm
RAW = mb.channels.Raw()
ALPHAS, BETAS = (3.0, 5.0, 6.0), (7.0, 5.0, 4.0)  # distributions without ties: means 0.3, 0.5, 0.6
THREE = mb.Beta(ALPHAS, BETAS)


def of_goal(goal: str) -> list[str]:
    """Names of the policies that have this goal."""
    return [name for name in mb.policies.room if mb.policies.room[name].goal == goal]


def policy_of(name: str) -> Policy:
    """A policy of the room, or the one of the guide."""
    found: Policy = (guide_policy() if name == NAME else mb.policies.room[name])()
    return found


def check_legal(decision: Decision, k: int) -> None:
    """An arm that exists for some users, a stop that names one, or WAIT."""
    arm, n, close = decision
    assert all(type(number) is int for number in decision), f"{decision} is not made of Python's own whole numbers"
    assert decision == WAIT or (0 <= arm < k and n >= 0 and close in (0, 1, TOGETHER)), (
        f"{decision} is not legal for {k} arms"
    )


def drive(
    policy: Policy,
    together: int = 1,
    means: tuple[float, ...] = (0.3, 0.5, 0.6),
    horizon: int = BY_HAND,
    seed: int = 1,
    keep: Callable[[Any], Any] = lambda s: s,
    released: Callable[[int, int, float], tuple[int, int, float]] = lambda arm, n, total: (arm, n, total),
    told: int | None = None,
) -> list[tuple[int, ...]]:
    """Decisions of a policy that is driven by hand, on the raw channel; of this horizon, or `told` of another.

    Cohorts stay open until `together` of them are, or until the policy waits; then they are told in random order, each
    as `released` has it.
    """
    k, law, decisions, t = len(means), RAW.law(), [], 0
    rng, own = (np.random.Generator(np.random.PCG64([seed, purpose])) for purpose in range(2))
    s, users, totals, closed = policy.init(k, choose_aim(policy, told or horizon)), [0] * k, [0] * k, []
    while t < horizon:
        s = keep(s)
        decision = policy.ask(s, law, own)
        check_legal(decision, k)
        arm, n, close = decision
        decisions.append((arm, n, close))
        if decision == WAIT:
            assert closed, "it waits, and there is nothing to wait for"
        elif n == 0:
            again = [policy.ask(s, law, own) for _ in range(5)]
            assert all(each == decision for each in again), "it stopped, and then changed its answer"
            break
        else:
            t += n
            users[arm] += n
            totals[arm] += rng.binomial(n, means[arm])
            if close and t <= horizon:
                closed.append((arm, users[arm], float(totals[arm])))
                users[arm], totals[arm] = 0, 0
        if closed and (decision == WAIT or len(closed) >= together):
            for i in rng.permutation(len(closed)):
                policy.tell(s, *released(*closed[i]))
            closed.clear()
    return decisions


def survivors(
    means: tuple[float, ...], fraction: float = 0.8, seed: int = 5
) -> Callable[[int, int, float], tuple[int, int, float]]:
    """What is released of a cohort if all but one are lost with probability 1 - fraction: the sum of those left."""
    rng = np.random.Generator(np.random.PCG64(seed))

    def released(arm: int, n: int, total: float) -> tuple[int, int, float]:
        left = max(1, int(rng.binomial(n, fraction)))
        return arm, left, float(rng.binomial(left, means[arm]))

    return released


def check_counts_who_was_told(policy: Policy) -> None:
    """The means of a policy are those of the rewards that it was told of; only one that is told nothing has none.

    Of some cohorts devices are lost. Every reward is 1, so whatever the rewards are that a mean is made of, it is 1.
    """
    means, states, sums = (1.0, 1.0, 1.0), [], []
    lost = survivors(means)

    def keep(s: Any) -> Any:
        states[:] = [s]
        return s

    def released(arm: int, n: int, total: float) -> tuple[int, int, float]:
        sums.append(arm)
        return lost(arm, n, total)

    drive(policy, 2, means, LONG, keep=keep, released=released)
    found = policy.means(states[0])
    if found is None:
        assert not sums, "it is told sums, and means(s) is None"
        return
    assert found.shape == (3,), f"means(s) has the shape {found.shape} for three arms"
    assert not np.isnan(found).all(), "it was told sums, and knows no mean"
    np.testing.assert_allclose(found[~np.isnan(found)], 1, err_msg="it counts users of whom it was not told")
    fresh = policy.means(policy.init(3, choose_aim(policy, LONG)))
    assert fresh is None or np.isnan(fresh).all(), "it knows means before it was told anything"


def check_asks_before_tells(policy: Policy) -> None:
    """Whatever it is asked before anything was released, it answers."""
    s, rng = policy.init(3, choose_aim(policy, LONG)), np.random.Generator(np.random.PCG64(1))
    for _ in range(100):
        check_legal(policy.ask(s, RAW.law(), rng), 3)


def check_repeats(play: Callable[[], Any]) -> None:
    """The same seed gives the same run."""
    first, again = play(), play()
    same = first == again  # compared here, because pytest would explain the difference of long lists for hours
    assert same, "the same seed gave two different runs"


@cache
def drive_in_fours(policy: Policy) -> list[tuple[int, ...]]:
    """What a policy decides whose state is not stored."""
    return drive(policy, 4, horizon=SHORT)


def check_comes_back(policy: Policy, there_and_back: Callable[[Any], Any]) -> None:
    """A state that was stored goes on as if it had not been: before all of the first decisions, and some later ones."""
    numbers, often = count(), {*range(30), *(root**2 for root in range(SHORT))}
    stored = drive(policy, 4, horizon=SHORT, keep=lambda s: there_and_back(s) if next(numbers) in often else s)
    same = stored == drive_in_fours(policy)
    assert same, "the state that came back decides otherwise"


def check_pickles(policy: Policy) -> None:
    """A state may be stored as pickle has it."""
    check_comes_back(policy, lambda s: pickle.loads(pickle.dumps(s)))


def check_text(policy: Policy) -> None:
    """A state may be stored as text: there is nothing else that it needs."""
    goal = choose_aim(policy, SHORT)
    check_comes_back(policy, lambda s: state_from_text(policy, 3, goal, state_to_text(policy, s)))


def damaged(text: str) -> list[str]:
    """Texts that are no states: cut, longer, in another order, of another version, policy, type, shape or spelling."""
    lines = text.splitlines(keepends=True)
    name, kind, shape, *values = lines[1].split()
    changed = [
        f"{name} {kind} {shape} {' '.join([*values, '1'])}\n",
        f"{name} {kind} [99] {' '.join(values)}\n",
        f"{name} {kind} {shape} {' '.join(['1e999'] * len(values))}\n",
        f"{name} {kind} {shape} {' '.join(['0x1.0p+99999'] * len(values))}\n",
        f"{name} {kind} {shape} {' '.join(['9' * 19] * len(values))}\n",
        f"{name} {kind} {shape} {' '.join(['9' * 5000] * len(values))}\n",
        f"{name} {kind} {shape}  {' '.join(values)}\n",
        f"{name}x {kind} {shape} {' '.join(values)}\n",
        f"{name} complex128 {shape} {' '.join(values)}\n",
    ]
    whole = ["", text[:-1], text + "\n", text + lines[-1], "".join(lines[:-1]), text.replace("state 1 ", "state 2 ")]
    whole += [re.sub(r"^(\S+ \S+) \S+", r"\1 Another", text), text.replace("\n", "\r\n"), text.replace("1", "١")]
    return whole + ["".join([lines[0], line, *lines[2:]]) for line in changed]


def check_refuses_damage(policy: Policy) -> None:
    """What `state_to_text` did not write is refused by name, and nothing is made of it."""
    goal = choose_aim(policy, LONG)
    for text in damaged(state_to_text(policy, policy.init(3, goal))):
        try:
            state_from_text(policy, 3, goal, text)
        except InvalidValue:
            continue
        raise AssertionError(f"it read {text[:200]!r}")


def check_same_pulls(a: np.ndarray, b: np.ndarray) -> None:
    """Two samples of pulls, [runs, k], have one law, arm by arm; in up to sixteen cells of about the same size.

    Pulls that are nearly always the same number say nothing of the law, and are passed over.
    """
    for mine, yours in zip(a.T, b.T, strict=True):
        both = np.concatenate([mine, yours])
        edges = np.unique(np.quantile(both, np.arange(1, 16) / 16, method="lower"))
        if both.size - np.bincount(np.searchsorted(edges, both)).max() >= 20:
            same_distribution_of_two(np.searchsorted(edges, mine), np.searchsorted(edges, yours))


def interpreted_runs(goal: str, instance: str, call: str) -> dict[str, Any]:
    """Pulls and answers of every policy of a goal, by a process with MASKEDBANDIT_KERNELS=python."""
    script = f"""
import json, maskedbandit as mb
from maskedbandit.lab.engine.compiler import runs_interpreted
assert runs_interpreted()
runs = {{}}
for name in {of_goal(goal)}:
    policy, instance = mb.policies.room[name](), {instance}
    found = {call}
    runs[name] = [found.pulls.tolist(), found.answer.tolist()]
print(json.dumps(runs))
"""
    with_switch = {**os.environ, "MASKEDBANDIT_KERNELS": "python"}
    done = subprocess.run([sys.executable, "-c", script], env=with_switch, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
