"""What policies, channels and drivers exchange, and nothing else.

A policy asks for pulls (`Decision`) and receives privatized sums (`Release`). All that it may know of the channel in
between is the distribution of the noise in a sum, as numbers (`Law`, in law.py). The algorithms themselves are kernels:
small functions over tuples of arrays that run as plain Python, and that the simulator compiles into its loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
P = ParamSpec("P")
R = TypeVar("R")

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}  # how kernels are compiled


class Kernel(partial[R], Generic[P, R]):
    """A function that can be compiled: called from Python it runs as Python, called from compiled code it is compiled.

    Parameters travel in the arguments, never in closures, and randomness comes only from a generator that
    is passed in; so one compilation serves all values, and both ways of running give the same numbers.

    It is a `partial` of nothing, which calls the function at once: as Python, kernels call each other a million times.

    >>> @kernel
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """

    function: Callable[P, R]
    options: dict[str, Any]  # of the compiler; what it calls inherits them

    def __new__(cls, function: Callable[P, R], **options: Any) -> Kernel[P, R]:
        own = super().__new__(cls, function)
        update_wrapper(own, function)
        own.function, own.options = function, options
        return own

    def __get__(self, instance: object, owner: type | None = None) -> Kernel[P, R]:
        """Itself: classes have kernels as attributes, and from Python 3.14 on a `partial` would become a method."""
        return self

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a function as a kernel."""
    return Kernel(function)


def large_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a kernel that is compiled apart: whoever calls it, and however often, its machine code is made once.

    Other kernels become part of whatever calls them, and are optimized again with it. That is faster for what is called
    once a user, and makes a loop compile for minutes if they are large.
    """
    return mark_kernel(function, apart=True)


def lean_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a kernel that makes no arrays, nor does what it calls: uncounted references to arrays make it faster."""
    return mark_kernel(function, _nrt=False)


def mark_kernel(function: Callable[P, R], **options: Any) -> Kernel[P, R]:
    """The function as a kernel; marks add up."""
    if isinstance(function, Kernel):
        return Kernel(function.function, **function.options, **options)
    return Kernel(function, **options)


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


UNKNOWN = -1  # an epoch


class Release(NamedTuple):
    """A release: `total` is the noisy sum of the `n` rewards of a closed cohort of `arm`.

    Cohorts of the same epoch were dealt together: in random order, over the same stretch of users.
    """

    arm: int
    n: int
    total: float
    epoch: int = UNKNOWN
