"""Devices that add up by themselves, over HTTP: no outcome leaves one, and a round gives their sum."""

import json
import struct
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from functools import partial
from hashlib import sha256
from math import ceil
from pathlib import Path
from random import Random
from sqlite3 import Connection
from typing import Any

import pytest

from maskedbandit.device import adding_up
from maskedbandit.device.booked_place import BookedPlace
from maskedbandit.device.service_calls import MOST_ANSWER
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.graph import HASH_SIZE
from maskedbandit.secagg.kept_round import RoundDue
from maskedbandit.secagg.round_rules import MOST_DEVICES, MOST_NEIGHBOURS, RoundRules
from maskedbandit.secagg.server import RoundServer
from maskedbandit.service.request.limits import BATCH
from maskedbandit.service.round_messages import LONGEST_SENT
from maskedbandit.service.views.rounds_of_devices import DueRound
from tests.service.adding_devices import CHANNEL, WAIT, WINDOW, AddingDevices, read_ticket
from tests.service.test_page import find_unsaid
from tests.service.test_site_pages import look, sign_in


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[AddingDevices]:
    made = AddingDevices(tmp_path)
    yield made
    made.close()


@pytest.mark.slow
def test_a_study_to_its_release(scene: AddingDevices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding_up, "draw_noise_share", lambda noise, bits: 0)
    scene.fill()
    scene.contact()
    assert scene.read_releases() == []
    scene.service.tick(WINDOW + 1)
    scene.contact(5)
    found = scene.read_releases()
    assert {each["arm"]: each["total"] for each in found} == scene.sums
    assert {each["n"] for each in found} == {10}
    assert {device.show()[0].ended for device in scene.devices} == {"over"}


@pytest.mark.slow
def test_devices_that_leave_are_missing(scene: AddingDevices, monkeypatch: pytest.MonkeyPatch) -> None:
    """One never comes back, and one leaves in each cohort after its keys were sent: the sum is of all others."""
    monkeypatch.setattr(adding_up, "draw_noise_share", lambda noise, bits: 0)
    scene.fill()
    gone = {scene.arms.index("a"), scene.arms.index("b")}
    scene.service.tick(WINDOW + 1)
    scene.contact(lost=gone)
    scene.service.tick(WAIT + 1)
    scene.contact(5, lost=gone)
    found = scene.read_releases()
    left = {arm: scene.sums[arm] - sum(scene.values[each] for each in gone if scene.arms[each] == arm) for arm in "ab"}
    assert {each["arm"]: each["total"] for each in found} == left
    assert {each["n"] for each in found} == {9}
    scene.verify()


@pytest.mark.slow
def test_a_cohort_with_too_few_is_discarded(scene: AddingDevices) -> None:
    """Its people are charged, and its places are dealt again; the devices that stayed know that it is over."""
    scene.fill()
    gone = set(range(12))
    scene.service.tick(WINDOW + 1)
    scene.contact(lost=gone)
    scene.service.tick(WAIT + 1)
    scene.contact(lost=gone)
    assert scene.read_releases() == []
    kinds = [json.loads(each["body"])["kind"] for each in scene.read_ledger()]
    assert kinds == ["started", "discarded", "discarded"]
    assert {scene.devices[each].show()[0].ended for each in range(12, 20)} == {"over"}
    scene.verify()


@pytest.mark.slow
def test_killed_anywhere(scene: AddingDevices, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service and the devices go on with what they have stored, opened anew before every contact.

    One message in four is lost on its way, or its answer: with a fixed seed.
    """
    monkeypatch.setattr(adding_up, "draw_noise_share", lambda noise, bits: 0)
    scene.fill()
    scene.service.tick(WINDOW + 1)
    scene.lose(Random(3), 0.25)
    for _ in range(30):
        for number in range(len(scene.devices)):
            scene.reopen(number)
            scene.devices[number].contact()
        scene.forget_rounds()
        if len(scene.read_releases()) == 2:
            break
    assert {each["arm"]: each["total"] for each in scene.read_releases()} == scene.sums
    assert {each["n"] for each in scene.read_releases()} == {10}
    scene.verify()


@pytest.mark.slow
def test_the_time_in_which_the_service_is_away_is_not_that_of_devices(scene: AddingDevices) -> None:
    scene.fill()
    scene.service.tick(WINDOW + 1)
    scene.contact()
    scene.service.run(scene.service.host.hold("small")).study._session._stale = True  # it was killed
    scene.service.tick(10 * WAIT)
    scene.contact(4)
    assert [each["n"] for each in scene.read_releases()] == [10, 10]


def test_no_outcome_is_taken_by_the_service(scene: AddingDevices) -> None:
    device = scene.come(1.0)
    ticket = read_ticket(device)
    refused = scene.service.study("report", {"ticket": ticket, "value": 1})
    assert (refused.status, refused.code) == (422, "personal_value")
    assert scene.service.study("round", {"ticket": ticket, "answers": [], "value": 1}, None).status == 422
    assert scene.service.study("round", {"ticket": "x1", "answers": []}, None).status == 404
    assert scene.service.study("round", {"ticket": ticket, "answers": []}, None).json == {"due": None, "over": False}


CANARY = 0.873194265172638
MARKS = (b"873194265172638", struct.pack("<d", CANARY), struct.pack(">d", CANARY), str(Fraction(CANARY)).encode())


@pytest.mark.slow
def test_an_outcome_is_nowhere_at_the_service(tmp_path: Path) -> None:
    """All files of the service are searched, while a round is under way and after it; the devices have the outcome."""
    scene = AddingDevices(tmp_path, channel=CHANNEL | {"grid": 1000})
    for _ in range(20):
        scene.come(CANARY)
    scene.service.tick(WINDOW + 1)
    for _ in range(5):
        scene.contact()
        assert find_marks(tmp_path / "service", *tmp_path.glob("service.db*")) == []
    assert len(scene.read_releases()) == 2
    assert find_marks(tmp_path / "person 0") == list(MARKS[3:])
    scene.close()


def find_marks(*paths: Path) -> list[bytes]:
    """Which marks are in these files."""
    files = [each for path in paths for each in ([path] if path.is_file() else path.rglob("*")) if each.is_file()]
    found = b"".join(each.read_bytes() for each in files)
    assert found
    return [mark for mark in MARKS if mark in found]


WORLDS = {"nothing": None, "a one": 1.0, "a part": 0.371, "the default": 0.0}


def watch(folder: Path, value: float | None, lost: frozenset[int] = frozenset()) -> list[tuple[str, int, int]]:
    """All that the service sees of a study in which one person has this outcome: paths and sizes, in their order."""
    scene = AddingDevices(folder, policy={"name": "successive_elimination", "least": 6})
    for number in range(12):
        scene.come(value if number == 5 else 1.0)
    scene.contact()
    scene.service.tick(WINDOW + 1)
    scene.contact(5, lost=lost)
    scene.close()
    return scene.seen


@pytest.mark.slow
def test_two_worlds_that_differ_in_an_outcome_look_alike(tmp_path: Path) -> None:
    """Which messages there are, in which order, and of which size, whatever one person's outcome is."""
    seen = {name: watch(tmp_path / name, value) for name, value in WORLDS.items()}
    assert seen["nothing"]
    assert all(each == seen["nothing"] for each in seen.values())


def answer_if_recorded(real: Any, connection: Connection, booked: BookedPlace, due: RoundDue, now: int) -> bytes:
    """A broken twin of `answer_due`, which takes part in the round if something was recorded."""
    answer: bytes = real(connection, booked, due, now) if booked.held else b""
    return answer


@pytest.mark.slow
def test_a_device_that_answers_only_with_an_outcome_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding_up, "answer_due", partial(answer_if_recorded, adding_up.answer_due))
    assert watch(tmp_path / "nothing", None) != watch(tmp_path / "a one", 1.0)


def play_first_phases(n: int) -> tuple[int, int]:
    """Bytes of the longest message that a device gets, and of the longest that it sends, on a complete graph of n."""
    seed = bytes(32)
    plan = RoundRules(graph="complete", smallest=1).plan(n, n - 1, 2**10, ring=sha256(seed).digest())
    server, clients = RoundServer(plan, seed), [RoundClient(plan, user, 0, Bits()) for user in range(n)]
    told = sent = 0
    for _ in range(3):
        for user in sorted(server.waiting):
            message = server.message_for(user)
            answer = clients[user].receive(message)
            told, sent = max(told, len(message)), max(sent, len(answer))
            server.receive(user, answer)
        server.close()
    return told, sent


def test_messages_of_as_many_neighbours_as_there_may_be() -> None:
    """They fit into what the service and the device take: they grow by the same number of bytes for each neighbour."""
    (told, sent), (more_told, more_sent) = (play_first_phases(n) for n in (17, 25))  # flags of whole bytes
    neighbours = Fraction(MOST_NEIGHBOURS - 24, 8)
    assert 4 * ceil((more_sent + neighbours * (more_sent - sent)) / 3) == LONGEST_SENT < BATCH
    proof = HASH_SIZE * MOST_NEIGHBOURS * (1 + (MOST_DEVICES // MOST_NEIGHBOURS).bit_length())
    assert 4 * (more_told + neighbours * (more_told - told) + proof) / 3 < MOST_ANSWER


def read_rounds(scene: AddingDevices) -> tuple[DueRound, ...]:
    """What the page shows of rounds; when a phase began is in every world the same."""
    view = scene.service.run(scene.service.host.view("small"))
    found: tuple[DueRound, ...] = view.due_rounds
    return found


@pytest.mark.slow
def test_the_page_says_how_far_rounds_are(scene: AddingDevices) -> None:
    """Two devices of the first cohort and one of the second are not in contact: one more may be lost of the second."""
    scene.fill()
    assert [(each.attempt, each.spare) for each in read_rounds(scene)] == [(0, 2)] * 2
    scene.service.tick(WINDOW + 1)
    first, second, *_ = (number for number, arm in enumerate(scene.arms) if arm == "a")
    lost = {first, second, scene.arms.index("b")}
    scene.contact(lost=lost)
    found = [(each.phase, each.answered, each.there, each.spare) for each in read_rounds(scene)]
    assert found == [(0, 8, 10, 2), (0, 9, 10, 2)]
    scene.service.tick(WAIT + 1)
    scene.service.tick()
    found = [(each.phase, each.answered, each.there, each.spare) for each in read_rounds(scene)]
    assert found == [(1, 0, 8, 0), (1, 0, 9, 1)]
    page = look(scene.service, sign_in(scene.service, "owner")).body.decode()
    assert find_unsaid(page) == []
    assert "The windows of 2 full cohorts are over: the devices add up." in page
    assert "sealed key shares, 2 of 4" in page
    scene.contact(4, lost=lost)
    assert read_rounds(scene) == ()
    assert [each["n"] for each in scene.read_releases()] == [8, 9]


@pytest.mark.slow
def test_a_device_that_left_may_not_be_lost_once_more(scene: AddingDevices, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of each cohort leaves the attempt, and another one is not in contact yet: one may still be lost."""
    scene.fill()
    first, *_, last = zip(*([i for i, of in enumerate(scene.arms) if of == arm] for arm in "ab"), strict=True)
    leave, real = [read_ticket(scene.devices[number]) for number in first], adding_up.answer_due

    def answer(connection: Connection, booked: BookedPlace, due: RoundDue, now: int) -> bytes:
        return b"" if booked.place.ticket in leave else real(connection, booked, due, now)

    monkeypatch.setattr(adding_up, "answer_due", answer)
    scene.service.tick(WINDOW + 1)
    scene.contact(lost=last)
    found = [(each.phase, each.answered, each.there, each.spare) for each in read_rounds(scene)]
    assert found == [(0, 8, 9, 1)] * 2


def watch_page(folder: Path, outcome: float | None) -> list[tuple[DueRound, ...]]:
    """What the page shows of rounds, after each contact of a device, where one person has this outcome."""
    with closing(AddingDevices(folder)) as scene:
        scene.come(outcome)
        for _ in range(19):
            scene.come(1.0)
        scene.service.tick(WINDOW + 1)
        shown = [read_rounds(scene)]
        for device in scene.devices:
            device.contact()
            shown.append(read_rounds(scene))
        return shown


@pytest.mark.slow
def test_the_page_of_rounds_is_the_same_whatever_an_outcome_is(tmp_path: Path) -> None:
    first, *others = (watch_page(tmp_path / name, value) for name, value in WORLDS.items() if name != "a part")
    assert first[-1]
    assert all(each == first for each in others)


@pytest.mark.slow
def test_a_page_of_devices_that_answer_only_with_an_outcome_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding_up, "answer_due", partial(answer_if_recorded, adding_up.answer_due))
    assert watch_page(tmp_path / "nothing", None) != watch_page(tmp_path / "the default", 0.0)
