"""A study over a real protocol, all parties in one process: the loop of the engine, in which every user has a device.

A user is told an arm, gets a reward and keeps it on the device. When the cohort closes, each device adds its noise and
the channel's `backend` carries the sum; the policy is told the sum and how many values are in it, and nothing else.
What the compiled loop draws at once has the same law, unless devices are lost: then fewer values are in a sum, and on
a fixed grid no more noise than `channel.law()` allows for. (On a grid that follows the size of the cohort, the law is
that of the survivors' grid, which is a little coarser than the one that was used.)

A user is charged before an arm is shown, so before there is a reward. Server and device both write down in which cohort
the user takes part. A cohort whose protocol fails is tried again with the same users, who draw fresh noise and are
charged once more: two sums of the same noisy values that differ in one user would tell that user's value. After
`backend.attempts` failures it is thrown away, with its users, and others are asked instead. So is a cohort whose sum
is implausible, at once: that sum was seen, and whether to try again must not depend on it.

**Guarantee**: no user is charged more than `channel.loss(n)`, n the size of the user's one cohort.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from maskedbandit import policies
from maskedbandit.backends.backend import Aggregate, Backend
from maskedbandit.backends.ideal import Ideal
from maskedbandit.channels.channel import Channel
from maskedbandit.core import Decision
from maskedbandit.errors import AlreadySpent, Implausible, InvalidValue, ProtocolError, TooFew
from maskedbandit.lab.delays import AT_ONCE, Delay
from maskedbandit.lab.instances import Instance
from maskedbandit.lab.outcomes import BAD_ARM, BAD_COUNT, DEADLOCK, DONE, UNSIZED, Out
from maskedbandit.lab.streams import Rewards
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.ledger import Ledger
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.participation import Participation
from maskedbandit.privacy.sampling import Bits

HOPELESS = 20  # cohorts thrown away in a row


def real(channel: Channel) -> Backend | None:
    """The protocol that carries the channel's sums; None if the lab draws them at once."""
    backend: Backend = getattr(channel, "backend", Ideal())
    return None if isinstance(backend, Ideal) else backend


def refuse_late(channel: Channel, delay: Delay) -> None:
    """All devices of a rehearsal have their rewards when their cohort closes."""
    if (backend := real(channel)) and delay != AT_ONCE:
        allowed = f"left out, or 0, where {type(backend).__name__} carries the sums"
        raise InvalidValue("delay", str(delay), allowed)


class Device:
    """One user: the reward, and a book of its own."""

    def __init__(self, user: int, reward: float, attempts: int) -> None:
        self.user, self._reward, self._book = user, reward, Participation(attempts=attempts)

    def send(self, channel: Channel, cohort: bytes, attempt: int, n: int, position: int, bits: Bits) -> float:
        """What the device sends in this attempt, with noise that it draws now."""
        self._book.join(self.user, cohort, attempt)
        return channel.randomize(self._reward, n, bits, position)


class Cohorts:
    """The cohorts of a run: their users, what these were charged, and their sums."""

    def __init__(self, policy: Policy, channel: Any, k: int, name: str, bits: Bits) -> None:
        self.policy, self.channel, self.name, self.bits = policy, channel, name, bits
        self.backend: Backend = channel.backend
        self.open: list[list[Device]] = [[] for _ in range(k)]
        self._closed, self._failed, self.thrown_away = 0, 0, 0  # in all, in a row, in all
        self._last: ProtocolError | None = None
        self._book = Participation(attempts=self.backend.attempts)
        self._once: Channel = replace(channel, backend=Ideal())
        self._prices: dict[int, tuple[Loss, Ledger]] = {}  # by the size of the cohort
        self._ledgers: dict[Loss, Ledger] = {}  # by what a user is promised

    def _priced(self, n: int) -> tuple[Loss, Ledger]:
        if n not in self._prices:
            promised = self.channel.loss(n)
            self._prices[n] = self._once.loss(n), self._ledgers.setdefault(promised, Ledger(promised))
        return self._prices[n]

    def price(self, n: int) -> Loss:
        """What one attempt of a cohort of n costs each of its users."""
        return self._priced(n)[0]

    def charge(self, user: int, n: int) -> None:
        """Charge a user for one attempt of a cohort of n, or raise `BudgetExceeded`."""
        price, ledger = self._priced(n)
        ledger.charge(user, price)

    def loss(self) -> Loss:
        """What the ledgers say of the worst user."""
        worst = ZERO
        for ledger in self._ledgers.values():
            worst |= ledger.worst()
        return worst

    def join(self, arm: int, user: int, reward: float) -> None:
        """A user who was shown the arm waits, with the reward, for its cohort to close."""
        self.open[arm].append(Device(user, reward, self.backend.attempts))

    def check_size(self, n: int) -> None:
        """Raise if a cohort of n cannot be released, before anybody is asked to be in it."""
        try:
            self.channel.check_size(n)
        except InvalidValue as wrong:
            wrong.args = (f"{wrong} ({advice(self.policy, n)})",)
            raise

    def close(self, arm: int) -> tuple[int, float] | None:
        """How many values are in the sum of the arm's whole cohort, and the sum; None if it was thrown away."""
        devices, self.open[arm] = self.open[arm], []
        self._closed += 1
        cohort, n = f"{self.name}, arm {arm}, cohort {self._closed}".encode(), len(devices)
        failure: ProtocolError | None = None
        for attempt in range(1, self.backend.attempts + 1):
            for device in devices:
                if attempt > 1:
                    self.charge(device.user, n)
                self._book.join(device.user, cohort, attempt)
            try:
                sent = [
                    device.send(self.channel, cohort, attempt, n, position, self.bits)
                    for position, device in enumerate(devices)
                ]
                found: Aggregate = self.channel.aggregate(sent, self.bits, cohort + b", attempt %d" % attempt)
                answers = len(found.survivors)
                total: float = self.channel.analyze(found.total, n, self.bits, answers=answers)
            except AlreadySpent:
                raise
            except Implausible as wrong:
                failure = wrong
                break
            except ProtocolError as wrong:
                failure = wrong
                continue
            except InvalidValue as wrong:
                wrong.args = (f"{wrong} ({advice(self.policy, n)})",)
                raise
            self._failed = 0
            return answers, total
        self._failed, self.thrown_away, self._last = self._failed + 1, self.thrown_away + 1, failure
        if self._failed == HOPELESS:
            self.give_up()
        return None

    def give_up(self) -> NoReturn:
        """Say why nothing is released, and what would help."""
        raise TooFew(
            f"{self._failed} cohorts in a row were thrown away, the last because {self._last}: "
            f"lower `dropout` or raise `attempts` of {self.backend}, or lower `honest` of "
            f"{type(self.channel).__name__}, so that more may be lost"
        ) from self._last


def advice(policy: Policy, n: int) -> str:
    """What to do about a cohort that a protocol refuses, which is most often too small."""
    said = f"{type(policy).__name__} asked for a cohort of {n}"
    if "least" in parameters(policy):
        return f"{said}: its `least` is the size of its smallest cohort"
    sized = [name for name in policies.room if policies.room[name].goal == policy.goal]
    sized = [name for name in sized if "least" in parameters(policies.room[name])]
    return f"{said}; policies with a smallest cohort to set, `least`: {', '.join(sized)}"


def parameters(policy: Any) -> list[str]:
    """Names of the parameters of a policy."""
    return [each.name for each in fields(policy)] if hasattr(policy, "__dataclass_fields__") else []


def rehearse(
    policy: Policy,
    channel: Channel,
    instance: Instance,
    state: Any,
    name: str,
    horizon: int,
    serve: bool,
    marks: npt.NDArray[np.int64],
    out: Out,
    keys: npt.NDArray[np.uint64],
    of_rewards: np.random.Generator,
    of_noise: np.random.Generator,
    of_policy: np.random.Generator,
) -> tuple[int, Loss, int]:
    """One run, as `loop` in engine.py: how it ended, what the worst user was charged, and cohorts thrown away."""
    law, numbers, k, bits = channel.law(), instance.numbers(), out.pulls.size, Bits(of_noise.bytes)
    means, stream = instance.true_means(), Rewards(of_rewards, keys)
    cohorts = Cohorts(policy, channel, k, name, bits)
    t, mark, regret, rewards = 0, 0, 0.0, 0.0
    again: Decision | None = None
    while t < horizon:
        arm, n, close = map(int, again or policy.ask(state, law, of_policy))
        out.last[0], out.last[1] = arm, n
        if arm == -1:
            return DEADLOCK, ZERO, 0
        if arm < 0 or arm >= k:
            return BAD_ARM, ZERO, 0
        if n < 0:
            return BAD_COUNT, ZERO, 0
        stop = n == 0
        if stop and not serve:
            break
        waiting = len(cohorts.open[arm])
        planned = waiting + n
        if waiting and cohorts.price(waiting) != cohorts.price(planned):
            return UNSIZED, ZERO, 0  # whoever waits was charged the price of another size
        if law.root > 0.0 and not stop and (close == 0 or waiting):
            return UNSIZED, ZERO, 0
        if close == 1 and not stop:
            cohorts.check_size(planned)
        end = horizon if stop else min(t + n, horizon)
        out.pulls[arm] += end - t
        while t < end:
            users = int(min(end, marks[mark])) - t
            if stop:  # they are served, and nobody asks for their rewards
                rewards += instance.many(numbers, arm, users, 0, stream)
            for user in range(t, t if stop else t + users):
                cohorts.charge(user, planned)
                reward = float(instance.one(numbers, arm, user, 0, stream))
                cohorts.join(arm, user, reward)
                rewards += reward
            regret += (means.max() - means[arm]) * users
            t += users
            if t == marks[mark]:
                out.regret[mark] = regret
                out.realised[mark] = means.max() * t - rewards
                mark += 1
        if stop:
            break
        again = None
        if close == 1 and len(cohorts.open[arm]) == planned:  # one cut off by the horizon is never released
            found = cohorts.close(arm)
            if found is None:
                again = Decision(arm, planned, 1)
                continue
            out.releases[0] += 1
            policy.tell(state, arm, *found)
    if cohorts.thrown_away and not out.releases[0]:
        cohorts.give_up()
    return DONE, cohorts.loss(), cohorts.thrown_away
