"""One test of a claim on many values, each of which takes milliseconds: it looks at all of them and names what fails.

`for_each` takes the arguments of `pytest.mark.parametrize`. But its values are no tests of their own, which cost more
than such claims do. All of them get the same fixtures: so none that a value leaves otherwise than it found them.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Ids = Callable[[Any], object] | Iterable[object] | None


def name_rows(names: tuple[str, ...], rows: list[tuple[Any, ...]], ids: Ids) -> list[str]:
    """What the values of each look are called where one fails."""
    if ids is not None and not callable(ids):
        return [str(name) for name in ids]
    own = ids or repr
    return [", ".join(f"{name} {own(value)}" for name, value in zip(names, row, strict=True)) for row in rows]


def for_each(names: str | tuple[str, ...], values: Iterable[Any], ids: Ids = None) -> Callable[[Any], Any]:
    """Give a test, or every test of a class, each of the values in turn; of several, all of their product."""
    split = (names,) if isinstance(names, str) else names
    rows = [(value,) if isinstance(names, str) else tuple(value) for value in values]
    assert rows, f"there are no values of {names}"
    own = [
        (name, dict(zip(split, row, strict=True))) for name, row in zip(name_rows(split, rows, ids), rows, strict=True)
    ]

    def decorate(test: Any) -> Any:
        if isinstance(test, type):
            for name in [name for name in vars(test) if name.startswith("test_")]:
                setattr(test, name, decorate(vars(test)[name]))
            return test
        claim, others = getattr(test, "looks", (test, [("", {})]))
        looks = [(f"{name}, {rest}".removesuffix(", "), given | more) for name, given in own for rest, more in others]

        @functools.wraps(claim)
        def look(*arguments: Any, **fixtures: Any) -> None:
            failed, failures = [], []
            for name, given in looks:
                try:
                    claim(*arguments, **fixtures, **given)
                except (Exception, pytest.fail.Exception, BaseExceptionGroup) as failure:
                    failure.add_note(f"with {name}")
                    failed.append(name)
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failed)} of {len(looks)}: {'; '.join(failed)}", failures)

        rest = [each for name, each in inspect.signature(test).parameters.items() if name not in split]
        look.__signature__ = inspect.Signature(rest)
        look.looks = claim, looks
        return look

    return decorate
