"""The examples that Hypothesis draws, the same whatever else is loaded.

Among what it draws from the seed of a test it mixes numbers and texts that stand in the modules that are loaded: so a
test would see other examples beside other tests, or after a change elsewhere. Here it finds none in any module.
"""

import sys

import pytest

NAME = "hypothesis.internal.conjecture.providers"
PINNED = pytest.MonkeyPatch()


def pin_examples() -> None:
    """If any test draws examples, have them come from its seed alone."""
    if (providers := sys.modules.get(NAME)) is not None:
        PINNED.setattr(providers, "_get_local_constants", providers.Constants)
        providers.CONSTANTS_CACHE.cache.clear()
