"""Plan a study: how many people it takes, for how long, at which ε, under which trust model."""

import argparse
import json
from pathlib import Path

from maskedbandit.errors import InvalidValue

EXAMPLE = (
    "maskedbandit plan --arms 5 --baseline 0.3 --difference 0.02 --epsilon 1 --per-day 5000\n"
    "  maskedbandit plan --people 20000 --epsilon 1                     # which difference can be found?\n"
    "  maskedbandit plan --people 20000 --difference 0.05               # which ε is enough?\n"
    "  maskedbandit plan --people 20000 --difference 0.05 --epsilon 1 --regret\n"
    "  maskedbandit plan --difference 0.05 --budget 1 --studies 20      # the same people in all of them\n"
    "  maskedbandit plan --people 10000 --difference 0.05 --epsilon 1 --policy pooled_elimination\n"
    "  maskedbandit plan --arms 5 --difference 0.05 --epsilon 1 --policy '{name = \"top_arms\", m = 2}'\n"
    "  maskedbandit plan --protocol trial.toml --difference 0.05         # a study of sites: what does secrecy cost?"
)
INTERRUPTED = ""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options: what is planned."""
    parser.add_argument("--arms", type=int, default=2, metavar="K", help="the number of arms (2)")
    parser.add_argument(
        "--baseline", type=float, default=0.3, metavar="MEAN", help="the mean of all arms but the best (0.3)"
    )
    parser.add_argument("--difference", type=float, metavar="D", help="by how much the best arm is better")
    parser.add_argument(
        "--means", metavar="M,M,...", help="the means of all arms, in place of the three above: 0.3,0.35,0.2"
    )
    parser.add_argument("--epsilon", type=float, metavar="E", help="the ε of each person")
    parser.add_argument(
        "--budget", type=float, metavar="E", help="in place of --epsilon: the ε of each person in a period"
    )
    parser.add_argument(
        "--studies",
        type=int,
        default=1,
        metavar="N",
        help="how many studies each person takes part in, on one budget (1)",
    )
    parser.add_argument("--policy", metavar="TABLE", help="another policy: a name, or a table as in experiments")
    parser.add_argument("--people", type=int, metavar="N", help="how many people come (as many as the study needs)")
    parser.add_argument(
        "--regret", action="store_true", help="do not search for the best arm, but give the worse arms to few people"
    )
    parser.add_argument(
        "--delta", type=float, default=0.05, metavar="P", help="the probability of a wrong answer (0.05)"
    )
    parser.add_argument("--per-day", type=float, default=1000, metavar="N", help="how many people come on a day (1000)")
    parser.add_argument("--window", default="1 day", metavar="TIME", help="the time in which an outcome counts (1 day)")
    parser.add_argument(
        "--privacy-delta", type=float, default=1e-6, metavar="D", help="the δ of trust models without a pure ε (1e-6)"
    )
    parser.add_argument(
        "--trust", action="append", metavar="NAME", help="plan for this trust model alone; may be repeated"
    )
    parser.add_argument(
        "--runs",
        type=int,
        metavar="N",
        help="how many studies are simulated (200, or 2000 with a fixed number of people)",
    )
    parser.add_argument(
        "--protocol",
        type=Path,
        metavar="FILE",
        help="a protocol with [sites]: people beside one pooled trial, and what coalitions of its sites cost",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw people or regret against ε")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def do(options: argparse.Namespace) -> None:
    """Print a row for each trust model, or of a study of sites what it costs."""
    if options.protocol is not None:
        do_sites(options)
        return
    from maskedbandit.cli.parts.inline import read_inline_table, read_numbers
    from maskedbandit.cli.parts.progress import Progress
    from maskedbandit.reports.plan.plan import TRUST, Question, plan
    from maskedbandit.reports.plan.visits import share_budget
    from maskedbandit.study.naming import STUDY_PARTS
    from maskedbandit.study.reward import MILLISECONDS, parse_duration

    nothing = options.epsilon is None and options.budget is None
    if options.difference is None and options.means is None and nothing:
        allowed = "a --difference (or --means) and an --epsilon (or --budget), or one of the two and --people"
        raise InvalidValue("what is planned", "nothing", allowed)
    policy = None if options.policy is None else STUDY_PARTS.made("policy", read_inline_table(options.policy))
    question = Question(
        arms=options.arms,
        baseline=options.baseline,
        difference=options.difference,
        epsilon=options.epsilon if options.budget is None else share_budget(options.budget, options.studies),
        people=options.people,
        delta=options.delta,
        per_day=options.per_day,
        window=parse_duration("--window", options.window, 0) / MILLISECONDS["day"],
        privacy_delta=options.privacy_delta,
        goal=policy.goal if policy else "regret" if options.regret else "identify",
        means=None if options.means is None else read_numbers("--means", options.means),
        policy=policy,
        visits=1 if options.budget is None else options.studies,
    )
    if policy and options.regret and policy.goal != "regret":
        raise InvalidValue("--regret", "given", f"left out with a policy whose goal is {policy.goal!r}")
    trust = options.trust and tuple(options.trust)
    with Progress(0, "study", quiet=options.quiet) as progress:
        progress.begin("simulated")
        found = plan(question, trust=trust, runs=options.runs, advance=lambda: progress.advance(1))
    print(json.dumps(found.to_dict()) if options.json else found)
    if options.figure:
        from maskedbandit.reports.plan.figure import save_plan_figure

        save_plan_figure(question, trust or tuple(TRUST), options.runs, options.figure)


def do_sites(options: argparse.Namespace) -> None:
    """Print what a study of sites costs in people, and what coalitions of its sites cost in privacy."""
    from maskedbandit.reports.plan.sites import plan_sites
    from maskedbandit.study.protocol import Protocol
    from maskedbandit.study.tables import read_toml_file

    for name in ("epsilon", "budget", "people", "means", "policy", "trust", "figure"):
        if getattr(options, name) is not None:
            raise InvalidValue(f"--{name}", getattr(options, name), "left out with --protocol, which says the rest")
    if options.difference is None:
        raise InvalidValue("--difference", None, "given with --protocol: by how much the best arm is better")
    found = plan_sites(Protocol.from_table(read_toml_file(options.protocol)), options.difference)
    print(json.dumps(found.to_dict()) if options.json else found)
