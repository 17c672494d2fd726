"""A device in the round of its cohort: it adds up, whenever it is killed, and a service that lies gets nothing."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from sqlite3 import connect
from typing import Any

import pytest

from maskedbandit.channels.offers import NoiseShare, Offer
from maskedbandit.device import adding_up
from maskedbandit.device.adding_up import draw_noise_share, read_due_now
from maskedbandit.device.agreed import Agreed
from maskedbandit.device.own_place import read_place
from maskedbandit.errors import BudgetExceeded, InvalidValue
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.kept_round import RoundDue, RoundTerms
from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.messages import SURVIVORS, pack_flags, pack_message
from tests.device.round_scene import AGREED, CHANNEL, OPENED, PHASES, N, RoundScene, make_adding_place
from tests.for_each import for_each

AGREEING = 3


@pytest.fixture
def scene(tmp_path: Path) -> RoundScene:
    return RoundScene(tmp_path)


@pytest.mark.slow
def test_the_sum_of_devices_that_are_killed_before_every_step(
    scene: RoundScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding_up, "draw_noise_share", lambda noise, bits: 0)
    scene.go_on()
    assert scene.server.total == sum(position % 3 == 0 for position in range(N))


@pytest.mark.slow
def test_devices_that_leave(scene: RoundScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding_up, "draw_noise_share", lambda noise, bits: 0)
    scene.go_on(until=1, lost=frozenset({0}))
    scene.go_on(until=2)
    scene.go_on(lost=frozenset({3}))
    assert scene.server.total == sum(position % 3 == 0 for position in range(N)) - 2
    assert len(scene.server.survivors) == N - 2


def test_the_noise_is_that_of_the_channel() -> None:
    noise = CHANNEL.offer(N).noise
    assert noise is not None
    for seed in range(50):
        own = draw_noise_share(noise, Bits(Random(seed).randbytes))
        assert own == DiscreteLaplace(noise.scale).noise_share(noise.least, Bits(Random(seed).randbytes))


@pytest.mark.slow
@pytest.mark.parametrize("phase", range(PHASES))
def test_an_answer_is_the_same_however_often_it_is_asked(scene: RoundScene, phase: int) -> None:
    """And what is asked otherwise afterwards is answered by nothing: a second list, too."""
    scene.go_on(until=phase)
    device, due = scene.devices[1], scene.due(1)
    first = device.answer(due)
    assert first
    assert device.answer(due) == first
    assert device.answer(due._replace(message=due.message + b"x")) == b""
    assert device.answer(due._replace(terms=due.terms._replace(ring=bytes(KEY)))) == b""
    assert device.answer(due) == first


LIES: dict[str, Callable[[RoundTerms], RoundTerms]] = {
    "another cohort": lambda terms: terms._replace(cohort=4),
    "a smaller cohort": lambda terms: terms._replace(n=N - 1),
    "a larger cohort": lambda terms: terms._replace(n=N + 1),
    "no attempt": lambda terms: terms._replace(attempt=0),
    "an attempt too many": lambda terms: terms._replace(attempt=3),
    "weights": lambda terms: terms._replace(weights=(1,) * N),
}


def test_a_lie_about_the_round(scene: RoundScene) -> None:
    """It is answered by nothing, and the true round is joined all the same."""
    due = scene.due(0)
    joined = [name for name, lie in LIES.items() if scene.devices[0].answer(due._replace(terms=lie(due.terms)))]
    assert joined == []
    assert scene.devices[0].answer(due)


def list_survivors(due: RoundDue, *positions: int) -> RoundDue:
    """The same with another list of survivors."""
    flags = pack_flags(sum(1 << position for position in positions), N)
    return due._replace(message=pack_message(SURVIVORS, due.message[2 : 2 + KEY], flags))


@pytest.mark.slow
def test_a_list_that_is_too_short(scene: RoundScene) -> None:
    """Devices that are said to be lost, until fewer are left than the plan says; a list without this device."""
    scene.go_on(until=AGREEING)
    short = list_survivors(scene.due(0), *range(OPENED - 1))
    assert scene.devices[0].answer(short) == b""
    assert scene.devices[0].answer(scene.due(0)) == b""  # it has left the attempt
    assert scene.devices[1].answer(list_survivors(scene.due(1), 0, *range(2, N))) == b""
    assert scene.devices[2].answer(list_survivors(scene.due(2), *range(OPENED)))  # so many may be lost


@pytest.mark.slow
def test_no_other_attempt_after_the_sum_was_agreed_to(scene: RoundScene) -> None:
    scene.go_on()
    scene.begin(2)
    assert [device.answer(scene.due(device.position)) for device in scene.devices] == [b""] * N


@pytest.mark.slow
def test_a_device_that_forgets_what_it_agreed_to_is_found(scene: RoundScene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken twin: it joins another attempt after the first one was opened."""
    scene.go_on()
    monkeypatch.setattr(adding_up, "AGREEING", 99)
    scene.begin(2)
    assert scene.devices[0].answer(scene.due(0)) != b""


@pytest.mark.slow
def test_another_attempt_has_fresh_keys_and_fresh_noise(scene: RoundScene) -> None:
    """Of the first one nothing is answered any more, and a masked value is sent once in each."""
    drawn = list[int]()

    def draw(noise: NoiseShare, bits: Bits) -> int:
        drawn.append(draw_noise_share(noise, bits))
        return drawn[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adding_up, "draw_noise_share", draw)
        scene.go_on(until=AGREEING)
        first, keys = scene.due(0), scene.server._keys[0]
        masked = dict(scene.server._masked)
        scene.begin(2)
        scene.go_on(until=AGREEING)
    assert len(drawn) == 2 * N  # one for each device and attempt
    assert scene.server._keys[0] != keys
    assert scene.server._masked.keys() == masked.keys() == set(range(N))
    assert scene.server._masked != masked  # all are the same with probability 128^-12: their seeds are the system's
    assert scene.devices[0].answer(first) == b""


def test_phases_in_their_order_alone(scene: RoundScene) -> None:
    due = scene.due(0)
    for phase in (1, 2, 3, 4, -1):
        assert scene.devices[0].answer(due._replace(phase=phase)) == b""
    scene.go_on(until=1)
    assert scene.devices[1].answer(scene.due(1)._replace(phase=2)) == b""


@pytest.mark.slow
def test_secrets_are_erased(scene: RoundScene) -> None:
    scene.go_on()
    for device in scene.devices:
        kept = b"".join(each.read_bytes() for each in device.folder.iterdir())
        assert b"masked" in kept  # what was sent is shown to the person
    with connect(scene.devices[0].folder / "device.sqlite") as file:
        assert file.execute("SELECT value, seed FROM own_round").fetchall() == [(None, None)]


def change_offer(**changes: Any) -> str:
    offer = CHANNEL.offer(N).at(0)
    assert offer.noise is not None
    noise = changes.pop("noise", {})
    return Offer(**{**offer.__dict__, "noise": offer.noise._replace(**noise), **changes}).to_text()


def change_rounds(**changes: Any) -> dict[str, Any]:
    rounds: dict[str, Any] = make_adding_place(0)["rounds"]
    return {"rounds": rounds | changes}


SCALE = Fraction(1)  # of the noise, in steps
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "more honest devices than there can be": ({"offer": change_offer(noise={"least": N})}, "counted on"),
    "less noise": ({"offer": change_offer(noise={"scale": SCALE / 2})}, "noise of an offer"),
    "other noise": ({"offer": change_offer(noise={"noise": "Skellam"})}, "noise of an offer"),
    "sums that do not fit": ({"offer": change_offer(modulus=N)}, "modulus of an offer"),
    "sums that no file has": ({"offer": change_offer(modulus=2**64)}, "modulus of an offer"),
    "fewer corrupted": (change_rounds(corrupted="1/11"), "corrupted of a place"),
    "more than all corrupted": (change_rounds(corrupted="1"), "corrupted of a place"),
    "a server that may lie": (change_rounds(server="malicious"), "server of a place"),
    "an unknown server": (change_rounds(server="x"), "server of a place"),
    "an unknown graph": (change_rounds(graph="x"), "graph of a place"),
    "no attempts": (change_rounds(attempts=0), "attempts of a place"),
    "nothing": ({"rounds": 1}, "rounds of a place"),
    "more attempts than anybody needs": (change_rounds(attempts=101), "attempts of a place"),
    "a part of many digits": (change_rounds(corrupted="1/10000000000"), "corrupted of a place"),
    "more people than there are": (
        {"offer": change_offer(n=2**60, modulus=2**62)},
        "the number of devices of a cohort",
    ),
    "neighbours without end": (
        {
            "offer": change_offer(n=10**6, modulus=2**62, noise={"least": 1000}),
            **change_rounds(corrupted="99/100", graph="sparse"),
        },
        "the number of neighbours",
    ),
    "a graph of all": (
        {"offer": change_offer(n=10**4, modulus=2**62, noise={"least": 7000}), **change_rounds(graph="complete")},
        "the number of neighbours",
    ),
}


@for_each("which", sorted(WRONG))
def test_a_place_that_is_not_as_agreed(which: str) -> None:
    changes, name = WRONG[which]
    with pytest.raises(InvalidValue, match=name):
        AGREED.check(read_place(make_adding_place(0, **changes)), Fraction(0))


def test_what_a_place_costs() -> None:
    """Each attempt costs epsilon, and a person who agreed to no rounds takes part in none."""
    place = read_place(make_adding_place(0))
    assert AGREED.check(place, Fraction(0)) == 2
    with pytest.raises(BudgetExceeded):
        Agreed("1.9", corrupted=0).check(place, Fraction(0))
    with pytest.raises(InvalidValue, match="rounds of a place"):
        Agreed(2).check(place, Fraction(0))
    with pytest.raises(InvalidValue, match="n of an offer"):
        Agreed(2, least=N + 1, corrupted=0).check(place, Fraction(0))
    with pytest.raises(InvalidValue, match="rounds of a place"):  # a report is sealed, or added up
        read_place(make_adding_place(0, operators=[]))
    for wrong in (1, "x", -0.1):
        with pytest.raises(InvalidValue, match="corrupted"):
            Agreed(2, corrupted=wrong)


def test_an_application_that_changed_its_mind() -> None:
    """Its device takes no part in a round any more, if more devices may be corrupted by now, or it names no part."""
    place = read_place(make_adding_place(0))
    assert all(Agreed(2, corrupted=part).trusts(place) for part in ("1/10", 0))
    assert not any(Agreed(2, corrupted=part).trusts(place) for part in ("1/5", None))


@for_each("given", [None, 1, {}, {"cohort": 1}, {"cohort": True, "attempt": 1, "n": 1, "phase": 0}, "x", [1]])
def test_what_cannot_be_read_is_not_due(given: Any) -> None:
    assert read_due_now(given) is None


def test_what_is_due_is_read() -> None:
    text = '{"cohort": 3, "attempt": 1, "n": 12, "ring": "00", "phase": 2, "message": "AAEC"}'
    assert read_due_now(json.loads(text)) == RoundDue(RoundTerms(3, 1, 12, (), b"\x00"), 2, b"\x00\x01\x02")
