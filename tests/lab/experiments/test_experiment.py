"""Experiments: a TOML file becomes settings with ids, or an error that says what is wrong in it."""

from contextlib import suppress
from pathlib import Path

import pytest

import maskedbandit as mb
from maskedbandit.channels.codec import Grid
from maskedbandit.cli import main
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.lab.experiments.experiment import read_experiment
from maskedbandit.lab.goals.setting import Setting, TheoryCurve
from maskedbandit.lab.worlds.named_means import named_means
from tests.for_each import for_each

GOOD = """
about = "two curves"
source = "[CZ23, Fig. 1]"
horizon = 1000
runs = 3
seed = 5
instance = { name = "clipped_gaussian", means = "easy", k = 4, sd = 0.1 }
policy = "successive_elimination"

[[curves]]
label = "free"
channel = "raw"

[[curves]]
channel = { name = "distributed", noise = "skellam", grid = { fineness = 10 } }
policy = { name = "successive_elimination", base = 4 }
runs = 2

[vary]
"channel.epsilon" = [0.5, 1]
"instance.seed" = [0, 1, 2]
"""


def experiment(tmp_path: Path, text: str = GOOD):
    path = tmp_path / "two.toml"
    path.write_text(text)
    return read_experiment(path)


def test_every_curve_takes_the_values_it_has_a_parameter_for(tmp_path) -> None:
    found = experiment(tmp_path)
    assert (found.name, found.about, found.source, found.text) == ("two", "two curves", "[CZ23, Fig. 1]", GOOD)
    assert [s.id for s in found.settings] == [f"two/{i}" for i in range(9)]
    assert [s.values for s in found.settings[:3]] == [{"instance.seed": seed} for seed in range(3)]
    assert found.settings[3].values == {"channel.epsilon": 0.5, "instance.seed": 0}
    assert [s.label for s in found.settings] == ["free"] * 3 + ["distributed"] * 6
    last = found.settings[-1]
    assert (last.task, last.runs, last.seed) == ({"horizon": 1000}, 2, 5)
    assert last.policy == mb.policies.SuccessiveElimination(base=4)
    assert last.channel == mb.channels.Distributed(1, noise=mb.noises.Skellam(), grid=Grid(fineness=10))
    assert last.instance == mb.ClippedGaussian(mb.uniform_means("easy", 4, 2), sd=0.1)


@pytest.mark.slow
def test_the_repository_s_experiments_are_good() -> None:
    paths = sorted((Path(__file__).parents[3] / "experiments").glob("*.toml"))
    assert paths
    for path in paths:
        found = read_experiment(path)
        assert found.about
        assert found.source


@for_each(
    ("old", "new", "said"),
    [
        ("horizon = 1000", "horizont = 1000", "key is 'horizont': did you mean 'horizon'?"),
        ("horizon = 1000", "horizon = 0", "horizon is 0: it must be a whole number of at least 1"),
        ("horizon = 1000", "", "horizon is None"),
        ("runs = 3", "runs = 'x'", "runs is 'x'"),
        ('channel = "raw"', 'channel = "raww"', "channel is 'raww': did you mean 'raw'?"),
        ('channel = "raw"', "channel = 3", "channel is 3: it must be the name of a channel"),
        ('channel = "raw"', "", "channel is None"),
        ('channel = "raw"', 'chanel = "raw"', r"key of \[\[curves\]\] is 'chanel': did you mean 'channel'?"),
        (
            'policy = "successive_elimination"',
            'policy = "sucessive_elimination"',
            "did you mean 'successive_elimination'?",
        ),
        ("base = 4", "bas = 4", "parameter of successive_elimination is 'bas': did you mean 'base'?"),
        ("base = 4", "base = 1", "base is 1"),
        ('noise = "skellam"', 'noise = "skelam"', "noise is 'skelam': did you mean 'skellam'?"),
        ("fineness = 10", "finenes = 10", "parameter of grid is 'finenes'"),
        ('name = "clipped_gaussian"', 'name = "gaussian"', "instance is 'gaussian': did you mean 'clipped_gaussian'?"),
        (", sd = 0.1", "", "sd of clipped_gaussian is None: it must be given"),
        ('means = "easy"', 'means = "eazy"', "means is 'eazy'"),
        ('means = "easy"', "means = [0.1, 2]", "means is"),
        ('"channel.epsilon" = [0.5, 1]', '"channel.epsilom" = [0.5]', "is 'epsilom': did you mean 'epsilon'?"),
        ('"channel.epsilon" = [0.5, 1]', '"channel.epsilon" = [0.5, -1]', "epsilon is -1"),
        ('"channel.epsilon" = [0.5, 1]', '"channel.epsilon" = [nan]', "epsilon is nan"),
        ('"channel.epsilon" = [0.5, 1]', '"channel.epsilon" = 1', "vary.channel.epsilon is 1: it must be a list"),
        ('"channel.epsilon" = [0.5, 1]', '"nothing.epsilon" = [1]', "vary.nothing.epsilon"),
        ("[[curves]]", "[curve]", "key is 'curve'|TOML file that can be read"),
        ("horizon = 1000", "horizon = ", "TOML file that can be read"),
        ("horizon = 1000", "horizon = 99999999999999999999", "horizon is 99999999999999999999: it must be at most"),
        ("runs = 3", "runs = 99999999999999999999", "runs is 99999999999999999999: it must be at most"),
        ("k = 4", "k = 'x'", "k is 'x': it must be a whole number"),
        ("sd = 0.1", "sd = 'x'", "sd is 'x'"),
        ('"instance.seed" = [0, 1, 2]', '"instance.seed" = [-1]', "instance seed is -1"),
        ("base = 4", "base = 'x'", "a parameter of successive_elimination is .*base"),
        ("base = 4", "least = 1e300", "least is 1e.300"),
        ('label = "free"', 'label = "distributed"', "label is 'distributed': it must be another for each curve"),
        ("k = 4", "k = 99999999999999999999", "k is 99999999999999999999: it must be at most"),
        ("[0.5, 1]", "[1, 0.5, 1.0]", r"vary.channel.epsilon is .*: it must be without repeats \(1.0 is there twice\)"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, old, new, said) -> None:
    assert old in GOOD
    with pytest.raises(InvalidValue, match=said) as wrong:
        experiment(tmp_path, GOOD.replace(old, new))
    assert "two.toml" in str(wrong.value)


THEORY = """
about = "theory and a policy"
horizon = 1000
figure = "value"
value = ["regret", "realised_regret"]
instance = { name = "bernoulli", means = "C1" }
policy = "successive_elimination"

[[curves]]
label = "elimination"
channel = { name = "central", epsilon = 2 }

[[curves]]
theory = "central"
channel = "central"

[[curves]]
label = "nobody hides"
theory = "no_privacy"

[vary]
horizon = [100, 1000]
"channel.epsilon" = [0.5, 1]
"instance.means" = ["C1", "C3"]
"policy.least" = [1, 8]
"""


def test_theory_takes_what_it_needs_and_policies_vary_with_the_horizon(tmp_path) -> None:
    found = experiment(tmp_path, THEORY)
    kinds = {label: [s for s in found.settings if s.label == label] for label in ("central", "nobody hides")}
    policies = [s for s in found.settings if isinstance(s, Setting)]
    lines = [s for s in found.settings if isinstance(s, TheoryCurve)]
    assert (len(policies), len(lines)) == (16, 8 + 4)
    assert {s.task["horizon"] for s in policies} == {s.task["horizon"] for s in lines} == {100, 1000}
    assert [s.values for s in kinds["nobody hides"]] == [
        {"horizon": horizon, "instance.means": name} for horizon in (100, 1000) for name in ("C1", "C3")
    ]
    assert {s.epsilon for s in lines} == {0.5, 1.0, float("inf")}
    assert {s.instance.means for s in lines} == {tuple(named_means("C1")), tuple(named_means("C3"))}
    assert (found.figure, found.value) == ("value", {each: each for each in ("regret", "realised_regret")})
    named = experiment(tmp_path, THEORY.replace('["regret", "realised_regret"]', '{ "lost, δ" = "regret" }'))
    assert named.value == {"lost, δ": "regret"}


@for_each(
    ("old", "new", "said"),
    [
        ('theory = "central"', 'theory = "centrall"', "theory is 'centrall': did you mean 'central'?"),
        ('theory = "central"', "theory = 3", "theory is '3'"),
        ('theory = "central"', 'theory = "central"\npolicy = "ucb1"', "policy is 'ucb1': it must be left out"),
        ('channel = "central"\n', 'channel = "raw"\n', "channel is 'raw': it must be one with an epsilon"),
        ('channel = "central"\n', "", "channel is None: it must be the name of a channel"),
        ('figure = "value"', 'figure = "values"', "figure is 'values': .*average, league, regret, value"),
        ('figure = "value"', "figure = 1", "figure is '1'"),
        ('figure = "value"', 'figure = "regret"', 'value is .*: it must be given if figure = "value"'),
        ('value = ["regret", "realised_regret"]', "", 'value is None: it must be given if figure = "value"'),
        ('value = ["regret", "realised_regret"]', "value = [1]", "value is .*: it must be the name of a column"),
        (
            'value = ["regret", "realised_regret"]',
            "value = { one = 1 }",
            "value is .*: it must be the name of a column",
        ),
        ('"realised_regret"]', '"regret"]', "value is .*: it must be without repeats .'regret' is there twice"),
        ('["C1", "C3"]', '["C1", "C1"]', "vary.instance.means is .*without repeats .'C1'"),
        ("horizon = [100, 1000]", "horizon = [10, 10]", "vary.horizon is .10, 10.: it must be without repeats"),
        ("horizon = [100, 1000]", "horizon = [0]", "horizon is 0"),
        ('"bernoulli"', '"clipped_gaussian", sd = 0.1', "instance is .*whose rewards are bits, for theory 'central'"),
        ("horizon = [100, 1000]", "horizon = 100", "vary.horizon is 100: it must be a list"),
        ("horizon = [100, 1000]", "horizont = [100]", "vary.horizont"),
        ('["C1", "C3"]', '["C5"]', "means is 'C5': it must be 'easy', 'hard', 'C1'"),
    ],
)
def test_what_is_wrong_with_theory_and_figures_is_named(tmp_path, old, new, said) -> None:
    assert THEORY.count(old) == 1
    with pytest.raises(InvalidValue, match=said):
        experiment(tmp_path, THEORY.replace(old, new))


def test_a_file_without_curves_or_that_is_not_there(tmp_path) -> None:
    with pytest.raises(InvalidValue, match="curves is None"):
        experiment(tmp_path, "horizon = 10")
    with pytest.raises(InvalidValue, match="No such file"):
        read_experiment(tmp_path / "none.toml")


def test_an_unknown_policy_is_an_unknown_name(tmp_path) -> None:
    with pytest.raises(UnknownName):
        experiment(tmp_path, GOOD.replace('policy = "successive_elimination"', 'policy = "ucb"'))


def test_a_file_of_lists_in_lists_is_one_line(tmp_path, capsys) -> None:
    (tmp_path / "deep.toml").write_text(f"runs = {'[' * 20_000}{']' * 20_000}\n" + GOOD.replace("runs = 3", ""))
    assert main(["run", str(tmp_path / "deep.toml")]) == 2
    said = capsys.readouterr().err
    assert said.endswith("deep.toml': it must be a TOML file without lists in lists by the thousand\n")
    assert said.count("\n") == 1


@for_each("epsilon", ["1e4000", "1e5000", "1e400"])
@for_each("channel", [each for each in mb.channels.room if each != "raw"])
def test_an_epsilon_without_end_is_taken_or_named(epsilon, channel, tmp_path) -> None:
    start = 'horizon = 9\ninstance = { name = "bernoulli", means = [0, 1] }\npolicy = "uniform"\n'
    text = f'{start}[[curves]]\nchannel = {{ name = "{channel}", epsilon = "{epsilon}" }}'
    with suppress(InvalidValue):
        assert experiment(tmp_path, text).settings[0].channel.law()
    with suppress(InvalidValue):
        assert mb.channels.room[channel](epsilon=epsilon).loss(1000)


def test_recorded_delays_say_nothing_of_a_file_s_contents(tmp_path) -> None:
    (tmp_path / "secret").write_text("root:hash:0\n")
    text = GOOD.replace("runs = 3", f'runs = 3\ndelay = {{ name = "recorded", file = "{tmp_path / "secret"}" }}')
    with pytest.raises(InvalidValue) as wrong:
        experiment(tmp_path, text)
    assert "hash" not in str(wrong.value)
    assert str(tmp_path / "secret") in str(wrong.value)
