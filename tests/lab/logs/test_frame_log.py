"""A log from a data frame: what is read, what is refused, and that a replay of it is the study it imitates."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue, PersonalValue
from tests.for_each import for_each

MEANS = {"plain": 0.3, "bold": 0.5, "loud": 0.4}


def visits(n=3000, seed=1):
    """A log of arms that were shown with unequal probabilities."""
    rng = np.random.default_rng(seed)
    shares = {"plain": 0.5, "bold": 0.25, "loud": 0.25}
    arm = rng.choice(list(shares), n, p=list(shares.values()))
    reward = (rng.random(n) < np.array([MEANS[name] for name in arm])).astype(int)
    return {"arm": arm, "reward": reward, "propensity": np.array([shares[name] for name in arm]), "age": rng.random(n)}


@for_each("made", [dict, pd.DataFrame, pl.DataFrame])
def test_frames_of_all_kinds_are_the_same_log(made) -> None:
    table = visits()
    log = mb.FrameLog(made(table))
    assert (log.names, log.events, log.k, log.d, log.least) == (("bold", "loud", "plain"), 3000, 3, 1, 0.25)
    (chunk,) = log.chunks()
    assert [log.names[a] for a in chunk.arm[:50]] == list(table["arm"][:50])
    assert np.array_equal(chunk.click, table["reward"])
    assert np.array_equal(chunk.propensity, table["propensity"])
    assert log == mb.FrameLog(table)
    assert pickle.loads(pickle.dumps(log)) == log


def test_columns_may_have_other_names_and_users_contexts() -> None:
    table = visits()
    frame = pd.DataFrame(table).rename(columns={"arm": "shown", "reward": "bought", "propensity": "p"})
    log = mb.FrameLog(frame, arm="shown", reward="bought", propensity="p", contexts=["age"])
    assert (log.d, log.radius) == (1, 1.0)
    (chunk,) = log.chunks()
    assert np.array_equal(chunk.user[:, 0], table["age"])


@pytest.mark.slow
def test_a_replay_finds_the_best_arm_and_its_mean() -> None:
    """Of 6000 visits a quarter is taken; the policy's rate is within five errors of the best arm's."""
    log = mb.FrameLog(pd.DataFrame(visits(60_000)))
    found = mb.replay(mb.policies.LinUCB(), mb.channels.Raw(), log, seed=3)
    assert 0.45 < float(found.to_frame()["rate"][-1]) < 0.55


@for_each(
    ("changes", "said"),
    [
        ({"arm": None}, "log is 'dict': it must be a data frame with a column 'arm'"),
        ({"reward": np.full(3000, 0.5)}, "column 'reward' in row 0 must be 0 or 1 (the value given is personal"),
        ({"propensity": np.zeros(3000)}, "column 'propensity' is 0.0: it must be a probability above 0"),
        ({"propensity": np.full(3000, np.nan)}, "column 'propensity' is nan"),
        ({"age": np.full(3000, 2.0)}, "column 'age' in row 0 must be a number in [0, 1] (the value given is personal"),
    ],
)
def test_what_is_wrong_is_named(changes, said) -> None:
    table = {name: values for name, values in {**visits(), **changes}.items() if values is not None}
    with pytest.raises(InvalidValue, match=re.escape(said)):
        mb.FrameLog(table, contexts=["age"])


@for_each("column", ["reward", "age"])
def test_an_error_is_the_same_whatever_is_wrong_of_a_person(column) -> None:
    """Errors end in logs: what somebody's outcome or context is, is in none of them."""
    said = set()
    for wrong in (7.25, -3.5, float("nan"), "bought twice", "0, 1"):
        table = {**visits(), "age": np.full(3000, 0.5)}
        table[column] = np.array([wrong if i == 17 else each for i, each in enumerate(table[column])], object)
        with pytest.raises(PersonalValue) as refused:
            mb.FrameLog(table, contexts=["age"])
        assert refused.value.__suppress_context__ or refused.value.__context__ is None
        said.add(str(refused.value).replace(repr(column), "it").partition(" must")[0])
    assert said == {"column it in row 17", "column it"}


@for_each("made", [pd.DataFrame, pl.DataFrame])
def test_a_missing_column_is_named(made) -> None:
    with pytest.raises(InvalidValue, match="a data frame with a column 'propensity'"):
        mb.FrameLog(made({"arm": ["a"], "reward": [1]}))
    with pytest.raises(InvalidValue, match="column 'arm' is 'empty'"):
        mb.FrameLog(made({"arm": [], "reward": [], "propensity": []}))


def test_a_frame_in_place_of_a_folder_says_what_to_use() -> None:
    with pytest.raises(InvalidValue, match="FrameLog"):
        mb.RecordedLog(pd.DataFrame(visits(10)))
