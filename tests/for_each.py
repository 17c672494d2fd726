"""One test of a claim on many values, each of which takes milliseconds: it looks at all of them and names what fails.

`for_each` takes the arguments of `pytest.mark.parametrize`. But its values are no tests of their own, which cost more
than such claims do. All of them get the same fixtures: so none that a value leaves otherwise than it found them.

Values that are marked as slow, as `thrifty` marks them, are looked at by a second test, which is left to `make slow`.
"""

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest
from _pytest.mark import ParameterSet

Ids = Callable[[Any], object] | Iterable[object] | None
SHORT = reprlib.Repr()
SHORT.maxother = SHORT.maxstring = 100
BOTH = pytest.mark.parametrize("dear", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["quick", "dear"])


class Look(NamedTuple):
    """Values of some parameters."""

    given: dict[str, Any]
    name: Callable[[], str]
    dear: bool

    def beside(self, other: "Look") -> "Look":
        """A look with the values of both."""
        return Look(self.given | other.given, lambda: f"{self.name()}, {other.name()}", self.dear or other.dear)


def name_values(given: dict[str, Any], show: Callable[[Any], object]) -> str:
    """What the values of one look are called, if it fails."""
    return ", ".join(f"{name} {show(value)}" for name, value in given.items())


def list_looks(names: str | tuple[str, ...], values: Iterable[Any], ids: Ids) -> list[Look]:
    """A look for each of the values."""
    split, found = (names,) if isinstance(names, str) else names, []
    labels = iter(ids) if ids is not None and not callable(ids) else None
    for value in values:
        marked = isinstance(value, ParameterSet)
        assert not marked or {mark.name for mark in value.marks} <= {"slow"}, f"a mark of {value} would be lost"
        row = value.values if marked else value if isinstance(names, tuple) else (value,)
        given = dict(zip(split, row, strict=True))
        label = (
            functools.partial(str, next(labels)) if labels else functools.partial(name_values, given, ids or SHORT.repr)
        )
        found.append(Look(given, label, marked and any(mark.name == "slow" for mark in value.marks)))
    assert found, f"there are no values of {names}"
    return found


def for_each(names: str | tuple[str, ...], values: Iterable[Any], ids: Ids = None) -> Callable[[Any], Any]:
    """Give a test, or every test of a class, each of the values in turn; of several, all of their product."""
    own = list_looks(names, values, ids)

    def decorate(test: Any) -> Any:
        if isinstance(test, type):
            for name in [name for name in vars(test) if name.startswith("test_")]:
                setattr(test, name, decorate(vars(test)[name]))
            return test
        claim, others = getattr(test, "looks", (test, None))
        looks = own if others is None else [each.beside(more) for each in own for more in others]
        some_are_dear = any(each.dear for each in looks)
        assert not all(each.dear for each in looks), f"{claim.__name__} is slow throughout: mark it so"

        @functools.wraps(test)
        def look(*arguments: Any, dear: bool = False, **fixtures: Any) -> None:
            failures = []
            for each in looks:
                if each.dear == dear:
                    try:
                        claim(*arguments, **fixtures, **each.given)
                    except (Exception, pytest.fail.Exception, pytest.skip.Exception, BaseExceptionGroup) as failure:
                        failure.add_note(f"with {each.name()}")
                        failures.append(failure)
            if failures:
                failed = "; ".join(failure.__notes__[-1].removeprefix("with ") for failure in failures)
                raise BaseExceptionGroup(f"{len(failures)} of {len(looks)}: {failed}", failures)

        rest = [each for name, each in inspect.signature(test).parameters.items() if name not in own[0].given]
        if some_are_dear and not any(each.name == "dear" for each in rest):
            rest.append(inspect.Parameter("dear", inspect.Parameter.KEYWORD_ONLY))
            look = BOTH(look)
        look.__signature__ = inspect.Signature(rest)
        look.looks = claim, looks
        return look

    return decorate
