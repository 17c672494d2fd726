"""A demonstration of secure aggregation: one round, its cost, its dropouts, and what the server learns.

Its figure has devices on their ring, the pairs that share secrets, and which devices dropped out when.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import Literal, NamedTuple

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from scipy.stats import binom

from maskedbandit.backends.backend import Aggregate
from maskedbandit.backends.secagg import SecAgg, rehearse_round
from maskedbandit.channels.distributed import Distributed
from maskedbandit.core import Floats
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number, to_fraction, to_whole
from maskedbandit.privacy.sampling import Bits, bernoulli
from maskedbandit.secagg.graph import Ring
from maskedbandit.secagg.masks import KEY, random_bytes
from maskedbandit.secagg.plan import RoundPlan
from maskedbandit.secagg.round_rules import SECRECY
from maskedbandit.secagg.server import RoundServer

RARE_FAILURE = 1e-6  # unless `lost` is given, more devices are lost than are allowed for with at most this probability
DEMO_REWARD = Fraction(7, 10)  # the probability that a device's bit is 1
COLOURS_HERE, EDGE = "#0072B2", "#8FA9BF"
COLOURS_LOST = ("#000000", "#D55E00", "#E69F00", "#CC79A7", "#009E73")  # before each phase
DEPTH = 0.62  # how far the edges of a sparse graph bend to the middle


class Round(NamedTuple):
    """A round that was completed."""

    channel: Distributed
    backend: SecAgg
    plan: RoundPlan
    ring: Ring
    rewards: list[int]
    leaves: dict[int, int]  # the devices that were lost, and before which phase
    aggregate: Aggregate
    released: float

    def lost_by_phase(self) -> list[int]:
        """Devices lost before each phase."""
        gone = list(self.leaves.values())
        return [gone.count(phase) for phase in range(len(self.aggregate.phases))]


def allowed(n: int, dropout: Fraction) -> int:
    """The least number of lost devices that is exceeded with probability at most RARE."""
    return max(0, int(binom.isf(RARE_FAILURE, n, float(dropout))))


@dataclass(frozen=True)
class Demo:
    """A round of n devices with a bit each. A device drops out with probability `dropout`; a fraction `lost` may.

    >>> round = Demo(64, dropout=0, seed=7).run()
    >>> len(round.aggregate.survivors), allowed(1000, Fraction(1, 10))
    (64, 148)
    """

    n: int
    dropout: Number = "0.1"
    corrupted: Number = "0.1"
    epsilon: Number = 1
    lost: Number | None = None
    server: Literal["honest", "malicious"] = "honest"
    graph: Literal["auto", "complete", "sparse"] = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        to_whole("n", self.n, 3, 10**6)
        to_whole("seed", self.seed, 0)
        self.backend.rules.find_neighbourhood(self.n, self.channel.counted_on(self.n))

    @cached_property
    def backend(self) -> SecAgg:
        """The protocol."""
        return SecAgg(self.corrupted, self.server, self.graph, self.dropout)

    @cached_property
    def channel(self) -> Distributed:
        """The channel over it: the noise of devices that are neither corrupted nor lost is counted on."""
        backend, n, drop = self.backend, self.n, Fraction(self.backend.dropout)
        if drop + Fraction(backend.corrupted) >= 1:
            raise InvalidValue("dropout", str(self.dropout), "so low that some devices are neither lost nor corrupted")
        c, lost = backend.rules.count_corrupted(n), allowed(n, drop)
        if self.lost is not None:
            lost = math.ceil(n * to_fraction("lost", self.lost, strict=False))
            if lost < drop * n:
                raise InvalidValue("lost", str(self.lost), f"at least the dropout, {float(drop):g}: a round would fail")
        least = n - c - lost
        if least < backend.smallest:
            counted = f"{c} corrupted and {lost} lost leave {max(least, 0)} honest devices to count on"
            raise InvalidValue("n", n, f"larger, or less must be lost: {counted}, and {backend.smallest} are needed")
        return Distributed(self.epsilon, honest=Fraction(least, n), backend=backend)

    @property
    def messages(self) -> int:
        """About how many messages there will be: a device that is lost sends half of them."""
        return int(self.n * self.backend.phases * (1 - Fraction(self.backend.dropout) / 2))

    def run(self, advance: Callable[[], object] = lambda: None) -> Round:
        """The round; `advance` is called after every message."""
        n, channel, backend, seen = self.n, self.channel, self.backend, list[RoundServer]()
        bits = Bits(np.random.Generator(np.random.Philox(self.seed)).bytes)
        rewards = [int(bernoulli(DEMO_REWARD, bits)) for _ in range(n)]
        offer = channel.offer(n)
        sent = {user: channel.randomize(reward, offer, bits) for user, reward in enumerate(rewards)}
        order = random_bytes(KEY, bits)
        about = channel.counted_on(n), offer.modulus, offer.digest + b"demonstration", sha256(order).digest()
        plan, leaves = backend.rules.plan(n, *about), backend.leaves(n, bits)

        def watch(server: RoundServer) -> None:
            seen[:] = [server]
            advance()

        found = rehearse_round(plan, order, sent, leaves, bits, watch)
        released = channel.analyze(found.total, offer, bits, answers=len(found.survivors))
        return Round(channel, backend, plan, seen[0].ring, rewards, leaves, found, released)


def describe_round(round: Round) -> str:
    """The events of a round, as text."""
    plan, channel, n = round.plan, round.channel, round.plan.n
    c, least = round.backend.rules.count_corrupted(n), channel.counted_on(n)
    lost, tau, epsilon = n - c - least, channel.residues(n)[1], Fraction(channel.epsilon)
    complete = plan.neighbours == n - 1
    more = binom.sf(lost, n, float(round.backend.dropout))
    survivors, true = len(round.aggregate.survivors), sum(round.rewards[user] for user in round.aggregate.survivors)
    tilt = math.exp(-epsilon)
    spread = math.sqrt(2 * tilt * survivors / least) / (1 - tilt)
    gone = round.lost_by_phase()
    names = [phase.name for phase in round.aggregate.phases]
    before = ", ".join(f"{name} {count}" for count, name in zip(gone, names, strict=True) if count)
    rows = {
        "devices": f"n = {n:,}, of whom up to {c:,} may be corrupted and up to {lost:,} may be lost",
        "server": f"{round.backend.server}: "
        + ("keys and survivors are signed" if plan.signed else "it follows the protocol and only looks"),
        "graph": f"{'complete' if complete else 'sparse'}: k = {plan.neighbours} neighbours, any {plan.threshold} of "
        "whom can rebuild its seeds (the threshold)",
        "noise": f"{least:,} honest devices are counted on, and each device adds 1/{least} of the noise",
        "sum": f"it is opened if at least {plan.least:,} values are in it, modulo m = {plan.modulus:,}, "
        f"with a margin tau = {tau:,} for the noise",
        "probabilities": "within these limits secrecy and success are certain"
        if complete
        else f"secrecy fails with less than 2^-{SECRECY[round.backend.server]} for each ring, and success with less "
        "than 2^-20",
        "  ": f"more than {lost:,} devices drop out with {more:.0e}; then the round may fail",
        "": "",
        **costs(round),
        " ": "",
        "lost": f"{sum(gone):,} devices, before the phases: {before}" if before else "nobody",
        "survivors": f"{survivors:,} devices, whose values are in the sum",
        "true sum": f"{true:,}",
        "noisy sum": f"{round.released:,.0f}: this is all that the server learns",
        "error": f"{round.released - true:+,.0f}, where the noise has a standard deviation of {spread:.2f}",
        "ε": f"{float(epsilon):g}, unless the cryptography is broken, if at most {c:,} devices are corrupted:",
        "   ": f"at least {survivors - c:,} honest devices survived, and {least:,} are enough",
        "poisoning": f"one device that lies could move the sum by up to {channel.poisoning(n):,.0f} unnoticed, "
        f"{channel.poisoning(n) / n:.1f} times n",
    }
    return "\n".join(f"{name:19}{text}".rstrip() for name, text in rows.items())


def costs(round: Round) -> dict[str, str]:
    """For each phase: bytes per device, and CPU seconds of all devices and the server together."""
    rows = {"phase": f"{'devices':>8}{'bytes up':>10}{'bytes down':>12}{'CPU seconds, all':>18}"}
    here, up, down = round.plan.n, 0.0, 0.0
    for phase, gone in zip(round.aggregate.phases, round.lost_by_phase(), strict=True):
        here -= gone
        up, down = up + phase.up / here, down + phase.down / here
        rows[phase.name] = f"{here:>8,}{phase.up / here:>10,.0f}{phase.down / here:>12,.0f}{phase.seconds:>18.2f}"
    seconds = sum(phase.seconds for phase in round.aggregate.phases)
    rows["in all"] = f"{'each:':>8}{up:>10,.0f}{down:>12,.0f}{seconds:>18.2f}"
    return rows


def draw_secagg_round(round: Round) -> Figure:
    """Devices in the order of the ring; edges between those that sent keys, coloured where one end was lost."""
    plan, leaves, ring = round.plan, round.leaves, round.ring
    angle = dict(zip(ring.order, np.pi / 2 - 2 * np.pi * np.arange(plan.n) / plan.n, strict=True))
    edges: dict[str, list[Floats]] = {}
    pairs = [(user, other) for user in ring.order for other in ring.around(user) if user < other]
    for user, other in pairs:
        first = min(leaves.get(user, len(COLOURS_LOST)), leaves.get(other, len(COLOURS_LOST)))
        if first > 0:  # no device shares secrets with one that sent no keys
            colour = COLOURS_LOST[first] if first < len(COLOURS_LOST) else EDGE
            edges.setdefault(colour, []).append(bent(angle[user], angle[other], plan.neighbours, plan.n))
    figure = Figure(figsize=(8.6, 7.2), layout="constrained")
    plot = figure.subplots()
    crowded = min(1.0, 40 / sum(map(len, edges.values())) ** 0.5)
    for colour, lines in sorted(edges.items(), key=lambda item: item[0] != EDGE):
        look = {"linewidths": 0.3 + 0.5 * crowded, "alpha": crowded * (0.35 if colour == EDGE else 0.5)}
        plot.add_collection(LineCollection(lines, colors=colour, rasterized=True, **look))
    size, after = max(2.2, min(8.0, 110 / plan.n**0.5)), len(round.aggregate.phases)
    groups = [(after, "stayed to the end", COLOURS_HERE)]
    for phase, each in enumerate(round.aggregate.phases):
        groups.append(
            (phase, f"lost before the {each.name}" + (": in the sum" if phase > 2 else ""), COLOURS_LOST[phase])
        )
    for phase, label, colour in groups:
        there = np.array([angle[user] for user in ring.order if leaves.get(user, after) == phase])
        if there.size:
            look = {"markersize": size if phase == after else 1.5 * size, "zorder": 3 if phase == after else 4}
            plot.plot(np.cos(there), np.sin(there), "o", color=colour, markeredgewidth=0, **look)
            plot.plot([], [], "o", color=colour, markersize=6, label=f"{there.size:,} {label}")
    plot.set(xlim=(-1.06, 1.06), ylim=(-1.06, 1.06), aspect="equal")
    plot.axis("off")
    complete = plan.neighbours == plan.n - 1
    graph = "each with all others" if complete else f"each with {plan.neighbours} neighbours"
    plot.set_title(
        f"Secure aggregation: {plan.n:,} devices share secrets, {graph}; any {plan.threshold} of them can rebuild one\n"
        f"{len(round.aggregate.survivors):,} values are in the sum; with {plan.least - 1:,} it would not be opened",
        fontsize="medium",
    )
    hollow = 3 * plan.neighbours < plan.n  # then the middle is free
    position = (
        {"loc": "center", "bbox_to_anchor": (0.5, 0.47)} if hollow else {"loc": "outside lower center", "ncols": 2}
    )
    figure.legend(frameon=False, **position)
    return figure


def bent(a: float, b: float, neighbours: int, n: int) -> Floats:
    """A curve between two angles of the ring: a chord on the complete graph; on a sparse graph it bends inwards."""
    ends = np.exp(1j * np.array([a, b]))
    if neighbours == n - 1:
        curve = ends
    else:
        apart = abs((a - b + np.pi) % (2 * np.pi) - np.pi)
        middle = ends.sum() / abs(ends.sum()) * (1 - DEPTH * apart / (np.pi * neighbours / n))
        t = np.linspace(0, 1, 13)
        curve = (1 - t) ** 2 * ends[0] + 2 * t * (1 - t) * middle + t**2 * ends[1]
    return np.column_stack([curve.real, curve.imag])
