"""How well two distributions can be told apart: exactly from probabilities, or a lower bound from samples.

A mechanism with loss (epsilon, delta) keeps P(event) <= e^epsilon Q(event) + delta for every event, P and Q its
distributions for two neighbours. An audit finds the smallest epsilon that the distributions allow; a loss below it is a
wrong loss.

From samples it is a lower bound [JUO20]. A quarter of them fits log-likelihood ratios, and a quarter chooses an event:
that one coordinate of the output, or the sum of the ratios, is above a threshold or not. The other half bounds the
event's two probabilities [CP34]. So however the event was chosen, the bound is wrong with a probability of at most
`error`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from maskedbandit.core import Floats, Integers

Views = Floats  # [runs, what was seen]
BINS, MOST_THRESHOLDS, MOST_POINTS, FAR = 16, 64, 400, 1e9


def largest_ratio(p: Floats, q: Floats) -> float:
    """max |ln p/q|: the pure epsilon of the two distributions."""
    if np.any((p > 0) != (q > 0)):
        return math.inf
    seen = p > 0
    return float(np.max(np.abs(np.log(p[seen]) - np.log(q[seen]))))


def hockey_stick_excess(p: Floats, q: Floats, epsilon: float) -> float:
    """max over events of P - e^epsilon Q, whichever of the distributions is P: the delta that they need at epsilon."""
    grown = math.exp(epsilon)
    return float(max(np.maximum(p - grown * q, 0).sum(), np.maximum(q - grown * p, 0).sum()))


def needed_epsilon(p: Floats, q: Floats, delta: float) -> float:
    """The smallest epsilon at which delta is enough, from below to nine digits; infinite if none up to 100 is."""
    if hockey_stick_excess(p, q, 100.0) > delta:
        return math.inf
    low, high = 0.0, 100.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if hockey_stick_excess(p, q, middle) > delta else (low, middle)
    return low


def trade_off(p: Floats, q: Floats) -> Floats:
    """[2, points]: the false positives and the false negatives of the best tests of Q against P; at most `POINTS`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.clip(np.where(q > 0, np.log(p / q), FAR), -FAR, FAR)
    order = np.argsort(-ratio, kind="stable")
    positives, found, ratio = np.cumsum(q[order]), np.cumsum(p[order]), ratio[order]
    corners = np.flatnonzero(np.append(ratio[:-1] - ratio[1:] > 1e-9, True))
    corners = np.unique(
        corners[np.searchsorted(positives[corners], np.linspace(0, positives[-1], MOST_POINTS) - 1e-12)]
    )
    return np.stack([np.r_[0.0, positives[corners]], np.r_[1.0, 1 - found[corners]]])


def bound_odds(p: Integers, runs_p: int, q: Integers, runs_q: int, error: float) -> tuple[Floats, Floats]:
    """Of events seen p and q times: a lower bound of the first probability, an upper one of the second [CP34]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(p > 0, beta.ppf(error / 2, p, runs_p - p + 1), 0.0)
        high = np.where(q < runs_q, beta.isf(error / 2, q + 1, runs_q - q), 1.0)
    return low, high


def at_least(p: Integers, runs_p: int, q: Integers, runs_q: int, delta: float, error: float) -> Floats:
    """The epsilon of each of several events that were seen p and q times, wrong with probability `error` for each."""
    low, high = bound_odds(p, runs_p, q, runs_q, error)
    found: Floats = np.log(np.maximum(low - delta, 1e-300) / high)
    return np.maximum(found, 0.0)


class Event(NamedTuple):
    """A coordinate of the output is above a threshold, or is not; that suggests the first or the second neighbour."""

    what: int  # column of the views; -1: the sum of the log-likelihood ratios
    threshold: float
    above: bool
    first: bool


class ShownEpsilon(NamedTuple):
    """A lower bound on the loss, from samples, and the event that shows it."""

    epsilon: float
    event: str
    corner: tuple[float, float]  # false positives and false negatives of the event, at most
    curve: Floats  # as of `trade_off`, in the samples that chose nothing


def measure_shown_epsilon(a: Views, b: Views, names: Sequence[str], delta: float, error: float) -> ShownEpsilon:
    """A lower bound on epsilon from views of two neighbours, wrong with a probability of at most `error`.

    >>> rng = np.random.default_rng(1)
    >>> a, b = rng.laplace(0, 1, (4000, 1)), rng.laplace(1, 1, (4000, 1))
    >>> same, other = (measure_shown_epsilon(a, each, ["total"], 0.0, 1e-6).epsilon for each in (a, b))
    >>> 0.7 < other < 1, same
    (True, 0.0)
    """
    half_a, half_b = len(a) // 2, len(b) // 2
    ratio = Ratio(a[: half_a // 2], b[: half_b // 2])
    columns_a, columns_b = np.column_stack([a, ratio(a)]), np.column_stack([b, ratio(b)])
    chosen = choose_event(columns_a[half_a // 2 : half_a], columns_b[half_b // 2 : half_b], delta, error)
    rest_a, rest_b = columns_a[half_a:, chosen.what], columns_b[half_b:, chosen.what]
    hits = [int(np.sum((rest > chosen.threshold) == chosen.above)) for rest in (rest_a, rest_b)]
    runs = [rest_a.size, rest_b.size]
    if not chosen.first:
        hits, runs = hits[::-1], runs[::-1]
    low, high = bound_odds(np.array([hits[0]]), runs[0], np.array([hits[1]]), runs[1], error)
    found = at_least(np.array([hits[0]]), runs[0], np.array([hits[1]]), runs[1], delta, error)
    corner = float(high[0]), 1 - float(low[0])
    name = [*names, "log-likelihood ratio"][chosen.what]
    event = f"{name} {'above' if chosen.above else 'at most'} {chosen.threshold:.4g}"
    return ShownEpsilon(float(found[0]), event, corner if chosen.first else corner[::-1], curve_of(rest_a, rest_b))


class Ratio:
    """The sum of log-likelihood ratios over all coordinates, from histograms of these samples."""

    def __init__(self, a: Views, b: Views) -> None:
        self.edges, self.ratios = list[Floats](), list[Floats]()
        for own, other in zip(a.T, b.T, strict=True):
            values = np.concatenate([own, other])
            distinct = np.unique(values)
            if distinct.size > BINS:
                distinct = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)))
            edges = (distinct[1:] + distinct[:-1]) / 2
            cells = [np.bincount(np.searchsorted(edges, each), minlength=edges.size + 1) + 0.5 for each in (own, other)]
            self.edges.append(edges)
            self.ratios.append(np.log(cells[0] / cells[0].sum()) - np.log(cells[1] / cells[1].sum()))

    def __call__(self, views: Views) -> Floats:
        found = np.zeros(len(views))
        for column, edges, ratios in zip(views.T, self.edges, self.ratios, strict=True):
            found += ratios[np.searchsorted(edges, column)]
        return found


def choose_event(a: Views, b: Views, delta: float, error: float) -> Event:
    """The event that distinguishes best in these samples."""
    best, most = Event(0, 0.0, True, True), -1.0
    for what, (own, other) in enumerate(zip(a.T, b.T, strict=True)):
        values = np.unique(np.concatenate([own, other]))
        if values.size > MOST_THRESHOLDS:
            values = np.unique(np.quantile(values, np.linspace(0, 1, MOST_THRESHOLDS)))
        at = (values[1:] + values[:-1]) / 2 if values.size > 1 else values
        above_a = own.size - np.searchsorted(np.sort(own), at, side="right")
        above_b = other.size - np.searchsorted(np.sort(other), at, side="right")
        for above in (True, False):
            p, q = (above_a, above_b) if above else (own.size - above_a, other.size - above_b)
            for first in (True, False):
                counts = (p, own.size, q, other.size) if first else (q, other.size, p, own.size)
                found = at_least(*counts, delta, error)
                if found.max() > most:
                    i = int(found.argmax())
                    best, most = Event(what, float(at[i]), above, first), float(found[i])
    return best


def curve_of(a: Floats, b: Floats) -> Floats:
    """False positives (of b) and false negatives (of a) of the tests "above a threshold speaks for a", or the other."""
    if a.mean() < b.mean():
        a, b = -a, -b
    at = np.unique(np.concatenate([a, b]))
    at = np.unique(np.quantile(at, np.linspace(0, 1, MOST_POINTS)))
    positives = 1 - np.searchsorted(np.sort(b), at, side="right") / b.size
    negatives = np.searchsorted(np.sort(a), at, side="right") / a.size
    return np.stack([np.r_[positives[::-1], 1.0], np.r_[negatives[::-1], 0.0]])
