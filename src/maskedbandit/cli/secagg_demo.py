"""Show one round of secure aggregation: what it costs, who is lost, what the server learns."""

import argparse
from pathlib import Path

from maskedbandit.cli.parts.progress import Progress
from maskedbandit.errors import InvalidValue

EXAMPLE = (
    "maskedbandit secagg-demo -n 1000 --dropout 0.1\n"
    "  maskedbandit secagg-demo -n 300 --corrupted 0.1 --lost 0.2 --server malicious --out results/signed"
)


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "-n", type=int, default=1000, metavar="N", help="the number of devices, each with one bit (1000)"
    )
    parser.add_argument(
        "--dropout", default="0.1", metavar="P", help="probability that a device is lost on the way (0.1)"
    )
    parser.add_argument("--corrupted", default="0.1", metavar="P", help="fraction that may be corrupted (0.1)")
    parser.add_argument("--epsilon", default="1", metavar="E", help="the ε of the noisy sum (1)")
    parser.add_argument(
        "--lost", metavar="P", help="fraction that may be lost (exceeded with a probability of a millionth)"
    )
    parser.add_argument(
        "--server",
        choices=("honest", "malicious"),
        default="honest",
        help="whether the server follows the protocol (honest)",
    )
    parser.add_argument(
        "--graph",
        choices=("auto", "complete", "sparse"),
        default="auto",
        help="who shares secrets with whom (auto: complete up to 128 devices, or if the server may lie)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the same seed gives the same round (0)")
    parser.add_argument(
        "--out", type=Path, default=Path("results/secagg-demo"), metavar="DIR", help="folder (results/secagg-demo)"
    )


def do(options: argparse.Namespace) -> None:
    """Run a round, describe it and draw its graph."""
    from maskedbandit.lab.experiments.figure import save_figure
    from maskedbandit.lab.rehearsal.demo import Demo, describe_round, draw_secagg_round

    names = ("n", "dropout", "corrupted", "epsilon", "lost", "server", "graph", "seed")
    demo = Demo(**{name: getattr(options, name) for name in names})
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise InvalidValue("--out", str(options.out), f"a folder that can be written ({wrong.strerror})") from None
    with Progress(demo.messages, "message") as progress:
        round = demo.run(progress.advance)
    print(describe_round(round))
    save_figure(draw_secagg_round(round), options.out / "graph")
    print(f"{'picture':19}{options.out / 'graph.png'}")
