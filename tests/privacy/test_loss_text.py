"""Losses as text: not a digit is lost, equal losses have equal texts, and what was not written by us is refused."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.loss_text import LONGEST_LOSS
from maskedbandit.privacy.renyi_divergences import INF, ORDERS
from maskedbandit.privacy.single_release import SingleRelease
from tests.for_each import for_each

fixed = settings(max_examples=40)
bounds = st.one_of(st.just(INF), st.fractions(0, 10**30), st.fractions(0, 1), st.just(Fraction(10**300, 7)))
releases = st.builds(
    SingleRelease,
    st.sampled_from(["skellam", "discrete_gaussian"]),
    st.fractions(Fraction(1, 10**9), 10**9),
    st.integers(1, 10**20),
)
losses = st.builds(
    Loss,
    st.lists(bounds, min_size=len(ORDERS), max_size=len(ORDERS)).map(tuple),
    bounds,
    st.fractions(0, Fraction(999, 1000)),
    st.frozensets(releases, max_size=3),
)


def same(one, other):
    """Every part, in value and in kind."""
    return one == other and all(
        type(x) is type(y) for x, y in zip((*one.curve, one.delta), (*other.curve, other.delta), strict=True)
    )


@pytest.mark.slow
@given(losses)
@fixed
def test_nothing_is_lost_on_the_way(loss):
    text = loss.to_text()
    assert same(Loss.from_text(text), loss)
    assert Loss.from_text(text).to_text() == text
    assert text.isascii()
    assert "\n" not in text


@for_each(
    "loss",
    [
        ZERO,
        Loss.unbounded(),
        Loss.pure("1/3"),
        Loss.approximate(0.1, "1e-300"),
        Loss.skellam(100),
        Loss.skellam("22/7", 300),
        Loss.discrete_gaussian(1, 5) | Loss.skellam(3, 2),
        Loss.skellam_of_vector("1/7", "5/3", 4),
        100 * Loss.skellam("1/97") + Loss.pure("1/89") + Loss.approximate("1/83", "1/79"),
        sum((Loss.zcdp(Fraction(1, n)) for n in range(1, 300)), ZERO),
        Loss.gaussian("1e-900"),
    ],
    ids=range(11),
)
def test_losses_of_every_kind_come_back(loss):
    again = Loss.from_text(loss.to_text())
    assert same(again, loss)
    assert again.epsilon(1e-6) == loss.epsilon(1e-6)
    assert again + again == 2 * loss


def test_the_text_of_version_1_does_not_change():
    """What was stored must be read for ever: a change here, also of ORDERS, is a new version."""
    assert (
        Loss.zcdp(1).to_text().startswith("maskedbandit-loss-1 delta=0 pure=inf curve=9/8,147/128,151/128,155/128,5/4,")
    )
    release = Loss.discrete_gaussian("5/2", 3).to_text()
    assert release.endswith(" single=discrete_gaussian:5/2:3")
    kinds = (ZERO, Loss.unbounded(), Loss.pure(1), Loss.gaussian(7), Loss.skellam_of_vector(9, 1, 1))
    texts = " ".join(loss.to_text() for loss in kinds)
    assert sha256(texts.encode()).hexdigest() == "83ad19d8cec411d3b4ce73d229589b7d9eff2cb97b193a07bd1f34e24005a826"


TEXT = Loss.discrete_gaussian("5/2", 3).to_text()
PURE = Loss.pure(1).to_text()


@for_each(
    "text",
    [
        "",
        "x",
        None,
        b"maskedbandit-loss-1",
        [],
        {},
        TEXT + "\n",
        " " + TEXT,
        TEXT + ",",
        TEXT.replace("-1 ", "-2 "),
        TEXT.replace("delta=0", "delta=00"),
        TEXT.replace("delta=0", "delta=0/1"),
        TEXT.replace("delta=0", "delta=-1"),
        TEXT.replace("delta=0", "delta=1"),
        TEXT.replace("delta=0", "delta=inf"),
        TEXT.replace("delta=0", "delta=nan"),
        TEXT.replace("delta=0", "delta=1e-6"),
        TEXT.replace("delta=0", "delta=0.1"),
        TEXT.replace("delta=0", "delta=٠"),
        TEXT.replace("pure=inf", "pure=-inf"),
        TEXT.replace("pure=inf", "pure=Infinity"),
        TEXT.replace("pure=inf", "pure=1/0"),
        TEXT.replace("pure=inf", "pure=2/4"),
        TEXT.replace("pure=inf", "pure=1_0"),
        TEXT.replace("pure=inf", "pure=" + "9" * 4001),
        TEXT.replace("pure=inf", "pure=1/" + "3" * 4001),
        TEXT.replace("curve=", "curve=-"),
        TEXT.replace("curve=", "curve=1,"),
        re.sub("curve=[^,]*,", "curve=", TEXT),
        TEXT.replace("discrete_gaussian", "laplace"),
        TEXT.replace(":5/2:3", ":5/2:0"),
        TEXT.replace(":5/2:3", ":5/2:-3"),
        TEXT.replace(":5/2:3", ":0:3"),
        TEXT.replace(":5/2:3", ":inf:3"),
        TEXT.replace(":5/2:3", ":5/2"),
        TEXT + ",discrete_gaussian:5/2:3",
        TEXT + ",discrete_gaussian:1:3",
        PURE.replace("pure=1", "pure=1 pure=1"),
        "maskedbandit-loss-1 " * 10**5,
        "maskedbandit-loss-1 delta=" + "1" * (LONGEST_LOSS + 1),
        "maskedbandit-loss-1 delta=0 pure=" + "1/" * 10**5,
    ],
)
def test_what_was_not_written_here_is_refused(text):
    with pytest.raises(InvalidValue) as caught:
        Loss.from_text(text)
    assert len(str(caught.value)) < 300


def test_a_loss_that_cannot_be_read_again_is_not_written():
    long = replace(ZERO, curve=(Fraction(1, 10**4001), *ZERO.curve[1:]))
    wide = replace(ZERO, curve=tuple(Fraction(10**3999, 7 + i) for i in range(len(ORDERS))))
    assert Loss.from_text(wide.to_text()) == wide
    many = replace(ZERO, single=frozenset(SingleRelease("skellam", Fraction(n), 10**3998) for n in range(1, 300)))
    for loss in (long, replace(ZERO, pure_epsilon=Fraction(10**5000)), many):
        with pytest.raises(InvalidValue, match="loss is 'too long'"):
            loss.to_text()


@given(st.data())
@fixed
def test_a_changed_character_is_another_loss_or_none(data):
    at = data.draw(st.integers(0, len(TEXT) - 1))
    other = data.draw(st.sampled_from("0123456789/,:=- infx\x00é"))
    text = TEXT[:at] + other + TEXT[at + 1 :]
    try:
        found = Loss.from_text(text)
    except InvalidValue:
        return
    assert found.to_text() == text
    assert (found == Loss.from_text(TEXT)) == (text == TEXT)
    assert math.isfinite(found.delta)
