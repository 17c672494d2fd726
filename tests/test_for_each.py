"""Every value of a claim is looked at, and those that fail are named."""

import pytest

from tests.for_each import for_each

SEEN: list[tuple[int, str]] = []


@for_each("letter", ["a", "b"])
@for_each("number", [1, pytest.param(2, marks=pytest.mark.slow), 3])
def claim(number: int, letter: str) -> None:
    SEEN.append((number, letter))
    assert (number, letter) != (3, "b")


def test_all_values_are_looked_at_and_the_wrong_one_is_named() -> None:
    SEEN.clear()
    with pytest.raises(BaseExceptionGroup, match=r"1 of 6: letter 'b', number 3") as found:
        claim(dear=False)
    assert len(found.value.exceptions) == 1
    assert sorted(SEEN) == [(1, "a"), (1, "b"), (3, "a"), (3, "b")]
    claim(dear=True)
    assert sorted(SEEN)[2:4] == [(2, "a"), (2, "b")]


def test_nothing_is_left_out_silently() -> None:
    with pytest.raises(AssertionError, match="no values"):
        for_each("number", [])
    with pytest.raises(AssertionError, match="would be lost"):
        for_each("number", [pytest.param(1, marks=pytest.mark.skip)])
    with pytest.raises(AssertionError, match="slow throughout"):
        for_each("number", [pytest.param(1, marks=pytest.mark.slow)])(claim.looks[0])

    @for_each("number", [1, 2])
    def skips(number: int) -> None:
        if number == 1:
            pytest.skip("a value that is not looked at")

    with pytest.raises(BaseExceptionGroup, match="1 of 2"):
        skips()
