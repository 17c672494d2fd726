"""The contract of worlds with contexts: every one in the room runs through it because its file exists.

As in test_world.py each rule is a function, which mutants of `LinearContexts` show can fail. Under a new seed each
random assertion rejects a correct world with probability ALPHA = 1e-9.
"""

import inspect
import tomllib
from typing import Any, NamedTuple

import numpy as np
import pytest

import maskedbandit.lab.worlds as worlds
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.engine.compiler import bind_hooks, compile_loop
from maskedbandit.lab.experiments.experiment import expand_settings
from maskedbandit.lab.streams import Rewards, Streams
from maskedbandit.lab.worlds import linear_contexts
from maskedbandit.lab.worlds.contexts import Contexts
from tests.contracts.added import added, changed
from tests.contracts.test_world import check_record, example, text
from tests.for_each import for_each
from tests.statistics import mean_is

NAMES = [name for name in worlds.room if issubclass(worlds.room[name], Contexts)]
N = 2000

present: Any = None  # these stand for the kernels of a world, see `drawn`
answer: Any = None


class Draws(NamedTuple):
    """What users showed, and what an arm paid them."""

    contexts: np.ndarray  # [n, rows, d]
    pools: np.ndarray  # [n]
    answers: np.ndarray  # [n, k, 4] of each arm: weight, reward, mean, best


def fill(numbers: Any, contexts: Any, pools: Any, answers: Any, stream: Rewards) -> None:
    for t in range(pools.size):
        pools[t] = present(numbers, t, t, contexts[t], stream)
        for arm in range(answers.shape[1]):
            weight, reward, mean, best = answer(numbers, t, t, contexts[t], arm, stream)
            answers[t, arm, 0], answers[t, arm, 1], answers[t, arm, 2], answers[t, arm, 3] = weight, reward, mean, best


def drawn(world: Contexts, size: int = N, plain: bool = True) -> Draws:
    keys, generator, *_ = Streams(1, "contexts").of(0)
    stream, kernels = Rewards(generator, keys), {"present": world.present, "answer": world.answer}
    out = Draws(np.zeros((size, world.rows, world.d)), np.zeros(size, np.int64), np.zeros((size, world.k, 4)))
    parts = world.parameters()
    go: Any = bind_hooks(fill, kernels)
    if not plain:
        go = compile_loop(fill, **kernels)
    with np.errstate(over="ignore"):  # the stream of rewards counts modulo 2^64
        go(parts, *out, stream)
    return out


def check_contexts(world: Contexts) -> None:
    """Contexts are in the unit ball, negative only if the world says so, and the same for all users if it says so."""
    found, numbers = drawn(world), world.parameters()
    assert np.all(np.linalg.norm(found.contexts, axis=2) <= 1 + 1e-9), "a context is outside the unit ball"
    assert world.signed or np.all(found.contexts >= 0), "a context is negative"
    assert bool(np.all(found.contexts == found.contexts[0])) == world.fixed, "`fixed` does not say what contexts are"
    assert np.all((found.pools >= 0) & (found.pools < numbers.starts.size - 1)), "there is no such pool"
    assert set(numbers.arms.tolist()) == set(range(world.k)), "the pools do not hold all arms"


def check_answers(world: Contexts) -> None:
    """Rewards are in [0, 1], of the mean that is stated for the context; `best` is the highest mean of the pool."""
    found, numbers = drawn(world), world.parameters()
    weight, reward, mean, best = np.moveaxis(found.answers, 2, 0)
    assert np.all(weight == 1), "somebody was not served"
    assert np.all((reward >= 0) & (reward <= 1)), "a reward is outside [0, 1]"
    for arm in range(world.k):
        mean_is(reward[:, arm] - mean[:, arm], 0)
        half = mean[:, arm] > np.median(mean[:, arm])  # where the context says more, and where less
        for part in (half, ~half):
            mean_is((reward - mean)[part, arm], 0)
    for pool in np.unique(found.pools):
        here, arms = found.pools == pool, numbers.arms[numbers.starts[pool] : numbers.starts[pool + 1]]
        highest = mean[np.ix_(here, arms)].max(axis=1)
        assert np.all(best[np.ix_(here, arms)] == highest[:, None]), "`best` is not the highest mean"


def check_plain_python(world: Contexts) -> None:
    """Compiled kernels give the numbers that they give as plain Python."""
    for fast, python in zip(drawn(world, 100, plain=False), drawn(world, 100), strict=True):
        np.testing.assert_allclose(fast, python, rtol=1e-14, atol=0, err_msg="compiled kernels give other numbers")


def check_file(name: str) -> None:
    """The example of a world is what the file of an experiment may hold."""
    file = 'horizon = 100\npolicy = "random_choice"\nchannel = "raw"\n'
    file += text("instance", {"name": name, **worlds.room[name].example}) + "[[curves]]\n"
    (setting,) = expand_settings("x", file, tomllib.loads(file)).settings
    assert setting.instance == example(name)


RULES = (check_record, check_contexts, check_answers)


@for_each("rule", RULES, ids=lambda rule: rule.__name__)
@for_each("name", NAMES)
def test_every_world_with_contexts_keeps_the_rules(name, rule) -> None:
    rule(example(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_compiled_contexts_are_those_of_plain_python(name) -> None:
    check_plain_python(example(name))


@pytest.mark.slow
def test_a_mutant_that_draws_its_own_numbers_is_rejected() -> None:
    with added(worlds, "other_contexts", changed(SOURCE, "stream.generator)\n", "np.random)\n")):
        world = example("other_contexts")
        with pytest.raises(AssertionError, match="other numbers"):
            check_plain_python(world)


@pytest.mark.parametrize("name", NAMES)
def test_every_world_with_contexts_can_be_named_in_a_file(name) -> None:
    check_file(name)


def test_every_world_is_of_one_of_the_two_kinds() -> None:
    from tests.contracts.test_world import NAMES as OTHERS

    assert sorted([*NAMES, *OTHERS]) == list(worlds.room)


SOURCE = inspect.getsource(linear_contexts).replace("LinearContexts", "OtherContexts")
BROKEN = [
    (check_contexts, "    clip_vector(x[row], True)\n", "    x[row, 0] = 1.0\n", "outside the unit ball"),
    (check_contexts, "    seed: int = 0\n", "    seed: int = 0\n    signed = False\n", "negative"),
    (check_contexts, "self.k if self.fixed else 0", "self.k", "`fixed`"),
    (check_contexts, "        return 0\n", "        return 1\n", "no such pool"),
    (check_answers, "1.0 if draw_uniform(stream, t) < mean else 0.0", "draw_uniform(stream, t)", "the mean is"),
    (
        check_answers,
        "1.0 if draw_uniform(stream, t) < mean else 0.0",
        "draw_uniform(stream, t) + mean - 0.5",
        "outside",
    ),
    (check_answers, "best = max(best, value)", "best = value", "the highest mean"),
    (check_answers, "ArmAnswer(1.0, ", "ArmAnswer(0.0, ", "not served"),
]


@pytest.mark.sparing(6)
@pytest.mark.parametrize(("rule", "old", "new", "said"), BROKEN)
def test_a_mutant_is_rejected(rule, old, new, said) -> None:
    with added(worlds, "other_contexts", changed(SOURCE, old, new)):
        world = example("other_contexts")
        with pytest.raises(AssertionError, match=said):
            rule(world)


def test_a_world_that_a_file_cannot_name_is_rejected() -> None:
    wrong = changed(SOURCE, '"model": "shared"', '"model": "both"')
    with added(worlds, "other_contexts", wrong), pytest.raises(InvalidValue, match="model is 'both'"):
        check_file("other_contexts")


@pytest.mark.slow
def test_the_mutant_that_is_not_broken_keeps_the_rules() -> None:
    with added(worlds, "other_contexts", SOURCE):
        check_contexts(example("other_contexts"))
        check_file("other_contexts")
