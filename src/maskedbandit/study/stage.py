"""The stage of a study: the part in which the same arms are in play.

A policy that starts anew decides between them, and numbers them as they are listed. It is told nothing of the cohorts
before it, so what it guarantees holds for the stage. Their releases count for the arm that is served while there is
nothing to ask for.
"""

from collections.abc import Iterable
from typing import Any

from maskedbandit.errors import IllegalDecision, InvalidValue
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.exact import whole


def checked_arms(arms: Iterable[Any], k: int) -> tuple[int, ...]:
    """The arms in play of a study that has had k arms so far: the last one may be new.

    >>> checked_arms([0, 2, 3], 3)
    (0, 2, 3)
    """
    found = tuple(whole("an arm in play", arm, 0, k) for arm in arms)
    if not found or list(found) != sorted(set(found)):
        raise InvalidValue("arms", found, "at least one, each once, in the order of their numbers")
    return found


def first_state(policy: Policy, k: int, aim: Any) -> Any:
    """The state in which a policy begins a stage; of an arm that is alone there is nothing to decide."""
    try:
        return policy.init(k, aim) if k > 1 else None
    except Exception as why:
        raise IllegalDecision(f"{type(policy).__name__} cannot begin a stage of {k} arms") from why
