"""Broken twins of the engine, each with one fault: what it calls in place of the functions that the loop calls."""

from collections import defaultdict
from typing import Any

from maskedbandit.reports.audit.runs import Hooks


def keep_rewards(calls: Hooks) -> Hooks:
    """A reward stays in its arm's open cohort, and enters every later release."""
    one, earned = calls["one"], defaultdict[int, float](float)

    def broken(i: Any, arm: int, *rest: Any) -> float:
        earned[arm] += one(i, arm, *rest)
        return earned[arm]

    return {"one": broken}


def deal_again(calls: Hooks) -> Hooks:
    """The rewards of a cohort that was dealt are in the next one of its arm too."""
    sent, dealt = calls["send_cohort"], defaultdict[int, float](float)

    def broken(books: Any, due: int, arm: int, n: int, total: float, epoch: int) -> bool:
        dealt[arm] += total
        return bool(sent(books, due, arm, n, dealt[arm], epoch))

    return {"send_cohort": broken}


def earn_twice(calls: Hooks) -> Hooks:
    """A reward counts twice in its cohort."""
    return {"one": lambda *args: 2 * calls["one"](*args)}


def draw_twice(calls: Hooks) -> Hooks:
    """Noise is drawn, and drawn again."""
    noise = calls["noise"]
    return {"noise": lambda *args: (noise(*args), noise(*args))[1]}


def release_unfinished(calls: Hooks) -> Hooks:
    """A cohort that the horizon cuts off is released."""
    return {"is_whole": lambda end, planned: True}


def tell_early(calls: Hooks) -> Hooks:
    """A cohort is released one user too soon."""
    return {"first_due": lambda flight: calls["first_due"](flight) - 1}


def tell_late(calls: Hooks) -> Hooks:
    """A cohort is released one user too late."""
    return {"first_due": lambda flight: calls["first_due"](flight) + 1}


def wait_the_same(calls: Hooks) -> Hooks:
    """Cohorts that have to wait are due after 90 users, whatever their rewards take."""
    return {"late": lambda *args: 90 if calls["late"](*args) > 0 else 0}


def tell_again(calls: Hooks) -> Hooks:
    """What was released stays in flight."""
    return {"pop_due_slot": lambda flight: flight.heap[0]}
