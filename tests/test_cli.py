"""The command line: what it writes, and the one line it says when something is wrong."""

import errno
import logging
import os
import platform
import re
import shlex
import subprocess
import sys
import threading
import tomllib
from importlib import import_module
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from pkgutil import iter_modules

import polars as pl
import pytest

import maskedbandit
from maskedbandit.cli import main
from maskedbandit.cli.parts import progress, versions
from maskedbandit.cli.parts.progress import Progress
from maskedbandit.cli.parts.verbs import check_words
from maskedbandit.extras import explain_missing
from maskedbandit.lab.experiments.parts import read_part
from tests.for_each import for_each

ROOT = Path(__file__).parent.parent
INSTALL = "pip install 'maskedbandit[lab]'"
TEXT = """
about = "two curves"
source = "[CZ23, Fig. 1]"
horizon = 2000
runs = 3
instance = { name = "bernoulli", means = [0.2, 0.8] }
policy = "successive_elimination"
[[curves]]
channel = "raw"
[[curves]]
channel = { name = "distributed", epsilon = 0.5 }
"""


@pytest.fixture(autouse=True)
def as_python(monkeypatch):
    """Runs are short here, and loops of policies of their own would cost more to compile."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


@pytest.fixture
def undrawn(monkeypatch):
    """Pictures that nobody looks at take most of the time."""
    empty = {"svg": "", "png": b""}
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda self, file, **how: file.write(empty[how["format"]]))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TEXT)
    return path


@pytest.mark.slow
def test_run_writes_a_table_and_a_figure_and_says_where(file, tmp_path, capsys) -> None:
    out = tmp_path / "out"
    assert main(["run", str(file), "--out", str(out), "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    for name in ("table.parquet", "figure.png"):
        assert str(out / name) in said
        assert (out / name).stat().st_size > 1000
    assert "server: noisy sums alone" in said
    assert "1.00" in said
    assert main(["plot", str(out)]) == 0
    assert main(["run", str(file), "--out", str(out), "--resume"]) == 0
    assert main(["run", str(file), "--out", str(tmp_path / "one"), "--only", "tiny/1"]) == 0


@pytest.mark.slow
def test_a_league_prints_its_worst_runs_and_is_drawn_again(tmp_path, capsys) -> None:
    text = TEXT.replace("[0.2, 0.8]", '"C1"').replace("horizon", 'figure = "league"\nhorizon')
    (tmp_path / "league.toml").write_text(
        text + '[[curves]]\nlabel = "bound"\ntheory = "no_privacy"\n[vary]\n"instance.means" = ["C1", "C2"]\n'
    )
    out = tmp_path / "out"
    assert main(["run", str(tmp_path / "league.toml"), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "worst run" in said
    assert "instance.means" in said
    assert (out / "summary.csv").read_text().count("\n") == 1 + 6
    (bound,) = [line for line in said.splitlines() if line.startswith("bound") and " C1 " in line]
    assert f"{maskedbandit.theory.lower_bound('no_privacy', [0.75] + 4 * [0.7], 2000):,.0f}" in bound
    before = (out / "figure.svg").read_bytes()
    assert main(["plot", str(out)]) == 0
    assert (out / "figure.svg").read_bytes() == before


SEARCH = """
about = "who is best"
goal = "identify"
delta = 0.1
max_pulls = 2000
runs = 3
instance = { name = "bernoulli", means = "SS19b" }
policy = "best_arm_dpse"
channel = { name = "central", epsilon = 0.05 }
[[curves]]
label = "DP-SE"
[[curves]]
label = "bound"
theory = "central"
"""


@pytest.mark.slow
def test_a_search_is_printed_with_what_did_not_stop(tmp_path, capsys) -> None:
    (tmp_path / "search.toml").write_text(SEARCH)
    out = tmp_path / "out"
    assert main(["run", str(tmp_path / "search.toml"), "--out", str(out), "--only", "0"]) == 0
    assert main(["run", str(tmp_path / "search.toml"), "--out", str(out), "--resume"]) == 0
    said = capsys.readouterr().out
    assert "≥ 2,000" in said
    assert "0/3" in said
    assert f"{maskedbandit.theory.least_samples('central', [0.75, 0.625, 0.5, 0.375, 0.25], 0.1, 0.05):,.0f}" in said
    before = (out / "figure.svg").read_bytes()
    assert main(["plot", str(out)]) == 0
    assert (out / "figure.svg").read_bytes() == before


def test_tied_arms_are_one_line_and_write_nothing(tmp_path, capsys) -> None:
    (tmp_path / "search.toml").write_text(SEARCH.replace('"SS19b"', "[0.5, 0.5]"))
    assert main(["run", str(tmp_path / "search.toml"), "--out", str(tmp_path / "out")]) == 2
    assert "one with a single best arm: arms [0, 1] have equal means" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_clock_of_the_bar_goes_on_and_then_stops(monkeypatch) -> None:
    drawn = threading.Event()
    monkeypatch.setattr(progress, "CLOCK", 0.01)
    monkeypatch.setattr("sys.stderr", Terminal())
    with Progress(10, "run") as shown:
        shown.bar.refresh = drawn.set
        assert drawn.wait(60)
    assert [each for each in threading.enumerate() if "_tick" in each.name] == []


@pytest.mark.slow
def test_off_a_terminal_each_setting_is_one_line_and_quiet_is_none(file, tmp_path, capsys, undrawn) -> None:
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().err.splitlines() == ["maskedbandit: tiny/0, raw", "maskedbandit: tiny/1, distributed"]
    assert main(["run", str(file), "--out", str(tmp_path / "other"), "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_without_tqdm_a_terminal_has_lines_too(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Progress(2, "run") as shown:
        shown.begin("one")
        shown.advance()
    assert terminal.getvalue() == "maskedbandit: one\n"


def test_what_is_logged_is_shown_while_a_command_runs(capsys) -> None:
    logger = logging.getLogger("maskedbandit")
    for quiet in (False, True):
        with Progress(2, "run", quiet=quiet):
            for _ in range(3):
                logger.info("compiling")
                logger.warning("the disk is full")
    logger.info("compiling")
    full = "maskedbandit: the disk is full\n"
    assert capsys.readouterr().err == "maskedbandit: compiling\n" + full + full
    assert (logger.handlers, logger.level) == ([], logging.NOTSET)


@pytest.mark.slow
def test_a_damaged_part_is_noted_and_done_again(file, tmp_path, capsys, undrawn) -> None:
    out = tmp_path / "out"
    assert main(["run", str(file), "--out", str(out)]) == 0
    part = sorted((out / "parts").iterdir())[0]
    part.write_bytes(part.read_bytes()[:100])
    assert main(["run", str(file), "--out", str(out), "--resume"]) == 0
    assert f"maskedbandit: {part} is damaged and was removed" in capsys.readouterr().err


def test_a_column_that_is_not_there_is_one_line(file, tmp_path, capsys) -> None:
    file.write_text('figure = "value"\nvalue = ["regret", "regrets"]\n' + TEXT)
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("maskedbandit: value is 'regrets': it must be a column")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_what_a_policy_finds_is_a_column(file, tmp_path, capsys, undrawn) -> None:
    text = TEXT.replace("successive_elimination", "gaussian_thompson").partition("[[curves]]")[0]
    file.write_text('figure = "value"\nvalue = "mu"\n' + text + '[[curves]]\nchannel = "raw"\n')
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 0


def test_a_folder_below_a_file_is_named(file, capsys) -> None:
    for out in (file, file / "below"):
        assert main(["run", str(file), "--out", str(out)]) == 2
        said = capsys.readouterr().err.splitlines()[-1]
        assert said.startswith(f"maskedbandit: --out is {str(out)!r}: it must be a folder that can be written (")


def test_theory_alone_can_be_run(file, tmp_path, capsys, undrawn) -> None:
    file.write_text(TEXT.partition("[[curves]]")[0] + '[[curves]]\ntheory = "no_privacy"\n')
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 0
    assert "asymptotic lower bound" in capsys.readouterr().out


@pytest.mark.slow
def test_an_interrupt_says_what_is_kept_and_how_to_go_on_where_one_can(
    file, tmp_path, monkeypatch, capsys, undrawn
) -> None:
    def interrupt(*given, **how):
        raise KeyboardInterrupt

    def after_five(progress: Progress, n: int = 1) -> None:
        done.append(n)
        if sum(done) == 5:
            raise KeyboardInterrupt

    done, run = list[int](), ["run", str(file), "--out", str(tmp_path / "out"), "--jobs", "1"]
    with monkeypatch.context() as patched:
        patched.setattr(Progress, "advance", after_five)
        assert main(run) == 130
    kept = f"\nmaskedbandit: 5 of 6 runs are kept in {tmp_path / 'out'}: --resume goes on from there\n"
    assert capsys.readouterr().err.endswith(kept + "\nmaskedbandit: interrupted\n")
    monkeypatch.setattr(Progress, "advance", lambda progress, n=1: done.append(n))
    assert main([*run, "--resume"]) == 0
    assert sum(done) == 5 + 3 + 3  # those that are there are counted, of each curve
    assert main([*run[:3], str(tmp_path / "whole"), "--jobs", "1"]) == 0
    whole, again = (read_part(tmp_path / each / "table.parquet") for each in ("whole", "out"))
    assert whole is not None
    assert whole.equals(again)
    monkeypatch.setattr("maskedbandit.lab.engine.each_run.gather", interrupt)
    assert main([*run[:3], str(tmp_path / "none")]) == 130
    assert capsys.readouterr().err.endswith("\nmaskedbandit: no run is kept\n\nmaskedbandit: interrupted\n")
    assert not (tmp_path / "none").exists()
    monkeypatch.setattr("maskedbandit.lab.logs.newsroom.write_log", interrupt)
    assert main(["generate", "--events", "10", "--out", str(tmp_path / "news")]) == 130
    assert capsys.readouterr().err.endswith("\nmaskedbandit: interrupted\n")


@pytest.mark.slow
def test_a_disk_that_is_full_is_one_line_and_leaves_nothing_half_written(
    file, tmp_path, monkeypatch, capsys, undrawn
) -> None:
    """It may be full at any file: each attempt gets one further, and the last one has the numbers of the first."""
    assert main(["run", str(file), "--out", str(tmp_path / "whole")]) == 0
    out, fsync, left = tmp_path / "out", os.fsync, [0, 0]

    def full(handle: int) -> None:
        left[1] += 1
        if left[1] > left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    failed = []
    while True:
        left[:] = [len(failed), 0]
        capsys.readouterr()
        if main(["run", str(file), "--out", str(out), "--resume", "--quiet"]) == 0:
            break
        said = capsys.readouterr().err
        assert said.startswith(f"maskedbandit: No space left on device: {out}")
        assert said.count("\n") == 1
        assert list(tmp_path.rglob("*.draft")) == []
        assert not out.exists() or all(read_part(path) is not None for path in out.rglob("*.parquet"))
        failed.append(out.exists())
    assert failed == [False, True, True, True, True]  # a part, a part, summary, and two figures after the table
    assert pl.read_parquet(out / "table.parquet").equals(pl.read_parquet(tmp_path / "whole" / "table.parquet"))


@pytest.mark.slow
def test_without_the_extra_a_command_says_in_one_line_what_to_install(file, tmp_path, monkeypatch, capsys) -> None:
    run, demo = ["run", str(file), "--out", str(tmp_path / "out")], ["secagg-demo", "-n", "64"]
    for missing, needs in (("polars", [run]), ("matplotlib", [run, demo])):  # a demonstration needs no tables
        news = ["generate", "--events", "10", "--out", str(tmp_path / f"{missing}.gz")]
        script = (
            f"import sys; sys.modules[{missing!r}] = sys.modules['tqdm'] = None\n"
            f"from maskedbandit.cli import main\nprint([main(command) for command in {[*needs, news]}])"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == str([2] * len(needs) + [0])
        line = f"maskedbandit: {missing} is not installed, and this needs it: {INSTALL}\n"
        assert done.stderr.startswith(line * len(needs))
        assert done.stderr.count("not installed") == len(needs)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["matplotlib.gz", "polars.gz", "tiny.toml"]


def test_too_little_memory_is_one_line(file, tmp_path, monkeypatch, capsys) -> None:
    def fail(*given, **how):
        raise MemoryError

    monkeypatch.setattr("maskedbandit.lab.experiments.table.collect_results", fail)
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 2
    assert "ask for fewer runs, fewer arms or a shorter tree" in capsys.readouterr().err


def test_the_default_folder_is_named_after_the_experiment(file, tmp_path, monkeypatch, undrawn) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "tiny.toml"]) == 0
    assert (tmp_path / "results" / "tiny" / "table.parquet").exists()


def test_list_shows_what_there_is(tmp_path, file, capsys) -> None:
    assert main(["list", "--experiments", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for name in (
        "successive_elimination",
        "distributed",
        "discrete_laplace",
        "secagg",
        "two curves [CZ23, Fig. 1]",
        "[SS19]",
    ):
        assert name in said
    assert all(len(line) <= 80 for line in said.splitlines() if str(tmp_path) not in line)
    regret, _, rest = said.partition("policy for the best arm:")
    search, _, rest = rest.partition("policy for the best arm with a fixed number of people:")
    answers, _, rest = rest.partition("policy for the m best arms, or all above a threshold:")
    selections, _, rest = rest.partition("policy for contexts:")
    contexts = rest.partition("channel:")[0]
    assert " lin_ucb " in contexts
    assert " lin_ucb " not in regret + search + answers
    assert " pooled_elimination " in answers
    assert " pooled_elimination " not in regret + search
    assert " top_arms " in selections
    assert " top_arms " not in regret + search + answers
    assert " contextual_policy " not in said
    assert regret.startswith("policy for regret:")
    assert " ucb1 " in regret
    assert " ucb1 " not in search
    assert " ttucb " in search
    assert " ttucb " not in regret
    (own,) = [line for line in search.splitlines() if line.split()[:1] == ["released_likelihood"]]
    assert "[" not in own  # what a file cites further down is not where it comes from


def test_a_policy_that_does_not_fit_its_channel_writes_nothing(file, tmp_path, capsys) -> None:
    file.write_text(TEXT.replace("successive_elimination", "ada_cucb"))
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"maskedbandit: {file}: channel is Distributed(")
    assert said.endswith("it must be one that gives AdaCUCB Gaussian noise, or none\n")
    assert said.count("\n") == 1  # not even a bar of progress


@pytest.mark.parametrize(
    "command", [[], ["run"], ["plot"], ["list"], ["secagg-demo"], ["convert"], ["generate"], ["warm"], ["queries"]]
)
def test_help_has_an_example(command, capsys) -> None:
    with pytest.raises(SystemExit) as left:
        main([*command, "--help"])
    assert left.value.code == 0
    assert "example:\n  maskedbandit" in capsys.readouterr().out


def list_verbs() -> list[tuple[str, str]]:
    """Each command with verbs, and each of these."""
    modules = [import_module(f"maskedbandit.cli.{each.name}") for each in iter_modules(maskedbandit.cli.__path__)]
    return [(each.__name__.rpartition(".")[2], verb) for each in modules for verb in getattr(each, "VERBS", ())]


@pytest.mark.slow
@for_each(("command", "verb"), list_verbs())
def test_each_verb_has_a_help_with_an_example_that_its_parser_takes(command, verb, capsys) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, verb, "--help"])
    said = capsys.readouterr().out
    assert left.value.code == 0
    assert said.startswith(f"usage: maskedbandit {command} {verb} ")
    *_, example = said.splitlines()
    assert example.startswith(f"  maskedbandit {command} {verb}")
    options = maskedbandit.cli.parser().parse_args(shlex.split(example)[1:])
    check_words(command, import_module(f"maskedbandit.cli.{command}").VERBS, options)


def test_the_help_of_a_verb_has_its_options_alone(capsys) -> None:
    for command, verb, has in (("study", "report", True), ("study", "stop", False), ("study", None, True)):
        with pytest.raises(SystemExit):
            main([command, *([verb] if verb else []), "-h"])
        assert ("--metric NAME" in capsys.readouterr().out) == has


def test_version(capsys) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"maskedbandit {maskedbandit.__version__}\n"


def test_a_report_of_a_bug_says_what_is_installed(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "one.kernel").write_bytes(bytes(2**20))
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(tmp_path))
    monkeypatch.setattr(
        versions,
        "requires",
        lambda name: ["numpy>=2", "no_such>=1; extra == 'lab'", "no_such; extra == 'cluster'", "ruff; extra == 'dev'"],
    )
    assert main(["--version", "--verbose"]) == 0
    lines = capsys.readouterr().out.splitlines()
    said = dict(line.split(maxsplit=1) for line in lines)
    assert said["maskedbandit"].startswith(f"{maskedbandit.__version__}, in ")
    assert said["Python"].startswith(platform.python_version())
    assert said["numpy"] == version("numpy")
    assert said["no_such"] == "not installed (it comes with lab, cluster)"
    assert f"compiled kernels    1, 1 of at most 1024 MiB, in {tmp_path}" in lines
    assert "compiled loops      0 came with the package" in lines
    assert {"system", "SQLite"} <= set(said)
    assert "ruff" not in said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--queries 10 --epsilon 1 --accuracy 0.05", "10 counting queries on 1,061 people cost each of them ε = 1 "),
        ("--people 1061 --epsilon 1 --accuracy 0.05", "10 counting queries on 1,061 people cost each of them ε = 1 "),
        ("--people 10000 --queries 10 --accuracy 0.05", "10 counting queries on 10,000 people cost each of them ε = 0"),
        ("--people 10000 --queries 10 --epsilon 1", "All errors are below 0.0054, except with probability 0.047."),
        (
            "--queries 10 --epsilon 1 --accuracy 0.05 --beta 0.01",
            "All errors are below 0.05, except with probability 0",
        ),
    ],
)
def test_of_four_numbers_about_counting_queries_the_missing_one_is_found(given, said, capsys) -> None:
    assert main(["queries", *given.split()]) == 0
    assert said in capsys.readouterr().out


def test_no_command_is_an_error(capsys) -> None:
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 2
    assert "required: COMMAND" in capsys.readouterr().err


def test_every_package_that_an_extra_brings_is_known() -> None:
    """So that a command without it says in one line what to install."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    called = {"openfeature-sdk": "openfeature", "prometheus-client": "prometheus_client"}
    for extra in set(extras) - {"dev", "bench", "docs"}:
        names = [re.match(r"[\w-]+", each)[0] for each in extras[extra]]
        for name in names:
            module = called.get(name, name)
            assert name == "maskedbandit" or explain_missing(ModuleNotFoundError(name=f"{module}.part")), name
    assert explain_missing(ModuleNotFoundError(name="numpy")) is None
    assert str(explain_missing(ModuleNotFoundError(name="psycopg"))).endswith("pip install 'maskedbandit[postgres]'")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "{file}", "--only", "7"], "--only is '7': it must be an id from tiny/0 to tiny/1"),
        (["run", "{file}", "--jobs", "0"], "--jobs is 0: it must be a whole number of at least 1"),
        (["run", "nowhere.toml"], "experiment is 'nowhere.toml'"),
        (["plot", "nowhere"], "DIR is 'nowhere': it must be a folder with a table.parquet"),
        (["queries", "--people", "9"], "what is left out is '--queries, --epsilon, --accuracy': it must be one of "),
        (["queries", "--people", "9", "--queries", "1", "--epsilon", "x"], "epsilon is 'x'"),
        (["queries", "--people", "5", "--epsilon", "1", "--accuracy", "0.05"], "--people is 5: it must be more"),
        (["plan"], "what is planned is 'nothing': it must be a --difference (or --means) and an --epsilon (or "),
    ],
)
def test_bad_input_is_one_line_and_exit_2_and_writes_nothing(
    file, tmp_path, monkeypatch, capsys, arguments, said
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([argument.format(file=file) for argument in arguments]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith(f"maskedbandit: {said}")
    assert streams.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny.toml"]


def test_a_bad_experiment_is_one_line_and_exit_2_and_writes_nothing(file, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    file.write_text(TEXT.replace("epsilon = 0.5", "epsilon = -1"))
    assert main(["run", str(file)]) == 2
    said = capsys.readouterr().err
    assert said == f"maskedbandit: {file}: epsilon is -1: it must be a finite number above 0\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny.toml"]


def test_a_modulus_that_is_too_small_is_named(file, tmp_path, capsys) -> None:
    file.write_text(TEXT.replace("epsilon = 0.5", "epsilon = 0.5, modulus = 100"))
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 2
    assert "modulus is 100: it must be at least" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()  # the curve before it had been run


def test_results_of_another_run_are_left_alone(file, tmp_path, capsys, undrawn) -> None:
    out = tmp_path / "out"
    assert main(["run", str(file), "--out", str(out)]) == 0
    before = (out / "table.parquet").read_bytes()
    assert main(["run", str(file), "--out", str(out)]) == 2
    assert "holds results already" in capsys.readouterr().err
    assert (out / "table.parquet").read_bytes() == before


def test_no_command_is_exit_2() -> None:
    done = subprocess.run([sys.executable, "-m", "maskedbandit"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(tmp_path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m maskedbandit list | head -1", shell=True, capture_output=True, text=True
    )
    assert done.stdout.startswith("policy for regret:")
    assert "Traceback" not in done.stderr
