"""The steps of a cohort over a real protocol: its users are charged, and its sum is computed, in attempts.

    charge -> close -> begin -> (devices randomize) -> sum -> analyze

The deck (study/deck.py) decides which places a cohort has, who is dealt them, and when it is full, closed and released,
in a live study and in a rehearsal alike. This file is for rehearsals, which have all devices in one process. A live
study has a trusted server's sums, or values that are private when they leave a device, so nothing has to be tried
again. Every step is a call of its own. There is no clock, no network and no file here, and randomness is passed in. A
step that is not the cohort's next one is refused, so that no cohort is summed twice in an attempt or released twice.

An attempt that fails may be followed by another, up to `attempts` of the backend, with the same users. They draw fresh
noise and are charged again: two sums of the same noisy values over different users would reveal a user's value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

from maskedbandit.backends.backend import Aggregate
from maskedbandit.backends.ideal import Ideal
from maskedbandit.channels.channel import Channel, find_backend
from maskedbandit.channels.offers import Offer
from maskedbandit.checks import User
from maskedbandit.errors import Implausible, InvalidValue, OutOfTurn, ProtocolError, TooFew
from maskedbandit.privacy.budget import Ledger
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.participation import Participation
from maskedbandit.privacy.sampling import Bits

HOPELESS = 20  # cohorts thrown away in a row


@dataclass
class Cohort:
    """A closed cohort: its users, in the order of their positions, what they are offered, and where it stands."""

    name: bytes
    arm: int
    users: tuple[User, ...]
    offer: Offer
    attempt: int = 0
    next: Literal["begin", "sum", "analyze", "fail", "nothing"] = "begin"  # step

    @property
    def title(self) -> bytes:
        """The name of the attempt: no two attempts, cohorts or runs share it."""
        return self.name + b", attempt %d" % self.attempt

    def check_next(self, *steps: str) -> None:
        """Raise `OutOfTurn` unless the next step is one of these."""
        if self.next not in steps:
            raise OutOfTurn(f"the next step of this cohort is {self.next!r}: it must be {' or '.join(steps)}")


class Cohorts:
    """The server's part in the cohorts of a study with k arms.

    >>> from maskedbandit.channels.central import Central
    >>> from maskedbandit.study.rehearsed_device import RehearsedDevice
    >>> channel, bits, users = Central(epsilon=100), Bits(), ("ann", "bob")
    >>> cohorts = Cohorts(channel, 2, "example", bits)
    >>> for user in users:
    ...     cohorts.charge(user, 2)  # then the user is shown an arm and has a reward
    >>> devices = [RehearsedDevice(user, 1.0, channel, 2) for user in users]
    >>> cohort = cohorts.close(1, users)
    >>> cohorts.begin(cohort)
    >>> sent = [each.send(cohort.name, 1, cohort.offer.at(place), bits) for place, each in enumerate(devices)]
    >>> cohorts.analyze(cohort, cohorts.sum(cohort, sent))
    (2, 2.0)
    """

    def __init__(self, channel: Channel, k: int, name: str, bits: Bits) -> None:
        backend = find_backend(channel)
        self.channel, self.name, self.bits = channel, name, bits
        self.attempts = backend.attempts if backend else 1
        self.memory = channel.memory(k)
        self.closed, self.thrown_away = 0, 0
        self._failed = 0  # cohorts thrown away in a row
        self._last: ProtocolError | None = None
        self._book = Participation(attempts=self.attempts)
        once: Any = channel
        self._once: Channel = replace(once, backend=Ideal()) if backend else channel
        self._charged: dict[User, Loss] = {}  # those who are in no closed cohort yet
        self._prices: dict[int, tuple[Loss, Ledger]] = {}  # by the size of the cohort
        self._ledgers: dict[Loss, Ledger] = {}  # by what a user is promised

    def _priced(self, n: int) -> tuple[Loss, Ledger]:
        if n not in self._prices:
            promised = self.channel.loss(n)
            self._prices[n] = self._once.loss(n), self._ledgers.setdefault(promised, Ledger(promised))
        return self._prices[n]

    def price(self, n: int) -> Loss:
        """The loss of each user by one attempt of a cohort of n."""
        return self._priced(n)[0]

    def loss(self) -> Loss:
        """The largest loss of a user in the ledgers."""
        worst = ZERO
        for ledger in self._ledgers.values():
            worst |= ledger.worst()
        return worst

    def charge(self, user: User, n: int) -> None:
        """Charge a user for one attempt of a cohort of n, or raise `BudgetExceeded`: before an arm is shown."""
        price, ledger = self._priced(n)
        ledger.charge(user, price)
        self._charged[user] = price

    def close(self, arm: int, users: Sequence[User]) -> Cohort:
        """The arm's cohort of these users, in the order of their places: each was charged for it, and shown the arm."""
        offer, price = self.channel.offer(len(users)), self.price(len(users))
        for user in users:
            if user not in self._charged:
                raise OutOfTurn("this user was not charged: charge users before they get a place")
            if (paid := self._charged.pop(user)) != price:
                allowed = f"one that costs {paid}: a user was charged for a different cohort size"
                raise InvalidValue("the size of a cohort", len(users), allowed)
        self.closed += 1
        return Cohort(f"{self.name}, arm {arm}, cohort {self.closed}".encode(), arm, tuple(users), offer)

    def begin(self, cohort: Cohort) -> None:
        """Begin the next attempt: write down who takes part, and charge them for every attempt after the first.

        Then each device is asked for what it sends: user number i under the offer `cohort.offer.at(i)`.
        """
        cohort.check_next("begin")
        cohort.attempt += 1
        for user in cohort.users:
            if cohort.attempt > 1:
                price, ledger = self._priced(cohort.offer.n)
                ledger.charge(user, price)
            self._book.join(user, cohort.name, cohort.attempt)
        cohort.next = "sum"

    def sum(self, cohort: Cohort, sent: Sequence[Any], size: int = 0) -> Aggregate:
        """The sum of what the devices sent in this attempt, in the order of their positions, by way of the backend.

        With a size they sent vectors of so many numbers, and the total is a list of sums.
        """
        cohort.check_next("sum")
        if len(sent) != cohort.offer.n:
            raise InvalidValue("the number of values that were sent", len(sent), f"{cohort.offer.n}, one of each user")
        cohort.next = "fail"  # unless there is a sum
        channel, offer = self.channel, cohort.offer
        if size:
            found = channel.aggregate_vectors(sent, size, offer, self.bits, cohort.title)
        else:
            found = channel.aggregate(sent, offer, self.bits, cohort.title)
        cohort.next = "analyze"
        return found

    def analyze(self, cohort: Cohort, found: Aggregate) -> tuple[int, Any]:
        """The number of values in the sum, and the released sum: the end of the cohort. Of vectors it is a list.

        A sum that was made over a network comes here without `sum`.
        """
        cohort.check_next("sum", "analyze")
        cohort.next = "fail"  # unless there is a release
        answers, many = len(found.survivors), isinstance(found.total, list)
        totals = [
            self.channel.analyze(each, cohort.offer, self.bits, self.memory, cohort.arm + i, answers=answers)
            for i, each in enumerate(found.total if many else [found.total])
        ]
        cohort.next, self._failed = "nothing", 0
        return answers, totals if many else totals[0]

    def fail(self, cohort: Cohort, why: ProtocolError) -> bool:
        """An attempt failed: whether there may be another. If not, the cohort is thrown away with its users.

        An implausible sum was seen, and whether to try again must not depend on it: so there is no other attempt.
        """
        cohort.check_next("sum", "analyze", "fail")
        if cohort.attempt < self.attempts and not isinstance(why, Implausible):
            cohort.next = "begin"
            return True
        cohort.next = "nothing"
        self._failed, self.thrown_away, self._last = self._failed + 1, self.thrown_away + 1, why
        if self._failed == HOPELESS:
            self.give_up()
        return False

    def give_up(self) -> NoReturn:
        """Say why nothing is released, and what would help."""
        raise TooFew(
            f"{self._failed} cohorts in a row were thrown away, the last because {self._last}: "
            f"lower `dropout` or raise `attempts` of {find_backend(self.channel)}, or lower `honest` of "
            f"{type(self.channel).__name__}, so that more may be lost"
        ) from self._last
