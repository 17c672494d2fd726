"""The command line: parse, call, print."""

from __future__ import annotations

import argparse
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskedbandit import __version__
from maskedbandit.errors import InvalidValue, MaskedBanditError
from maskedbandit.lab.logs import commands as log_commands

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from maskedbandit.lab.experiments.experiment import Experiment

DESCRIPTION = "Adaptive experiments on private outcomes: simulate bandits under every trust model."


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0, or 2 after one line on standard error that names what is wrong."""
    options = parser().parse_args(arguments)
    try:
        options.do(options)
    except MaskedBanditError as wrong:
        print(f"maskedbandit: {wrong}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("polars", "matplotlib", "tqdm"):
            raise
        print(f"maskedbandit: {missing.name} is not installed: pip install 'maskedbandit[lab]'", file=sys.stderr)
        return 2
    except MemoryError:
        print("maskedbandit: not enough memory: ask for fewer runs, fewer arms or a shorter tree", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as wrong:
        print(f"maskedbandit: {wrong}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        hint = "; --resume goes on from here" if options.do is run else ""
        print(f"\nmaskedbandit: interrupted{hint}", file=sys.stderr)
        return 130
    return 0


def parser() -> argparse.ArgumentParser:
    """Commands and their options, with an example of each."""
    top = command(argparse.ArgumentParser, "maskedbandit", DESCRIPTION, "maskedbandit run experiments/quickstart.toml")
    top.add_argument("--version", action="version", version=f"maskedbandit {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    example = (
        "maskedbandit run experiments/quickstart.toml --out results/quickstart --jobs 2\n"
        "  maskedbandit run experiments/rehearsal.toml --protocol secagg,dropout=0.02"
    )
    one = command(commands.add_parser, "run", "simulate an experiment; write its table and figure", example)
    one.add_argument("experiment", type=Path, metavar="EXPERIMENT.toml", help="what to compare")
    one.add_argument("--out", type=Path, metavar="DIR", help="folder for the results (results/NAME)")
    one.add_argument("--only", metavar="ID", help="one setting alone, by its id or number: quickstart/2 or 2")
    one.add_argument(
        "--jobs", type=int, metavar="N", help="threads (one for each core); the numbers do not depend on it"
    )
    one.add_argument("--resume", action="store_true", help="keep the settings that DIR holds already")
    one.add_argument(
        "--protocol",
        metavar="NAME",
        help="carry sums by a real protocol with all its parties, where a channel can: a backend that `list` shows, "
        "such as secagg, or secagg,corrupted=0.1,dropout=0.05; some milliseconds for every user; results go to "
        "results/EXPERIMENT-NAME",
    )
    one.set_defaults(do=run)

    two = command(
        commands.add_parser,
        "plot",
        "draw the figure of a results folder again",
        "maskedbandit plot results/quickstart",
    )
    two.add_argument("folder", type=Path, metavar="DIR", help="a folder that `run` wrote")
    two.set_defaults(do=plot)

    three = command(
        commands.add_parser, "list", "policies, channels, noises, backends and experiments", "maskedbandit list"
    )
    three.add_argument(
        "--experiments", type=Path, default=Path("experiments"), metavar="DIR", help="where experiments are"
    )
    three.set_defaults(do=show)

    four = command(
        commands.add_parser,
        "secagg-demo",
        "one round of secure aggregation: what it costs, who is lost, what the server learns",
        "maskedbandit secagg-demo -n 1000 --dropout 0.1\n"
        "  maskedbandit secagg-demo -n 300 --corrupted 0.1 --lost 0.2 --server malicious --out results/signed",
    )
    four.add_argument("-n", type=int, default=1000, metavar="N", help="devices, each with one bit (1000)")
    four.add_argument("--dropout", default="0.1", metavar="SHARE", help="chance that a device is lost on the way (0.1)")
    four.add_argument("--corrupted", default="0.1", metavar="SHARE", help="devices that may be corrupted (0.1)")
    four.add_argument("--epsilon", default="1", metavar="E", help="privacy of the noisy sum (1)")
    four.add_argument(
        "--lost", metavar="SHARE", help="devices that may be lost (as many as are with a chance of a millionth)"
    )
    four.add_argument("--server", choices=("honest", "malicious"), default="honest", help="what it may do (honest)")
    four.add_argument(
        "--graph",
        choices=("auto", "complete", "sparse"),
        default="auto",
        help="who shares secrets with whom (auto: complete up to 128 devices, or if the server may lie)",
    )
    four.add_argument("--seed", type=int, default=0, metavar="N", help="the same seed gives the same round (0)")
    four.add_argument(
        "--out", type=Path, default=Path("results/secagg-demo"), metavar="DIR", help="folder (results/secagg-demo)"
    )
    four.set_defaults(do=demonstrate)
    log_commands.add(commands, command)
    return top


def command(make: Any, name: str, help: str, example: str) -> argparse.ArgumentParser:
    """A parser whose help ends with an example."""
    said = {} if make is argparse.ArgumentParser else {"help": help}
    plain = argparse.RawDescriptionHelpFormatter
    made: argparse.ArgumentParser = make(
        name, description=help, epilog=f"example:\n  {example}", formatter_class=plain, **said
    )
    return made


def run(options: argparse.Namespace) -> None:
    """Simulate an experiment."""
    from tqdm import tqdm

    from maskedbandit.lab.experiments.experiment import read
    from maskedbandit.lab.experiments.protocol_option import over
    from maskedbandit.lab.experiments.table import collect
    from maskedbandit.lab.goals.columns import aligned
    from maskedbandit.lab.goals.setting import PublishedPoint, Setting, TheoryCurve

    experiment, folder, left = read(options.experiment), options.experiment.stem, list[str]()
    if options.protocol is not None:
        experiment, left = over(experiment, options.protocol)
        folder += f"-{options.protocol.partition(',')[0]}"
    settings = experiment.settings
    if options.jobs is not None and options.jobs < 1:
        raise InvalidValue("--jobs", options.jobs, "a whole number of at least 1")
    if options.only is not None:
        settings = [s for s in settings if options.only in (s.id, s.id.rpartition("/")[2])]
        if not settings:
            raise InvalidValue(
                "--only",
                options.only,
                f"an id from {experiment.settings[0].id} to {experiment.settings[-1].id}",
            )
    out = options.out or Path("results") / folder
    with tqdm(
        total=sum(setting.runs for setting in settings), unit="run", miniters=1, smoothing=0.05, file=sys.stderr
    ) as bar:
        bar.set_description(f"{settings[0].label} (compiling, if new)")

        def advance(setting: Setting | TheoryCurve | PublishedPoint, runs: int) -> None:
            bar.set_description(setting.label, refresh=False)
            bar.update(runs)  # by none when a setting begins

        def note(text: str) -> None:
            bar.write(f"maskedbandit: {text}", file=sys.stderr)

        if left:
            note(f"without {options.protocol.partition(',')[0]}, as their channels take none: {', '.join(left)}")
        with ticking(bar):
            table = collect(experiment, settings, out, options.resume, options.jobs, advance, note)
    if experiment.about:
        print(f"\n{experiment.about}\n")
    print(aligned(experiment.goal.summary(table), experiment.goal.cells))
    draw(table, experiment, out)
    print(f"\ntable   {out / 'table.parquet'}\nsummary {out / 'summary.csv'}\nfigure  {out / 'figure.png'}")


@contextmanager
def ticking(bar: Any) -> Iterator[None]:
    """On a terminal, the clock of the bar goes on while a long run lasts."""
    done = threading.Event()

    def tick() -> None:
        while not done.wait(1):
            bar.refresh()

    clock = threading.Thread(target=tick)
    if sys.stderr.isatty():
        clock.start()
    try:
        yield
    finally:
        done.set()
        if clock.is_alive():
            clock.join()


def plot(options: argparse.Namespace) -> None:
    """Draw a figure again."""
    import polars as pl

    from maskedbandit.lab.experiments.experiment import read

    path = options.folder / "table.parquet"
    if not path.exists():
        raise InvalidValue("DIR", str(options.folder), "a folder with a table.parquet, as `run` writes it")
    try:
        table = pl.read_parquet(path)
    except pl.exceptions.PolarsError as wrong:
        raise InvalidValue("DIR", str(options.folder), f"a folder whose table can be read ({wrong})") from None
    draw(table, read(options.folder / "experiment.toml"), options.folder)
    print(options.folder / "figure.png")


def draw(table: pl.DataFrame, experiment: Experiment, out: Path) -> None:
    """Write the figure of a table, as PNG and SVG."""
    save(experiment.draw(table), out / "figure")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG and SVG."""
    import matplotlib

    drawing = StringIO()
    # the same table gives the same file, in which text is text
    with matplotlib.rc_context({"svg.hashsalt": "maskedbandit", "svg.fonttype": "none"}):
        figure.savefig(drawing, format="svg", metadata={"Date": None})
    # hundredths of a point are enough, and make it half as long
    path.with_suffix(".svg").write_text(re.sub(r"(\d\.\d\d)\d+", r"\1", drawing.getvalue()))
    figure.savefig(path.with_suffix(".png"), dpi=150)


def demonstrate(options: argparse.Namespace) -> None:
    """Show a round of secure aggregation."""
    from tqdm import tqdm

    from maskedbandit.lab.rehearsal.demo import Demo, report
    from maskedbandit.lab.rehearsal.demo_figure import drawn

    names = ("n", "dropout", "corrupted", "epsilon", "lost", "server", "graph", "seed")
    demo = Demo(**{name: getattr(options, name) for name in names})
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise InvalidValue("--out", str(options.out), f"a folder that can be written ({wrong.strerror})") from None
    with tqdm(unit="message", total=demo.messages, file=sys.stderr, leave=False) as bar:
        round = demo.run(bar.update)
    print(report(round))
    save(drawn(round), options.out / "graph")
    print(f"{'picture':19}{options.out / 'graph.png'}")


def show(options: argparse.Namespace) -> None:
    """List what experiments can name."""
    from maskedbandit import backends, channels, noises, policies
    from maskedbandit.lab.experiments.experiment import read

    goals = {"regret": "policy for regret", "identify": "policy for the best arm", "contextual": "policy for contexts"}
    rows: dict[str, list[str]] = {heading: [] for heading in goals.values()}
    for room in (policies.room, channels.room, noises.room, backends.room):
        for name, about in room.about():
            heading = goals[room[name].goal] if room is policies.room else room.kind
            rows.setdefault(heading, []).append(f"  {name:26}{about}")
    for heading, lines in rows.items():
        print(f"{heading}:", *lines, sep="\n")
    paths = sorted(options.experiments.glob("*.toml"))
    print(f"experiment (in {options.experiments}):")
    for path in paths:
        experiment = read(path)
        print(f"  {path.stem:26}{experiment.about} {experiment.source}")
