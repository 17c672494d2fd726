"""Means that have a name: those of published studies, and those that are drawn.

In an experiment, `means` is a list, or such a name with the number `k` of arms and a `seed`.
"""

from typing import Any

import numpy as np

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import to_whole

SPREADS = {"easy": 0.5, "hard": 0.1}
STUDIED = {  # [SS19]: of equal gaps, linear, and with means that crowd at the bottom or at the top
    "C1": (0.75, 0.7, 0.7, 0.7, 0.7),
    "C2": (0.75, 0.625, 0.5, 0.375, 0.25),
    "C3": (0.75, 0.53125, 0.375, 0.28125, 0.25),
    "C4": (0.75, 0.71875, 0.625, 0.46875, 0.25),
}
SEARCHED = {  # those on which private searches for the best arm are compared [AJMB23; JA25]
    "mu1": (0.95, 0.9, 0.9, 0.9, 0.5),
    "mu2": STUDIED["C1"],
    "SS19b": STUDIED["C2"],
    "linspace": (0.0, 0.25, 0.5, 0.75, 1.0),
}


def listed_means(means: Any, k: Any = 10, seed: Any = 0) -> Any:
    """The means that an experiment asks for: a list as it stands, or those that have a name."""
    k, seed = to_whole("k", k, 2, 10**6), to_whole("instance seed", seed, 0, 2**32 - 1)
    return named_means(means, k, seed) if isinstance(means, str) else means


def named_means(name: str, k: int = 10, seed: int = 0) -> list[float]:
    """Means that have a name: "easy" and "hard" draw k of them; all others are the five of a paper.

    >>> named_means("C2")
    [0.75, 0.625, 0.5, 0.375, 0.25]
    """
    if name in SPREADS:
        return uniform_means(name, k, seed)
    known = STUDIED | SEARCHED
    if name not in known:
        raise InvalidValue("means", name, f"{', '.join(map(repr, [*SPREADS, *known]))} or a list of numbers")
    return list(known[name])


def uniform_means(spread: str, k: int = 10, seed: int = 0) -> list[float]:
    """Means drawn uniformly from [0.25, 0.75] ("easy") or [0.45, 0.55] ("hard") [CZ23, App. J].

    The generator is the one of the paper's own program, so that seeds 0 to 19 name its instances.

    >>> [round(mean, 3) for mean in uniform_means("easy", k=3, seed=0)]
    [0.524, 0.608, 0.551]
    """
    if spread not in SPREADS:
        raise InvalidValue("means", spread, "'easy', 'hard' or a list of numbers")
    if k < 2:
        raise InvalidValue("k", k, "a whole number of at least 2")
    width = SPREADS[spread]
    answer: list[float] = (width * np.random.RandomState(seed).rand(k) + 0.5 - width / 2).tolist()
    return answer
