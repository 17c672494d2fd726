"""Leader or challenger: the leader gets a fraction beta of the pulls for which it led, without randomization [JD23].

    arm = the leader B if N^B_B <= beta L_B, L_B counting this pull, else its challenger

N^B_B is how often B was pulled while it led, and L_B how often it led. Then -1/2 <= N^B_B - L_B / 2 <= 1 always if beta
is 1/2 [JD23, Lem. 1].
"""

from typing import NamedTuple

import numpy as np

from maskedbandit.core import kernel


class Turns(NamedTuple):
    """How often each arm led, and was pulled while it led."""

    led: np.ndarray  # [k]
    own: np.ndarray  # [k]
    beta: float


def turns(k: int, beta: float) -> Turns:
    """The state before the first pull."""
    return Turns(np.zeros(k, np.int64), np.zeros(k, np.int64), float(beta))


@kernel
def leads(s: Turns, leader: int) -> bool:
    """Whether the leader gets this pull; counts it."""
    s.led[leader] += 1
    mine = s.own[leader] <= s.beta * s.led[leader]
    if mine:
        s.own[leader] += 1
    return mine
