"""Estimates from releases: intervals that are valid at any time, and means without the bias of adaptive assignment.

    mean          the sum of an arm's releases over its people
    difference    if the first epoch deals both arms together: the mean difference within the epochs that they share;
                  otherwise the difference of both means
    corrected     the same, minus its bias where the policy runs as far with these means as true ones, in simulations
    interval      a confidence sequence (theory/sequences.py and theory/differences.py)

A policy gives more people to arms that look good. So an arm whose first people did badly by chance keeps a mean that is
too low, and one that looked good is measured again: means are biased downwards, most those of arms with few people. The
two arms of a difference must be chosen beforehand: each arm is compared with one that is named.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel
from maskedbandit.checks import check_fraction
from maskedbandit.core import Integers, Release
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.identify.identify import Found
from maskedbandit.lab.goals.regret.simulate import Run
from maskedbandit.lab.goals.select.select import Selected
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.privacy.exact import to_whole
from maskedbandit.reports.estimate.bias import measure_bias
from maskedbandit.reports.estimate.intervals import OWN, WHOSE_DIFFERENCE, DifferenceOfArms, Estimates, Mean
from maskedbandit.reports.estimate.source import ReleaseTable, Source, source_of
from maskedbandit.store.study import Study
from maskedbandit.theory.differences import difference_apart, difference_interval
from maskedbandit.theory.sequences import Interval, mean_interval


def estimate(
    what: Run | Found | Selected | Study | Sequence[Release],
    alpha: float = 0.05,
    *,
    channel: Channel | None = None,
    against: str | None = None,
    run: int | None = None,
    simultaneous: bool = False,
    simulations: int = 200,
    advance: Callable[[], object] = lambda: None,
) -> Estimates:
    """Estimate the mean of each arm, and its difference from that of the arm `against`.

    By default that is the control of a study, or else the first arm.

    `what` is the result of `simulate`, `identify` or `select` that kept its releases (of several runs, number `run`), a
    stored study, or a list of releases that came through `channel`, in the order in which they were made. Each interval
    has an error probability of at most `alpha`; if they are `simultaneous`, all of them together have, as each of k
    means and k - 1 differences gets its part of it. So many `simulations` estimate the bias of the means; with 0 of
    them the means are not corrected. An arm without any release has no difference yet.

    >>> import maskedbandit as mb
    >>> policy, channel = mb.policies.SuccessiveElimination(), mb.channels.Central(epsilon=1)
    >>> run = mb.simulate(policy, channel, mb.Bernoulli([0.5, 0.4]), 10**5, seed=7, keep_releases=True)
    >>> mb.estimate(run, simulations=0)  # doctest: +ELLIPSIS
    SuccessiveElimination over Central: ... people in ... releases, 95 % at any time
    ...
    """
    check_fraction("alpha", alpha)
    to_whole("simulations", simulations, 0, 10**6)
    source = source_of(what, channel, run)
    base = index_of(against, source)
    law, k, together = source.channel.law(), len(source.names), dealt_together(source, base)
    level = alpha / (2 * k - 1) if simultaneous else alpha  # also for differences that are not there yet
    means, differences = point_estimates(source.rows, k, base, together)
    wrong, correction = np.full((2, k), math.nan), f"not corrected: {why_not(source, means, simulations)}"
    if source.played is not None and simulations > 0 and not np.isnan(means).any():

        def found(rows: ReleaseTable) -> ReleaseTable:
            return np.stack(point_estimates(rows, k, base, together))

        truth = np.clip(means, 0.001, 0.999)
        wrong, used = measure_bias(
            source.played, source.channel, truth, truth - truth[base], found, simulations, advance
        )
        correction = f"corrected by {used:,} simulations {source.played.until()}"
    scale = source.most - source.least
    arms = [arm_of(source, law, a, level, float(means[a]), float(means[a] - wrong[0, a])) for a in range(k)]
    others = [
        difference_of(source, law, a, base, level, bool(together[a]), float(differences[a]), float(wrong[1, a]))
        for a in range(k)
        if a != base and not np.isnan(means[[a, base]]).any()
    ]
    return Estimates(
        source.what,
        alpha,
        simultaneous,
        tuple(each._replace(**scale_estimate_row(each, source.least, scale)) for each in arms),
        tuple(each._replace(**scale_estimate_row(each, 0.0, scale)) for each in others),
        correction,
    )


def why_not(source: Source, means: ReleaseTable, simulations: int) -> str:
    """Why no bias is subtracted, if none is."""
    if source.played is None:
        return source.unplayed
    return "no simulations were asked for" if simulations == 0 else "an arm has no release"


def index_of(against: str | None, source: Source) -> int:
    """The number of the arm of this name; if none is named that of the control, or 0."""
    if against is None:
        return source.control or 0
    if against not in source.names:
        raise InvalidValue("against", against, f"the name of an arm: {', '.join(source.names[:20])}")
    return source.names.index(against)


def dealt_together(source: Source, base: int) -> npt.NDArray[np.bool_]:
    """Of each arm, whether its first release and that of the arm `base` are of one epoch, which dealt both together.

    That follows from the first releases alone, so it stays for ever, and does not depend on rewards; so it may choose
    between two kinds of intervals. Of an arm without any release nothing is said, and there is no difference yet.
    A control is dealt together with all others.
    """
    if base == source.control:
        return np.arange(len(source.names)) != base
    first = np.full(len(source.names), math.nan)
    arms, where = np.unique(source.rows[:, 0].astype(int), return_index=True)
    first[arms] = source.rows[where, 3]
    same: npt.NDArray[np.bool_] = (first == first[base]) & (np.arange(first.size) != base)
    return same if source.channel.law().counter == 0 else np.zeros_like(same)


def point_estimates(
    rows: ReleaseTable, k: int, base: int, together: npt.NDArray[np.bool_]
) -> tuple[ReleaseTable, ReleaseTable]:
    """The mean of each arm, and its difference from the arm `base`; nan where nothing was released."""
    arm, n, total = rows[:, 0].astype(int), rows[:, 1], rows[:, 2]
    with np.errstate(invalid="ignore"):
        means = np.bincount(arm, total, k) / np.bincount(arm, n, k)
        mine, other, w = pair_shared_epochs(rows, base)
        margin = w * (rows[mine, 2] / rows[mine, 1] - rows[other, 2] / rows[other, 1])
        within = np.bincount(arm[mine], margin, k) / np.bincount(arm[mine], w, k)
    return means, np.where(together, within, means - means[base])


def pair_shared_epochs(rows: ReleaseTable, base: int) -> tuple[Integers, Integers, ReleaseTable]:
    """Each release of another arm in an epoch that has one of the arm `base`, that one, and the smaller number."""
    of_base = np.flatnonzero(rows[:, 0] == base)
    epoch = {float(each): int(i) for i, each in zip(of_base, rows[of_base, 3], strict=True)}
    pairs = [(i, epoch[float(e)]) for i, (a, e) in enumerate(rows[:, [0, 3]]) if a != base and float(e) in epoch]
    mine, other = np.array(pairs, np.int64).reshape(-1, 2).T
    return mine, other, np.minimum(rows[mine, 1], rows[other, 1])


def rows_to_releases(rows: ReleaseTable) -> list[Release]:
    """These rows, as releases."""
    return [Release(int(a), int(n), float(total)) for a, n, total, _ in rows]


def arm_of(source: Source, law: Law, a: int, alpha: float, mean: float, corrected: float) -> Mean:
    """The estimate of an arm, between 0 and 1."""
    known = rows_to_releases(source.rows[source.rows[:, 0] == a])
    if not known:
        return Mean(source.names[a], 0, 0, mean, corrected, Interval(0.0, 1.0), Interval(0.0, 1.0))
    n = sum(each.n for each in known)
    plain = [Release(a, n, min(max(mean, 0.0), 1.0) * n)]
    inner = mean_interval(Law(NO_NOISE), plain, alpha)
    return Mean(source.names[a], n, len(known), mean, corrected, mean_interval(law, known, alpha), inner)


def difference_of(
    source: Source, law: Law, a: int, base: int, alpha: float, together: bool, value: float, wrong: float
) -> DifferenceOfArms:
    """The estimate of an arm minus the arm `base`, between -1 and 1."""
    rows, names = source.rows, (source.names[a], source.names[base])
    if together:
        mine, other, _ = pair_shared_epochs(rows, base)
        keep = rows[mine, 0] == a
        pairs = list(zip(rows_to_releases(rows[mine[keep]]), rows_to_releases(rows[other[keep]]), strict=True))
        n = sum(one.n + two.n for one, two in pairs)
        return DifferenceOfArms(
            *names, n, value, value - wrong, difference_interval(law, pairs, alpha), WHOSE_DIFFERENCE
        )
    mine_alone, of_base = (rows_to_releases(rows[rows[:, 0] == each]) for each in (a, base))
    n = sum(each.n for each in (*mine_alone, *of_base))
    return DifferenceOfArms(*names, n, value, value - wrong, difference_apart(law, mine_alone, of_base, alpha), OWN)


def scale_estimate_row(row: Mean | DifferenceOfArms, least: float, scale: float) -> dict[str, Any]:
    """The fields of a row that are in units of the reward."""

    def ends(interval: Interval) -> Interval:
        return Interval(*(least + scale * end for end in interval))

    found: dict[str, Any] = {name: least + scale * getattr(row, name) for name in ("estimate", "corrected")}
    found["interval"] = ends(row.interval)
    return found | ({"without_noise": ends(row.without_noise)} if isinstance(row, Mean) else {})
