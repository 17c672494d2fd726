"""A folder in memory, where there is one: nothing that is written there waits for a disk.

A process that is killed leaves there what it would leave on a disk. What a loss of power leaves is tested with files
that are made for it.
"""

import os
import shutil

MEMORY, ROOM = "/dev/shm", 2**32  # a run fills about a third; containers may have 64 MiB there
QUICK = MEMORY if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM else None
