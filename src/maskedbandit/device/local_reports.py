"""A report under local trust: the noise is drawn here, and whoever gets it, the service included, sees no outcome.

What is sent is the release itself, and costs what it costs whoever sees it. Its size tells nothing of it, so whoever
watches the network sees no release: the number is written in a field that has room for every one.
"""

from collections.abc import Callable
from fractions import Fraction

from maskedbandit.channels.offers import Offer
from maskedbandit.device.rounding import round_outcome
from maskedbandit.privacy.sampling import Bits, bernoulli_exp, discrete_gaussian, discrete_laplace, skellam

VALUE_WIDTH = 17  # characters: a sign, and the digits of 2^53, up to which services take numbers
PROOF_BYTES = 16
DEVICE_NOISES: dict[str, Callable[[Fraction, Bits], int]] = {
    "DiscreteLaplace": discrete_laplace,
    "DiscreteGaussian": lambda scale, bits: discrete_gaussian(scale**2, bits),
    "Skellam": lambda scale, bits: skellam(scale**2, bits),
}


def draw_local_value(offer: Offer, scaled: Fraction, bits: Bits) -> int:
    """What a device sends in place of an outcome that was scaled to [0, 1], with noise that is drawn now.

    The same words make the same number as the `randomize` of `Response` and `Local`, which need packages that a device
    has not.

    **Guarantee**: under an offer that `price_local_offer`, or the channel, accepts, it costs what that says. It is
    exact, and the noise is drawn before the outcome is looked at.
    """
    if offer.noise is None:
        flip, epsilon = 0, dict(offer.terms)["epsilon"]
        while not flip and bits.below(2):  # e^-epsilon / (1 + e^-epsilon): a fair coin, then one of e^-epsilon
            flip = int(bernoulli_exp(epsilon, bits))
        return round_outcome(scaled, 1, bits) ^ flip
    noise = DEVICE_NOISES[offer.noise.noise](offer.noise.scale, bits)
    return round_outcome(scaled, offer.steps, bits) + noise


def write_local_report(ticket: str, value: int, metric: str, draw: Callable[[int], bytes]) -> str:
    """The body of the request that carries it, with a proof that the service tells a retry from a stranger by."""
    proof = draw(PROOF_BYTES).hex()
    return f'{{"ticket":"{ticket}","value":{value:>{VALUE_WIDTH}},"metric":"{metric}","proof":"{proof}"}}'
