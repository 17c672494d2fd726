"""Which channels a live study may have, and what two operators ask of a protocol."""

from typing import Any

import pytest

from maskedbandit.channels.channel import find_backend, make_ideal
from maskedbandit.cli.parts.forecast import foreseen
from maskedbandit.cli.parts.simulation import Simulated
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each

KEYS = "5b" * 32, "c0" * 32
OPERATORS = {
    "leader": {"name": "Clinic", "key": KEYS[0]},
    "helper": {"name": "University", "key": KEYS[1], "address": "https://helper.example"},
}
TWO = {"name": "two_servers", "epsilon": 1, "backend": "prio3"}


def protocol(**changes: Any) -> Protocol:
    table: dict[str, Any] = {
        "name": "example",
        "people": 1000,
        "policy": "successive_elimination",
        "channel": TWO,
        "arms": [{"name": "a"}, {"name": "b"}],
        "budget": {"epsilon": 1},
        "operators": OPERATORS,
    }
    return Protocol.from_table({key: value for key, value in (table | changes).items() if value is not None})


def test_two_servers_have_two_operators() -> None:
    made = protocol()
    assert made.operators is not None
    assert (made.operators.leader.key, made.operators.helper.key) == KEYS
    assert not made.on_devices
    assert made.price(7) == made.budget
    assert Protocol.from_text(made.text).operators == made.operators
    assert protocol(channel="central", operators=None).operators is None


GUARDRAIL = {"name": "harm", "harm": {"above": 0.1}}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"operators": None}, "operators is None"),
    ({"channel": "central"}, "operators is 'given': it must be left out"),
    ({"channel": "local", "reward": {"rule": "first"}}, "operators is 'given': it must be left out"),
    ({"operators": {"leader": OPERATORS["leader"]}}, "table with leader and helper"),
    ({"channel": {"name": "two_servers", "epsilon": 1}}, "channel is TwoServers"),
    ({"channel": {"name": "two_servers", "epsilon": 1}, "operators": None}, "two_servers with backend"),
    ({"channel": TWO | {"backend": "sealed_shares"}}, "channel is TwoServers"),
    ({"channel": TWO | {"backend": {"name": "prio3", "dropout": 0.5}}}, "backend is Prio3"),
    ({"channel": {"name": "distributed", "epsilon": 1}, "operators": None}, "channel is Distributed"),
    ({"channel": {"name": "central_sum", "epsilon": 1}, "operators": None}, "channel is CentralSum"),
    ({"channel": {"name": "local_sum", "epsilon": 1}, "operators": None}, "channel is LocalSum"),
    ({"channel": TWO | {"noise": "skellam"}, "budget": {"rho": 1}}, "noise is Skellam"),
    ({"channel": TWO | {"noise": {"name": "discrete_laplace", "scale": 2}}, "budget": {"epsilon": 9}}, "noise is"),
    ({"channel": TWO | {"grid": {"fineness": 100_000}}}, "steps, and it has 3162278 in large cohorts"),
    ({"guardrail": GUARDRAIL}, "guardrail is 'given': it must be left out"),
    ({"metrics": [{"name": "spent", "share": "1/4"}]}, "metrics is 'given': it must be left out"),
    ({"reward": {"rule": "sum"}}, "rule of the reward is 'sum': it must be last"),
    ({"reward": {"rule": "first"}}, "rule of the reward is 'first': it must be last"),
    ({"reward": {"grace": "soon"}}, "grace is 'soon': it must be a time"),
]


@for_each(("changes", "says"), REFUSED)
def test_what_two_operators_do_not_carry_is_refused_by_name(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidValue) as why:
        protocol(**changes)
    assert says in str(why.value)


SECAGG = {"name": "distributed", "epsilon": 1, "honest": "7/10", "backend": {"name": "secagg", "corrupted": "1/10"}}


def secagg(**backend: Any) -> dict[str, Any]:
    """The channel of devices that add up, with changes of how they do."""
    return SECAGG | {"backend": {"name": "secagg", "corrupted": "1/10", **backend}}


DEVICES = {"channel": SECAGG, "operators": None, "rounds": {"wait": "5 minutes"}}
WRONG_ROUNDS: list[tuple[dict[str, Any], str]] = [
    ({"rounds": None}, "rounds is None: it must be a [rounds] table"),
    ({"rounds": []}, "rounds is []: it must be a [rounds] table"),
    ({"rounds": {"wait": "0 seconds"}}, "wait of the rounds is '0 seconds'"),
    ({"rounds": {"waits": "1 hour"}}, "key of [rounds]"),
    ({"operators": OPERATORS}, "operators is 'given': it must be left out, as the outcomes stay on the devices"),
    ({"channel": SECAGG | {"name": "central_sum"}}, "channel is CentralSum"),
    ({"channel": SECAGG | {"backend": {"name": "secagg", "server": "malicious"}}}, "server is 'malicious'"),
    ({"channel": SECAGG | {"backend": {"name": "secagg", "dropout": 0.5}}}, "dropout is '1/2'"),
    ({"channel": SECAGG | {"noise": "skellam"}, "budget": {"rho": 1}}, "noise is Skellam"),
    ({"channel": "central"}, "rounds is 'given': it must be left out"),
    ({"reward": {"grace": "1 day"}}, "grace of the reward is '86400000 ms'"),
    ({"reward": {"rule": "first"}}, "rule of the reward is 'first': it must be last"),
    ({"guardrail": GUARDRAIL}, "guardrail is 'given': it must be left out"),
    ({"channel": secagg(attempts=101)}, "attempts of the backend is 101: it must be a whole number from 1 to 100"),
    ({"channel": secagg(corrupted="1/10000000000")}, "corrupted of the backend is '1/10000000000': it must be a"),
    ({"channel": secagg(corrupted=0.1234567891)}, "numbers with at most nine digits"),
    ({"channel": secagg(smallest=2**33)}, "smallest of the backend"),
    ({"channel": secagg(graph="complete"), "people": 20_000}, 'fit into one message: use graph = "sparse"'),
    (
        {
            "channel": secagg(corrupted="999/1000", smallest=1) | {"honest": "1/1000"},
            "policy": {"name": "successive_elimination", "least": 10_000},
            "people": 20_000,
        },
        "a smaller `corrupted`",
    ),
    ({"people": 10**7}, "the number of devices of a cohort is 10000000: it must be at most 1000000"),
    ({"policy": {"name": "successive_elimination", "least": 20}}, "honest users counted on in a cohort of 20 is 14"),
]


@for_each(("changes", "says"), WRONG_ROUNDS)
def test_what_rounds_of_devices_do_not_carry_is_refused_by_name(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidValue) as why:
        protocol(**(DEVICES | changes))
    assert says in str(why.value)


def test_devices_that_add_up() -> None:
    made = protocol(**DEVICES)
    assert made.rounds is not None
    assert (made.rounds.wait, made.wait, made.on_devices) == (300_000, 300_000, False)
    assert made.price(100) == made.budget
    twice = {"backend": {"name": "secagg", "attempts": 2}}
    assert protocol(**(DEVICES | {"channel": SECAGG | twice, "budget": {"epsilon": 2}})).price(100).epsilon() == 2
    with pytest.raises(InvalidValue, match="devices-demo --trust secagg"):
        Simulated.of(made)


def test_a_grace_is_for_devices() -> None:
    reward = protocol(reward={"window": "2 days", "grace": "1 day"}).reward
    assert reward.taken_for == 3 * reward.grace == 259_200_000
    local = protocol(
        channel={"name": "local", "epsilon": 1},
        operators=None,
        reward={"rule": "first", "grace": "1 hour"},
        guardrail=GUARDRAIL | {"rule": "first"},
    )
    assert local.guardrail is not None
    assert local.reward.grace == local.guardrail.outcome.grace == 3_600_000
    with pytest.raises(InvalidValue, match="grace of the reward is '3600000 ms': it must be left out"):
        protocol(channel="central", operators=None, reward={"grace": "1 hour"})


def test_an_operator_has_nothing_else() -> None:
    with pytest.raises(InvalidValue, match="it must be a table with name, key"):
        protocol(operators=OPERATORS | {"leader": OPERATORS["leader"] | {"unheard": 1}})
    with pytest.raises(UnknownName, match="key is 'operator'"):
        protocol(operator=OPERATORS)


def test_two_operators_are_rehearsed_in_the_lab() -> None:
    """A study with simulated people has no helper, and its channel with ideal sums has the same noise."""
    made = protocol(simulation={"instance": {"name": "bernoulli", "means": [0.4, 0.5]}})
    with pytest.raises(InvalidValue, match="it must be one without operators"):
        Simulated.of(made)
    ideal = make_ideal(made.channel)
    assert find_backend(ideal) is None
    assert (ideal.law(), ideal.loss(9)) == (made.channel.law(), made.channel.loss(9))
    assert make_ideal(ideal) is ideal


@pytest.mark.slow
def test_a_study_of_two_operators_has_a_forecast() -> None:
    found = foreseen(protocol(policy="contemporaneous_klucb"), 0.3, 0.1, 1000.0)
    assert found.people == 1000


MIXED = {"name": "shuffled", "epsilon": 1, "delta": "1/1000", "honest": "3/4", "backend": "shuffler"}
SPLIT = {"name": "split_and_mix", "epsilon": 1, "eta": "1/1000000", "honest": "3/4", "backend": "shuffler"}
LATER: dict[str, Any] = {"reward": {"grace": "1 day"}, "budget": {"epsilon": 1, "delta": "1/1000"}}


@for_each("channel", [MIXED, SPLIT])
def test_a_shuffler_is_the_second_of_two_operators(channel: dict[str, Any]) -> None:
    made = protocol(channel=channel, **LATER)
    assert made.shuffled
    assert not made.on_devices
    assert made.price(9).delta <= made.budget.delta
    assert not protocol().shuffled


@for_each(
    ("changes", "says"),
    [
        ({"operators": None}, "operators is None: it must be an .operators. table with leader and helper, who is the"),
        ({"channel": MIXED | {"honest": 1}}, "honest is 1: it must be below 1"),
        ({"channel": MIXED | {"backend": {"name": "shuffler", "dropout": 0.5}}}, "backend is Shuffler"),
        ({"channel": MIXED | {"backend": {"name": "shuffler", "corrupted": 0.1}}}, "backend is Shuffler"),
        ({"channel": MIXED | {"epsilon": "1/100"}}, "at most 8192 coins are tossed"),
        ({"channel": {key: MIXED[key] for key in MIXED if key != "backend"}}, "channel is Shuffled"),
        ({"channel": {"name": "pure_shuffled", "epsilon": "1/2"}}, "channel is PureShuffled"),
        ({"channel": SPLIT | {"grid": {"fineness": 1}}}, "grid is Grid"),
        ({"reward": {}}, "grace of the reward is '0 ms': it must be above 0"),
        ({"reward": {"grace": "1 day", "rule": "first"}}, "rule of the reward is 'first': it must be last"),
        ({"channel": SPLIT, "reward": {"grace": "1 day", "rule": "sum", "cap": 3}}, "cap of the reward is 3"),
        ({"guardrail": GUARDRAIL}, "guardrail is 'given': it must be left out"),
    ],
)
def test_what_a_shuffler_does_not_carry_is_refused_by_name(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        protocol(**({"channel": MIXED} | LATER | changes))
