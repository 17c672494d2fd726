"""The figures of docs/compare.md and of the README: `python -m tools.figures.compare docs/figures/compare`."""

import sys
from pathlib import Path

import maskedbandit as mb


def main(folder: Path) -> None:
    """Regret in one column, stopping times in two, and the league of the README."""
    instance = mb.Bernoulli([0.9, 0.8, 0.8])
    private = {"central": mb.channels.Central(epsilon=0.5), "local": mb.channels.Response(epsilon=0.5)}
    policies = [mb.policies.NoiseAwareKLUCB(), mb.policies.DPSE()]
    channels = {"no privacy": mb.channels.Raw(), **private}
    regret = mb.compare(policies, channels, instance, horizon=10**6, runs=20, seed=7)
    regret.plot(columns=1, file=folder / "regret_one_column.svg")
    searches = [mb.policies.ReleasedLikelihood(), mb.policies.BestArmDPSE()]
    found = mb.compare(searches, private, instance, delta=0.05, runs=100, seed=7)
    found.plot(columns=2, file=folder / "samples_two_columns.svg")
    p, instance = mb.policies, mb.Bernoulli([0.75, 0.7, 0.7, 0.7, 0.7])
    several = [p.NoiseAwareKLUCB(), p.DPIMED(), p.DPKLUCB(), p.AdaPKLUCB(), p.DPSE()]
    league = mb.compare(several, private["central"], instance, horizon=10**6, runs=20, seed=7)
    league.plot(columns=2, file=folder / "league.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
