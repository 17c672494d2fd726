"""The process of a study is copied, by a fork or as with a machine's snapshot: no noise is drawn twice.

A copy of a process has all that was in memory, also the bits that were fetched and not used.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def copied(address: str, folder: Path, kind: str) -> list[Any]:
    """What the child found, and its parent after it."""
    command = [sys.executable, "-m", "tests.store.copied_process", address, str(folder), kind]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, check=False, timeout=120, cwd=root)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.sparing(1)
@pytest.mark.parametrize("kind", ["fork", "fork in a transaction"])
def test_a_forked_child_is_refused_and_its_parent_goes_on(address: str, tmp_path: Path, kind: str) -> None:
    found, totals = copied(address.replace("study.db", "one/study.db"), tmp_path / "one", kind)
    assert len(found) == 8 + (kind == "fork")
    assert all("not a fork of it" in each for each in found[:8]), found
    assert all(each.startswith("FencedOff") for each in found[8:]), found
    assert len(totals) == 2


@pytest.mark.sparing(1)
@pytest.mark.parametrize(
    ("kind", "differ"), [("snapshot", True), ("fork with old bits", True), ("snapshot with old bits", False)]
)
def test_both_copies_of_a_process_draw_their_own_noise(tmp_path: Path, kind: str, differ: bool) -> None:
    child, parent = copied(f"sqlite:///{tmp_path}/one/study.db", tmp_path / "one", kind)
    assert len(child) == len(parent) == 2
    found = [one != other for one, other in zip(child, parent, strict=True)]
    assert found == [differ] * 2, "the last ones are broken: their noise is from bits that were fetched before the copy"
