"""What a folder of tests may cost, and what it costs: `make test` says which folder is above its budget, and why.

Seconds of CPU time say little where machines differ. So they are counted in units, of which each is the time that this
process takes for some fixed work, and a folder that is above its budget on one machine is so on another.
"""

import resource
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

BUDGETS: dict[str, int] = tomllib.loads(Path(__file__).with_name("budget.toml").read_text())
DEAREST = 5  # tests that are named of a folder that is above its budget


def used() -> float:
    """Seconds of CPU time of this process and of those that it has started and that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def take_unit() -> float:
    """Seconds of CPU time of one unit of work."""
    before = time.process_time()
    sum(hash((number, number)) & 1 for number in range(1_000_000))
    return time.process_time() - before


def folder_of(test: str) -> str:
    """The folder below tests/ in which a test is; a file of its own is in none."""
    _, folder, *rest = test.partition("::")[0].split("/")
    return folder if rest else "."


def say_what_is_above(costs: Iterable[tuple[str, float]], unit: float) -> list[str]:
    """A line for each folder above its budget, with the dearest of its tests; costs are seconds, by test."""
    folders = defaultdict[str, list[tuple[float, str]]](list)
    for test, seconds in costs:
        folders[folder_of(test)].append((seconds / unit, test))
    lines = []
    for folder, tests in sorted(folders.items()):
        total = sum(cost for cost, _ in tests)
        if total > BUDGETS[folder]:
            lines.append(
                f"tests/{folder} took {total:.0f} units of CPU time; its budget is {BUDGETS[folder]}. The dearest:"
            )
            lines += [f"  {cost:6.1f}  {test}" for cost, test in sorted(tests, reverse=True)[:DEAREST]]
    return lines
