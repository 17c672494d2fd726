"""What a channel keeps between its releases, as text: the noise of a tree's nodes, which is drawn once, or plain sums.

Whoever has it takes the noise off what was released, so it is erased when the study is archived.
"""

import json
from typing import Any

import numpy as np

from maskedbandit.errors import Corrupted


def write_memory(memory: Any) -> str:
    """The arrays of a channel's memory; a float is written so that it is read as the same number.

    >>> from maskedbandit.channels.tree import Tree
    >>> tree = Tree(epsilon=1, length=4)
    >>> write_memory(read_memory(write_memory(tree.memory(2)), tree.memory(2))) == write_memory(tree.memory(2))
    True
    """
    return json.dumps([each.tolist() for each in memory if isinstance(each, np.ndarray)])


def read_memory(text: str, empty: Any) -> Any:
    """The memory that was written, in the form of an empty one."""
    found = iter(json.loads(text))
    filled = []
    for each in empty:
        if not isinstance(each, np.ndarray):
            filled.append(each)
            continue
        values = np.array(next(found, []), each.dtype).reshape(-1)
        if values.size != each.size:
            raise Corrupted("what the channel keeps between its releases was changed, or is of another channel")
        filled.append(values.reshape(each.shape))
    return type(empty)(*filled)
