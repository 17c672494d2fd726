"""The device of one user: it checks what it is offered, keeps a book of its own, and draws its noise anew each time."""

from __future__ import annotations

from maskedbandit.channels.channel import Channel, real
from maskedbandit.channels.offers import Offer
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.participation import Participation
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.user import User, checked_user


class Device:
    """A user's reward, and what the user agreed to: a channel, and a cohort of at least n.

    **Guarantee**: nothing is sent but what the channel's `randomize` makes of the reward, in one cohort, once in each
    attempt, under an offer of the channel that costs no more than a cohort of n and is for no fewer users.
    """

    def __init__(self, user: User, reward: float, channel: Channel, n: int) -> None:
        backend = real(channel)
        self.user, self.channel, self.n = checked_user(user), channel, n
        self._reward, self._book = reward, Participation(attempts=backend.attempts if backend else 1)

    def check(self, offer: Offer) -> None:
        """Raise unless this is what the user agreed to."""
        if offer.n < self.n:
            raise InvalidValue("n of an offer", offer.n, f"at least {self.n}, the size to which the user agreed")
        self.channel.check_offer(offer)
        if offer.n > self.n:
            agreed, loss = self.channel.loss(self.n), self.channel.loss(offer.n)
            if agreed | loss != agreed:
                raise InvalidValue(
                    "n of an offer", offer.n, f"a size that costs at most {agreed}, and this costs {loss}"
                )

    def send(self, cohort: bytes, attempt: int, offer: Offer, bits: Bits) -> float:
        """What the device sends in this attempt, with noise that it draws now."""
        self.check(offer)
        self._book.join(self.user, cohort, attempt)
        return self.channel.randomize(self._reward, offer, bits)
