"""Local trust: the report gets its noise here, and the service never sees the outcome.

The only file of the client that knows more of this package than its errors, and only if a study asks for it: a device
has to compute what it is offered for itself, with the channel that the application's people agreed to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskedbandit.channels.channel import Channel


def noisy(channel: Channel, offer: str, value: float) -> float:
    """What is sent in place of a reward in [0, 1], with noise that is drawn now.

    **Guarantee**: as of `Device`: nothing but what the channel's `randomize` makes of the reward, under an offer that
    costs no more than the channel states for a cohort of one.
    """
    from maskedbandit.channels.offers import Offer
    from maskedbandit.privacy.sampling import Bits
    from maskedbandit.study.device import Device

    return float(Device("user", value, channel, 1).send(b"study", 1, Offer.from_text(offer), Bits()))
