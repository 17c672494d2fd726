"""What protects a person in a protocol is whole numbers and bytes: no float, and no generator that can be seeded."""

from pathlib import Path

import pytest

from tests.floatfree import offences
from tests.for_each import for_each

SOURCE = Path(__file__).parent.parent / "src" / "maskedbandit"
ROOMS = ("secagg", "shuffle")
FILES = [SOURCE / "device" / "sealing.py", *(path for room in ROOMS for path in sorted((SOURCE / room).rglob("*.py")))]


@for_each("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_protocols_are_free_of_floats_and_seeds(path: Path) -> None:
    assert offences(path.read_text(encoding="utf-8")) == []


def test_the_files_of_every_protocol_are_found() -> None:
    found = {str(path.relative_to(SOURCE)) for path in FILES}
    assert {"secagg/client.py", "secagg/server.py", "secagg/shamir.py", "secagg/server_pair.py"} <= found
    assert any(name.startswith("shuffle/") and not name.endswith("__init__.py") for name in found)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("import random", "import random"),
        ("from numpy.random import default_rng", "from numpy.random import default_rng"),
        ("half = modulus / 2", "/"),
        ("fraction = 0.5", "literal 0.5"),
        ("def f(x: float): pass", "float"),
        ("inverse = x**power", "**"),
        ("from math import log", "from math import log"),
    ],
)
def test_one_line_too_many_in_a_protocol_is_seen(line: str, what: str) -> None:
    source = FILES[-1].read_text(encoding="utf-8")
    assert [found for _, found in offences(f"{source}\n{line}\n")] == [what]
