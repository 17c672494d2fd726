"""The contract of worlds: every world in the room runs through it because its file exists.

Each rule is a function. It runs on every world that is found, on the world of docs/add_a_world.md, and on mutants
of that one, which it must reject. Seeds are fixed; under a new seed each random assertion rejects a correct world with
probability ALPHA = 1e-9. The rules of worlds with contexts are in test_contexts.py.
"""

import json
import tomllib
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maskedbandit.lab.worlds as worlds
from maskedbandit.errors import UnknownName
from maskedbandit.lab.engine.compiler import bind_hooks, compile_loop
from maskedbandit.lab.experiments.experiment import expand_settings
from maskedbandit.lab.experiments.names import TABLES
from maskedbandit.lab.streams import Rewards, Streams
from maskedbandit.lab.worlds.instance import Instance
from tests.contracts.added import added, changed
from tests.for_each import for_each
from tests.guides import block
from tests.statistics import mean_is, same_distribution_of_two

NAMES = [name for name in worlds.room if issubclass(worlds.room[name], Instance)]
GRIDS = (0, 1, 5)
N = 20_000
Draw = Callable[..., tuple[np.ndarray, np.ndarray]]

one: Any = None  # these stand for the kernels of a world, see `drawn`
many: Any = None


def fill(numbers: Any, arm: int, g: int, n: int, singles: Any, sums: Any, stream: Rewards) -> None:
    for i in range(sums.size):
        for j in range(n):
            singles[i] += one(numbers, arm, n * i + j, g, stream)
        sums[i] = many(numbers, arm, n, g, stream)


def drawn(
    world: Instance, arm: int, g: int, n: int = 1, size: int = N, plain: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of n rewards: one by one, and many at once."""
    keys, generator, *_ = Streams(1, "worlds").of(arm)
    stream, kernels = Rewards(generator, keys), {"one": world.one, "many": world.many}
    parts, singles, sums = world.parameters(), np.zeros(size), np.zeros(size)
    if plain:
        go: Any = bind_hooks(fill, kernels)
    else:
        go = compile_loop(fill, **kernels)
    with np.errstate(over="ignore"):  # the stream of rewards counts modulo 2^64
        go(parts, arm, g, n, singles, sums, stream)
    return singles, sums


def by_hand(*args: Any, **kwargs: Any) -> tuple[np.ndarray, np.ndarray]:
    """What is drawn without the compiler, which would need longer for a mutant than this."""
    return drawn(*args, **{**kwargs, "size": 1000, "plain": True})


def agree(a: np.ndarray, b: np.ndarray) -> None:
    """Two samples of sums have one distribution; in up to 32 cells of about the same size."""
    both = np.concatenate([a, b])
    if np.ptp(both) > 0:
        edges = np.unique(np.quantile(both, np.arange(1, 32) / 32, method="lower"))
        same_distribution_of_two(np.searchsorted(edges, a), np.searchsorted(edges, b))


def check_record(world: Any, draw: Any = None) -> None:
    """It is a frozen record of its parameters, and can be made again from them."""
    values = {field.name: getattr(world, field.name) for field in fields(world)}
    assert type(world)(**values) == world, "it is another world when it is made again"
    hash(world)
    with pytest.raises(FrozenInstanceError):
        setattr(world, fields(world)[0].name, None)


def check_range(world: Instance, draw: Draw = drawn) -> None:
    """Rewards are in [0, 1], in whole steps where they are rounded, and 0 or 1 if the world says so."""
    bits = True
    for arm in range(world.true_means().size):
        for g in GRIDS:
            for n in (1, 7):
                for sums in draw(world, arm, g, n)[: 1 if world.moves else 2]:
                    assert np.all((sums >= 0) & (sums <= n * max(g, 1))), "a reward is outside [0, 1]"
                    assert g == 0 or np.all(sums % 1 == 0), "a rounded reward is not a whole number of steps"
                    bits &= bool(np.all(np.isin(sums, [0, max(g, 1)]))) or n > 1 or g == 1
    assert bits == world.bits, "`bits` does not say what rewards are"


def check_means(world: Instance, draw: Draw = drawn) -> None:
    """What is told has the means that the world states, rounded or not; where means move, see `check_expected`."""
    means = world.told_means()
    assert means.dtype == float
    assert means.size >= 2
    if world.moves:
        return
    for arm, mean in enumerate(means):
        for g in GRIDS:
            for n in (1, 7):
                for sums in draw(world, arm, g, n):
                    rewards = sums / (n * max(g, 1))
                    if np.ptp(rewards) > 0:
                        mean_is(rewards, mean)
                    else:
                        assert rewards[0] == pytest.approx(mean, abs=1e-9), f"the mean is {rewards[0]}, not {mean}"


def check_expected(world: Instance, draw: Draw = drawn) -> None:
    """Every user's reward has the mean that is expected of it, and no arm is better for the user than the best.

    Rewards are compared apart where much and where little is expected, so that a mean that moves otherwise is noticed.
    """
    parameters, means = world.parameters(), world.true_means()
    assert np.array_equal(parameters.means, means), "`means` among the parameters are not the true means"
    expected = np.array([[world.expected(parameters, arm, t) for t in range(N)] for arm in range(means.size)])
    mean, best = expected[..., 0], expected[..., 1]
    assert np.all(best == mean.max(axis=0)), "the best mean is not the highest"
    assert world.moves or np.all(mean == means[:, None]), "means move, and the world does not say so"
    for arm in range(means.size if world.moves else 0):  # else `check_means` compares the rewards
        rewards, _ = draw(world, arm, 1)
        for part in (mean[arm] > np.median(mean[arm]), mean[arm] <= np.median(mean[arm])):
            some = part[: rewards.size]
            if some.any() and np.ptp(rewards[some]) > 0:
                mean_is((rewards - mean[arm, : rewards.size])[some], 0)
            elif some.any():
                assert np.all(rewards[some] == mean[arm, : rewards.size][some]), "the mean is not what is expected"


def check_sums(world: Instance, draw: Draw = drawn) -> None:
    """Many rewards at once have the distribution of the sum of as many single ones; if means move, they have no sum."""
    for arm in range(world.true_means().size):
        for g in GRIDS:
            if world.moves:
                assert np.isnan(draw(world, arm, g, n=5, size=10)[1]).all(), "a sum of users whose means may differ"
            else:
                agree(*draw(world, arm, g, n=5))


def check_plain_python(world: Instance, draw: Any = None) -> None:
    """Compiled kernels give the numbers that they give as plain Python."""
    for arm in range(world.true_means().size):
        for g in GRIDS:
            for n in (1, 7):
                fast, python = (drawn(world, arm, g, n, 100, plain) for plain in (False, True))
                np.testing.assert_array_equal(fast, python, "compiled kernels give other numbers")


RULES = (check_record, check_range, check_means, check_expected, check_sums, check_plain_python)


def text(key: str, table: dict[str, Any]) -> str:
    """A table of a TOML file."""
    return f"[{key}]\n" + "".join(f"{name} = {inline(value)}\n" for name, value in table.items())


def inline(value: Any) -> str:
    """A value in a TOML file."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {inline(each)}" for name, each in value.items()) + " }"
    return json.dumps(value)


def check_file(name: str) -> None:
    """The example of a world is what the file of an experiment may hold."""
    file = 'horizon = 100\npolicy = "uniform"\nchannel = "raw"\n'
    file += text("instance", {"name": name, **worlds.room[name].example}) + "[[curves]]\n"
    (setting,) = expand_settings("x", file, tomllib.loads(file)).settings
    assert setting.instance == example(name)


def example(name: str) -> Any:
    """The world that its own example describes."""
    return TABLES.made("instance", {"name": name, **worlds.room[name].example})


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@for_each("name", NAMES)
def test_every_world_keeps_the_rules(name, rule) -> None:
    rule(example(name))


@for_each("name", NAMES)
def test_every_world_can_be_named_in_a_file(name) -> None:
    check_file(name)


# The world of the guide, as it stands there, and mutants of it.

GUIDE = block("add_a_world.md", 0)
ROUNDED = "round_reward(stream.generator.triangular(0.0, i.modes[arm], 1.0), g, stream.generator)"
DRAW = "stream.generator.triangular(0.0, i.modes[arm], 1.0)"
LOOP = GUIDE[GUIDE.index("        total = 0.0") : GUIDE.index("        return total")]
BROKEN = [
    (check_record, '"modes", tuple(', '"modes", np.sqrt(', "ambiguous|unhashable"),
    (check_record, "(frozen=True)", "(unsafe_hash=True)", "DID NOT RAISE"),
    (check_range, DRAW, f"1.01 * {DRAW}", "outside"),
    (check_range, ROUNDED, f"({DRAW} * max(g, 1))", "whole number of steps"),
    (check_range, "bits = False", "bits = True", "does not say"),
    (check_means, "(1 + np.array(self.modes)) / 3", "np.array(self.modes)", "the mean is"),
    (check_means, "i.means[arm]", "i.modes[arm]", "the mean is"),
    (check_means, ROUNDED, f"({DRAW} if g == 0 else {DRAW} * g // 1)", "the mean is"),
    (check_sums, LOOP, f"        total = n * {ROUNDED}\n", "two distributions"),
    (check_plain_python, "stream.generator.triangular(", "np.random.triangular(", "other numbers"),
]


# A world whose means move, and broken twins of it.

DRIFTING = Path(worlds.drifting.__file__).read_text()
LOST = [
    ("i.best + shift", "i.best", "not the highest"),
    ("i.means[arm] + shift)", "i.means[arm])", "the mean is"),  # rewards that do not drift
    ("draw_uniform(stream, t) < i.means[arm] + shift", "draw_uniform(stream, t) < i.means[arm] - shift", "the mean is"),
    ("    moves = True\n", "", "does not say so"),
    ("return DriftingParameters(means,", "return DriftingParameters(means + 0.1,", "not the true means"),
]


@pytest.mark.sparing(1)
@pytest.mark.parametrize(("old", "new", "said"), LOST)
def test_a_world_that_moves_otherwise_than_it_says_is_rejected(old, new, said) -> None:
    with added(worlds, "drifting", changed(DRIFTING, old, new)):
        world = example("drifting")
        with pytest.raises(AssertionError, match=said):
            check_expected(world, partial(drawn, plain=True))


def test_a_sum_of_users_whose_means_move_is_rejected() -> None:
    sums = "many = staticmethod(kernel(lambda i, arm, n, g, stream: stream.generator.binomial(n, i.means[arm])))"
    with added(worlds, "drifting", changed(DRIFTING, "many = no_sum", sums)):
        world = example("drifting")
        with pytest.raises(AssertionError, match="means may differ"):
            check_sums(world, partial(drawn, plain=True))


@pytest.mark.slow
@for_each("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_world_of_the_guide_keeps_the_rules(rule) -> None:
    with added(worlds, "triangular", GUIDE):
        rule(example("triangular"))


def test_the_world_of_the_guide_is_found_because_its_file_exists() -> None:
    with added(worlds, "triangular", GUIDE):
        assert worlds.Triangular is worlds.room["triangular"]
        assert "triangular" in list(worlds.room)
        check_file("triangular")


@pytest.mark.sparing(9)
@pytest.mark.parametrize(("rule", "old", "new", "said"), BROKEN)
def test_a_mutant_is_rejected(rule, old, new, said) -> None:
    with added(worlds, "triangular", changed(GUIDE, old, new)):
        world = example("triangular")
        with pytest.raises((AssertionError, pytest.fail.Exception, TypeError, ValueError), match=said):
            rule(world, by_hand)


@for_each(
    ("old", "new", "error", "said"),
    [
        ('"modes": [0.0', '"mode": [0.0', UnknownName, "mode"),
        ('    example: ClassVar = {"modes": [0.0, 0.4, 1.0]}\n', "", AttributeError, "example"),
        ("(frozen=True)", "(frozen=True, eq=False)", AssertionError, "Triangular"),
    ],
)
def test_a_world_that_a_file_cannot_name_is_rejected(old, new, error, said) -> None:
    with added(worlds, "triangular", changed(GUIDE, old, new)), pytest.raises(error, match=said):
        check_file("triangular")
