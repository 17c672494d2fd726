"""Tables, summaries and figures of searches: unstopped runs stay in, and say that they do."""

from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.experiments import table
from maskedbandit.lab.experiments.experiment import Experiment, read_experiment
from maskedbandit.lab.goals.cells import format_summary
from maskedbandit.lab.goals.goal import Labels
from maskedbandit.lab.goals.identify import figure as stopping
from maskedbandit.lab.goals.identify import rows as samples
from maskedbandit.lab.goals.identify.identify import Found
from maskedbandit.lab.goals.setting import Setting, TheoryCurve
from maskedbandit.lab.goals.style import PLAIN
from maskedbandit.lab.worlds.named_means import named_means
from tests.for_each import for_each

TEXT = """
about = "a small search"
goal = "identify"
delta = 0.1
max_pulls = 5000
runs = 9
seed = 5
caption = "What there is to say of it."
instance = { name = "bernoulli", means = "linspace" }
policy = "best_arm_dpse"
channel = "central"
[[curves]]
label = "no privacy"
channel = "raw"
[[curves]]
label = "DP-SE"
[[curves]]
label = "bound"
theory = "central_tv"
[vary]
"instance.means" = ["linspace", "SS19b"]
"channel.epsilon" = [0.01, 1]
"""


def experiment(tmp_path, text: str = TEXT) -> Experiment:
    path = tmp_path / "search.toml"
    path.write_text(text)
    return read_experiment(path)


@pytest.fixture(autouse=True, scope="module")
def as_python():
    """Runs are short here, and loops of policies of their own would cost more to compile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASKEDBANDIT_KERNELS", "python")
        yield


@pytest.fixture(scope="module")
def collected(tmp_path_factory) -> tuple[pl.DataFrame, Experiment]:
    """The results of the experiment, and itself."""
    folder = tmp_path_factory.mktemp("search")
    found = experiment(folder)
    return table.collect_results(found, found.settings, folder / "out", executor=partial(Threads, 1)), found


def test_a_goal_has_keys_of_its_own(tmp_path) -> None:
    found = experiment(tmp_path, TEXT.replace("[vary]", "[vary]\ndelta = [0.1, 0.01]"))
    settings = [s for s in found.settings if isinstance(s, Setting)]
    lines = [s for s in found.settings if isinstance(s, TheoryCurve)]
    assert (len(settings), len(lines)) == (4 + 8, 8)
    assert (found.goal.name, found.figure, found.caption) == ("identify", "samples", "What there is to say of it.")
    assert settings[0].task == {"delta": 0.1, "max_pulls": 5000}
    assert {s.task["delta"] for s in found.settings} == {0.1, 0.01}


@for_each(
    ("old", "new", "said"),
    [
        ('goal = "identify"', 'goal = "identity"', "goal is 'identity': did you mean 'identify'"),
        ('goal = "identify"', "goal = 3", "goal is '3'"),
        (
            "max_pulls = 5000",
            "horizon = 5000",
            "key is 'horizon': .*goes with goal = 'answer' or 'regret', and this is 'identify'",
        ),
        ("delta = 0.1", "delta = 0.5", r"search.toml: delta is 0.5: it must be below 1/2 for a curve of theory"),
        ('policy = "best_arm_dpse"', 'policy = "uniform_glr"', r"search.toml: channel is Central.* gives UniformGLR"),
        (
            'instance = { name = "bernoulli",',
            'instance = { name = "clipped_gaussian", sd = 0.1,',
            "instance is .*: it must be one whose rewards are bits, for theory 'central_tv'",
        ),
        ("max_pulls = 5000", "", "max_pulls is None"),
        ("max_pulls = 5000", "max_pulls = 4", "max_pulls is 4: it must be a whole number of at least 5"),
        ("delta = 0.1", "", "delta is None: it must be a number of at least 1e-100 and below 1"),
        ("delta = 0.1", "delta = 1", "delta is 1"),
        ("delta = 0.1", 'delta = 0.1\nfigure = "regret"', "figure is 'regret': .*cost, samples"),
        ("delta = 0.1", 'delta = 0.1\nvalue = "regret"', "key is 'value'"),
        ('policy = "best_arm_dpse"', 'policy = "ucb1"', "policy is UCB1.*whose goal is 'identify', not 'regret'"),
        ('theory = "central_tv"', 'theory = "minimax"', "theory is 'minimax': .*no_privacy"),
        ("[vary]", "[vary]\ndelta = 0.1", "vary.delta is 0.1: it must be a list, for delta, max_pulls, policy.NAME"),
        ("[vary]", "[vary]\nhorizon = [10]", "vary.horizon is"),
        ('["linspace", "SS19b"]', "[[0.5, 0.5, 0.1]]", r"single best arm: arms \[0, 1\] have equal means"),
        ('channel = "raw"', 'channel = "raw"\nhorizon = 10', r"key of \[\[curves\]\] is 'horizon'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, old, new, said) -> None:
    assert TEXT.count(old) == 1
    with pytest.raises(InvalidValue, match=said):
        experiment(tmp_path, TEXT.replace(old, new))


def test_keys_of_searches_are_unknown_where_regret_counts(tmp_path) -> None:
    for key, value in (("delta", 0.1), ("max_pulls", 100), ("caption", '"said"')):
        text = TEXT.replace('goal = "identify"', "horizon = 10")
        for other in ("delta = 0.1\n", "max_pulls = 5000\n", 'caption = "What there is to say of it."\n'):
            text = text.replace(other, "")
        with pytest.raises(InvalidValue, match=f"key is '{key}': .*goes with goal = .*'identify'"):
            experiment(tmp_path, f"{key} = {value}\n{text}")


@pytest.mark.slow
def test_the_table_holds_every_run_and_theory(collected) -> None:
    found, named = collected
    assert found.filter(pl.col("trust") != "theory").height == 9 * 6
    alone = named.goal.run(named.settings[2], executor=partial(Threads, 1))
    assert found.filter(pl.col("id") == "search/2")["samples"].to_list() == alone.samples.tolist()
    means = named_means("SS19b")
    line = found.filter((pl.col("label") == "bound") & (pl.col("instance.means") == "SS19b"))
    expected = [mb.theory.least_samples("central_tv", means, 0.1, epsilon) for epsilon in (0.01, 1)]
    assert line.sort("channel.epsilon")["samples"].to_list() == expected
    assert line["critical"].unique().to_list() == [mb.theory.critical_epsilon("central_tv", means)]


def test_runs_that_did_not_stop_are_counted_and_kept_in_the_mean(collected) -> None:
    rows = samples.summary(collected[0])
    assert rows["runs"].to_list() == [9] * 6 + [0] * 4
    cut = rows.filter((pl.col("label") == "DP-SE") & (pl.col("channel.epsilon") == 0.01)).row(0, named=True)
    assert (cut["stopped"], cut["mean"], cut["median"], cut["high"]) == (0, 5000, 5000, 5000)
    shown = samples.cells(cut)
    assert shown["mean samples"] == "≥ 5,000"
    assert shown["median"] == shown["5 %"] == shown["95 %"] == "≥ 5,000"
    assert (shown["stopped"], shown["over bound"][:2]) == ("0/9", "≥ ")
    free = rows.filter((pl.col("label") == "no privacy") & (pl.col("instance.means") == "linspace")).row(0, named=True)
    assert free["stopped"] == 9
    assert "≥" not in "".join(samples.cells(free).values())
    assert "≥ 5,000" in format_summary(rows, samples.cells)


def test_the_summary_is_that_of_the_runs() -> None:
    taken = np.random.default_rng(1).permutation(np.append(5 * np.arange(1, 20), [100, 100]))
    shape = {"label": "a", "trust": "none", "policy": "P", "sees": "", "delta": 0.1, "max_pulls": 100, "id": "x/0"}
    losses = {"pure_epsilon": np.inf, "epsilon_at_1e-06": np.inf}
    stopped = taken < 100
    right = stopped & (taken != 20) & (taken != 30)  # two answers are wrong
    found = pl.DataFrame({**shape, **losses, "run": np.arange(21), "samples": taken.astype(float), "bound": 25.0})
    found = found.with_columns(stopped=pl.Series(stopped), correct=pl.Series(right))
    (row,) = samples.summary(found).iter_rows(named=True)
    assert (row["mean"], row["median"], row["low"], row["high"]) == (pytest.approx(taken.mean()), 55, 10, 100)
    assert row["error"] is None  # a mean of runs that were cut off has none
    (ended,) = samples.summary(found.with_columns(stopped=True)).iter_rows(named=True)
    assert ended["error"] == pytest.approx(taken.std(ddof=1) / np.sqrt(21))
    assert (row["stopped"], row["wrong"], row["runs"]) == (19, 2, 21)
    assert row["ratio"] == pytest.approx(taken.mean() / 25)
    exact = binomtest(2, 21).proportion_ci(0.99, "exact")
    assert (row["wrong_low"], row["wrong_high"]) == (pytest.approx(exact.low), pytest.approx(exact.high))
    assert samples.binomial_interval(11, 11)[1] == 1.0
    shown = samples.cells(row)
    assert (shown["median"], shown["95 %"], shown["stopped"]) == ("55", "≥ 100", "19/21")
    dropped = samples.summary(found.filter("stopped")).row(
        0, named=True
    )  # the control: what leaving them out would say
    assert dropped["mean"] < row["mean"]


def test_the_median_of_an_even_number_of_runs_is_halfway() -> None:
    shape = {"label": "a", "trust": "none", "policy": "P", "sees": "", "delta": 0.1, "max_pulls": 100, "id": "x/0"}
    shape |= {"pure_epsilon": np.inf, "epsilon_at_1e-06": np.inf, "correct": True}

    def row(*taken: float) -> dict[str, Any]:
        found = pl.DataFrame({**shape, "run": np.arange(len(taken)), "samples": taken, "bound": 25.0})
        return samples.summary(found.with_columns(stopped=pl.col("samples") < 100)).row(0, named=True)

    for taken, median in (((10.0, 20.0, 40.0, 100.0), "30"), ((10.0, 20.0, 100.0, 100.0), "≥ 60")):
        assert row(*taken)["median"] == np.median(taken)
        assert samples.cells(row(*taken))["median"] == median


def test_from_one_half_on_there_is_no_bound_to_compare_with(tmp_path) -> None:
    text = TEXT.partition("[[curves]]")[0].replace("delta = 0.1", 'delta = 0.5\nfigure = "cost"')
    found = table.collect_results(
        named := experiment(tmp_path, text + '[[curves]]\nchannel = "raw"'), named.settings, tmp_path / "out"
    )
    (row,) = samples.summary(found).iter_rows(named=True)
    assert (row["ratio"], samples.cells(row)["over bound"]) == (None, "")
    assert named.draw(found)


def test_the_bound_is_that_of_the_trust_model() -> None:
    def found(channel: Any, instance: Any) -> Found:
        none = np.zeros(1, np.int64)
        named: dict[str, Any] = dict.fromkeys(("samples", "answer", "pulls", "releases"), none)
        named |= {"correct": none == 0, "stopped": none == 0, "loss": channel.loss(1), "findings": {}}
        policy = mb.policies.BestArmDPSE()
        return Found(policy=policy, channel=channel, instance=instance, delta=0.1, max_pulls=10, **named)

    means = [0.1, 0.9]
    for channel, name, epsilon in (
        (mb.channels.Raw(), "no_privacy", np.inf),
        (mb.channels.Distributed(epsilon=0.5), "central", 0.5),
        (mb.channels.Local(epsilon=0.5), "local", 0.5),
        (mb.channels.Central(1, noise=mb.noises.DiscreteGaussian()), "no_privacy", np.inf),
    ):
        expected = mb.theory.least_samples(name, means, 0.1, epsilon)
        assert found(channel, mb.Bernoulli(means)).bound == expected
    unknown = found(mb.channels.Raw(), mb.Beta([1, 2], [2, 1]))
    assert unknown.bound is None
    named = unknown.to_frame().with_columns(id=pl.lit("x"), label=pl.lit("x"))
    assert samples.summary(named)["ratio"].to_list() == [None]


@pytest.mark.slow
def test_numbers_do_not_depend_on_jobs_and_resuming_redoes_what_is_missing(collected, tmp_path) -> None:
    whole, found = collected
    again = table.collect_results(found, found.settings, tmp_path / "out", executor=partial(Threads, 3))
    assert again.equals(whole)
    lost = sorted((tmp_path / "out" / "parts").iterdir())[2]
    lost.unlink()
    begun: list[str] = []

    def advance(setting, runs) -> None:
        begun.extend([setting.id] * (runs == 0 and setting.runs > 0))

    assert table.collect_results(found, found.settings, tmp_path / "out", resume=True, advance=advance).equals(whole)
    assert begun == ["search/2"]


def test_theory_alone_is_a_table_and_a_figure_too(collected, tmp_path) -> None:
    _, found = collected
    lines = [setting for setting in found.settings if setting.label == "bound"]
    drawn = table.collect_results(found, lines, tmp_path / "out")
    rows = samples.summary(drawn)
    assert rows["runs"].to_list() == [0] * 4
    for name in ("error", "low", "median", "high", "stopped", "wrong", "wrong_low", "wrong_high", "ratio"):
        assert rows[name].to_list() == [None] * 4
    assert len(stopping.samples(drawn).axes[1].lines) == 2  # the bound, and where privacy begins to cost
    assert len(stopping.cost(drawn).axes) == 2
    assert format_summary(samples.summary(drawn), samples.cells)


def test_the_figure_shows_means_bands_bounds_regimes_and_what_did_not_stop(collected) -> None:
    found, named = collected
    figure = named.draw(found)
    assert [plot.get_title() for plot in figure.axes] == ["linspace", "SS19b"]
    plot = figure.axes[1]
    rows = samples.summary(found).filter(pl.col("instance.means") == "SS19b")
    free, dpse, bound = (
        rows.filter(pl.col("label") == each).sort("channel.epsilon")
        for each in rows["label"].unique(maintain_order=True)
    )
    curves = [line for line in plot.lines if len(line.get_xdata()) == 2 and line.get_linestyle() != ":"]
    drawn = {tuple(line.get_ydata()) for line in plot.lines}
    assert tuple(dpse["mean"]) in drawn
    assert tuple(bound["mean"]) in drawn
    assert (free["mean"][0],) * 2 in drawn  # level: it has no epsilon
    assert len(curves) >= 3
    assert len(plot.collections) == 2  # a band for each policy
    critical = mb.theory.critical_epsilon("central_tv", named_means("SS19b"))
    assert any(set(line.get_xdata()) == {critical} for line in plot.lines)
    texts = {text.get_text() for text in plot.texts}
    assert {"no privacy", "DP-SE", "bound", "0/9"} <= texts
    below = figure.get_supxlabel()
    assert below.startswith("What there is to say of it.\n")
    assert "stopped before they were cut off" in below


def test_cost_is_the_mean_over_the_bound(collected) -> None:
    found, _ = collected
    plot = stopping.cost(found, Labels("title", "said")).axes[0]
    rows = samples.summary(found).filter((pl.col("instance.means") == "linspace") & (pl.col("label") == "DP-SE"))
    drawn = {tuple(line.get_ydata()) for line in plot.lines}
    assert tuple(rows.sort("channel.epsilon")["ratio"]) in drawn
    assert (1, 1) in drawn
    assert "bound" not in {text.get_text() for text in plot.texts}
    assert not plot.collections


def test_samples_against_delta(tmp_path) -> None:
    toml = TEXT.partition("[[curves]]")[0] + '[[curves]]\nchannel = "raw"\n[vary]\ndelta = [0.1, 0.01, 0.001]\n'
    found = table.collect_results(named := experiment(tmp_path, toml), named.settings, tmp_path / "out")
    assert found["delta"].unique().sort().to_list() == [0.001, 0.01, 0.1]
    assert samples.summary(found).height == 3
    plot = named.draw(found).axes[0]
    assert plot.lines[0].get_xdata().tolist() == [0.001, 0.01, 0.1]
    assert plot.get_xlabel() == "δ"
    assert "delta" in format_summary(samples.summary(found), samples.cells)


PUBLISHED = """
[[curves]]
label = "paper"
[curves.published]
linspace = [[0.01, 4e5], [0.1, 1e4]]
"""


def test_what_others_found_is_drawn_as_marks(tmp_path) -> None:
    text = TEXT.replace("[vary]", f"{PUBLISHED}[vary]")
    named = experiment(tmp_path, text)
    dots = [setting for setting in named.settings if setting.label == "paper"]
    assert [(dot.id, dot.samples, dot.values["channel.epsilon"]) for dot in dots] == [
        ("search/10", 4e5, 0.01),
        ("search/11", 1e4, 0.1),
    ]
    found = table.collect_results(named, dots, tmp_path / "out")
    (plot,) = named.draw(found).axes
    assert plot.lines[0].get_xydata().tolist() == [[0.01, 4e5], [0.1, 1e4]]
    assert plot.lines[0].get_linestyle() == "None"
    assert "published figure" in named.draw(found).get_supxlabel()
    shapes = ("linspace = 3", "linspace = [[1, 2, 3]]", 'linspace = [["x", 1]]')
    for wrong in (*shapes, "linspace = [[0, 1]]", "linspace = [[1, -1]]", "linspace = [[1, inf]]"):
        with pytest.raises(InvalidValue, match=r"published is .*a table of lists of .epsilon, samples."):
            experiment(tmp_path, text.replace("linspace = [[0.01, 4e5], [0.1, 1e4]]", wrong))
    for means in ('"instance.means" = ["linspace", "SS19b"]', ""):  # that vary, or the only ones
        elsewhere = text.replace('"instance.means" = ["linspace", "SS19b"]', means).replace("\nlinspace =", "\nlin =")
        with pytest.raises(InvalidValue, match="instance of published is 'lin'"):
            experiment(tmp_path, elsewhere)
        assert experiment(tmp_path, elsewhere.replace("\nlin =", "\nlinspace ="))
    with pytest.raises(InvalidValue, match="with published is 'policy'"):
        experiment(tmp_path, text.replace('label = "paper"', 'label = "paper"\npolicy = "ttucb"'))


@pytest.mark.slow
def test_dollars_are_text(collected, tmp_path, monkeypatch) -> None:
    priced = collected[0].with_columns(
        pl.lit("costs $a_ or $\\b").alias("label"), pl.lit("$x_$").alias("instance.means")
    )
    stopping.samples(priced, Labels("$_$", "$_$")).savefig(tmp_path / "figure.png")
    monkeypatch.delitem(PLAIN, "parse_math")  # the control
    with pytest.raises(ValueError, match="Expected"):
        stopping.samples(priced, Labels("$_$", "$_$")).savefig(tmp_path / "figure.png")
