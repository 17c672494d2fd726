"""Evidence that begins anew with every release: it is fair, exactly, and it is the sum that it says it is."""

import itertools
import math

import numpy as np
import pytest

from maskedbandit import Release
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.theory.sequences import Restarts, mean_evidence, sum_releases, worth_of_bets
from tests.for_each import for_each
from tests.theory.test_evidence import LAWS, chances

EXACT = Law(NO_NOISE)
SIZES, LIMIT = (1, 2, 1, 2), 0.3


def after(law: Law, totals: tuple[float, ...], kind: type[Restarts] = Restarts, anew: bool = True) -> float:
    """ln S after releases of these totals."""
    found = kind(anew)
    for n, total in zip(SIZES, totals, strict=False):
        found.add(worth_of_bets(law, sum_releases(law, [Release(0, n, total)]), LIMIT))
    return found.evidence


class Free(Restarts):
    """Broken twin: what begins later pays nothing for it."""

    @property
    def evidence(self) -> float:
        return super().evidence + math.log(1 + self.releases) / 2


def expected(kind: type[Restarts], anew: bool = True) -> float:
    """E S after four releases of bits, whose mean is at the limit."""
    found = 0.0
    for totals in itertools.product(*(range(n + 1) for n in SIZES)):
        p = math.prod(math.comb(n, x) * LIMIT**x * (1 - LIMIT) ** (n - x) for n, x in zip(SIZES, totals, strict=True))
        found += p * math.exp(after(EXACT, tuple(map(float, totals)), kind, anew))
    return found


def test_it_is_one_on_average_at_the_limit() -> None:
    assert expected(Restarts) == pytest.approx(1, abs=1e-12)
    assert expected(Restarts, anew=False) == pytest.approx(1, abs=1e-12)
    assert expected(Free) > 2


@for_each("name", ["laplace", "gaussian"])
def test_with_noise_it_is_at_most_one_on_average(name: str) -> None:
    """What comes about with probability below 1e-6 is left out, so the sum is a little smaller."""
    law, found = LAWS[name], 0.0
    of = [{x: p for x, p in chances(law, n, LIMIT).items() if p > 1e-6} for n in SIZES[:2]]
    for (x, p), (y, q) in itertools.product(*(each.items() for each in of)):
        found += p * q * math.exp(after(law, (x, y)))
    assert 0.9 < found <= 1 + 1e-9


def test_it_is_the_weighted_sum_over_all_beginnings() -> None:
    rng = np.random.default_rng(2)
    releases = [Release(0, int(n), float(rng.binomial(n, 0.4))) for n in rng.integers(1, 40, 30)]
    found = Restarts()
    for t, each in enumerate(releases, 1):
        found.add(worth_of_bets(EXACT, sum_releases(EXACT, [each]), LIMIT))
        since = [float(mean_evidence(EXACT, sum_releases(EXACT, releases[s - 1 : t]), LIMIT)) for s in range(1, t + 1)]
        parts = [math.exp(m) / (s * (s + 1)) for s, m in enumerate(since, 1)]
        assert found.evidence == pytest.approx(math.log(math.fsum(parts) + 1 / (t + 1)), abs=1e-9)


def test_without_beginning_anew_it_is_the_evidence_of_all_releases() -> None:
    releases = [Release(0, 50, 12.0), Release(0, 70, 33.0), Release(0, 20, 9.0)]
    found = Restarts(anew=False)
    assert found.evidence == Restarts().evidence == 0
    for each in releases:
        found.add(worth_of_bets(EXACT, sum_releases(EXACT, [each]), LIMIT))
    assert found.evidence == pytest.approx(float(mean_evidence(EXACT, sum_releases(EXACT, releases), LIMIT)), abs=1e-12)
