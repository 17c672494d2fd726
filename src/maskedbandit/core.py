"""What policies, channels and drivers exchange, and nothing else.

A policy asks for pulls (`Decision`) and receives privatized sums (`Release`). All that it may know of the channel in
between is the distribution of the noise in a sum, as numbers (`Law`, in law/). The algorithms themselves are kernels:
small functions over tuples of arrays that run as plain Python, and that the simulator compiles into its loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}  # how kernels are compiled


class Kernel(Generic[P, R]):
    """A function that can be compiled: called from Python it runs as Python, called from compiled code it is compiled.

    Parameters travel in the arguments, never in closures, and randomness comes only from a generator that
    is passed in; so one compilation serves all values, and both ways of running give the same numbers.

    >>> @kernel
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """

    def __init__(self, function: Callable[P, R], **options: Any) -> None:
        update_wrapper(self, function)
        self.function = function
        self.options = options  # of the compiler; what it calls inherits them

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a function as a kernel."""
    return Kernel(function)


def large_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a kernel that stays a call, as do all that it calls: inlined, it would make a loop compile for minutes."""
    return Kernel(function, forceinline=False, apart=True)


def lean_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a kernel that makes no arrays, nor does what it calls: uncounted references to arrays make it faster."""
    return Kernel(function, _nrt=False)


class Decision(NamedTuple):
    """What a policy asks for.

    >>> Decision(arm=2, n=64, close=1)  # the next 64 users get arm 2; then its cohort closes, its sum is released
    Decision(arm=2, n=64, close=1)
    """

    arm: int
    n: int  # 0: ask for nobody; `arm` is the answer (identification), or is served until the next release (regret)
    close: int  # 1: after these n users the arm's open cohort closes and its sum is released; TOGETHER: see there


TOGETHER = 2  # as 1, and these users and those of the next decision come in random order, over the same stretch of time
WAIT = Decision(-1, 0, 0)  # nothing more to ask before a release arrives


class Release(NamedTuple):
    """A release as a policy receives it: `total` is the noisy sum of the `n` rewards of a closed cohort of `arm`."""

    arm: int
    n: int
    total: float
