"""Bytes that look random and are always the same, from which known answers are made."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from maskedbandit.privacy.sampling import SPAN

Entry = dict[str, Any]


def make_bytes(name: str, count: int) -> bytes:
    """Bytes that look random and are always the same."""
    blocks = (sha256(f"{name} {i}".encode()).digest() for i in range(-(-count // 32)))
    return b"".join(blocks)[:count]


def read_bytes(data: bytes) -> Callable[[int], bytes]:
    """A source of bytes that gives these, in order."""
    left = bytearray(data)

    def draw(count: int) -> bytes:
        taken = bytes(left[:count])
        assert len(taken) == count
        del left[:count]
        return taken

    return draw


PAGE = 4096


def make_pages() -> list[bytes]:
    """Pages of random words. The words that are taken first are the largest and the least, which few draws meet."""
    first, *others = (make_bytes(f"page {number}", PAGE) for number in range(4))
    rare = b"".join(word.to_bytes(8, "little") for word in (0, SPAN - 1, SPAN - 2, 1, 0, SPAN - 1, SPAN - 1))
    return [first[: -len(rare)] + rare, *others]


PAGES = make_pages()
