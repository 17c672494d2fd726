"""What is left to `make slow` is there, and is never all of a claim."""

import pytest

from tests.thrift import COLLECTED, NAMED, forgotten, thrifty


def test_of_every_claim_something_stays(pytestconfig) -> None:
    """Of all claims of which tests were collected just now: in `make test` and `make slow`, of all."""
    assert forgotten(NAMED, pytestconfig.stash[COLLECTED]) == []


@pytest.mark.parametrize(
    ("named", "found"),
    [
        (["t[a]"], []),
        (["t[a]", "t[b]"], ["t[a]", "t[b]"]),
        (["t[c]"], ["t[c]"]),
        (["u[a]"], []),
    ],
    ids=["one of two", "all", "one that is not there", "of a test that was not collected"],
)
def test_nothing_else_is_found(named, found) -> None:
    assert forgotten(named, ["t[a]", "t[b]"]) == found


def test_not_all_values_are_dear() -> None:
    with pytest.raises(AssertionError, match="one at least"):
        thrifty([1, 2], lambda value: value > 0)
