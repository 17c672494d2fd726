"""Every error of ours is in the tree that the module draws, and says what is wrong and what is allowed."""

import inspect

import pytest

from maskedbandit import errors


def test_the_tree_shows_every_error() -> None:
    classes = [each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, Exception)]
    assert len(classes) >= 8
    for each in classes:
        assert each.__name__ in (errors.__doc__ or "")
        assert issubclass(each, errors.MaskedBanditError)


def test_a_near_name_is_suggested_and_a_far_one_is_not() -> None:
    assert "did you mean 'ucb1'?" in str(errors.UnknownName("policy", "ucb", ["ucb1", "uniform"]))
    far = str(errors.UnknownName("policy", "zzz", ["ucb1", "uniform"]))
    assert "did you mean" not in far
    assert "known: ucb1, uniform" in far


def test_a_bad_value_is_also_a_value_error() -> None:
    with pytest.raises(ValueError, match="epsilon is 2: it must be at most 1"):
        raise errors.InvalidValue("epsilon", 2, "at most 1")


def test_a_wrong_reward_is_not_shown() -> None:
    with pytest.raises(ValueError, match=r"reward must be a number in \[0, 1\]"):
        raise errors.RewardOutOfRange


@pytest.mark.slow
def test_values_in_messages_are_cut_short_however_long() -> None:
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for value in ("x" * 10**6, 10**5000, deep, list(range(10**5))):
        assert len(str(errors.InvalidValue("value", value, "shorter"))) < 500
    assert str(errors.InvalidValue("value", 3, "4")) == "value is 3: it must be 4"
    while deep:
        deep = deep.pop()
