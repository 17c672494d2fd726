"""In which way kernels run: compiled, or as Python."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def choose_way(way: str) -> Iterator[None]:
    """Meanwhile all kernels are "compiled", or all are "python"; or, with an empty text, what is faster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASKEDBANDIT_KERNELS", way)
        yield
