"""Comparisons: the runs are those of each pair alone, on the same streams, and can be drawn and written down."""

import csv
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
import polars as pl
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.extras import NotInstalled
from maskedbandit.lab.goals.compare import Comparison
from maskedbandit.lab.goals.result import Outcome

matplotlib.use("Agg")
ARMS = mb.Bernoulli([0.9, 0.2])
POLICIES = [mb.policies.SuccessiveElimination(), mb.policies.UCB1()]
CHANNELS = [mb.channels.Raw(), mb.channels.Central(epsilon=1)]
CONTEXTUAL = mb.policies.LinUCB(alpha=0.3)
LOG = mb.Newsroom(events=600)


@pytest.fixture(autouse=True)
def as_python(monkeypatch):
    """Runs are short here, and loops of policies of their own would cost more to compile."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


@pytest.fixture(autouse=True)
def closed():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def regret(**more) -> Comparison:
    given = {"policies": POLICIES[:1], "channels": CHANNELS, "instance": ARMS, "horizon": 500, "runs": 4, "seed": 7}
    return mb.compare(**given | more)


def search(**more) -> Comparison:
    policies = {"bounds": mb.policies.BestArmDPSE()}
    return mb.compare(policies, CHANNELS[1], ARMS, **{"delta": 0.1, "runs": 3, "seed": 7, **more})


@cache
def replayed() -> Comparison:
    return mb.compare([CONTEXTUAL, mb.policies.LinUCB(alpha=2)], mb.channels.Raw(), LOG, runs=2)


def test_every_pair_is_run_as_it_is_alone() -> None:
    found = regret()
    assert list(found.results) == ["Raw", "Central"]
    for channel, result in zip(CHANNELS, found.results.values(), strict=True):
        alone = mb.simulate(POLICIES[0], channel, ARMS, 500, runs=4, seed=7)
        assert (result.regret == alone.regret).all()
        assert (result.realised_regret == alone.realised_regret).all()
    other = regret(seed=8).results
    assert any((found.results[name].realised_regret != other[name].realised_regret).any() for name in other)


def test_what_runs_it_changes_nothing_and_every_run_is_counted() -> None:
    done = []
    with ThreadPoolExecutor(2) as executor:
        found = regret(executor=executor, advance=lambda: done.append(1))
    assert len(done) == 8
    assert found.to_frame().equals(regret().to_frame())


@pytest.mark.slow
def test_a_search_and_a_replay_are_run_as_they_are_alone() -> None:
    alone = mb.identify(mb.policies.BestArmDPSE(), CHANNELS[1], ARMS, delta=0.1, runs=3, seed=7)
    (found,) = search().results.values()
    assert (found.samples == alone.samples).all()
    alone = mb.replay(CONTEXTUAL, mb.channels.Raw(), LOG, runs=2)
    found = replayed().results
    assert list(found) == ["LinUCB, alpha 0.3", "LinUCB, alpha 2"]
    assert (found["LinUCB, alpha 0.3"].clicks == alone.clicks).all()


def test_pairs_are_paired() -> None:
    """Runs of policies that decide alike are alike; with streams of their own they would not be."""
    twins = {"one": POLICIES[0], "two": POLICIES[0]}
    found = mb.compare(twins, CHANNELS[0], ARMS, horizon=500, runs=4)
    assert (found.results["one"].realised_regret == found.results["two"].realised_regret).all()
    assert found.lines()[1]["minus the first"] == "+0.0 ± 0.0"
    own = mb.simulate(POLICIES[0], CHANNELS[0], ARMS, 500, runs=4, study="two")
    assert (found.results["one"].realised_regret != own.realised_regret).any()


def test_the_short_table() -> None:
    text = repr(regret())
    assert text.splitlines()[0] == "Comparison of 2, 4 runs each"
    assert text.splitlines()[1].split("  ")[0] == "curve"
    first, second = regret().results.values()
    less = second.regret[:, -1] - first.regret[:, -1]
    assert f"{less.mean():+,.1f} ± {less.std(ddof=1) / 2:,.1f}" in text.splitlines()[-1]
    shown = regret()._repr_html_()
    assert shown.startswith("<table><caption>Comparison of 2, 4 runs each</caption>")
    assert shown.count("<tr>") == 3


def test_runs_that_were_cut_off_have_no_error() -> None:
    assert Outcome("samples", np.array([1.0, 3.0]), cut=1).mean() == "≥ 2.0"
    assert Outcome("samples", np.array([1.0, 3.0]), cut=1).error() == ""
    assert Outcome("samples", np.array([1.0, 3.0])).error() == " ± 1.0"
    assert Outcome("rate", np.array([1.0]), own_error=0.5).error() == " ± 0.5"
    assert Outcome("rate", np.array([1.0])).error() == ""


def rows(result, tmp_path: Path) -> list[dict[str, str]]:
    result.to_csv(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.sparing(1)
@pytest.mark.parametrize("made", [regret, search, replayed])
def test_the_table_of_a_comparison_is_that_of_its_results(made, tmp_path) -> None:
    found = made()
    table = found.to_frame()
    assert table["label"].unique(maintain_order=True).to_list() == list(found.results)
    for label, result in found.results.items():
        own = table.filter(pl.col("label") == label).select(result.to_frame().columns)
        assert own.equals(result.to_frame())
    written = rows(found, tmp_path)
    assert list(written[0]) == table.columns
    assert [float(row["run"]) for row in written] == table["run"].to_list()
    assert [row["label"] for row in written] == table["label"].to_list()


def test_a_pair_is_found_by_its_label() -> None:
    found = regret()
    assert list(found) == ["Raw", "Central"]
    assert len(found) == 2
    assert "Central" in found
    assert found["Central"] is found.results["Central"]
    with pytest.raises(UnknownName, match=r"label is 'central': did you mean 'Central'\? \(known: Central, Raw\)"):
        found["central"]


@pytest.mark.sparing(1)
@pytest.mark.parametrize("made", [regret, search, replayed])
def test_final_rows_are_the_last_of_each_run(made, tmp_path) -> None:
    found = made()
    table = found.to_frame()
    last = table.filter(pl.col("t") == 500) if made is regret else table
    assert found.to_frame(final=True).equals(last)
    assert last.select("label", "run").is_unique().all()
    assert found.to_pandas(final=True)["run"].to_list() == last["run"].to_list()
    found.to_csv(tmp_path / "last.csv", final=True)
    assert len((tmp_path / "last.csv").read_text().splitlines()) == last.height + 1


def test_findings_that_only_some_policies_have_are_left_empty(tmp_path) -> None:
    found = mb.compare([mb.policies.UCB1(), mb.policies.SuccessiveElimination()], CHANNELS[0], ARMS, horizon=200)
    extra = [name for each in found.results.values() for name in each.findings]
    table = found.to_frame()
    assert set(extra) <= set(table.columns)
    assert len(rows(found, tmp_path)) == table.height


def test_pandas_is_asked_for_by_name(monkeypatch) -> None:
    class Pandas:
        DataFrame = staticmethod(lambda block: ("frame", block))
        concat = staticmethod(lambda frames, ignore_index: (len(frames), ignore_index, frames[0][0]))

    monkeypatch.setitem(sys.modules, "pandas", Pandas)
    assert regret().to_pandas() == (2, True, "frame")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(NotInstalled, match="pandas is not installed, and this needs it: pip install 'pandas'"):
        regret().to_pandas()


@pytest.mark.slow
def test_without_an_extra_a_comparison_is_shown_and_written(tmp_path) -> None:
    script = (
        "import sys; sys.modules['polars'] = sys.modules['matplotlib'] = None\n"
        "import maskedbandit as mb\n"
        "found = mb.compare(mb.policies.UCB1(), mb.channels.Raw(), mb.Bernoulli([0.9, 0.2]), horizon=50)\n"
        f"found.to_csv({str(tmp_path / 'table.csv')!r}), found._repr_html_()\nprint(found)\n"
        "for failing in (found.to_frame, found.plot):\n"
        "    try:\n        failing()\n    except ImportError as wrong:\n        print(wrong)\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "UCB1, Raw" in said
    for name in ("polars", "matplotlib"):
        assert f"{name} is not installed, and this needs it: pip install 'maskedbandit[lab]'\n" in said
    assert (tmp_path / "table.csv").read_text().startswith("label,trust,policy")


@pytest.mark.slow
@pytest.mark.parametrize("made", [regret, search, replayed])
@pytest.mark.parametrize("columns", [1, 2])
def test_figures_are_as_wide_as_columns_and_say_what_bands_are(made, columns, tmp_path) -> None:
    found = made()
    axes = found.plot(columns, file=tmp_path / "figure.svg")
    assert axes.figure.get_figwidth() == {1: 3.4, 2: 7.0}[columns]
    text = (tmp_path / "figure.svg").read_text()
    meant = {regret: "bands ± 2 standard errors", search: "Boxes are quartiles", replayed: "intervals of 95 %"}
    assert meant[made] in " ".join(axes.get_xlabel().split())
    names = found.results if len(found.results) > 1 else ["bounds, Central"]
    for label in names:
        assert text.count(f">{label}</text>") == 1


ALIKE = {"central": CHANNELS[1], "no privacy": CHANNELS[0], "also central": CHANNELS[1]}


@pytest.mark.sparing(1)
@pytest.mark.parametrize("columns", [1, 2])
def test_curves_that_lie_on_one_another_are_named_together(columns) -> None:
    axes = regret(channels=ALIKE).plot(columns)
    texts = axes.figure.legends[0].get_texts() if columns == 1 else axes.texts
    assert {each.get_text() for each in texts} == {"central\n= also central", "no privacy"}


def period(line) -> float:
    """Points from one dash to the next but all of its kind, as it is drawn."""
    return sum(line._dash_pattern[1] or (0,))


@pytest.mark.slow
@pytest.mark.parametrize("own", [True, False])
def test_a_legend_shows_the_longest_dashes_twice(own) -> None:
    from matplotlib import pyplot

    policies = [mb.policies.EpsilonGreedy(explore=n / 10) for n in range(1, 9)]
    given = None if own else pyplot.figure().subplots()
    axes = regret(policies=policies, channels=CHANNELS[0]).plot(1, axes=given)
    legend = axes.figure.legends[0] if own else axes.get_legend()
    shown = legend.get_lines()
    assert max(period(line) for line in shown) > 23
    assert min(np.ptp(line.get_xdata()) - 2 * period(line) for line in shown) > 0
    legend = axes.legend(handles=shown)  # the control: a legend as it is by default
    assert min(np.ptp(line.get_xdata()) - 2 * period(line) for line in legend.get_lines()) < 0


def test_one_result_is_drawn_alike_and_into_axes_that_are_given() -> None:
    from matplotlib import pyplot

    (result, *_) = regret().results.values()
    assert len(result.plot().lines) == 1
    given = pyplot.figure().subplots(1, 2)
    assert result.plot(axes=given[1]) is given[1]
    assert not given[0].lines
    assert [each.get_text() for each in given[1].get_legend().get_texts()] == ["SuccessiveElimination, Raw"]


def test_stopping_times_are_boxes_with_a_triangle_where_runs_were_cut_off() -> None:
    axes = search().plot()
    assert [line.get_marker() for line in axes.lines].count("o") == 1
    axes = search(max_pulls=100).plot()
    assert [line.get_marker() for line in axes.lines].count(">") == 1
    assert "A triangle" in axes.get_xlabel()


@pytest.mark.slow
def test_text_in_a_pdf_stays_text_and_the_same_figure_is_the_same_file(tmp_path) -> None:
    for name in ("one.pdf", "two.pdf"):
        regret().plot(1, file=tmp_path / name)
    content = (tmp_path / "one.pdf").read_bytes()
    assert b"/FontFile2" in content or b"/CIDFontType2" in content  # TrueType, which is type 42
    assert b"/Type3" not in content
    assert content == (tmp_path / "two.pdf").read_bytes()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"horizon": None}, r"horizon and delta is \(None, None\): it must be one of them"),
        ({"delta": 0.1}, r"horizon and delta is \(500, 0.1\)"),
        ({"policies": []}, r"policies is \[\]: it must be a policy, a list of them, or a mapping"),
        ({"policies": [mb.channels.Raw()]}, "it must be a policy, a list of them"),
        ({"channels": [CHANNELS[0]] * 2}, "all different"),
        ({"channels": {1: CHANNELS[0]}}, "a channel, a list of them, or a mapping from labels to them"),
        ({"policies": [*POLICIES, mb.policies.TTUCB()]}, "a policy whose goal is 'regret', not 'identify'"),
        ({"policies": CONTEXTUAL}, "instance is Bernoulli"),
        ({"instance": LOG, "delta": 0.1}, "delta is 0.1: it must be left out for a log"),
        ({"runs": 0}, "runs is 0"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_run(change, said, monkeypatch) -> None:
    ran = []
    given = {"policies": POLICIES, "channels": CHANNELS, "instance": ARMS, "horizon": 500, "advance": ran.append}
    with pytest.raises(InvalidValue, match=said):
        mb.compare(**given | change)
    assert ran == []


@pytest.mark.parametrize(("change", "said"), [({"columns": 3}, "columns is 3"), ({"file": "figure.doc"}, "file is")])
def test_a_figure_that_cannot_be_drawn_is_refused(change, said) -> None:
    with pytest.raises(InvalidValue, match=said):
        regret().plot(**change)
