"""The law of the noise in released sums, and what follows from it: all that a policy may know of a channel.

Each kernel is written once, for every kind of noise. A noise that is none of those known here needs no edit: its kind
is `SUB_GAMMA`, and two numbers bound its cumulant. A `Law` of an unknown kind cannot be made, and a kernel that met one
would give nan.
"""

from maskedbandit.law.bounds import cumulant, deviation, log_mgf, log_mgf_of_sum, radius
from maskedbandit.law.counts import calibration, draws, draws_of_one, epoch, nodes, steps, wider, width
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
    "nodes",
    "radius",
    "steps",
    "unit_variance",
    "wider",
    "width",
]
