"""Replay: what a policy would have earned, from the log of another one [LCLW11].

A log tells of every visit what was shown, how it was paid, and the chance 1/w with which it was shown. The policy is
asked what it would have shown; where that is what the log shows, the visit is taken with probability c w, c the
least chance in the log, and the policy learns from it. So every visit is taken with probability c, whatever the policy
would have shown: what the policy lives through has the law of a real run, if visits are independent of one another,
and its mean reward is that of a real run [LCLW11, Thm. 1]. If all arms are as likely in pools of one size,
every match is taken. Two estimates use all matches, with their weights:

    inverse propensity   V = sum w r / N,             variance (sum w^2 r^2 / N - V^2) / N
    self-normalised      V = sum w r / sum w,         variance sum w^2 (r - V)^2 / (sum w)^2

for N visits, w = 0 where the log shows something else. Both are of the policy as it was at each visit, learning only
from what was taken; for a policy that does not learn, all three are estimates of one value.

A log that says it is uniform and is not, or whose chances are wrong, would make every estimate wrong. It is found out:
for each arm a and each number u of the context, the sum of (w 1{a was shown} - 1{a could be shown}) u over all visits has
mean 0, and a variance of about the sum of (w^2 - w) u^2 over the visits that show a. A sum of more than `STRANGE`
deviations ends the replay, and so does a weight that is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel
from maskedbandit.core import kernel
from maskedbandit.errors import BiasedLog, InvalidValue
from maskedbandit.lab.contexts import Answer, Contexts, Floats, Integers
from maskedbandit.lab.contextual import Play, gathered, refuse, spread
from maskedbandit.lab.contextual_loop import (
    BOTH,
    EVENTS,
    MATCHED,
    RELEASES,
    REWARD,
    SQUARE,
    USERS,
    VALUE,
    VALUE_SQUARE,
    WEIGHT,
)
from maskedbandit.lab.delays import AT_ONCE, Delay
from maskedbandit.lab.engine import LONGEST, whole
from maskedbandit.lab.logs import Chunk, Log, Recorded
from maskedbandit.lab.simulation import checkpoints
from maskedbandit.lab.streams import Rewards, Streams
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.statistics import clip

STRANGE = 8.0  # deviations: chance goes so far once in 10^10 times at most, and there are some hundreds of sums
RADIUS = math.sqrt(2.0)  # of what a log says of users and articles: a constant 1, and shares of 1; others are shrunk


class Page(NamedTuple):
    """Some visits of a log, and its tables."""

    starts: Integers
    arms: Integers
    user: Floats  # [n, numbers of a user]
    shown: Integers
    click: Floats
    pool: Integers
    propensity: Floats
    articles: Floats  # [k, numbers of an article]
    scale: float  # so that a context is in the unit ball


@dataclass(frozen=True)
class Visits(Contexts):
    """The contexts of a log: what it says of the user, or its products with what it says of each article."""

    log: Log
    context: Literal["user", "product"]
    signed = False

    @property
    def k(self) -> int:
        return self.log.k

    @property
    def d(self) -> int:
        return self.log.d if self.context == "user" else self.log.d * self.log.articles()[1].shape[1]

    @property
    def rows(self) -> int:
        return 1 if self.context == "user" else self.k

    def page(self, chunk: Chunk) -> Page:
        """The numbers of a chunk."""
        articles, product = self.log.articles()[1], self.context == "product"
        scale = 1 / (RADIUS * RADIUS if product else RADIUS)
        visits = chunk.user, chunk.arm, chunk.click, chunk.pool, chunk.propensity
        return Page(*self.log.pools(), *visits, articles if product else articles[:0], scale)

    @staticmethod
    @kernel
    def present(page: Page, i: int, t: int, x: Floats, stream: Rewards) -> int:
        pool, width = page.pool[i], page.user.shape[1]
        if page.articles.shape[0] == 0:
            for a in range(width):
                x[0, a] = page.user[i, a] * page.scale
            clip(x[0], False)
            return pool
        for place in range(page.starts[pool], page.starts[pool + 1]):
            arm = page.arms[place]
            for a in range(width):
                for b in range(page.articles.shape[1]):
                    x[arm, a * page.articles.shape[1] + b] = page.user[i, a] * page.articles[arm, b] * page.scale
            clip(x[arm], False)
        return pool

    @staticmethod
    @kernel
    def answer(page: Page, i: int, t: int, x: Floats, arm: int, stream: Rewards) -> Answer:
        if page.shown[i] != arm:
            return Answer(0.0, 0.0, 0.0, 0.0)
        return Answer(1.0 / page.propensity[i], page.click[i], 0.0, 0.0)


class Scrutiny:
    """Whether arms were shown with the chances that the log states."""

    def __init__(self, log: Log) -> None:
        self.log, (self.starts, self.arms) = log, log.pools()
        self.excess, self.variance = np.zeros((2, log.d, log.k))
        self.visits, self.random, self.largest, self.next = 0, 0.0, 0.0, 1

    def add(self, chunk: Chunk) -> None:
        """Look at the visits of a chunk."""
        sizes = np.diff(self.starts)
        w, owner = 1 / chunk.propensity, np.repeat(np.arange(sizes.size), sizes)
        for j in range(self.log.d):
            u = chunk.user[:, j]
            shown = np.bincount(chunk.arm, w * u, self.log.k)
            could = np.bincount(self.arms, np.bincount(chunk.pool, u, sizes.size)[owner], self.log.k)
            self.excess[j] += shown - could
            self.variance[j] += np.bincount(chunk.arm, (w * w - w) * u * u, self.log.k)
        self.visits += chunk.arm.size
        self.random += float((w * chunk.click / sizes[chunk.pool]).sum())
        self.largest = max(self.largest, float(w.max()))
        if self.visits >= self.next:
            self.judge()
            self.next = 2 * self.visits

    def judge(self) -> None:
        """Raise `BiasedLog` if a sum is farther off than chance explains.

        Four of the largest weights are added to a deviation, as its estimate rests on the visits that show the arm,
        and there may be few: with none of 28 expected ones the sum is 7 deviations off, and with that chance, e^-28.
        """
        deviations = self.excess / np.sqrt(self.variance + (4 * self.largest) ** 2)
        j, arm = np.unravel_index(np.abs(deviations).argmax(), deviations.shape)
        if abs(deviations[j, arm]) > STRANGE:
            raise BiasedLog(
                f"article {self.log.articles()[0][arm]} was not shown with the chances that the log states: after "
                f"{self.visits:,} visits it is {abs(deviations[j, arm]):.1f} standard deviations off, where at most "
                f"{STRANGE:g} are allowed; a log that is not uniform needs its true chances as `propensity`"
            )


@dataclass(frozen=True)
class Replayed:
    """What came out of a replay: one row per run."""

    policy: ContextualPolicy
    channel: Channel
    log: Log
    t: npt.NDArray[np.int64]  # [c] visits taken at each checkpoint
    reward: npt.NDArray[np.float64]  # [runs, c] clicks so far; nan where a run took fewer visits
    users: npt.NDArray[np.int64]  # [runs] visits taken
    clicks: npt.NDArray[np.float64]  # [runs]
    matched: npt.NDArray[np.int64]  # [runs] visits whose article the policy would have shown
    weighted: npt.NDArray[np.float64]  # [runs] estimate by inverse propensities
    weighted_error: npt.NDArray[np.float64]  # [runs] its standard error
    normalised: npt.NDArray[np.float64]  # [runs] self-normalised estimate
    normalised_error: npt.NDArray[np.float64]
    random: npt.NDArray[np.float64]  # [runs] what showing any article with the same chance earns, from all visits
    releases: npt.NDArray[np.int64]
    loss: Loss  # of one user whose visit was taken
    findings: dict[str, npt.NDArray[np.float64]]

    @property
    def rate(self) -> npt.NDArray[np.float64]:
        """Click rate of the visits taken."""
        return self.clicks / np.maximum(self.users, 1)

    @property
    def rate_error(self) -> npt.NDArray[np.float64]:
        """Its standard error, given what the policy learned."""
        return np.sqrt(self.rate * (1 - self.rate) / np.maximum(self.users, 1))


def replay(
    policy: ContextualPolicy,
    channel: Channel,
    log: Log,
    context: Literal["user", "product"] = "user",
    horizon: int | None = None,
    runs: int = 1,
    seed: int = 0,
    study: str = "",
    jobs: int | None = None,
    advance: Callable[[int], object] = lambda visits: None,
    delay: Delay = AT_ONCE,
) -> Replayed:
    """Replay a log for a policy, `runs` times: as a generated log is another one in every run, they are independent.

    Runs on a recorded log share its visits. At most `horizon` visits are taken (by default any number). `context` is
    what policies see: numbers of the user, or ("product") their products with those of each article, for shared models.
    `advance` is told of visits as they pass.

    >>> import maskedbandit as mb
    >>> found = mb.replay(mb.policies.LinUCB(alpha=0.3), mb.channels.Raw(), mb.Newsroom(events=20_000), seed=7)
    >>> bool(found.users[0] > 900 and found.loss.epsilon() == float("inf"))
    True
    """
    contexts = Visits(log, context) if isinstance(log, Log) and context in ("user", "product") else None
    if contexts is None:
        if not isinstance(log, Log):
            raise InvalidValue("log", log, "a log, such as Recorded(folder) or Newsroom()")
        raise InvalidValue("context", context, "'user' or 'product'")
    refuse(policy, channel, contexts)
    horizon = whole("horizon", horizon if horizon is not None else log.events, 1, LONGEST)
    marks = checkpoints(horizon)

    def single(run: int) -> tuple[Play, Scrutiny]:
        play, scrutiny = Play(policy, channel, contexts, horizon, marks, delay), Scrutiny(log)
        streams = Streams(seed, study).of(run)
        for chunk in log.chunks(run):
            if run == 0 or not isinstance(log, Recorded):
                scrutiny.add(chunk)
            play.go(contexts.page(chunk), chunk.arm.size, log.least, streams)
            advance(chunk.arm.size)
            if play.progress.counts[USERS] >= horizon:
                break
        if scrutiny.visits:
            scrutiny.judge()
        return play, scrutiny

    both = spread(single, whole("runs", runs, 1, 10**7), jobs)
    plays = [play for play, _ in both]
    looked = [each if each.visits else both[0][1] for _, each in both]
    rows = [play.progress for play in plays]
    tallies, events = np.array([row.tallies for row in rows]).T, np.array([row.counts[EVENTS] for row in rows])
    w, total = tallies[WEIGHT], tallies[VALUE]
    weighted, normalised = total / events, total / np.maximum(w, 1e-300)
    squares = tallies[VALUE_SQUARE] - 2 * normalised * tallies[BOTH] + normalised**2 * tallies[SQUARE]
    loss = ZERO
    for play in plays:
        loss |= play.loss
    users = np.array([row.counts[USERS] for row in rows])
    return Replayed(
        policy,
        channel,
        log,
        marks,
        np.array([np.where(marks <= row.counts[USERS], row.reward, np.nan) for row in rows]),
        users,
        np.array([row.totals[REWARD] for row in rows]),
        np.array([row.counts[MATCHED] for row in rows]),
        weighted,
        np.sqrt(np.maximum(tallies[VALUE_SQUARE] / events - weighted**2, 0) / events),
        normalised,
        np.sqrt(np.maximum(squares, 0)) / np.maximum(w, 1e-300),
        np.array([each.random / each.visits for each in looked]),
        np.array([row.counts[RELEASES] for row in rows]),
        loss,
        gathered(plays),
    )
