"""One test of a claim on many values, each of which takes milliseconds: it looks at all of them and names what fails.

`for_each` takes the arguments of `pytest.mark.parametrize`. But its values are no tests of their own, which cost more
than such claims do. All of them get the same fixtures: so none that a value leaves otherwise than it found them.
"""

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Ids = Callable[[Any], object] | Iterable[object] | None
SHORT = reprlib.Repr()
SHORT.maxother = SHORT.maxstring = 100


def name_values(given: dict[str, Any], show: Callable[[Any], object]) -> str:
    """What the values of one look are called, if it fails."""
    return ", ".join(f"{name} {show(value)}" for name, value in given.items())


def for_each(names: str | tuple[str, ...], values: Iterable[Any], ids: Ids = None) -> Callable[[Any], Any]:
    """Give a test, or every test of a class, each of the values in turn; of several, all of their product."""
    split = (names,) if isinstance(names, str) else names
    given = [dict(zip(split, (row,) if isinstance(names, str) else row, strict=True)) for row in values]
    assert given, f"there are no values of {names}"
    if ids is None or callable(ids):
        own = [(functools.partial(name_values, each, ids or SHORT.repr), each) for each in given]
    else:
        own = [(functools.partial(str, label), each) for label, each in zip(ids, given, strict=True)]

    def decorate(test: Any) -> Any:
        if isinstance(test, type):
            for name in [name for name in vars(test) if name.startswith("test_")]:
                setattr(test, name, decorate(vars(test)[name]))
            return test
        claim, others = getattr(test, "looks", (test, [()]))
        looks = [(each, *more) for each in own for more in others]

        @functools.wraps(claim)
        def look(*arguments: Any, **fixtures: Any) -> None:
            failed, failures = [], []
            for parts in looks:
                try:
                    claim(*arguments, **fixtures, **{name: value for _, part in parts for name, value in part.items()})
                except (Exception, pytest.fail.Exception, BaseExceptionGroup) as failure:
                    failed.append(", ".join(name() for name, _ in parts))
                    failure.add_note(f"with {failed[-1]}")
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failed)} of {len(looks)}: {'; '.join(failed)}", failures)

        rest = [each for name, each in inspect.signature(test).parameters.items() if name not in split]
        look.__signature__ = inspect.Signature(rest)
        look.looks = claim, looks
        return look

    return decorate
