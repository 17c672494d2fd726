"""AdaP-TT, AdaP-TT* and DP-TT as their papers print them: plain, slow, and written without a look at the policies.

`play` drives a policy by the same rewards and the same noise, and holds every pull against the printed steps.
"""

import math
from collections import defaultdict

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import lambertw, zeta

from maskedbandit.core import WAIT
from maskedbandit.law import Law
from maskedbandit.policies.parts.phases import BEST
from maskedbandit.policies.policy import Policy

MOST = 20_000


def w_bar(x: float) -> float:
    """The larger root of y - ln y = x, for x that are neither near 1 nor large."""
    return float(-lambertw(-math.exp(-x), -1).real)


def c_gaussian(x: float) -> float:
    """C_G by a bounded search."""

    def g(u: float) -> float:
        return 2 * u - 2 * u * math.log(4 * u) + math.log(zeta(2 * u)) - 0.5 * math.log(1 - u)

    found = minimize_scalar(lambda u: (g(u) + x) / u, bounds=(0.5 + 1e-9, 1 - 1e-9), options={"xatol": 1e-12})
    return float(found.fun)


class AdaPTT:
    """State and steps of the printed AdaP-TT; `at` counts users, so the printed n is at + 1."""

    def __init__(self, arms: int, epsilon: float, delta: float, fraction: float) -> None:
        self.arms, self.epsilon, self.delta, self.fraction = range(arms), epsilon, delta, fraction
        self.users, self.began = [1] * arms, [1] * arms  # N_n and N at T_k
        self.rewards: dict[tuple[int, int], list[float]] = defaultdict(list)  # by arm and phase
        self.k, self.size, self.noisy = [1] * arms, [1] * arms, [0.0] * arms
        self.led, self.own = [0] * arms, [0] * arms
        self.thresholds: dict[tuple[int, ...], float] = {}
        self.favourite, self.noise = 0, [0.0] * arms  # the latter of all phases, for DP-TT

    def switch(self, a: int, noise: float) -> None:
        """The phase of arm a is over: its mean alone counts from now on."""
        self.size[a] = self.users[a] - self.began[a]
        rewards = self.rewards[a, self.k[a]]
        assert len(rewards) == self.size[a]
        self.k[a] += 1
        self.began[a] = self.users[a]
        self.noisy[a] = sum(rewards) / self.size[a] + noise / self.size[a]

    def cost(self, gap: float) -> float:
        return max(gap, 0.0) ** 2

    def w(self, a: int, b: int, counts: list[int]) -> float:
        return self.cost(self.noisy[a] - self.noisy[b]) / (2 * 0.25 * (1 / counts[a] + 1 / counts[b]))

    def g(self, a: int, b: int, d: float) -> float:
        """c^G of the pair at confidence d."""
        rest = 2 * math.log(4 + math.log(self.size[a])) + 2 * math.log(4 + math.log(self.size[b]))
        return 2 * c_gaussian(0.5 * math.log((len(self.arms) - 1) / d)) + rest

    def spent(self, a: int) -> float:
        """zeta(2) k(x)^2."""
        return zeta(2) * (math.log2(self.size[a]) + 2) ** 2

    def squared(self, a: int, b: int, delta: float) -> float:
        """c of AdaP-TT."""
        noise = sum(math.log(2 * len(self.arms) * self.spent(c) / delta) ** 2 / self.size[c] for c in (a, b))
        rewards = self.g(a, b, delta / (2 * self.spent(a) * self.spent(b)))
        return 2 * rewards + noise / (self.epsilon**2 * 0.25)

    def threshold(self, a: int, b: int) -> float:
        return self.squared(a, b, self.delta)

    def passes(self, a: int, b: int) -> bool:
        key = (a, b, *self.size, int(self.far(a, b)))
        if key not in self.thresholds:
            self.thresholds[key] = self.threshold(a, b)
        return self.w(a, b, self.size) >= self.thresholds[key]

    def far(self, a: int, b: int) -> bool:
        return False

    def best(self) -> int:
        """The arm of the highest mean; of several, the one that the policy took."""
        return self.favourite if self.noisy[self.favourite] == max(self.noisy) else int(np.argmax(self.noisy))

    def sure(self) -> bool:
        return all(self.passes(self.best(), b) for b in self.arms if b != self.best())

    def leader(self) -> int:
        bonus = [math.sqrt(k / n) + k / (self.epsilon * n) for k, n in zip(self.k, self.size, strict=True)]
        return int(np.argmax(np.array(self.noisy) + bonus))

    def price(self, b: int, a: int) -> float:
        return self.w(b, a, self.users)

    def challengers(self, leader: int) -> set[int]:
        """Whoever is not behind its fraction, the arms of the least cost."""
        others = [a for a in self.arms if a != leader]
        unsure = {
            a for b in self.arms if b != self.best() and not self.passes(self.best(), b) for a in (b, self.best())
        }
        floor = self.fraction * sum(self.users) / len(self.arms)
        behind = [a for a in others if self.users[a] < floor * (1 if a in unsure else 1 / 4)]
        if behind:
            return {a for a in behind if self.users[a] == min(self.users[c] for c in behind)}
        costs = {a: self.price(leader, a) for a in others}
        return {a for a in others if costs[a] <= min(costs.values()) * (1 + 1e-9)}

    def choices(self) -> set[int]:
        """The arms that may be pulled now."""
        b = self.leader()
        self.led[b] += 1
        if self.own[b] <= self.led[b] / 2:
            return {b}
        return self.challengers(b)

    def pulled(self, a: int, reward: float) -> bool:
        """Count a pull; whether the phase is over."""
        b = self.leader()
        self.own[b] += a == b
        self.rewards[a, self.k[a]].append(reward)
        self.users[a] += 1
        return self.users[a] >= 2 * self.began[a]


class AdaPTTStar(AdaPTT):
    """The same with costs that are linear from 3 epsilon on."""

    def cost(self, gap: float) -> float:
        return max(gap, 0.0) * min(3 * self.epsilon, max(gap, 0.0))

    def far(self, a: int, b: int) -> bool:
        return self.noisy[a] - self.noisy[b] >= 3 * self.epsilon

    def h(self, a: int) -> float:
        term = 3 * len(self.arms) * self.spent(a) / self.delta
        return 0.5 * w_bar(2 * math.log(term) + 4 * math.log(4 + math.log(self.size[a])) + 0.5)

    def threshold(self, a: int, b: int) -> float:
        sigma, logs = 0.5, [math.log(3 * len(self.arms) * self.spent(c) / self.delta) for c in (a, b)]
        if self.far(a, b):
            roots = math.sqrt(self.size[a] * self.h(a)) + math.sqrt(self.size[b] * self.h(b))
            return 3 / sigma**2 * max(logs) + 3 * self.epsilon / (math.sqrt(2) * sigma) * roots
        cross = sum(math.sqrt(self.h(c) / self.size[c]) * log for c, log in zip((a, b), logs, strict=True))
        return self.squared(a, b, 2 * self.delta / 3) / 2 + math.sqrt(2) / (self.epsilon * sigma) * cross


class DPTT(AdaPTT):
    """DP-TT for eta = 1, with the closed form of the threshold and costs by a search."""

    def switch(self, a: int, noise: float) -> None:
        self.k[a] += 1
        self.size[a] = self.began[a] = self.users[a]
        self.noise[a] += noise
        rewards = [x for phase in range(self.k[a]) for x in self.rewards[a, phase]]
        assert len(rewards) == self.size[a]
        self.noisy[a] = min(max((sum(rewards) + self.noise[a]) / self.size[a], 0.0), 1.0)

    def w(self, a: int, b: int, counts: list[int]) -> float:
        m, v, epsilon = self.noisy[a], self.noisy[b], self.epsilon
        if m <= v:
            return 0.0

        def d(mu: float, x: float) -> float:
            """d^+ as the highest of -lam mu - ln(1 - x + x e^-lam) over [0, epsilon]."""
            odds = (x * (1 - mu)) / (mu * (1 - x)) if mu > 0 and x < 1 else math.inf
            lam = min(epsilon, math.log(odds)) if odds > 1 else 0.0
            return -lam * mu - math.log(1 - x + x * math.exp(-lam))

        def both(x: float) -> float:
            return counts[a] * d(1 - m, 1 - x) + counts[b] * d(v, x)

        return float(minimize_scalar(both, bounds=(v, m), options={"xatol": 1e-12}).fun)

    def c(self, a: int) -> float:
        k = self.k[a]
        term = math.log(len(self.arms) * zeta(2) * k**2 / self.delta)
        return min(k * w_bar(1 + term / k), term + k + k * math.log(1 + self.epsilon * self.size[a] / k))

    def threshold(self, a: int, b: int) -> float:
        return self.c(a) + self.c(b)

    def leader(self) -> int:
        return self.best()

    def price(self, b: int, a: int) -> float:
        return self.w(b, a, self.users) + math.log(self.users[a])


def play(policy: Policy, paper: AdaPTT, law: Law, means: tuple[float, ...], seed: int, most: int = MOST) -> list[int]:
    """Users of each arm until the policy stops, or so many; every pull and the stop are those of the paper's program.

    Noise is continuous, so that two costs are equal only where both are 0; there the policy may take either arm.
    """
    rng, own = (np.random.Generator(np.random.PCG64([seed, purpose])) for purpose in range(2))
    k, s = len(means), policy.init(len(means), paper.delta)
    open_users, open_total, pulls = [0] * k, [0.0] * k, [0] * k
    while sum(pulls) < most:
        arm, n, close = policy.ask(s, law, own)
        paper.favourite = int(s.phases.clock[BEST])
        assert (arm, n, close) != WAIT
        if n == 0:
            assert paper.sure()
            assert arm == paper.best()
            return pulls
        reward = float(rng.random() < means[arm])
        open_users[arm], open_total[arm], pulls[arm] = open_users[arm] + 1, open_total[arm] + reward, pulls[arm] + 1
        if sum(pulls) <= k:
            paper.rewards[arm, 0].append(reward)
            over = True
            paper.began[arm] = 0
            paper.k[arm] = 0
        else:
            assert not paper.sure()
            assert arm in paper.choices()
            over = paper.pulled(arm, reward)
        assert close == over
        if over:
            noise = rng.laplace(0, 1 / paper.epsilon)
            paper.switch(arm, noise)
            policy.tell(s, arm, open_users[arm], open_total[arm] + noise)
            open_users[arm], open_total[arm] = 0, 0.0
    return pulls
