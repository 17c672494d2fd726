"""People who take part in several studies: what each of the studies may cost, and the noise that it needs.

Of a budget of ε for all B studies together, each may cost ε / B: that holds under every trust model, and δ is not
needed, or is divided as well. If a trusted server adds discrete Gaussian noise, Rényi curves are added up and converted
once, at the δ of the plan: its noise grows as √B, and is less from about eleven studies on [CZ23, App. H]. The noise is
that with which a ledger, whose budget is (ε, δ), accepts all of them.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from maskedbandit.channels.central import Central
from maskedbandit.channels.channel import Channel
from maskedbandit.lab.goals.plans import Row
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.privacy.exact import to_fraction, to_whole
from maskedbandit.privacy.repeated_batches import ledger_deviation
from maskedbandit.theory.bounds import to_positive

CONCENTRATED = "concentrated"  # central trust, with noise whose losses are added up as Rényi curves


def share_budget(budget: float, studies: int) -> float:
    """The ε, or the δ, of each of so many studies that share a person's: rounded down, so that a ledger accepts all.

    >>> share_budget(2.0, 4), 30 * share_budget(0.1, 30) <= 0.1
    (0.5, True)
    """
    found = float(to_positive("budget", budget) / to_whole("studies", studies, 1))
    while studies * to_fraction("epsilon", found) > to_fraction("budget", budget):
        found = math.nextafter(found, 0.0)
    return found


def concentrate_noise(epsilon: float, visits: int, delta: float) -> Channel:
    """A trusted server's channel for one of so many studies, which cost `visits` times `epsilon` together, at `delta`.

    **Guarantee**: a person in one cohort of each study has lost at most (visits * epsilon, delta), and a ledger of that
    budget accepts all of these charges.

    >>> channel = concentrate_noise(0.025, visits=20, delta=1e-6)
    >>> channel.loss(n=1000), (20 * channel.loss(n=1000)).epsilon(1e-6) <= 0.5
    (Loss(ε = 0.08951 at δ = 1e-06), True)
    """
    deviation = ledger_deviation(visits, visits * to_fraction("epsilon", epsilon), delta)
    return Central(epsilon=1 / Fraction(deviation), noise=DiscreteGaussian())


def say_visits(rows: Sequence[Row], visits: int, delta: float) -> Iterator[str]:
    """What people lose who take part in all of the studies, and how the noise of both ways compares."""
    if visits == 1 or not rows:
        return
    total = visits * rows[0].epsilon
    yield f"Each person takes part in {visits} such studies, which cost ε = {total:.4g} together."
    if any(row.trust == CONCENTRATED for row in rows):
        deviation = ledger_deviation(visits, visits * to_fraction("epsilon", rows[0].epsilon), delta)
        pure = math.sqrt(2) / rows[0].epsilon
        yield (
            f"{CONCENTRATED}: so that they cost (ε, δ) = ({total:.4g}, {delta:.0e}) together, a trusted server adds "
            f"discrete Gaussian noise of standard deviation {deviation:.1f} in place of {pure:.1f}."
        )
