"""What is left to `make slow` is never all of a claim."""

from types import SimpleNamespace

import pytest

from tests.thrift import leave_to_slow, spread_evenly, thrifty


def test_not_all_values_are_dear() -> None:
    with pytest.raises(AssertionError, match="one at least"):
        thrifty([1, 2], lambda value: value > 0)


def test_values_are_spread_evenly() -> None:
    assert spread_evenly(1, 7) == {0}
    assert spread_evenly(3, 7) == {0, 2, 4}
    assert spread_evenly(9, 7) == set(range(7))
    with pytest.raises(AssertionError, match="one at least"):
        spread_evenly(0, 7)


def left(**claims: tuple[int, int | None]) -> dict[str, int]:
    """How many tests `make test` looks at of claims of so many values, that are marked `sparing` with a number."""

    class Item(SimpleNamespace):
        def get_closest_marker(self, name):
            return self.marks.get(name)

        def add_marker(self, mark):
            self.marks[mark.name] = mark

    items = []
    for name, (values, sparing) in claims.items():
        marks = {} if sparing is None else {"sparing": pytest.mark.sparing(sparing).mark}
        items += [Item(nodeid=f"{name}[{value}]", marks=dict(marks)) for value in range(values)]
    leave_to_slow(items)
    return {
        name: sum(item.nodeid.startswith(f"{name}[") and "slow" not in item.marks for item in items) for name in claims
    }


def test_a_sparing_claim_keeps_as_many_values_as_it_says() -> None:
    assert left(one=(5, 2), other=(4, None), few=(2, 9)) == {"one": 2, "other": 4, "few": 2}
