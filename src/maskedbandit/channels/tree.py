"""Central trust, running sums: a trusted server adds noise to the nodes of a tree, and releases every sum so far.

The cohorts of an arm are the leaves of its tree, in order. A node is the sum of the leaves below it and has noise of
its own, drawn when it is first needed and kept. After m releases the sum of all m cohorts is put together from few
nodes, and a release is the change of this estimate: whoever adds up the releases of an arm has the estimate itself.

* `binary`: one node for every 1 in the binary digits of m [CSS11; DNPR10];
* `honaker`: the same; a node is averaged with its two halves, weights as their variances demand [Hon15];
* `kary`: |d| nodes for every balanced digit d of m in base k, |d| ≤ (k − 1)/2; where d < 0 the nodes that follow are
  subtracted [APST25];
* `hybrid`: for streams of any length, one draw when m is a power of two, and a binary tree for what follows [CSS11];
* `root`, `endless`: no tree, but one draw for each release, with weights that fall off slowly: see toeplitz.py.

A leaf is below h nodes, one on every level, so a reward is in h of them: h = floor(log2 length) + 1, or the least h
with (k^h − 1) / 2 ≥ length. With discrete Laplace noise of scale h / ε the loss is ε [CSS11]. Other noises add up in
squares, so √h / ε hides a reward about as well as one draw of 1 / ε; `loss` says it exactly. The hybrid counter spends
one half on each of its parts.

**Why the k-ary counter is private**, although it needs the noise of a node before the node is full. Write a stream of
outputs as o = A x + L z: x the cohorts' sums, z the noises, L the signs of the nodes, A = L R with R[i, t] = 1 if leaf
t is below node i. A policy and its users may adapt: when o is given, so is every decision, and the two worlds x, x'
differ at one leaf t, by at most 1. So o comes from z in the one world exactly when it comes from z + R (x − x') in the
other, which moves h noises by at most 1: P(o) ≤ e^ε P'(o), for every o. Noise that was seen early is no exception, as R
moves no output before t. This holds for P(o) itself, hence for pure losses. With discrete Gaussian noise the noises
given the outputs before t lie on a coset of a lattice that holds R (x − x'), and moving a discrete Gaussian there by a
vector v of it costs R(a) = a |v|² / (2 variance) exactly, at whole a; between them (a − 1) R(a) is convex. A noise says
so itself, by its `joint_loss`; one that does not is refused. The hybrid counter needs `joint_loss` too, as its trees
have more and more nodes. Under the other two every node is full before its noise is used, so the losses of the nodes
add up, whatever the noise.

**Why a factorization is private.** Its outputs are made of y = C x + z, where z has one draw for each release and C x
is whole. Given y_1, ..., y_{m−1} both worlds have the same decisions, so that C x − C x' is at most column t of C,
whatever was seen; and y_m is an integer plus a draw that is independent of all before. So the losses of these draws add
up, adaptively: under discrete Gaussian noise to Σ_m C_mt² / (2 variance). Other noises cost the sum of the C_mt, which
grows like the root of the length, and are refused.

A vector of statistics has a tree for each of its numbers, with draws of its own. The two worlds then differ by u − u'
on each of h levels of all trees together: by at most l1 in sum and `square` in squares, and the noise of every node is
stretched by that norm. The same holds if u and u' are in trees of different models.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from maskedbandit.channels.channel import check_answers, check_cohort_size, no_draw, whole_steps
from maskedbandit.channels.codec import Grid, encode_reward
from maskedbandit.channels.counters import CounterStreams, compute_change, count_new_nodes, leaf_of, node_width
from maskedbandit.channels.noisy import NoisyChannel
from maskedbandit.channels.offers import NoiseShare, Offer
from maskedbandit.core import Integers, Kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import BINARY, ENDLESS, HONAKER, HYBRID, KARY, ROOT, Law, count_steps, hybrid_epoch
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.noise import Noise
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits
from maskedbandit.toeplitz import ENDLESS_SQUARE, MOST_RELEASES, WHOLE_WEIGHT, count_weights

COUNTERS = {"binary": BINARY, "honaker": HONAKER, "kary": KARY, "hybrid": HYBRID}
FACTORIZATIONS = {"root": ROOT, "endless": ENDLESS}
LARGEST_SUM = 2**62  # of an arm's cohorts, weighted: with noise, which is far less, it fits into 64 bits
HIGHEST = 48  # levels of a hybrid tree, which no study fills


class Length(NamedTuple):
    """The parameters of a tree."""

    length: int  # the largest number of releases of a stream


@cache
def perturbed_with(draws: Any) -> Kernel[Any, float]:
    """`perturb` of a tree whose nodes have the noise of this kernel: a release needs several draws, or none."""

    def perturb(
        parameters: Length,
        memory: CounterStreams,
        law: Law,
        stream: int,
        total: float,
        n: int,
        noise: int,
        rng: np.random.Generator,
    ) -> float:
        m = memory.released[stream] + 1
        if m > parameters.length:
            return math.nan
        scale, g = node_width(law, m), count_steps(law, n)
        for i in range(count_new_nodes(law, m)):
            memory.fresh[i] = draws(scale * g, 1.0, rng)
        return compute_change(memory, law, stream, int(total)) / g

    return Kernel(perturb)


@dataclass(frozen=True)
class Tree(NoisyChannel):
    """Noisy running sums by a trusted server.

    **Guarantee**: everything that leaves the server costs a user at most `loss(n)`; with discrete Laplace noise that is
    the pure loss `epsilon`. Other releases, and other arms, cost other users.

    `length` is the largest number of releases of one arm, which the hybrid counter need not know. `arity` is the k of
    the k-ary counter, odd, by default of the least variance at worst; `bands` are those of 1 / C of a root counter, by
    default all. The noise of an endless counter does not depend on `length`, only the room that is kept. `divide`
    stretches the noise as if so many trees saw every reward, which none does: [MT15, Alg. 1] divides ε by the number of
    arms. The loss is then smaller.

    >>> Tree(epsilon=0.5).loss(n=1000).epsilon(), Tree(epsilon=0.5, divide=5).loss(n=1000).epsilon()
    (0.5, 0.1)
    >>> [Tree(counter="binary", length=length).levels for length in (1, 4, 1000, 1024)], Tree(length=10**6).fan
    ([1, 3, 10, 11], 19)
    """

    trust = "central"
    sees = "server: every reward; all others: noisy running sums"

    counter: Literal["kary", "honaker", "binary", "hybrid", "root", "endless"] = "kary"
    length: int = 2**20
    arity: int | None = None
    bands: int | None = None
    divide: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        assert isinstance(self.grid, Grid)
        if self.grid.fineness > 0:
            raise InvalidValue("grid", self.grid, "a number of steps: running sums are of cohorts of many sizes")
        if self.counter not in COUNTERS | FACTORIZATIONS:
            raise InvalidValue("counter", self.counter, f"one of {', '.join(map(repr, COUNTERS | FACTORIZATIONS))}")
        longest = MOST_RELEASES if self.is_factored else 2**40
        for name, value, most in (("length", self.length, longest), ("divide", self.divide, 10**6)):
            if type(value) is not int or not 1 <= value <= most:
                raise InvalidValue(name, value, f"a whole number from 1 to {most} with counter {self.counter!r}")
        if self.is_factored and not isinstance(self.noise, DiscreteGaussian):
            raise InvalidValue("noise", self.noise, f"DiscreteGaussian() with counter {self.counter!r}")
        banded = self.counter == "root" and type(self.bands) is int and 2 <= self.bands <= self.length
        if self.bands is not None and not banded:
            raise InvalidValue("bands", self.bands, "a whole number from 2 to `length`, of a root counter")
        odd = type(self.arity) is int and 3 <= self.arity < 10**4 and self.arity % 2 == 1
        if self.arity is not None and not (odd and self.counter == "kary"):
            raise InvalidValue("arity", self.arity, "an odd number from 3 to 9999, of a k-ary counter")
        if self.counter in ("kary", "hybrid"):
            try:
                self.noise.joint_loss(Fraction(1), Fraction(1), early=True)
            except InvalidValue as wrong:
                allowed = f"'binary' or 'honaker' with {type(self.noise).__name__}, whose joint loss is not proved"
                raise InvalidValue("counter", self.counter, allowed) from wrong

    @property
    def is_factored(self) -> bool:
        """Whether running sums come from a factorization, and not from a tree."""
        return self.counter in FACTORIZATIONS

    @cached_property
    def weights(self) -> Integers:
        """Of a factorization, one for each release."""
        if not self.is_factored:
            return np.zeros(0, np.int64)
        return count_weights(self.length, (self.bands or self.length) if self.counter == "root" else 0)

    @cached_property
    def fan(self) -> int:
        """k of the k-ary counter, else 0; by default the variance at worst is least, h^3 (k-1) or h^2 (k-1)."""
        if self.counter != "kary" or self.arity is not None:
            return self.arity or 0
        best, least = 0, math.inf
        for h in range(30, 0, -1):
            k, cost = 3, h * round(self.noise.norm_of_levels(h) ** 2)  # whole, except for a root that was rounded up
            while k**h < 2 * self.length + 1 and cost * (k - 1) < least:
                k += 2
            if cost * (k - 1) < least:
                best, least = k, cost * (k - 1)
        return best

    @cached_property
    def levels(self) -> int:
        """h, the number of nodes that a reward is in, of a hybrid counter at most; or the squares of its weights."""
        if self.counter == "endless":
            return math.ceil(ENDLESS_SQUARE * WHOLE_WEIGHT**2)
        if self.counter == "root":
            return sum(weight * weight for weight in self.weights.tolist())
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
        factor = self.noise.norm_of_levels(levels) * self.noise.norm(self.statistics)
        return self.noise.stretch(factor * self.steps(1) * self.divide / Fraction(self.epsilon))

    def parameters(self) -> Length:
        return Length(2**HIGHEST if self.counter == "hybrid" else self.length)

    def memory(self, k: int) -> CounterStreams:
        h, half = 0 if self.is_factored else self.levels, self.fan // 2
        merged = self.length if self.is_factored else (0 if half else h)
        return CounterStreams(
            np.zeros(k, np.int64),
            np.zeros((k, merged), np.int64),
            np.zeros((k, merged)),
            np.zeros((k, h if half else 0, half), np.int64),
            np.zeros(h * max(half, 1) + 1, np.int64),
            self.weights.copy(),
        )

    def law(self) -> Law:
        first = self.node(2 if self.counter == "hybrid" else self.levels)
        g = self.steps(1)
        scale = float(first.scale / g / (WHOLE_WEIGHT if self.is_factored else 1))
        return Law(
            self.noise.kind,
            scale,
            grid=float(g),
            per_release=1.0,
            counter=(COUNTERS | FACTORIZATIONS)[self.counter],
            arity=(self.bands or self.length) if self.counter == "root" else self.fan,
            variance=self.noise.variance,
            tail=self.noise.tail,
        )

    draws = no_draw  # `perturb` draws as many as it needs

    @property
    def perturb(self) -> Any:
        return perturbed_with(self.noise.draws)

    def loss(self, n: int) -> Loss:
        self.steps(n)
        return self.loss_of_one

    @cached_property
    def loss_of_one(self) -> Loss:
        """The loss by the release of a cohort of any size, and by all later ones."""
        g, h = self.steps(1), self.levels
        if self.counter == "hybrid":  # two parts, each of which has half of one draw's budget, however many its nodes
            one, half = self.noise.stretch(self.divide / Fraction(self.epsilon)), Fraction(1, 2)
            return 2 * one.joint_loss(half, half, early=False)
        if self.counter == "kary":
            return self.node(h).joint_loss(h * self.statistics.l1 * g, h * self.statistics.square * g**2, early=True)
        if self.is_factored:
            move = h * self.statistics.square * g**2
            return self.node(h).joint_loss(move, move, early=False)
        return h * self.node(h).loss(g, statistics=self.statistics)

    def offer(self, n: int, modulus: int = 0) -> Offer:
        node = self.node(2 if self.counter == "hybrid" else self.levels)
        noise = NoiseShare(type(node).__name__, node.scale, 1)
        return replace(super().offer(n), noise=noise).also(divide=self.divide, levels=self.levels)

    def randomize(self, reward: float, offer: Offer, bits: Bits) -> int:
        return encode_reward(reward, self.steps(offer.n), bits, self.statistics)

    def analyze(
        self, total: float, offer: Offer, bits: Bits, memory: Any = None, stream: int = 0, *, answers: int
    ) -> float:
        s, law = self.memory(stream + 1) if memory is None else memory, self.law()
        self.check_size(offer.n, s, stream)
        check_answers(answers, offer.n)
        m, hybrid = int(s.released[stream]) + 1, self.counter == "hybrid"
        node = self.node((2 if leaf_of(law, m) == 0 else 2 * hybrid_epoch(m)) if hybrid else self.levels)
        for i in range(count_new_nodes(law, m)):
            s.fresh[i] = node.noise_share(1, bits)
        return float(compute_change(s, law, stream, whole_steps(total)) / self.steps(offer.n))

    def check_size(self, n: int, memory: Any = None, stream: int | None = None) -> None:
        check_cohort_size(n)
        if self.is_factored and int(n) * self.steps(1) * int(self.weights.sum()) >= LARGEST_SUM:
            raise InvalidValue("n", n, "smaller on this grid: weighted sums of so many would not fit into 64 bits")
        if memory is not None:
            released = memory.released.max() if stream is None else memory.released[stream]
            if released >= self.parameters().length:
                allowed = "the largest number of releases of one arm, of which there are more"
                raise InvalidValue("length", self.length, allowed)
