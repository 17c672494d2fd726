"""What ε costs, for the page with sliders: `python -m tools.cost_of_epsilon docs/tutorials/epsilon/table.js`.

Each number is how many good outcomes a study loses on average by giving options that are not the best, in simulations
of the policy for live studies. All options but one have the baseline.
"""

import json
import sys
from itertools import product
from pathlib import Path

import maskedbandit as mb
from maskedbandit.channels.channel import Channel
from maskedbandit.reports.plan.plan import TRUST

EPSILONS = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0)
PEOPLE = (1_000, 3_000, 10_000, 30_000, 100_000)
ARMS = (2, 3, 5, 10)
DIFFERENCES = (0.02, 0.05, 0.1, 0.2)
MODELS = ("central", "two servers", "local")
BASELINE = 0.3
RUNS = 200
RUNS_WITHOUT = 2000  # of what all others are compared with
BEGINNING = "const TABLE = "  # a script, as pages that are opened from a disk may not read other files


def find_lost(channel: Channel, people: int, arms: int, difference: float) -> float:
    """How many good outcomes are lost, on average."""
    runs = RUNS_WITHOUT if isinstance(channel, mb.channels.Raw) else RUNS
    instance = mb.Bernoulli([BASELINE + difference] + [BASELINE] * (arms - 1))
    policy = mb.policies.ContemporaneousKLUCB()
    run = mb.simulate(policy, channel, instance, horizon=people, runs=runs, seed=1)
    return round(float(run.regret[:, -1].mean()), 1)


def find_costs(channel: Channel) -> list[float]:
    """The same for all numbers of people, of options, and differences, in the order of `product`."""
    return [find_lost(channel, *setting) for setting in product(PEOPLE, ARMS, DIFFERENCES)]


def make_table() -> dict[str, object]:
    """All that the page knows."""
    private = {name: [find_costs(TRUST[name](epsilon, 0.0)) for epsilon in EPSILONS] for name in MODELS}
    return {
        "epsilons": EPSILONS,
        "people": PEOPLE,
        "arms": ARMS,
        "differences": DIFFERENCES,
        "without": find_costs(mb.channels.Raw()),
        "lost": private,
    }


def main(file: Path) -> None:
    """Write the table."""
    file.write_text(BEGINNING + json.dumps(make_table()).replace('"lost"', '\n"lost"').replace("]], ", "]],\n") + ";\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
