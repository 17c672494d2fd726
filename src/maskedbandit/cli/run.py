"""Run an experiment: write its table and its figure."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskedbandit.cli.parts.progress import Progress
from maskedbandit.errors import InvalidValue, MaskedBanditError
from maskedbandit.extras import NotInstalled

if TYPE_CHECKING:
    import polars as pl

    from maskedbandit.lab.engine.each_run import Workers
    from maskedbandit.lab.experiments.experiment import Experiment
    from maskedbandit.lab.experiments.parts import AnySetting

EXAMPLE = (
    "maskedbandit run quickstart --out results/quickstart --jobs 2\n"
    "  maskedbandit run experiments/rehearsal.toml --protocol secagg,dropout=0.02"
)


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "experiment", metavar="EXPERIMENT", help="a TOML file, or the name of an experiment that `list` shows"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the results (results/NAME)")
    parser.add_argument("--only", metavar="ID", help="run one setting alone, by its id or number: quickstart/2 or 2")
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="the number of threads (one for each core), on which results do not depend",
    )
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="do the runs on the workers of a Dask scheduler, as in tcp://10.0.0.1:8786"
    )
    parser.add_argument("--runs", type=int, metavar="M", help="the number of runs of every setting (all)")
    parser.add_argument(
        "--runs-from", type=int, metavar="N", default=0, help="the number of the first run (0); see also `merge`"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on in a folder with results, which any number of processes may share"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument(
        "--protocol",
        metavar="NAME",
        help="compute sums by a real protocol with all its parties, where channels can: a backend that `list` shows, "
        "such as secagg, or secagg,corrupted=0.1,dropout=0.05. This takes some milliseconds for every user; results go "
        "to results/EXPERIMENT-NAME",
    )


def do(options: argparse.Namespace) -> None:
    """Run all settings, or one, and show the summary."""
    from maskedbandit.lab.experiments.examples import find_experiment
    from maskedbandit.lab.experiments.experiment import read_experiment
    from maskedbandit.lab.experiments.protocol_option import put_over_protocol
    from maskedbandit.lab.experiments.table import collect_results, runs_of

    if find_spec("matplotlib") is None:  # said now, and not after an hour; it is loaded when there is something to draw
        raise NotInstalled("matplotlib")
    path = find_experiment(options.experiment)
    experiment, folder, left = read_experiment(path), path.stem, list[str]()
    protocol = (options.protocol or "").partition(",")[0]
    if options.protocol is not None:
        experiment, left = put_over_protocol(experiment, options.protocol)
        folder += f"-{protocol}"
    settings = experiment.settings
    if options.jobs is not None and options.jobs < 1:
        raise InvalidValue("--jobs", options.jobs, "a whole number of at least 1")
    most = max(each.runs for each in settings)
    if not 0 <= options.runs_from < max(most, 1):
        raise InvalidValue("--runs-from", options.runs_from, f"a whole number from 0 to {max(most, 1) - 1}")
    runs = range(options.runs_from, most if options.runs is None else options.runs_from + options.runs)
    if not runs and most:
        raise InvalidValue("--runs", options.runs, "a whole number of at least 1")
    if options.only is not None:
        settings = [each for each in settings if options.only in (each.id, each.id.rpartition("/")[2])]
        if not settings:
            first, last = experiment.settings[0].id, experiment.settings[-1].id
            raise InvalidValue("--only", options.only, f"an id from {first} to {last}")
    out = options.out or Path("results") / folder
    total = sum(len(runs_of(each, runs)) for each in settings if each.runs)
    with Progress(total, "run", quiet=options.quiet) as progress, workers(options.jobs, options.cluster) as executor:

        def advance(setting: AnySetting, runs: int) -> None:
            if runs == 0:
                progress.begin(f"{setting.id}, {setting.label}")
            progress.advance(runs)

        if left:
            progress.note(f"without {protocol}, as their channels take none: {', '.join(left)}")
        how = advance, progress.note, runs, draw_finished(experiment, out)
        table = collect_results(experiment, settings, out, options.resume, executor, *how)
    show_results(experiment, table, out)


@contextmanager
def workers(jobs: int | None, cluster: str | None) -> Iterator[Workers]:
    """Threads here, or the workers of a cluster."""
    from maskedbandit.lab.engine.threads import Threads

    if cluster is None:
        yield partial(Threads, jobs)
        return
    import distributed

    connect: Any = distributed.Client
    try:
        with connect(cluster, set_as_default=False) as client:
            yield client.get_executor()
    except (TimeoutError, ValueError) as wrong:
        if isinstance(wrong, MaskedBanditError):
            raise
        raise InvalidValue("--cluster", cluster, f"the address of a Dask scheduler ({wrong})") from None


def draw_finished(experiment: Experiment, out: Path) -> Callable[[pl.DataFrame], None]:
    """What is done with a table as it is written: its figure is drawn."""
    from maskedbandit.lab.experiments.figure import save_figure

    return lambda table: save_figure(experiment.draw(table), out / "figure")


def show_results(experiment: Experiment, table: pl.DataFrame, out: Path) -> None:
    """Print the summary of a table, and where everything is."""
    from maskedbandit.lab.goals.cells import format_summary

    if experiment.about:
        print(f"\n{experiment.about}\n")
    width = shutil.get_terminal_size((80, 24)).columns
    print(format_summary(experiment.shown.summary(table), experiment.shown.cells, width))
    print(f"\ntable   {out / 'table.parquet'}\nsummary {out / 'summary.csv'}\nfigure  {out / 'figure.png'}")
