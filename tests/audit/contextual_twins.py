"""Broken twins of the contextual loop, each with one fault: what it calls in place of the functions that it calls."""

from collections import defaultdict
from typing import Any

from maskedbandit.reports.audit.runs import Hooks
from tests.audit.contextual_rules import USERS


def count_own_cohort(calls: Hooks) -> Hooks:
    """A user is in the cohort of the arm that was shown, and in no other, as if there were no noise."""
    return {"is_noiseless": lambda law: True}


def draw_once(calls: Hooks) -> Hooks:
    """All numbers of a release have the same draw of noise."""
    drawn: list[Any] = []

    def due(*args: Any) -> bool:
        drawn.clear()
        return bool(calls["due"](*args))

    def noise(*args: Any) -> Any:
        if not drawn:
            drawn.append(calls["noise"](*args))
        return drawn[0]

    return {"due": due, "noise": noise}


def draw_twice(calls: Hooks) -> Hooks:
    """A number has the noise of two draws."""
    return {"noise": lambda *args: calls["noise"](*args) + calls["noise"](*args)}


def deliver_twice(calls: Hooks) -> Hooks:
    """A reward stays in flight, and arrives once more."""
    delivered: list[bool] = []

    def pop(flight: Any) -> Any:
        delivered.append(True)
        return flight.heap[0] if len(delivered) % 2 else calls["pop_due_slot"](flight)

    return {"pop_due_slot": pop}


def add_twice(calls: Hooks) -> Hooks:
    """A reward counts twice."""
    return {"add_statistics": lambda sums, z, products, reward: calls["add_statistics"](sums, z, products, 2 * reward)}


def keep_sums(calls: Hooks) -> Hooks:
    """Sums are kept after their release, and enter the next one."""
    perturb, kept = calls["perturb"], defaultdict[int, float](float)

    def broken(parameters: Any, memory: Any, law: Any, stream: int, total: float, *rest: Any) -> Any:
        kept[stream] += total
        return perturb(parameters, memory, law, stream, kept[stream], *rest)

    return {"perturb": broken}


def release_unfinished(calls: Hooks) -> Hooks:
    """A cohort that the last of USERS cuts off is released."""
    now = [0]

    def present(source: Any, i: int, t: int, *rest: Any) -> Any:
        now[0] = t
        return calls["present"](source, i, t, *rest)

    def due(*args: Any) -> bool:
        return bool(calls["due"](*args)) or now[0] == USERS - 1

    return {"present": present, "due": due}
