"""The result of the run of a loop: its record in `Out`, and a number that says how it ended.

Compiled code raises no errors of ours; `raise_for_status` does, once the loop has returned.
"""

from typing import Any, NamedTuple

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.core import Floats, Integers, kernel
from maskedbandit.errors import IllegalDecision, InvalidValue, KernelError
from maskedbandit.law import Law
from maskedbandit.policies.policy import Policy
from maskedbandit.study.illegal import (
    no_such_arm,
    no_such_close,
    no_such_count,
    no_such_deck,
    nothing_to_wait_for,
    unknown_size,
)

DONE, BAD_ARM, BAD_COUNT, DEADLOCK, NO_FIT, UNSIZED, TOO_WIDE, BAD_DECK, BAD_CLOSE = range(9)
MORE_SIZES, MORE_RELEASES, MORE_SLOTS = range(9, 12)  # the run is to be made again, with more room
RUN_AGAIN = 12  # the run is to be made again: nothing that it wrote counts
LARGEST_EXACT = 2.0**52  # a sum above, in steps, would lose its last digit
WIDEST_TOTAL = 2.0**60  # and noise of a variance above would not fit 64 bits


class Out(NamedTuple):
    """The record of the loop for one run; [c] at the checkpoints."""

    regret: Floats  # [c] pseudo-regret
    realised: Floats  # [c] realised regret
    pulls: Integers  # [k]
    releases: Integers  # [1]
    sizes: Integers  # [any] the different sizes of cohorts whose rewards were collected, then zeros
    last: Integers  # [2] arm and number of users of the last decision: what it stopped with, or did wrong
    recorded: Floats  # [any, 4] the fields of `Release`, if releases are kept


def blank_out(k: int, marks: Integers, sizes: int = 4096, room: int = 0) -> Out:
    """An empty record for a run of k arms, with room for so many sizes of cohorts, and for so many kept releases."""
    pulls, releases, noted, last = (np.zeros(size, np.int64) for size in (k, 1, sizes, 2))
    return Out(np.zeros(marks.size), np.zeros(marks.size), pulls, releases, noted, last, np.zeros((room, 4)))


@kernel
def note_size(sizes: Integers, n: int) -> bool:
    """Whether n is among the sizes, or could be added to them."""
    for i in range(sizes.size):
        if sizes[i] == n or sizes[i] == 0:
            sizes[i] = n
            return True
    return False


@kernel
def too_wide(width: float, count: float, n: int, g: int) -> bool:
    """Whether so many draws of this width, or the sum of n rewards in steps of 1/g, do not fit 64-bit numbers."""
    return width * width * count > WIDEST_TOTAL or float(n) * g > LARGEST_EXACT


def check_whole(policy: Policy, state: Any, law: Law, rng: np.random.Generator) -> None:
    """Raise if a decision has a number that is not whole: the loop, which fails by that, names a line of its own."""
    try:
        decision = policy.ask(state, law, rng)
        fields = decision._asdict().items()
    except Exception:  # whatever is wrong with it was said
        return
    for name, value in fields:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            code = policy.ask.function.__code__
            at = f"{code.co_filename}, line {code.co_firstlineno}: {policy.ask.__qualname__}"
            raise KernelError(f"{at} returns {decision}, whose {name} must be a whole number: int(...) makes one")


def raise_for_status(status: int, arm: int, n: int, policy: Policy, channel: Channel, memory: Any) -> None:
    """Raise what a run's status stands for."""
    name = type(policy).__name__
    if status == BAD_ARM:
        raise no_such_arm(name, arm)
    if status == BAD_COUNT:
        raise no_such_count(name, n)
    if status == BAD_CLOSE:
        raise no_such_close(name, n)
    if status == BAD_DECK:
        raise no_such_deck(name, arm, n)
    if status == DEADLOCK:
        raise nothing_to_wait_for(name)
    if status == UNSIZED:
        raise unknown_size(name)
    if status == TOO_WIDE:
        allowed = "smaller: its sum or its noise has too many steps for 64-bit numbers"
        raise InvalidValue(f"a cohort of {type(channel).__name__}", n, allowed)
    if status == MORE_SIZES:
        raise IllegalDecision(f"{name} closes cohorts of more than {n} different sizes: they should grow faster")
    if status == NO_FIT:
        channel.check_size(n, memory)
        raise InvalidValue("the size of a cohort", n, f"one that {type(channel).__name__} can release")
