"""The cohorts of a study: their users, what these were charged, and their sums."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NoReturn

from maskedbandit import policies
from maskedbandit.backends.backend import Aggregate, Backend
from maskedbandit.backends.ideal import Ideal
from maskedbandit.channels.channel import Channel
from maskedbandit.errors import AlreadySpent, Implausible, InvalidValue, ProtocolError, TooFew
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.ledger import Ledger
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.participation import Participation
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.user import User

HOPELESS = 20  # cohorts thrown away in a row


class Device:
    """One user: the reward, and a book of its own."""

    def __init__(self, user: User, reward: float, attempts: int) -> None:
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

    def charge(self, user: User, n: int) -> None:
        """Charge a user for one attempt of a cohort of n, or raise `BudgetExceeded`."""
        price, ledger = self._priced(n)
        ledger.charge(user, price)

    def loss(self) -> Loss:
        """What the ledgers say of the worst user."""
        worst = ZERO
        for ledger in self._ledgers.values():
            worst |= ledger.worst()
        return worst

    def join(self, arm: int, user: User, reward: float) -> None:
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
