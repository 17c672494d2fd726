"""The policies of single users in plain Python, from their definitions: what each may do after all that it was told.

Nothing is kept but counts. Where floats could decide a tie either way, all sides of it are allowed.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import betaln

from maskedbandit.core import Decision
from maskedbandit.law import GAUSSIAN, RESPONSE, Law
from maskedbandit.policies.policy import Policy
from maskedbandit.theory.thresholds import c_gaussian

SLACK = 1e-9
STOP = -1  # among arms


@dataclass
class Plain:
    """Counts of one run; `allowed` of each policy is what it may do next."""

    k: int
    delta: float
    threshold: str = "proved"
    variance: float = 0.25
    beta: float = 0.5
    sums: list[float] = field(default_factory=list)
    n: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sums, self.n = [0.0] * self.k, [0] * self.k

    @property
    def t(self) -> int:
        return sum(self.n)

    def mean(self, a: int) -> float:
        return self.sums[a] / self.n[a]

    def others(self, a: int) -> list[int]:
        return [b for b in range(self.k) if b != a]

    def best(self) -> list[int]:
        return top(self.mean, range(self.k))

    def ratio(self, a: int, b: int) -> float:
        """Likelihood ratio by its definition: divergences from the pooled mean."""
        if self.mean(a) <= self.mean(b):
            return 0.0
        pooled = (self.sums[a] + self.sums[b]) / (self.n[a] + self.n[b])
        return sum(self.n[c] * divergence(self.mean(c), pooled) for c in (a, b))

    def price(self, a: int) -> float:
        s, n = self.sums[a], self.n[a]
        entropy = sum(-x * math.log(x / n) for x in (s, n - s) if x > 0)
        return float(math.log(math.pi) - entropy - betaln(s + 0.5, n - s + 0.5))

    def needed(self, a: int, b: int) -> float:
        if self.threshold == "heuristic":
            return math.log((1 + math.log(self.t)) / self.delta)
        if self.threshold == "published":
            return math.log(2 * self.t * (self.k - 1) / self.delta)
        return math.log((self.k - 1) / self.delta) + self.price(a) + self.price(b)

    def verdicts(self, statistic: Callable[[int, int], float]) -> set[bool]:
        """Whether it may stop, whether it may go on."""
        a = self.best()[0]
        excess = min(statistic(a, b) - self.needed(a, b) for b in self.others(a))
        return {excess >= 0, excess >= SLACK, excess >= -SLACK}

    def pulled(self, arm: int, s: Any) -> None:
        """It asked for this arm, and then its state was s."""


def divergence(p: float, q: float) -> float:
    return sum(x * math.log(x / y) for x, y in ((p, q), (1 - p, 1 - q)) if x > 0)


def top(value: Callable[[int], float], arms: Iterable[int]) -> list[int]:
    """All arms of the highest value."""
    values = {a: value(a) for a in arms}
    return [a for a in values if values[a] >= max(values.values()) - SLACK * max(1.0, abs(max(values.values())))]


class PlainUniform(Plain):
    def allowed(self) -> set[int]:
        may = self.verdicts(self.ratio)
        return ({STOP} if True in may else set()) | ({self.t % self.k} if False in may else set())


class PlainLeaders(Plain):
    """Leaders and challengers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.led, self.own = [0] * self.k, [0] * self.k
        self.leader: dict[int, set[int]] = {}

    def leaders(self) -> list[int]:
        return self.best()

    def statistic(self, a: int, b: int) -> float:
        return self.ratio(a, b)

    def cost(self, a: int, b: int) -> float:
        return self.ratio(a, b) + math.log(self.n[b])

    def allowed(self) -> set[int]:
        may, self.leader = self.verdicts(self.statistic), {}
        for a in self.leaders():
            mine = self.own[a] <= self.beta * (self.led[a] + 1)
            for arm in [a] if mine else top(lambda b, a=a: -self.cost(a, b), self.others(a)):
                self.leader.setdefault(arm, set()).add(a)
        return ({STOP} if True in may else set()) | (set(self.leader) if False in may else set())

    def pulled(self, arm: int, s: Any) -> None:
        if self.t >= self.k:
            change = s.turns.led - self.led  # with ties the arm alone may not tell who led
            leader = int(change.argmax())
            assert leader in self.leader[arm], f"arm {leader} led, and may not"
            assert change.sum() == change.max() == 1, "another arm led, and may not"
            self.led[leader] += 1
            self.own[leader] += arm == leader


class PlainTTUCB(PlainLeaders):
    def statistic(self, a: int, b: int) -> float:
        gap = max(0.0, self.mean(a) - self.mean(b))
        return gap**2 / (2 * self.variance * (1 / self.n[a] + 1 / self.n[b]))

    def needed(self, a: int, b: int) -> float:
        if self.threshold == "heuristic":
            return super().needed(a, b)
        grown = 4 * math.log(4 + math.log(self.t / 2))
        return 2 * c_gaussian(math.log((self.k - 1) / self.delta) / 2) + grown

    def leaders(self) -> list[int]:
        bonus = 2 * math.sqrt(self.variance * math.log(self.t + 1))
        return top(lambda a: self.mean(a) + bonus / math.sqrt(self.n[a]), range(self.k))

    def cost(self, a: int, b: int) -> float:
        return self.statistic(a, b)


def root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that rises is zero, by bisection."""
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return high


def best_proportions(means: list[float]) -> np.ndarray:
    """w* by its definition [GK16]: all costs are equal, and a certain sum is 1."""
    best, second = sorted(range(len(means)), key=lambda a: -means[a])[:2]
    others = [a for a in range(len(means)) if a != best]

    def meet(a: int, v: float) -> float:
        return (means[best] + v * means[a]) / (1 + v)

    def cost(a: int, v: float) -> float:
        return divergence(means[best], meet(a, v)) + v * divergence(means[a], meet(a, v))

    def ratios(log_v: float) -> dict[int, float]:
        y = cost(second, math.exp(log_v))
        return {a: math.exp(root(lambda u, a=a: cost(a, math.exp(u)) - y, -20, log_v + 1e-9)) for a in others}

    def excess(log_v: float) -> float:
        pairs = ((v, a) for a, v in ratios(log_v).items())
        return sum(divergence(means[best], meet(a, v)) / divergence(means[a], meet(a, v)) for v, a in pairs) - 1

    w = np.ones(len(means))
    for a, v in ratios(root(excess, -15, 15)).items():
        w[a] = v
    return w / w.sum()


class PlainTracking(Plain):
    cumulative = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.due = np.zeros(self.k)

    def allowed(self) -> set[int]:
        may = self.verdicts(self.ratio)
        go: set[int] = set()
        if False in may:
            go = set(self.best()) if len(self.best()) > 1 else self.behind()
        return ({STOP} if True in may else set()) | go

    def behind(self) -> set[int]:
        least = min(self.n)
        if not self.cumulative and least < math.sqrt(self.t) - self.k / 2:
            return {a for a in range(self.k) if self.n[a] == least}
        w = best_proportions([min(max(self.mean(a), 1e-12), 1 - 1e-12) for a in range(self.k)])
        if self.cumulative:
            floor = 1 / (2 * math.sqrt(self.k**2 + self.t))
            paid = root(lambda c: 1 - np.maximum(w - c, floor).sum(), 0, 1)
            self.due += np.maximum(w - paid, floor)
        else:
            self.due = self.t * w
        lag = self.due - np.array(self.n)
        return {a for a in range(self.k) if lag[a] >= lag.max() - 1e-5}


class PlainCumulative(PlainTracking):
    cumulative = True


class PlainElimination(Plain):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.left, self.queue = list(range(self.k)), []

    def allowed(self) -> set[int]:
        if not self.queue:
            a = self.best_left()
            self.left = [b for b in self.left if b == a or not self.worse(a, b)]
            self.queue = list(self.left)
        return {STOP} if len(self.left) == 1 else {self.queue[0]}

    def pulled(self, arm: int, s: Any) -> None:
        if self.t >= self.k:
            self.queue.pop(0)

    def best_left(self) -> int:
        return max(self.left, key=self.mean)

    def worse(self, a: int, b: int) -> bool:
        if self.threshold == "published":
            t = self.n[a]
            return self.mean(a) - self.mean(b) >= 2 * math.sqrt(math.log(5 * self.k * t**2 / self.delta) / t)
        return self.ratio(a, b) >= self.needed(a, b)


def check_replay(policy: Policy, plain: Plain, law: Law, means: tuple[float, ...], seed: int, most: int = 1500) -> int:
    """Every decision is one that the plain program allows, for all users until it stops; how many they are.

    Rewards are bits, or what randomized response or Gaussian noise make of them.
    """
    rng, own = (np.random.Generator(np.random.PCG64([seed, purpose])) for purpose in range(2))
    s = policy.init(plain.k, plain.delta)
    for t in range(most):
        decision = policy.ask(s, law, own)
        allowed = {t} if t < plain.k else plain.allowed()
        if decision.n == 0:
            assert STOP in allowed, f"it stops after {t} users, and may not"
            assert decision.arm in plain.best(), "it answers with another arm than the best"
            assert policy.ask(s, law, own) == decision, "it stopped, and then changed its answer"
            return t
        assert decision == Decision(decision.arm, 1, 1)
        assert decision.arm in allowed, f"user {t} gets arm {decision.arm}, not one of {allowed}"
        arm = decision.arm
        plain.pulled(arm, s)
        x = float(rng.random() < means[arm])
        if law.kind == RESPONSE:
            x = 1 - x if rng.random() < law.flip else x
        elif law.kind == GAUSSIAN:
            x += round(rng.normal(0, law.scale))
        plain.sums[arm] += x
        plain.n[arm] += 1
        policy.tell(s, arm, 1, (x - law.flip) / (1 - 2 * law.flip) if law.kind == RESPONSE else x)
    return most
