"""File descriptors: how many connections there is room for, so that the database and the clock never lack one."""

import sys

MOST = 10_000  # connections
RESERVE = 512  # descriptors for databases, witnesses and other servers


def room_for_connections() -> int:
    """How many connections may be open at a time; the limit of the process is raised as far as it may be.

    >>> 0 < room_for_connections() <= MOST
    True
    """
    if sys.platform == "win32":  # where sockets are no files
        return MOST
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST + RESERVE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return left_of(wanted if soft == resource.RLIM_INFINITY else soft)


def left_of(limit: int) -> int:
    """The connections that so many descriptors allow: half of them at least.

    >>> left_of(256), left_of(4096), left_of(10**6)
    (128, 3584, 10000)
    """
    return min(max(limit - RESERVE, limit // 2), MOST)
