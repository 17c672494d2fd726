"""The loss of running sums on trees, enumerated: all noises of a few releases, and the views that they give.

A large tree has too many views. A small one has the same code, and as many nodes above a reward as its releases need;
its loss is stated for its own size. Noises beyond a window are left out. Of a Honaker counter several noises give the
same view, so that rare views seem rarer than they are: there epsilon is large, as then the window misses little; rare
views are left out; and the remaining error is subtracted.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from maskedbandit.channels.counters import compute_change, count_new_nodes, leaf_of
from maskedbandit.channels.tree import Tree
from maskedbandit.law import Law, hybrid_epoch
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.noise import Noise
from maskedbandit.reports.audit.audit import AuditPart, AuditPromise, BrokenTwin, breaks_promise
from maskedbandit.reports.audit.bounds import largest_ratio, trade_off

TreeView = tuple[float, ...]
Adversary = Callable[[TreeView, int, int], int]  # what was seen, number of the release, world -> its sum
# releases, farthest noise, and how rare a view may be where several combinations of noises give the same one
SMALL_TREES = {"binary": (3, 4, 0.0), "honaker": (3, 5, 0.01), "kary": (4, 4, 0.0), "hybrid": (4, 3, 0.0)}
LARGE_EPSILON, WINDOW_ERROR = 2, 2e-3  # where views are left out


def first_user(view: TreeView, m: int, world: int) -> int:
    """The worlds differ in the first user, who is below most nodes of a tree."""
    return int(m == 1 and world == 1)


def third_user(view: TreeView, m: int, world: int) -> int:
    """In a hybrid counter, under a leaf of the first tree and under the draw that closes it."""
    return int(m == 3 and world == 1)


WORST: dict[str, Adversary] = {"binary": first_user, "honaker": first_user, "kary": first_user, "hybrid": third_user}


def node_of(channel: Tree, m: int) -> Noise:
    """The noise of the nodes that a release is the first to need."""
    if channel.counter == "hybrid":
        return channel.node(2 if leaf_of(channel.law(), m) == 0 else 2 * hybrid_epoch(m))
    return channel.node(channel.levels)


def views(
    channel: Tree,
    adversary: Adversary,
    world: int,
    length: int,
    far: int,
    step: Any = compute_change,
    count: Callable[[Law, int], int] = count_new_nodes,
    known: int = 0,
) -> dict[TreeView, float]:
    """P(view) over all noises of at most `far` steps, but for a constant; the first `known` noises are 0."""
    law, found = channel.law(), dict[TreeView, float]()
    counts = [count(law, m) for m in range(1, length + 1)]
    rates = [float(1 / node_of(channel, m).scale) for m in range(1, length + 1)]

    def follow(before: Any, m: int, weight: float, view: TreeView) -> None:
        if m > length:
            found[view] = found.get(view, 0.0) + weight
            return
        used, n, value = sum(counts[: m - 1]), counts[m - 1], adversary(view, m, world)
        for noises in product(*[range(-far, far + 1) if used + i >= known else (0,) for i in range(n)]):
            s = type(before)(*(part.copy() for part in before))
            s.fresh[:n] = noises
            chance = weight * math.exp(-rates[m - 1] * sum(map(abs, noises)))
            follow(s, m + 1, chance, (*view, round(step(s, law, 0, value), 9)))

    follow(channel.memory(1), 1, 1.0, ())
    return found


def seen_twice(
    channel: Tree, adversary: Adversary, length: int, far: int, core: float = 0.0, **how: Any
) -> tuple[Any, Any]:
    """P of the views of both worlds; of views that are rarer than `core`, parts lie beyond the noises enumerated."""
    a, b = (views(channel, adversary, world, length, far, **how) for world in (0, 1))
    least = max(a.values()) * core
    both = [view for view in a if view in b and min(a[view], b[view]) > least]
    return np.array([a[view] for view in both]), np.array([b[view] for view in both])


class FewerLevels(Tree):
    """A broken twin: noise for half of the levels."""

    def node(self, levels: int) -> Noise:
        return super().node(max(levels // 2, 1))


def tree_part(channel: Tree) -> tuple[AuditPart | None, str]:
    """The releases of a small tree of this kind, enumerated; or why not."""
    if not isinstance(channel.noise, DiscreteLaplace) or channel.steps(1) != 1 or channel.divide != 1:
        return None, "running sums: views are enumerated with discrete Laplace noise on rewards of one step"
    length, far, core = SMALL_TREES[channel.counter]
    epsilon = LARGE_EPSILON if core else channel.epsilon
    small = replace(channel, epsilon=epsilon, length=length, arity=3 if channel.counter == "kary" else None)
    broken = {
        "half of the noise": replace(small, epsilon=2 * Fraction(small.epsilon)),
        "noise for half of the levels": FewerLevels(**{name: getattr(small, name) for name in TREE_FIELDS}),
    }
    adversary, promise = WORST[channel.counter], AuditPromise(small.loss(1).epsilon())
    pair = seen_twice(small, adversary, length, far, core)
    pairs = {name: seen_twice(each, adversary, length, far, core) for name, each in broken.items()}
    shown = {name: largest_ratio(*each) for name, each in {"": pair, **pairs}.items()}
    found = shown.pop("") - (WINDOW_ERROR if core else 0.0)
    controls = tuple(BrokenTwin(name, each, breaks_promise(each, promise, "exact")) for name, each in shown.items())
    name = f"{length} releases of a {channel.counter} counter at ε = {float(epsilon):g}"
    p, q = (mass / mass.sum() for mass in pair)
    twin = tuple(mass / mass.sum() for mass in pairs["half of the noise"])
    curve, twin_curve = trade_off(p, q), trade_off(*twin)
    return AuditPart(name, promise, "exact", found, controls, curve=curve, twin_curve=twin_curve), ""


TREE_FIELDS = ("epsilon", "noise", "grid", "counter", "length", "arity")
