"""Run an experiment: write its table and its figure."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from maskedbandit.cli.parts.progress import Progress
from maskedbandit.errors import InvalidValue

EXAMPLE = (
    "maskedbandit run quickstart --out results/quickstart --jobs 2\n"
    "  maskedbandit run experiments/rehearsal.toml --protocol secagg,dropout=0.02"
)
INTERRUPTED = "; --resume goes on from here"


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "experiment", metavar="EXPERIMENT", help="a TOML file, or the name of an experiment that `list` shows"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the results (results/NAME)")
    parser.add_argument("--only", metavar="ID", help="one setting alone, by its id or number: quickstart/2 or 2")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="threads (one for each core); the numbers do not depend on it"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on in a DIR with results; processes with other --only may share it"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument(
        "--protocol",
        metavar="NAME",
        help="carry sums by a real protocol with all its parties, where a channel can: a backend that `list` shows, "
        "such as secagg, or secagg,corrupted=0.1,dropout=0.05; some milliseconds for every user; results go to "
        "results/EXPERIMENT-NAME",
    )


def do(options: argparse.Namespace) -> None:
    """Run all settings, or one, and show the summary."""
    from maskedbandit.lab.experiments.experiment import read
    from maskedbandit.lab.experiments.figure import save
    from maskedbandit.lab.experiments.packaged import find
    from maskedbandit.lab.experiments.protocol_option import over
    from maskedbandit.lab.experiments.table import AnySetting, collect
    from maskedbandit.lab.goals.text import text

    path = find(options.experiment)
    experiment, folder, left = read(path), path.stem, list[str]()
    protocol = (options.protocol or "").partition(",")[0]
    if options.protocol is not None:
        experiment, left = over(experiment, options.protocol)
        folder += f"-{protocol}"
    settings = experiment.settings
    if options.jobs is not None and options.jobs < 1:
        raise InvalidValue("--jobs", options.jobs, "a whole number of at least 1")
    if options.only is not None:
        settings = [each for each in settings if options.only in (each.id, each.id.rpartition("/")[2])]
        if not settings:
            first, last = experiment.settings[0].id, experiment.settings[-1].id
            raise InvalidValue("--only", options.only, f"an id from {first} to {last}")
    out = options.out or Path("results") / folder
    with Progress(sum(each.runs for each in settings), "run", quiet=options.quiet) as progress:

        def advance(setting: AnySetting, runs: int) -> None:
            if runs == 0:
                progress.begin(f"{setting.id}, {setting.label}")
            progress.advance(runs)

        if left:
            progress.note(f"without {protocol}, as their channels take none: {', '.join(left)}")
        table = collect(experiment, settings, out, options.resume, options.jobs, advance, progress.note)
    if experiment.about:
        print(f"\n{experiment.about}\n")
    width = shutil.get_terminal_size((80, 24)).columns
    print(text(experiment.goal.summary(table), experiment.goal.cells, width))
    save(experiment.draw(table), out / "figure")
    print(f"\ntable   {out / 'table.parquet'}\nsummary {out / 'summary.csv'}\nfigure  {out / 'figure.png'}")
