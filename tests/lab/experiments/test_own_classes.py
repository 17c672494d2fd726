"""Classes from elsewhere: named in a file by their module, or made in a notebook."""

import sys
from collections import namedtuple
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import Decision
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments.experiment import read_experiment
from maskedbandit.lab.experiments.parts import fingerprint, ingredients_of
from maskedbandit.policies.policy import Policy
from tests.for_each import for_each

GOOD = """
about = "two curves"
horizon = 1000
instance = { name = "bernoulli", means = [0.2, 0.8] }
policy = "successive_elimination"
[[curves]]
channel = "raw"
[[curves]]
channel = { name = "distributed", noise = "skellam" }
"""


def experiment(tmp_path: Path, text: str = GOOD):
    path = tmp_path / "two.toml"
    path.write_text(text)
    return read_experiment(path)


OWN = """
from dataclasses import dataclass
from maskedbandit.channels.central import Central
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.regret.uniform import Uniform

@dataclass(frozen=True)
class Mine(Uniform):
    extra: int = 1

class Half(Policy):
    pass
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_classes.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("own_classes", None)


def test_classes_of_one_s_own_are_named_by_their_module(own, tmp_path) -> None:
    text = GOOD.replace('policy = "successive_elimination"', 'policy = { name = "own_classes:Mine", extra = 3 }', 1)
    found = experiment(tmp_path, text.replace('"raw"', '"maskedbandit.channels.raw:Raw"'))
    assert type(found.settings[0].policy).__module__ == "own_classes"
    assert found.settings[0].policy.extra == 3
    assert found.settings[0].channel == mb.channels.Raw()
    before = fingerprint(found.settings[0])
    (tmp_path / "own_classes.py").write_text(OWN + "# changed")
    assert fingerprint(found.settings[0]) != before


@for_each(
    ("name", "said"),
    [
        ("no_such_module:Mine", "from the current folder or an installed package .No module named 'no_such_module'"),
        ("own_classes.deeper:Mine", "No module named 'own_classes.deeper'"),
        ("own_classes:mine", "class in own_classes is 'mine': did you mean 'Mine'?"),
        ("own_classes:", "class in own_classes is ''"),
        (":Mine", "policy is ':Mine': it must be a class of a module that can be imported"),
        (".own_classes:Mine", "policy is '.own_classes:Mine': it must be a class of a module that can be imported"),
        ("own_classes:Central", "policy is 'own_classes:Central': it must be a class derived from Policy"),
        ("own_classes:Half", "policy is 'own_classes:Half': it must be a class that defines init"),
    ],
)
def test_what_is_missing_of_one_s_own_is_named(own, name, said, tmp_path) -> None:
    with pytest.raises(InvalidValue, match=said):
        experiment(tmp_path, GOOD.replace('policy = "successive_elimination"', f'policy = "{name}"', 1))


NOTEBOOK = """
@dataclass(frozen=True)
class Drafted(Policy):
    goal = "regret"

    def init(self, k, horizon):
        return State(np.zeros(1))

    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(ARM, 1, 1)

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.total[0] += total
"""


def drafted(text: str = NOTEBOOK) -> Policy:
    """A policy of a notebook: there is no file of its source."""
    scope = {
        "__name__": "notebook",
        **{each.__name__: each for each in (Policy, Decision, NamedTuple, dataclass)},
        "kernel": mb.kernel,
        "np": np,
        "ARM": 1,
        "State": namedtuple("State", "total"),
    }
    sys.modules["notebook"] = ModuleType("notebook")
    exec(text, scope)
    return scope["Drafted"]()


def test_a_policy_of_a_notebook_has_a_fingerprint_that_follows_its_code(tmp_path) -> None:
    setting = experiment(tmp_path).settings[0]
    try:
        first, again = (fingerprint(replace(setting, policy=drafted())) for _ in range(2))
        other = fingerprint(replace(setting, policy=drafted(NOTEBOOK.replace("+= total", "+= 2 * total"))))
        value = fingerprint(replace(setting, policy=drafted(NOTEBOOK.replace("(ARM, 1, 1)", "(ARM, 2, 1)"))))
    finally:
        del sys.modules["notebook"]
    assert first == again
    assert len({first, other, value}) == 3


def test_a_noise_of_one_s_own_counts_too(tmp_path) -> None:
    """What is inside a channel runs as well."""

    class Louder(type(mb.noises.Skellam())):
        pass

    setting = experiment(tmp_path).settings[1]
    mine = replace(setting, channel=replace(setting.channel, noise=Louder()))
    assert Louder in {type(each) for each in ingredients_of(mine)}
