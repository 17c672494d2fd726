"""The identity of this process: state that a fork copies belongs only to the process that forked."""

import mmap
import os
import sys

WIPE_ON_FORK = 18  # of madvise(2): a child finds zeros where its parent wrote something

_forks = 0


def _page() -> mmap.mmap | None:
    """A page of memory that every fork wipes, whoever makes it; None where the system has none."""
    if sys.platform != "linux":
        return None
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        page.madvise(WIPE_ON_FORK)
    except OSError:  # a kernel of before 2017, or one that only looks like Linux
        return None
    return page


_known = _page()  # begins with 1 once `_this` is this process
_this = (0, 0)


def identify_process() -> tuple[int, int]:
    """The number of this process, and of the forks behind it. Each alone can miss a fork.

    A fork that is made in C calls no hook of Python, so only a page of memory that every fork wipes can reveal it. A
    child in another namespace, as in a container, may have the number of its parent; and the system reuses numbers that
    are free. Reading the page takes a tenth of the time of asking the system for the number.

    >>> identify_process() == identify_process()
    True
    """
    global _forks, _this
    if _known is None:
        return os.getpid(), _forks
    if not _known[0]:
        _forks += 1
        _this = os.getpid(), _forks
        _known[0] = 1  # last: a thread that finds it so gets what is above
    return _this


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):  # a system that cannot fork has no forks to count
    os.register_at_fork(after_in_child=_forked)
