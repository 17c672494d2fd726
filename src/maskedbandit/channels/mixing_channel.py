"""What the channels with shuffled trust have in common: each device sends a bundle of messages, and a shuffler mixes.

A live study needs more of them than the lab: how long a bundle is, so that all of one place have one length; which of
the devices that are there are enough; and what a number of messages says of those that are missing.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from maskedbandit.channels.channel import Carrier
from maskedbandit.channels.offers import Offer
from maskedbandit.privacy.sampling import Bits


@dataclass(frozen=True)
class MixingChannel(Carrier, ABC):
    """A channel whose messages are mixed."""

    @abstractmethod
    def bundle(self, sent: int, offer: Offer, bits: Bits) -> Sequence[int]:
        """The messages in which a device sends what `randomize` gave."""

    @abstractmethod
    def bundle_size(self, offer: Offer) -> int:
        """How many messages the user sends to whom this offer is made."""

    @abstractmethod
    def below(self, offer: Offer) -> int:
        """What all messages of a cohort are below."""

    @abstractmethod
    def bundle_sizes(self, reports: int, n: int) -> tuple[int, int]:
        """The least and the largest number of messages that so many users of a cohort of n send together."""

    @abstractmethod
    def hides(self, messages: int, reports: int, n: int) -> bool:
        """Whether so many messages of so many users of a cohort of n hide each of them, if these are honest."""

    @abstractmethod
    def sum_messages(self, total: int, messages: int, reports: int, offer: Offer) -> Fraction:
        """What `analyze` is given, from the total of so many messages in so many bundles."""
