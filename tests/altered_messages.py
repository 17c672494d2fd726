"""Messages that were altered at random, and how many of them the tests look at.

A test names how many there are in all. `make slow` looks at a twentieth of them, which is enough to find each broken
twin; `ALTERED_MESSAGES=all make slow T=tests/service` looks at all.
"""

import os
from random import Random

SHARE = 1.0 if os.environ.get("ALTERED_MESSAGES") == "all" else 0.05


def count_messages(all_of_them: int) -> range:
    """So many of them."""
    return range(round(SHARE * all_of_them))


PIECES = [
    *(b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"\\u0000", b"\\ud800", b"null", b"true", b"NaN", b"-Infinity"),
    *(
        b"1e999",
        b"-0",
        b"9" * 400,
        b"1" * 5000,
        b"0x10",
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        "é\u2028😀".encode(),
        b" " * 99,
    ),
    *(
        b'"unit"',
        b'"ticket"',
        b'"value"',
        b'"requests"',
        b'"context"',
        b'"event"',
        b"__proto__",
        b"' OR 1=1 --",
        b"%s%n",
    ),
    *(b"[" * 2000, b'{"a":' * 2000, b"2026-11-22", b"\n", b"#", b"=", b"inf", b"[[arms]]", b"1.7976931348623157e308"),
]


def mutate_body(random: Random, body: bytes) -> bytes:
    """A body of JSON or TOML in which a few things were changed, or none."""
    found = bytearray(body)
    for _ in range(random.choice((0, 1, 1, 1, 2, 3, 8))):
        at = random.randrange(len(found) + 1)
        kind = random.random()
        if kind < 0.35:
            found[at:at] = random.choice(PIECES)
        elif kind < 0.6:
            found[at : at + random.randrange(1, 6)] = random.choice(PIECES)
        elif kind < 0.8:
            del found[at : at + random.randrange(1, 20)]
        elif kind < 0.95:
            found[at : at + 1] = bytes([random.randrange(256)])
        else:
            found[at:at] = found[random.randrange(len(found) + 1) :]
    return bytes(found[:70_000])


def flip_bytes(random: Random, data: bytes) -> bytes:
    """Other bytes: some were changed, or some are missing, or there are more."""
    found, kind = bytearray(data), random.random()
    if kind < 0.8:
        for _ in range(random.choice((1, 1, 2, 8))):
            found[random.randrange(len(found))] ^= 1 << random.randrange(8)
    elif kind < 0.9:
        del found[random.randrange(len(found)) :]
    else:
        found += random.randbytes(random.randrange(1, 40))
    return bytes(found) if found != data else flip_bytes(random, data)
