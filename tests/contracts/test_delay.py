"""The contract of delays: every delay in the room runs through it because its file exists.

Each rule is a function. It runs on every delay that is found, on the delay of docs/add_a_world.md, and on mutants,
which it must reject. Seeds are fixed; under a new seed each random assertion rejects a correct delay with probability
ALPHA = 1e-9.
"""

import tomllib
from typing import Any

import numpy as np
import pytest

import maskedbandit.lab.delays as delays
from maskedbandit.errors import UnknownName
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay, at_once, chance_of_later, draw_delay, draw_delay_beyond, last
from maskedbandit.lab.delays.geometric import Geometric
from maskedbandit.lab.engine.compiler import bind_hooks, compile_loop
from maskedbandit.lab.experiments.experiment import expand_settings
from maskedbandit.lab.experiments.names import TABLES
from tests.contracts.added import added, changed
from tests.contracts.test_world import check_record, text
from tests.for_each import for_each
from tests.guides import block
from tests.policies.mutants import mutant
from tests.statistics import same_distribution

NAMES = list(delays.room)
SIZES = (1, 2, 5, 40)  # of cohorts
N = 8000

late: Any = None  # stands for the kernel of a delay, see `waits`


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def alone(delay: Delay) -> Any:
    """The distribution of one delay, by the chances that it is longer."""
    d = delay.parameters()
    return lambda z: np.array(
        [chance_of_later(d, int(x) - 1) - chance_of_later(d, int(x)) if x >= 0 else 0.0 for x in z]
    )


def maximum(delay: Delay, n: int) -> Any:
    """The distribution of how late a cohort is, by brute force: P(L <= x) is the product of all P(D <= x + i)."""
    d = delay.parameters()

    def cdf(x: int) -> float:
        return float(np.prod([1 - chance_of_later(d, x + i) for i in range(n)])) if x >= 0 else 0.0

    return lambda z: np.array([cdf(int(x)) - cdf(int(x) - 1) for x in z])


def has_distribution(sample: list[int], pmf: Any) -> None:
    """The sample has the law, which may be that of a single number."""
    values = np.unique(sample)
    if values.size > 1:
        same_distribution(np.array(sample), pmf)
    else:
        assert pmf(values)[0] == pytest.approx(1), f"another distribution: it is always {values[0]}"


def check_chances(delay: Delay) -> None:
    """Delays are sorted and not negative, and none is longer than the longest."""
    d = delay.parameters()
    assert np.all(np.diff(d.table) >= 0), "the table is not sorted"
    assert chance_of_later(d, -1) == 1, "a delay may be negative"
    assert chance_of_later(d, d.longest) == 0 < chance_of_later(d, d.longest - 1), "`longest` is not the longest delay"


def check_draws(delay: Delay) -> None:
    """Delays have the distribution that their chances say, also given that they are longer than some."""
    d, generator = delay.parameters(), rng()
    has_distribution([draw_delay(d, generator) for _ in range(N)], alone(delay))
    x = d.longest // 3
    if chance_of_later(d, x) > 0.01:
        pmf, chance = alone(delay), chance_of_later(d, x)
        has_distribution(
            [draw_delay_beyond(d, x, generator) for _ in range(N)], lambda z: np.where(z > x, pmf(z) / chance, 0.0)
        )


def check_cohorts(delay: Delay, kernel: Any = None) -> None:
    """A cohort is late by the distribution of the maximum over its users, who came one after the other."""
    kernel, d = kernel or delay.late, delay.parameters()
    for n in SIZES:
        generator = rng(n)
        has_distribution([kernel(d, n, generator) for _ in range(N)], maximum(delay, n))


def waits(d: Any, n: int, out: Any, generator: np.random.Generator) -> None:
    for i in range(out.size):
        out[i] = late(d, n, generator)


def check_plain_python(delay: Delay) -> None:
    """The compiled kernel gives the numbers that it gives as plain Python."""
    d, kernels = delay.parameters(), {"late": delay.late}
    for n in SIZES:
        fast, python = np.zeros((2, 200), np.int64)
        compile_loop(waits, **kernels)(d, n, fast, rng(n))
        bind_hooks(waits, kernels)(d, n, python, rng(n))
        np.testing.assert_array_equal(fast, python, "compiled kernels give other numbers")


def check_losses(delay: Delay) -> None:
    """Rewards may be lost only by a delay that has a deadline: one that does not depend on what comes."""
    d = delay.parameters()
    assert 0 <= d.lost <= 1, "the share that is lost is no probability"
    assert 0 <= d.default <= 1, "the default is no reward"
    assert d.lost == 0 or chance_of_later(d, d.longest - 1) == 1, "when a cohort closes depends on which rewards came"


def check_title(delay: Delay) -> None:
    """Its title in tables and figures is short, and is not that of rewards that come at once."""
    assert str(delay) != repr(delay), "it has no `__str__`"
    assert len(str(delay)) < 60, "the title is too long for a table"
    assert delay == AT_ONCE or str(delay) != str(AT_ONCE)


RULES = (check_record, check_chances, check_draws, check_cohorts, check_plain_python, check_losses, check_title)


def example(name: str) -> Any:
    """The delay that its own example describes."""
    return TABLES.made("delay", {"name": name, **delays.room[name].example})


def check_file(name: str) -> None:
    """The example of a delay is what the file of an experiment may hold."""
    file = 'horizon = 100\npolicy = "uniform"\nchannel = "raw"\ninstance = { name = "bernoulli", means = [0.2, 0.8] }\n'
    file += text("delay", {"name": name, **delays.room[name].example}) + "[[curves]]\n"
    (setting,) = expand_settings("x", file, tomllib.loads(file)).settings
    assert setting.delay == example(name)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@for_each("name", NAMES)
def test_every_delay_keeps_the_rules(name, rule) -> None:
    rule(example(name))


@for_each("name", NAMES)
def test_every_delay_can_be_named_in_a_file(name) -> None:
    check_file(name)


@for_each("delay", [AT_ONCE, Geometric(mean=0.1), Geometric(mean=1000)], ids=str)
def test_extreme_delays_keep_the_rules(delay) -> None:
    for rule in RULES:
        if rule is not check_cohorts or delay.parameters().longest < 1000:  # brute force would take long
            rule(delay)
    assert (delay.late is at_once) == (delay == AT_ONCE)


# The delay of the guide, as it stands there, and mutants.

GUIDE = block("add_a_world.md", 2)
BROKEN = [
    (check_record, "(frozen=True)", "(unsafe_hash=True)", "DID NOT RAISE"),
    (check_chances, "np.arange(self.least, self.most + 1)", "np.arange(self.most, self.least - 1, -1)", "not sorted"),
    (check_chances, "longest=self.most", "longest=self.most + 1", "not the longest"),
    (check_chances, "np.arange(self.least, self.most + 1)", "np.arange(-1, self.most + 1)", "negative"),
    (check_losses, "longest=self.most", "longest=self.most, lost=1.5", "no probability"),
    (check_losses, "longest=self.most", "longest=self.most, default=-1.0", "no reward"),
    (check_losses, "longest=self.most", "longest=self.most, lost=0.1", "depends on which"),
    (check_title, "    def __str__", "    def title", "no `__str__`"),
]


@pytest.mark.slow
@for_each("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_delay_of_the_guide_keeps_the_rules(rule) -> None:
    with added(delays, "between", GUIDE):
        rule(example("between"))


def test_the_delay_of_the_guide_is_found_because_its_file_exists() -> None:
    with added(delays, "between", GUIDE):
        assert delays.Between is delays.room["between"]
        assert "between" in list(delays.room)
        check_file("between")


@for_each(("rule", "old", "new", "said"), BROKEN)
def test_a_mutant_is_rejected(rule, old, new, said) -> None:
    with added(delays, "between", changed(GUIDE, old, new)):
        delay = example("between")
        with pytest.raises((AssertionError, pytest.fail.Exception), match=said):
            rule(delay)


def test_a_delay_that_a_file_cannot_name_is_rejected() -> None:
    wrong = changed(GUIDE, '"least": 2', '"soonest": 2')
    with added(delays, "between", wrong), pytest.raises(UnknownName, match="soonest"):
        check_file("between")


def test_draws_of_another_distribution_are_rejected() -> None:
    generator, shorter, pmf = rng(), Geometric(2.2).parameters(), alone(Geometric(2.5))
    with pytest.raises(AssertionError, match="another distribution"):
        has_distribution([draw_delay(shorter, generator) for _ in range(N)], pmf)
    with pytest.raises(AssertionError, match="it is always 7"):
        has_distribution([7, 7, 7], pmf)


@pytest.mark.slow
@for_each(
    ("old", "new"),
    [
        ("rng.random() * chance < chance_of_later(d, latest + i)", "True"),  # nobody is passed over again
        ("- i\n", "\n"),  # all users came at the same time
        ("        i += 1", "        i += 2"),  # every other user is forgotten
    ],
)
def test_a_wrong_maximum_is_rejected(old, new) -> None:
    with pytest.raises(AssertionError, match="another distribution"):
        check_cohorts(Geometric(mean=2.5), mutant(last, old, new))


class DrawsItsOwnNumbers(Geometric):
    """Its compiled kernel cannot repeat."""

    late = mutant(last, "rng.random()", "np.random.random()", np=np)


def test_numbers_that_do_not_repeat_are_rejected() -> None:
    with pytest.raises(AssertionError, match="other numbers"):
        check_plain_python(DrawsItsOwnNumbers(2.5))
