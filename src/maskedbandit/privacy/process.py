"""Which process this is: what a fork copies belongs to the one that forked alone."""

from __future__ import annotations

import os

_forks = 0


def process() -> tuple[int, int]:
    """The number of this process, and of the forks behind it. Each alone can miss a fork.

    A fork that is made in C calls no hook of Python, so nobody counts it. A child whose numbers are those of another
    namespace, as in a container, may have the number of its parent; and a number is given again once it is free.

    >>> process() == process()
    True
    """
    return os.getpid(), _forks


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):  # a system that cannot fork has no forks to count
    os.register_at_fork(after_in_child=_forked)
