"""The interface of channels: the protocol P = (R, S, A) between a reward and the policy [CZ23, Sec. 3.2].

R, `randomize`, runs on the device of each of the n users of a cohort; S, `aggregate`, sums what they send; A,
`analyze`, runs on the server and gives the released total. All three follow the `Offer` for the cohort. Trust models
differ only in who adds noise: a trusted server (central), all users together (distributed), each user alone (local).
The lab calls `perturb` instead, which has the same distribution; if the channel's `backend` is a real protocol, that
protocol carries the sum.

A user may add a vector of statistics instead of a reward, which is the vector of one number: `carrying` gives the
channel for it. Each number of a vector then passes as a reward does, in the same cohort of n users and in a sum of its
own; a protocol carries all of them at once (`randomize_vector`, `aggregate_vectors`). The releases of one such sum are
a stream: of rewards, stream a is that of arm a; of vectors, stream a * size + i is that of number i of model a. The
noise of each number helps to hide the whole vector, and `loss(n)` is that of the whole vector.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from maskedbandit.backends.backend import Aggregate, Backend
from maskedbandit.backends.ideal import Ideal
from maskedbandit.channels.offers import Offer
from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue, TooFew
from maskedbandit.law import Law
from maskedbandit.privacy.exact import Number, to_fraction
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import INF
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.statistics import SINGLE_REWARD, Statistics


@kernel
def no_draw(scale: float, count: float, rng: np.random.Generator) -> int:
    """The `draws` of a channel that adds no noise to sums, or whose `perturb` draws it."""
    return 0


def check_epsilon(epsilon: Number) -> Fraction:
    """The privacy epsilon of a channel; below a millionth its noise would drown every study."""
    found = to_fraction("epsilon", epsilon)
    if found < Fraction(1, 10**6):
        raise InvalidValue("epsilon", epsilon, "at least 0.000001")
    return found


def check_cohort_size(n: int) -> None:
    """Raise unless a cohort of n has users."""
    if not (type(n) is int or isinstance(n, Integral)) or n < 1:  # asked of each person: the first is faster
        raise InvalidValue("the size of a cohort", n, "a whole number of at least 1")


def check_answers(answers: int, n: int, least: int = 1) -> None:
    """Raise unless a total of so many of n answers has enough noise: that of at least `least` of them."""
    if not isinstance(answers, Integral) or not 0 <= answers <= n:
        allowed = f"the number of answers in the total, a whole number from 0 to {n}"
        raise InvalidValue("answers", answers, allowed)
    if answers < least:
        raise TooFew(f"{answers} of {n} answers are in the total: with fewer than {least} it has too little noise")


def whole_steps(total: float) -> int:
    """A total of whole numbers of steps, as an int."""
    if int(total) != total:
        raise InvalidValue("total", total, "a whole number, as every device sends a whole number")
    return int(total)


class Nothing(NamedTuple):
    """The parameters of a channel whose kernel needs only the `Law`, and the memory of one that keeps nothing."""

    unused: int = 0


class Channel(ABC):
    """A channel. Subclasses are frozen dataclasses; `draws` and `perturb` are kernels, with which the lab simulates."""

    trust: ClassVar[str]  # the name of the trust model
    sees: ClassVar[str]  # who sees what

    def carrying(self, statistics: Statistics) -> Self:
        """This channel for users who add such vectors, at the same privacy for each whole vector."""
        if statistics != SINGLE_REWARD:
            raise InvalidValue(
                "channel", self, "one that carries vectors and capped sums: this one carries single rewards"
            )
        return self

    @property
    @abstractmethod
    def draws(self) -> Any:
        """The noise of a release in the lab: a kernel (scale, count, rng), often that of a `Noise`.

        The scale is `law.scale` in steps, the count is `draws_of_one(law, n)`.
        """

    @property
    @abstractmethod
    def perturb(self) -> Any:
        """A release in the lab: a kernel (parameters, memory, law, stream, total, n, noise, rng).

        It has the distribution of what `analyze` makes of the devices' answers; `total` is the sum of the rounded
        rewards, in steps, `noise` what `draws` gave. It gives nan if such a cohort cannot be released; `check_size`
        says why.
        """

    def parameters(self) -> NamedTuple:
        """The parameters of `perturb` besides the `Law`; they never change."""
        return Nothing()

    def memory(self, k: int) -> NamedTuple:
        """Arrays that are kept between the releases of k streams; a service must store them."""
        return Nothing()

    def check_size(self, n: int, memory: Any = None, stream: int | None = None) -> None:
        """Raise if a cohort of n cannot be released: to be asked before it is opened.

        With `memory`, also if the stream, or any if it is left out, cannot have one more release.
        """
        check_cohort_size(n)

    @abstractmethod
    def law(self) -> Law:
        """The distribution of the noise in a release."""

    @abstractmethod
    def loss(self, n: int) -> Loss:
        """Loss of one user, by the release of the cohort of n in which the user took part."""

    @abstractmethod
    def offer(self, n: int, modulus: int = 0) -> Offer:
        """The numbers on which devices and server agree for a cohort of n.

        The server leaves the modulus out, and announces the one that it finds in the offer. A device computes the same
        offer with the modulus that was announced, without floating point: see `check_offer`.
        """

    def check_offer(self, offer: Offer) -> None:
        """Raise unless the offer states what this channel promises the users of a cohort of its size."""
        offer.check(self.offer(offer.n, offer.modulus))

    @abstractmethod
    def randomize(self, reward: float, offer: Offer, bits: Bits) -> float:
        """R: the message of one user's device; the reward is in [0, 1]. The offer must have passed `check_offer`.

        The offer has a position if not all users do the same.
        """

    def aggregate(self, sent: Sequence[Any], offer: Offer, bits: Bits, cohort: bytes = b"") -> Aggregate:
        """S: the sum of the messages of a cohort's n devices, some of which may be lost; `cohort` names it."""
        return Aggregate(sum(sent), range(len(sent)))

    def randomize_vector(self, vector: Sequence[float], offer: Offer, bits: Bits) -> Any:
        """R for a vector: the message of one user's device."""
        return [self.randomize(x, offer, bits) for x in vector]

    def aggregate_vectors(
        self, sent: Sequence[Any], size: int, offer: Offer, bits: Bits, cohort: bytes = b""
    ) -> Aggregate:
        """S for vectors of so many numbers: the total is a list of sums."""
        return Aggregate([sum(each[i] for each in sent) for i in range(size)], range(len(sent)))

    @abstractmethod
    def analyze(
        self, total: float, offer: Offer, bits: Bits, memory: Any = None, stream: int = 0, *, answers: int
    ) -> float:
        """A: the released total, an unbiased estimate of the sum of the rewards behind it, from the sum that S gave.

        `answers` says how many of the n are in the sum; the sum is refused if they bring too little noise. `memory` is
        `memory(k)`, for channels whose releases build on those before; without it this is the first one.
        """


@dataclass(frozen=True)
class Carrier(Channel, ABC):
    """A channel that states the values that its users add: `statistics`, set by `carrying`."""

    statistics: Statistics = field(default=SINGLE_REWARD, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.statistics, Statistics):
            raise InvalidValue("statistics", self.statistics, "Statistics, such as linear_sums(6)")

    def carrying(self, statistics: Statistics) -> Self:
        return self if statistics == self.statistics else replace(self, statistics=statistics)

    def check_single(self) -> None:
        """Raise unless users add one number: for channels whose users send a bit, to which it is rounded at random."""
        if not self.statistics.is_single:
            raise InvalidValue("channel", self, "one that carries vectors: this one carries single bits")

    def terms_of_statistics(self) -> dict[str, int]:
        """The terms of an offer for capped sums and for vectors, besides the steps and the noise of each number."""
        added = self.statistics
        if added.is_single:
            return {"cap": added.cap} if added.cap > 1 else {}
        return {"low": added.low, "numbers": added.size}


def epsilon_of(channel: Channel) -> Fraction:
    """The epsilon of a channel, or raise `InvalidValue` if it has none."""
    found: Any = getattr(channel, "epsilon", None)
    return to_fraction("epsilon", found)


def at_epsilon(channel: Any, epsilon: Fraction) -> Channel:
    """The same channel for one of several outcomes of a user, which has this part of its epsilon."""
    found: Channel = replace(channel, epsilon=epsilon)
    return found


def part_of(channel: Channel, epsilon: Fraction) -> Channel:
    """`at_epsilon`, for devices: messages at parts of epsilon cost no more together than one at the whole.

    It raises `InvalidValue` if this part costs more than its share. That of Skellam noise does at high orders, where
    its loss no longer falls with the square of epsilon, as that of a Gaussian, but hardly at all.
    """
    found, share = at_epsilon(channel, epsilon), epsilon / epsilon_of(channel)
    part, whole = found.loss(1), channel.loss(1)
    costs, most = ((each.pure_epsilon,) if whole.pure_epsilon < INF else each.curve for each in (part, whole))
    if any(cost > share * bound for cost, bound in zip(costs, most, strict=True)):
        allowed = "response, or local with another noise: with this one parts of epsilon cost more than the whole"
        raise InvalidValue("channel of several outcomes", channel, allowed)
    return found


def find_backend(channel: Channel) -> Backend | None:
    """The protocol that carries the channel's sums; None if the lab draws them at once."""
    backend: Backend = getattr(channel, "backend", Ideal())
    return None if isinstance(backend, Ideal) else backend


def make_ideal(channel: Any) -> Channel:
    """The same channel with an ideal sum in place of a protocol: its releases have the same distribution."""
    found: Channel = replace(channel, backend=Ideal()) if find_backend(channel) else channel
    return found
