"""The distribution of the noise in released sums, and bounds on it: all that a policy may know of a channel.

Each kernel is written once, for every kind of noise. A noise of another kind needs no edit here: it has the kind
`SUB_GAMMA`, and two numbers bound its cumulant. A `Law` of an unknown kind cannot be made, and a kernel returns nan for
one.
"""

from maskedbandit.law.bounds import cumulant, deviation, log_mgf, log_mgf_of_sum, radius
from maskedbandit.law.counts import calibration, draws, draws_of_one, epoch, fewest_draws, nodes, steps, wider, width
from maskedbandit.law.properties import (
    adds_noise,
    is_coins,
    is_gaussian,
    is_laplace,
    is_noiseless,
    is_one_laplace_draw,
    is_response,
    is_skellam,
    is_sub_gamma,
    largest_tilt,
    loses_draws,
    unit_variance,
)
from maskedbandit.law.record import (
    BINARY,
    COINS,
    GAUSSIAN,
    HONAKER,
    HYBRID,
    KARY,
    KINDS,
    LAPLACE,
    NO_NOISE,
    RESPONSE,
    SKELLAM,
    SUB_GAMMA,
    Law,
)

__all__ = [
    "BINARY",
    "COINS",
    "GAUSSIAN",
    "HONAKER",
    "HYBRID",
    "KARY",
    "KINDS",
    "LAPLACE",
    "NO_NOISE",
    "RESPONSE",
    "SKELLAM",
    "SUB_GAMMA",
    "Law",
    "adds_noise",
    "calibration",
    "cumulant",
    "deviation",
    "draws",
    "draws_of_one",
    "epoch",
    "fewest_draws",
    "is_coins",
    "is_gaussian",
    "is_laplace",
    "is_noiseless",
    "is_one_laplace_draw",
    "is_response",
    "is_skellam",
    "is_sub_gamma",
    "largest_tilt",
    "log_mgf",
    "log_mgf_of_sum",
    "loses_draws",
    "nodes",
    "radius",
    "steps",
    "unit_variance",
    "wider",
    "width",
]
