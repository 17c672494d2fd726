"""Files of contextual studies: what they say reaches the objects, and parts that do not go together are named."""

from pathlib import Path

import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments.experiment import read_experiment
from maskedbandit.lab.experiments.names import TABLES
from tests.for_each import for_each


@for_each(
    ("table", "wanted"),
    [
        ({"name": "linear_contexts", "k": 7, "seed": 3}, mb.LinearContexts(k=7, seed=3)),
        ({"name": "linear_contexts", "d": 4, "model": "shared"}, mb.LinearContexts(d=4, model="shared")),
        ({"name": "newsroom", "events": 500, "seed": 9}, mb.Newsroom(events=500, seed=9)),
        ("linear_contexts", mb.LinearContexts()),
    ],
)
def test_what_a_table_says_reaches_the_object(table, wanted) -> None:
    assert TABLES.made("instance", table) == wanted


def test_the_seed_of_a_front_page_reaches_what_is_generated() -> None:
    log = TABLES.made("instance", {"name": "front_page", "folder": "no/such/folder", "events": 500, "seed": 9})
    assert log.seed == 9
    assert log.real == mb.Newsroom(events=500, seed=9)


def test_generated_means_take_a_number_of_arms_and_a_seed() -> None:
    found = TABLES.made("instance", {"name": "bernoulli", "means": "easy", "k": 4, "seed": 2})
    assert found == mb.Bernoulli(mb.uniform_means("easy", 4, 2))


@for_each("name", ["newsroom", "front_page"])
def test_a_log_has_the_arms_that_it_has(name: str) -> None:
    with pytest.raises(InvalidValue, match=f"parameter of {name} is 'k'"):
        TABLES.made("instance", {"name": name, "events": 500, "k": 4})


FILE = """
about = "a"
horizon = 100
seed = 1
instance = "linear_contexts"
policy = "lin_ucb"
channel = { name = "central", epsilon = 1 }
[[curves]]
label = "a"
"""
IDENTIFY = FILE.replace("horizon = 100", 'goal = "identify"\ndelta = 0.1\nmax_pulls = 1000')
WITHOUT = "it must be one of arms without contexts, such as Bernoulli"


@for_each(
    ("text", "said"),
    [
        (FILE.replace('policy = "lin_ucb"\n', "") + 'theory = "central"', f"instance is LinearContexts.*: {WITHOUT}"),
        (FILE.replace('policy = "lin_ucb"\n', "") + 'theory = "minimax"', f"instance is LinearContexts.*: {WITHOUT}"),
        (IDENTIFY, f"instance is LinearContexts.*: {WITHOUT}"),
        (IDENTIFY.replace("lin_ucb", "successive_elimination"), f"instance is LinearContexts.*: {WITHOUT}"),
        (FILE.replace("lin_ucb", "ucb1"), f"instance is LinearContexts.*: {WITHOUT}"),
        (
            FILE.replace('"linear_contexts"', '{ name = "bernoulli", means = [0.2, 0.8] }'),
            "instance is Bernoulli.*: it must be one with contexts, such as LinearContexts",
        ),
    ],
    ids=["theory", "lower", "identify", "identify-arms", "ucb1", "bernoulli"],
)
def test_parts_that_do_not_go_together_are_named_in_a_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(InvalidValue, match=said) as wrong:
        read_experiment(path)
    assert "\n" not in str(wrong.value)
    assert str(path) in str(wrong.value)


def test_the_file_itself_is_good(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(FILE)
    (setting,) = read_experiment(tmp_path / "good.toml").settings
    assert (setting.policy, setting.instance) == (mb.policies.LinUCB(), mb.LinearContexts())


@for_each("policy", [mb.policies.LinUCB, mb.policies.LinThompson])
@for_each(
    ("name", "value"),
    [
        *(("alpha", value) for value in ("x", True, None, -1, float("nan"), float("inf"), 1j)),
        *(("ridge", value) for value in (None, "x", True, 0, -1, float("inf"))),
        *(("first", value) for value in ("x", True, 0, 1.5, float("nan"), 10**16)),
        *(("growth", value) for value in ("x", False, -1, float("nan"), float("inf"))),
        *(("products", value) for value in ("1/3", "1/512", 0, -1, 1.5, "x", "3/257")),
    ],
)
def test_parameters_of_another_kind_are_refused(policy, name: str, value) -> None:
    with pytest.raises(InvalidValue, match=f"^{name} is "):
        policy(**{name: value})


def test_parameters_at_their_limits_are_taken() -> None:
    policy = mb.policies.LinUCB(alpha=0, ridge=1e-100, first=1.0, growth=0, products="3/256")
    assert policy.init(2, mb.policies.contextual_policy.Aim(d=2, horizon=10)).first == 1
