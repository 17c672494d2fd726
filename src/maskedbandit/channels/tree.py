"""Central trust, running sums: a trusted server adds noise to the nodes of a tree, and every sum so far is known.

The cohorts of an arm are the leaves of its tree, in order. A node is the sum of the leaves below it and has noise of
its own, drawn when it is first needed and kept. After m releases the sum of all m cohorts is put together from few
nodes, and a release is the change of this estimate: whoever adds up the releases of an arm has the estimate itself.

    binary    one node for every 1 in the binary digits of m [CSS11; DNPR10]
    honaker   the same; a node is averaged with its two halves, weights as their variances demand [Hon15]
    kary      |d| nodes for every balanced digit d of m in base k, -(k-1)/2 <= d <= (k-1)/2; where d < 0 the nodes that
              follow are subtracted [APST25]
    hybrid    for streams of any length: one draw when m is a power of two, and a binary tree for what follows [CSS11]

A leaf is below h nodes, one on every level, so a reward is in h of them: h = floor(log2 length) + 1, or the least h
with (k^h - 1) / 2 >= length. With discrete Laplace noise of scale h / epsilon the loss is epsilon [CSS11]. Other noises
add up in squares, so sqrt(h) / epsilon hides a reward about as well as one draw of 1 / epsilon; `loss` says it exactly.
The hybrid counter spends one half on each of its parts.

**Why the k-ary counter is private**, although it needs the noise of a node before the node is full. Write a stream
of outputs as o = A x + L z: x the cohorts' sums, z the noises, L the signs of the nodes, A = L R with R[i, t] = 1
if leaf t is below node i. A policy and its users may adapt: when o is given, so is every decision, and the two worlds
x, x' differ at one leaf t, by at most 1. So o comes from z in the one world exactly when it comes from
z + R (x - x') in the other, which moves h noises by at most 1: P(o) <= e^epsilon P'(o), for every o. Noise that
was seen early is no exception, as R moves no output before t. This holds for P(o) itself, hence for pure losses. With
discrete Gaussian noise the noises given the outputs before t lie on a coset of a lattice that holds R (x - x'), and
moving a discrete Gaussian there by a vector v of it costs R(a) = a |v|^2 / (2 variance) exactly, at whole a; between
them (a - 1) R(a) is convex. No such bound is known for Skellam noise, so it is refused.

A vector of statistics has a tree for each of its numbers, with draws of its own. The two worlds then differ by u - u'
on each of h levels of all trees together: by at most l1 in sum and `square` in squares, and the noise of every node is
stretched by that norm. The same holds if u and u' are in trees of different models.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from maskedbandit.channels.channel import silence
from maskedbandit.channels.codec import Grid, encode
from maskedbandit.channels.counters import Streams, change, needed, node_width, place
from maskedbandit.channels.noisy import NoisyChannel
from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import BINARY, HONAKER, HYBRID, KARY, LAPLACE, SKELLAM, Law, epoch, steps
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.noise import Noise
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import ORDERS
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.statistics import root_above

COUNTERS = {"binary": BINARY, "honaker": HONAKER, "kary": KARY, "hybrid": HYBRID}
HIGHEST = 48  # levels of a hybrid tree, which no study fills
laplace, skellam, gaussian = DiscreteLaplace.draws, Skellam.draws, DiscreteGaussian.draws


@kernel
def draw(kind: int, scale: float, rng: np.random.Generator) -> int:
    """One draw of a noise, for the lab."""
    if kind == LAPLACE:
        return laplace(scale, 1.0, rng)
    if kind == SKELLAM:
        return skellam(scale, 1.0, rng)
    return gaussian(scale, 1.0, rng)


@dataclass(frozen=True)
class Tree(NoisyChannel):
    """Noisy running sums by a trusted server.

    **Guarantee**: all that leaves the server costs a user at most `loss(n)`; with discrete Laplace noise that is the
    pure loss `epsilon`. Other releases, and other arms, cost other users.

    `length` is the largest number of releases of one arm, which the hybrid counter need not know. `arity` is the k of
    the k-ary counter, odd, by default of the least variance at worst. `divide` stretches the noise as if so many trees
    saw every reward, which none does: [MT15, Alg. 1] divides epsilon by the number of arms. The loss is then smaller.

    >>> Tree(epsilon=0.5).loss(n=1000).epsilon(), Tree(epsilon=0.5, divide=5).loss(n=1000).epsilon()
    (0.5, 0.1)
    >>> [Tree(counter="binary", length=length).levels for length in (1, 4, 1000, 1024)], Tree(length=10**6).fan
    ([1, 3, 10, 11], 19)
    """

    trust = "central"
    sees = "server: every reward; all others: noisy running sums"

    counter: Literal["kary", "honaker", "binary", "hybrid"] = "kary"
    length: int = 2**20
    arity: int | None = None
    divide: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        assert isinstance(self.grid, Grid)
        if self.grid.fineness > 0:
            raise InvalidValue("grid", self.grid, "a number of steps: running sums are of cohorts of many sizes")
        if self.counter not in COUNTERS:
            raise InvalidValue("counter", self.counter, f"one of {', '.join(map(repr, COUNTERS))}")
        if self.noise.kind == SKELLAM and self.counter in ("kary", "hybrid"):
            raise InvalidValue("counter", self.counter, "'binary' or 'honaker' with Skellam noise")
        for name, value, most in (("length", self.length, 2**40), ("divide", self.divide, 10**6)):
            if type(value) is not int or not 1 <= value <= most:
                raise InvalidValue(name, value, f"a whole number from 1 to {most}")
        odd = type(self.arity) is int and 3 <= self.arity < 10**4 and self.arity % 2 == 1
        if self.arity is not None and not (odd and self.counter == "kary"):
            raise InvalidValue("arity", self.arity, "an odd number from 3 to 9999, of a k-ary counter")

    @cached_property
    def fan(self) -> int:
        """k of the k-ary counter, else 0; by default the variance at worst is least, h^3 (k-1) or h^2 (k-1)."""
        if self.counter != "kary" or self.arity is not None:
            return self.arity or 0
        power = 3 if self.noise.kind == LAPLACE else 2
        best, least = 0, math.inf
        for h in range(30, 0, -1):
            k = 3
            while k**h < 2 * self.length + 1 and h**power * (k - 1) < least:
                k += 2
            if h**power * (k - 1) < least:
                best, least = k, h**power * (k - 1)
        return best

    @cached_property
    def levels(self) -> int:
        """h, the number of nodes that a reward is in; of a hybrid counter, at most."""
        if self.counter == "hybrid":
            return HIGHEST
        if self.counter != "kary":
            return self.length.bit_length()
        h = 1
        while self.fan**h < 2 * self.length + 1:
            h += 1
        return h

    def node(self, levels: int) -> Noise:
        """The noise of a node, one of so many that hold a reward."""
        factor = Fraction(levels) if self.noise.kind == LAPLACE else root_above(levels)
        return self.noise.stretch(
            factor * self.noise.norm(self.statistics) * self.steps(1) * self.divide / Fraction(self.epsilon)
        )

    def numbers(self, k: int) -> Streams:
        h, half = self.levels, self.fan // 2
        merged = 0 if half else h
        return Streams(
            np.zeros(k, np.int64),
            np.zeros((k, merged), np.int64),
            np.zeros((k, merged)),
            np.zeros((k, h - merged, half), np.int64),
            np.zeros(h * max(half, 1) + 1, np.int64),
            2**HIGHEST if self.counter == "hybrid" else self.length,
        )

    def law(self) -> Law:
        first = self.node(2 if self.counter == "hybrid" else self.levels)
        scale, g = float(first.scale / self.steps(1)), self.steps(1)
        return Law(
            self.noise.kind, scale, grid=float(g), per_release=1.0, counter=COUNTERS[self.counter], arity=self.fan
        )

    @property
    def draws(self) -> Any:
        return silence  # `perturb` draws as many as it needs

    def loss(self, n: int) -> Loss:
        self.steps(n)
        return self.loss_of_one

    @cached_property
    def loss_of_one(self) -> Loss:
        """Loss by the release of a cohort of any size, and by all that follow."""
        pure, g = self.noise.kind == LAPLACE, self.steps(1)
        epsilon = Fraction(self.epsilon) / (self.divide * self.noise.scale)
        if self.counter == "hybrid":  # a tree of many nodes is no worse than one of the same pure or zCDP loss
            return 2 * Loss.pure(epsilon / 2) if pure else Loss.zcdp(epsilon**2 / 2)
        if self.counter != "kary":
            return self.levels * self.node(self.levels).loss(g, statistics=self.statistics)
        if pure:
            return Loss.pure(epsilon)
        rho = self.levels * self.statistics.square * g**2 / (2 * Fraction(self.node(self.levels).scale) ** 2)
        chords = (rho * (order + (order % 1) * (1 - order % 1) / (order - 1)) for order in ORDERS)
        return replace(Loss.zcdp(rho), curve=tuple(chords))

    def randomize(self, reward: float, n: int, bits: Bits, place: int | None = None) -> int:
        return encode(reward, self.steps(n), bits, self.statistics)

    def analyze(self, total: float, n: int, bits: Bits, kept: Any = None, arm: int = 0) -> float:
        s, law = self.numbers(arm + 1) if kept is None else kept, self.law()
        m = int(s.released[arm]) + 1
        if m > s.length:
            self.refuse(n)
        hybrid = self.counter == "hybrid"
        node = self.node((2 if place(law, m) == 0 else 2 * epoch(m)) if hybrid else self.levels)
        for i in range(needed(law, m)):
            s.fresh[i] = node.share(1, bits)
        return change(s, law, arm, int(total)) / self.steps(n)

    def refuse(self, n: int) -> None:
        raise InvalidValue("length", self.length, "the largest number of releases of one arm, which there are more of")

    @staticmethod
    @kernel
    def perturb(
        numbers: Streams, law: Law, arm: int, total: float, n: int, noise: int, rng: np.random.Generator
    ) -> float:
        m = numbers.released[arm] + 1
        if m > numbers.length:
            return math.nan
        scale, g = node_width(law, m), steps(law, n)
        for i in range(needed(law, m)):
            numbers.fresh[i] = draw(law.kind, scale * g, rng)
        return change(numbers, law, arm, int(total)) / g
