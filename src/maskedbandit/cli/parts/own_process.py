"""A computation in a process of its own, so that a server goes on while it computes: JSON goes in, and comes out.

A module that can be asked has a function `main`, and ends with `answer(main)`.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from maskedbandit.errors import InvalidValue, StorageFailed
from maskedbandit.study.protocol import Protocol

PATIENCE = 180  # seconds
KEPT = 100  # answers


async def compute_apart(module: str, protocol: Protocol, **numbers: float) -> Any:
    """What the `main` of a module says of a protocol, and of an application if that is described by numbers."""
    if numbers:
        check_numbers(**numbers)
    given = json.dumps({"protocol": protocol.text, **numbers})
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, stdin=pipe, stdout=pipe)
    try:
        said, _ = await asyncio.wait_for(process.communicate(given.encode()), PATIENCE)
    except TimeoutError:
        raise InvalidValue(
            "protocol", protocol.name, f"one whose simulation takes at most {PATIENCE} seconds"
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise StorageFailed("the computation failed: the server's log has more")
    return json.loads(said)


class Kept:
    """What the `main` of a module said, for the last hundred that were asked."""

    def __init__(self, module: str) -> None:
        self._module, self._known = module, dict[tuple[Any, ...], Any]()

    async def __call__(self, protocol: Protocol, **numbers: float) -> Any:
        """See `computed`."""
        key = protocol.digest, *numbers.items()
        if key not in self._known:
            found = await compute_apart(self._module, protocol, **numbers)
            if len(self._known) >= KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[key] = found
        return self._known[key]


def check_numbers(baseline: float, difference: float, per_day: float) -> None:
    """Raise `InvalidValue` unless there can be such an application."""
    if not 0 <= baseline < 1:
        raise InvalidValue("baseline", baseline, "a mean from 0 to below 1")
    if not 0 < difference <= 1 - baseline:
        raise InvalidValue("difference", difference, f"above 0, and at most {1 - baseline:g}")
    if not 0 < per_day <= 1e9:
        raise InvalidValue("people on a day", per_day, "above 0, and at most 10^9")


def answer_on_stdin(main: Callable[[Any], Any]) -> None:
    """Answer what stands on standard input."""
    print(json.dumps(main(json.load(sys.stdin))))
