"""A figure as a file: the same numbers give the same file."""

from collections.abc import Callable

from matplotlib import rc_context
from matplotlib.figure import Figure


def save(draw: Callable[[], Figure], path: str) -> None:
    """Draw it into a file."""
    with rc_context({"svg.hashsalt": "maskedbandit"}):
        draw().savefig(path, metadata={"Date": None} if path.endswith("svg") else None)
