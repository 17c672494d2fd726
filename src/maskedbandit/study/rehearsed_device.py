"""The device of one user: it checks what it is offered, keeps a book of its own, and draws its noise anew each time."""

from collections.abc import Sequence
from typing import Any

from maskedbandit.channels.channel import Channel, find_backend
from maskedbandit.channels.offers import Offer
from maskedbandit.checks import User, check_user
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.participation import Participation
from maskedbandit.privacy.sampling import Bits


def check_agreed(channel: Channel, n: int, offer: Offer) -> None:
    """Raise unless an offer is what a user agreed to: this channel, and a cohort of at least n."""
    if offer.n < n:
        raise InvalidValue("n of an offer", offer.n, f"at least {n}, the size to which the user agreed")
    channel.check_offer(offer)
    if offer.n > n:
        agreed, loss = channel.loss(n), channel.loss(offer.n)
        if agreed | loss != agreed:
            raise InvalidValue("n of an offer", offer.n, f"a size that costs at most {agreed}, and this costs {loss}")


class RehearsedDevice:
    """A user's reward or vector of statistics, and what the user agreed to: a channel, and a cohort of at least n.

    **Guarantee**: nothing is sent but what the channel's `randomize` makes of the reward, or its `randomize_vector` of
    the vector, in one cohort, once in each attempt, under an offer of the channel that costs no more than a cohort of n
    and is for no fewer users.
    """

    def __init__(self, user: User, adds: float | Sequence[float], channel: Channel, n: int) -> None:
        backend = find_backend(channel)
        self.user, self.channel, self.n = check_user(user), channel, n
        self._adds, self._book = adds, Participation(attempts=backend.attempts if backend else 1)

    def send(self, cohort: bytes, attempt: int, offer: Offer, bits: Bits) -> Any:
        """What the device sends in this attempt, with noise that it draws now."""
        check_agreed(self.channel, self.n, offer)
        self._book.join(self.user, cohort, attempt)
        if isinstance(self._adds, Sequence):
            return self.channel.randomize_vector(self._adds, offer, bits)
        return self.channel.randomize(self._adds, offer, bits)
