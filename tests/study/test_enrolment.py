"""Who may be enrolled: what the tables of a protocol may say, and whom they turn away."""

import tomllib
from fractions import Fraction
from typing import Any

import pytest

from maskedbandit.errors import InvalidValue, MaskedBanditError, PersonalValue
from maskedbandit.person_attributes import MOST_ATTRIBUTES, check_attributes, may_matter
from maskedbandit.study.eligibility import read_eligibility
from maskedbandit.study.enrolment import Enrolment, PeopleGroup, PersonLots, Ramp
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.toml_text import write_toml
from tests.for_each import for_each
from tests.store.small_study import small_protocol

ARMS = ("a", "b")
DAY = 86_400_000
ALL = {
    "default": "b",
    "eligible": {"country": ["DE", "AT"], "plan": "pro", "beta": True, "age": {"least": 18, "most": 65}},
    "ramp": {"shares": ["1/20", 0.25], "every": "1 day"},
    "group": {"name": "checkout", "least": 0, "below": "1/2"},
}
FITS = {"country": "AT", "plan": "pro", "beta": True, "age": 18}


def turned(table: dict[str, Any], attributes: dict[str, Any], group: Any = 0, ramp: Any = 0, since: int = 0) -> Any:
    return Enrolment.from_table(table, ARMS).turn_away(attributes, PersonLots(Fraction(group), Fraction(ramp)), since)


def test_everybody_may_be_enrolled_if_the_protocol_does_not_say() -> None:
    assert small_protocol().enrolment == Enrolment()
    assert small_protocol().enrolment.turn_away({}, PersonLots(Fraction(99, 100), Fraction(99, 100))) is None


def test_whoever_fits_all_rules_is_eligible() -> None:
    assert turned(ALL, FITS) is None
    assert turned(ALL, FITS | {"shoe": "large"}) is None, "an attribute that no rule names is not read"


WRONG: list[dict[str, Any]] = [
    {},
    *({name: value for name, value in FITS.items() if name != left} for left in FITS),
    FITS | {"country": "CH"},
    FITS | {"country": "at"},
    FITS | {"country": True},
    FITS | {"beta": False},
    FITS | {"beta": 1},
    FITS | {"beta": "true"},
    FITS | {"age": 17.999},
    FITS | {"age": 65.001},
    FITS | {"age": "30"},
    FITS | {"age": True},
]


@for_each("given", WRONG)
def test_what_is_missing_or_of_another_type_does_not_match(given: dict[str, Any]) -> None:
    assert turned(ALL, given) == "not_eligible"


def test_the_first_reason_is_said() -> None:
    assert turned(ALL, {}, "1/2", "1/20") == "not_eligible"
    assert turned(ALL, FITS, "1/2", "1/20") == "other_study"
    assert turned(ALL, FITS, "499/1000", "1/20") == "not_yet"
    assert turned(ALL, FITS, "499/1000", "1/20", DAY) is None


def test_the_bounds_of_a_part_and_of_a_step_are_exact() -> None:
    third = {"group": {"name": "g", "least": "1/3", "below": "2/3"}}
    tiny = Fraction(1, 2**256)
    assert turned(third, {}, Fraction(1, 3)) is None
    assert turned(third, {}, Fraction(1, 3) - tiny) == "other_study"
    assert turned(third, {}, Fraction(2, 3)) == "other_study"
    assert turned(third, {}, Fraction(2, 3) - tiny) is None
    ramp = Ramp.from_table(ALL["ramp"])
    assert [ramp.share_after(since) for since in (0, DAY - 1, DAY, 2 * DAY - 1, 2 * DAY, 10**15)] == [
        *[Fraction(1, 20)] * 2,
        *[Fraction(1, 4)] * 2,
        *[1] * 2,
    ]


def test_parts_that_touch_do_not_overlap() -> None:
    first, second = PeopleGroup("g", Fraction(0), Fraction(1, 2)), PeopleGroup("g", Fraction(1, 2), Fraction(1))
    inner = PeopleGroup("g", Fraction(1, 4), Fraction(1, 3))
    assert not first.overlaps(second)
    assert not second.overlaps(first)
    assert first.overlaps(inner)
    assert inner.overlaps(first)
    assert not first.overlaps(inner._replace(name="other"))


REFUSED: list[tuple[Any, str]] = [
    ([], "enrolment"),
    ({}, "enrolment"),
    ({"default": "a"}, "enrolment"),
    (ALL | {"default": "c"}, "default of the enrolment is 'c'"),
    (ALL | {"default": 1}, "default of the enrolment is 1"),
    (ALL | {"ramps": {}}, "ramps"),
    ({"ramp": ["1/2"]}, "ramp is ['1/2']"),
    ({"ramp": {"shares": [], "every": "1 day"}}, "shares of the ramp is []"),
    ({"ramp": {"shares": ["1/2", "1/2"], "every": "1 day"}}, "each larger than the one before"),
    ({"ramp": {"shares": ["1/2", "1/4"], "every": "1 day"}}, "each larger than the one before"),
    ({"ramp": {"shares": ["1/2", 1], "every": "1 day"}}, "below 1"),
    ({"ramp": {"shares": [0], "every": "1 day"}}, "a share of the ramp is 0"),
    ({"ramp": {"shares": ["0.5"], "every": "1 day"}}, "a share of the ramp is '0.5'"),
    ({"ramp": {"shares": ["half"], "every": "1 day"}}, "a share of the ramp is 'half'"),
    ({"ramp": {"shares": ["1/2"]}}, "every of the ramp is None"),
    ({"ramp": {"shares": ["1/2"], "every": "1 second"}}, "every of the ramp is '1 second'"),
    ({"ramp": {"shares": ["1/2"], "every": "1 day", "until": 1}}, "until"),
    ({"group": "checkout"}, "group is 'checkout'"),
    ({"group": {}}, "name of the group is None"),
    ({"group": {"name": "a b"}}, "name of the group is 'a b'"),
    ({"group": {"name": "g", "least": -1}}, "least of the group is -1"),
    ({"group": {"name": "g", "below": "3/2"}}, "below of the group is '3/2'"),
    ({"group": {"name": "g", "least": "1/2", "below": 0.5}}, "least of the group is '1/2'"),
    ({"group": {"name": "g", "below": "0.5"}}, "below is '0.5'"),
    ({"group": {"name": "g", "from": 0}}, "from"),
    ({"eligible": []}, "eligible"),
    ({"eligible": {}}, "eligible"),
    ({"eligible": {str(i): True for i in range(MOST_ATTRIBUTES + 1)}}, "eligible"),
    ({"eligible": {"a b": True}}, "name of an attribute is 'a b'"),
    ({"eligible": {"age": 18}}, "age of [enrolment.eligible] is 18"),
    ({"eligible": {"age": None}}, "age of [enrolment.eligible] is None"),
    ({"eligible": {"age": {}}}, "age of [enrolment.eligible]"),
    ({"eligible": {"age": {"least": "18"}}}, "least of age of [enrolment.eligible] is '18'"),
    ({"eligible": {"age": {"least": True}}}, "least of age of [enrolment.eligible] is True"),
    ({"eligible": {"age": {"least": 1e16}}}, "least of age"),
    ({"eligible": {"age": {"least": 65, "most": 18}}}, "the least first"),
    ({"eligible": {"age": {"above": 65}}}, "above"),
    ({"eligible": {"country": []}}, "country of [enrolment.eligible] is []"),
    ({"eligible": {"country": ["DE", 1]}}, "country of [enrolment.eligible] is 1"),
    ({"eligible": {"country": ""}}, "country of [enrolment.eligible] is ''"),
    ({"eligible": {"country": "x" * 257}}, "country of [enrolment.eligible]"),
    ({"eligible": {"country": "a\nb"}}, "country of [enrolment.eligible]"),
]


@for_each(("table", "says"), REFUSED)
def test_what_an_enrolment_may_not_say_is_refused_and_named(table: Any, says: str) -> None:
    with pytest.raises(MaskedBanditError) as why:
        small_protocol(enrolment=table)
    assert isinstance(why.value, InvalidValue)
    assert says in str(why.value), str(why.value)


def test_a_protocol_with_all_of_it_is_read_from_its_text_and_from_toml() -> None:
    protocol = small_protocol(enrolment=ALL)
    assert Protocol.from_text(protocol.text).enrolment == protocol.enrolment
    assert Protocol.from_table(tomllib.loads(write_toml(protocol.table))).digest == protocol.digest
    assert protocol.enrolment.default == 1
    assert len(protocol.enrolment.eligible) == 4


def test_an_arm_that_is_added_later_is_no_default() -> None:
    assert small_protocol(enrolment=ALL).also([("c", None)]).enrolment.default == 1
    with pytest.raises(InvalidValue):
        small_protocol(enrolment=ALL | {"default": "c"})


def test_rules_are_said_in_words() -> None:
    rules = read_eligibility(ALL["eligible"] | {"visits": {"most": 3.5}, "name": "x"})
    assert [rule.says for rule in rules] == [
        'country is "DE" or "AT"',
        'plan is "pro"',
        "beta is true",
        "age is from 18 to 65",
        "visits is at most 3.5",
        'name is "x"',
    ]


NO_ATTRIBUTES: list[Any] = [
    [],
    "age",
    {str(i): 1 for i in range(MOST_ATTRIBUTES + 1)},
    {"": 1},
    {"a b": 1},
    {"x" * 65: 1},
    {1: 1},
    {"age": None},
    {"age": [18]},
    {"age": float("nan")},
    {"age": float("inf")},
    {"age": 10**400},
    {"country": "x" * 257},
]


@for_each("given", NO_ATTRIBUTES)
def test_attributes_of_other_kinds_are_refused_without_being_shown(given: Any) -> None:
    with pytest.raises(PersonalValue) as why:
        check_attributes(given)
    assert "x" * 65 not in str(why.value)


def test_attributes_may_be_left_out() -> None:
    assert check_attributes(None) == {}
    assert check_attributes(FITS) == FITS
    assert not may_matter("age", float("nan"))


def test_a_study_with_a_ramp_or_a_part_takes_longer() -> None:
    """As many days as it takes by the sum of the shares, and never less than without."""
    ramp = Enrolment.from_table({"ramp": {"shares": ["1/20", "1/4"], "every": "1 day"}}, ARMS)
    assert ramp.count_days(50, 1000) == 1
    assert ramp.count_days(300, 1000) == 2
    assert ramp.count_days(1300, 1000) == pytest.approx(3)
    assert ramp.count_days(25, 1000) == 0.5
    both = Enrolment.from_table({"ramp": ALL["ramp"], "group": ALL["group"]}, ARMS)
    assert both.count_days(25, 1000) == 1
    assert Enrolment().count_days(300, 1000) == 0.3
