"""A device that asks for its arm itself, with a device key and a person's token, and says when the arm was seen."""

import json

import httpx
import pytest

from maskedbandit.device import Agreed, Device, ShownArm
from maskedbandit.device_refusals import Unreachable, WrongClock
from maskedbandit.errors import AlreadySpent, InvalidValue, Late, NoConsent, PersonalValue, Refused
from tests.device.fake_leader import (
    EXPOSED,
    GRACE,
    HOUR,
    KEY,
    PINNED,
    STUDY,
    TICKET,
    WINDOW,
    Leader,
    make_device,
    make_local_place,
    make_offer,
    make_place,
)
from tests.for_each import for_each

DAY = 24 * HOUR
PAYLOAD = {"text": "Hello"}


@pytest.fixture
def leader():
    """A service where nobody saw the arm yet."""
    made = Leader()
    made.exposed = None
    return made


@pytest.fixture
def device(leader, tmp_path):
    made = make_device(tmp_path / "device", leader, agreed=Agreed(1, PINNED), key=KEY)
    yield made
    made.close()


def assign(device):
    return device.assign(STUDY, "ann", "token")


def paths(leader):
    """What was asked, in order."""
    return [message.head[0][1].rpartition("/")[2] for message in leader.seen]


class TestAssign:
    def test_it_asks_with_the_key_and_takes_the_place(self, leader, device) -> None:
        assert assign(device) == ShownArm("bold", PAYLOAD)
        assert paths(leader) == ["assign"]
        assert json.loads(leader.bodies[0]) == {"unit": "ann", "token": "token"}
        assert ("authorization", f"Bearer {KEY}") in leader.seen[0].head
        device.contact()
        assert len(leader.seen) == 1  # nobody saw the arm
        (shown,) = device.show()
        assert (shown.arm, shown.ended, shown.epsilon) == ("bold", "", 1)

    def test_the_token_and_the_name_are_not_kept(self, leader, tmp_path) -> None:
        device = make_device(tmp_path / "device", leader, key=KEY)
        device.assign(STUDY, "ann of the secret name", "token")
        device.close()
        stored = b"".join(path.read_bytes() for path in (tmp_path / "device").iterdir())
        assert b"secret name" not in stored
        assert KEY.encode() not in stored

    def test_again_it_is_the_arm_of_the_book(self, leader, device) -> None:
        assert assign(device) == assign(device)
        assert paths(leader) == ["assign"]
        leader.faults = dict.fromkeys(range(1, 9), "lost")
        assert assign(device) == ShownArm("bold", PAYLOAD)

    def test_a_place_of_another_book_is_shown_and_never_reported(self, leader, device, tmp_path) -> None:
        first = make_device(tmp_path / "first", leader, key=KEY)
        assign(first)
        first.close()
        for _ in range(2):
            assert assign(device) == ShownArm("bold", PAYLOAD, "elsewhere")
        assert device.expose(STUDY) is False
        assert device.record(STUDY, 1) is False
        leader.time += WINDOW
        device.contact()
        assert paths(leader) == ["assign"] * 2
        assert device.show()[0].ended == "elsewhere"

    def test_whoever_has_no_place_gets_an_arm(self, leader, device, monkeypatch) -> None:
        given = {"study": STUDY, "arm": "plain", "payload": None, "ticket": None, "again": False}
        for why, expected in ((None, "no_place"), ("budget_exceeded", "budget_exceeded")):
            monkeypatch.setattr(leader, "assign", lambda body, why=why: (200, given | {"why": why}))
            assert assign(device) == ShownArm("plain", None, expected)
        assert device.expose(STUDY) is False
        assert device.record(STUDY, 1) is False
        assert device.show() == []

    def test_whoever_was_turned_away_may_come_again_with_other_attributes(self, leader, device, monkeypatch) -> None:
        given = {"study": STUDY, "arm": "plain", "payload": None, "ticket": None, "again": False, "why": "not_eligible"}
        real = leader.assign

        def by_age(body):
            return real(body) if body.get("attributes", {}).get("age", 0) >= 18 else (200, given)

        monkeypatch.setattr(leader, "assign", by_age)
        for attributes in (None, {}, {"age": 17}):
            assert device.assign(STUDY, "ann", "token", attributes) == ShownArm("plain", None, "not_eligible")
        assert json.loads(leader.bodies[0]) == {"unit": "ann", "token": "token"}
        assert device.show() == []
        assert device.assign(STUDY, "ann", "token", {"age": 18}) == ShownArm("bold", PAYLOAD)
        assert json.loads(leader.bodies[-1]) == {"unit": "ann", "token": "token", "attributes": {"age": 18}}
        assert device.assign(STUDY, "ann", "token", {"age": 3}) == ShownArm("bold", PAYLOAD)
        assert len(leader.bodies) == 4
        with pytest.raises(PersonalValue):
            device.assign("another", "ann", "token", {"age": None})

    def test_a_study_of_central_trust_is_refused(self, leader, device, monkeypatch) -> None:
        given = {"study": STUDY, "arm": "plain", "payload": None, "ticket": TICKET, "again": False, "device": None}
        monkeypatch.setattr(leader, "assign", lambda body: (200, given))
        with pytest.raises(InvalidValue, match="trust of the study is 'central'"):
            assign(device)
        assert device.show() == []

    def test_what_was_not_agreed_to_is_refused(self, leader, device) -> None:
        leader.place = make_local_place(offer=make_offer().to_text())
        with pytest.raises(InvalidValue, match="channel of an offer"):
            assign(device)
        assert device.show() == []

    def test_a_second_place_is_refused(self, leader, device) -> None:
        """A study that comes under another name is the same one."""
        assign(device)
        leader.place = make_local_place(study="other")
        given = {"study": "other", "arm": "bold", "ticket": TICKET, "again": False, "device": leader.place}
        leader.answer = lambda path, body: (200, given)
        with pytest.raises(AlreadySpent, match="another place"):
            device.assign("other", "ann", "token")

    @for_each("study", ["../x", "", None, "a/b"])
    def test_a_study_is_a_name(self, study, tmp_path) -> None:
        device, leader = make_device(tmp_path / "device", Leader(), key=KEY), Leader()
        with pytest.raises(InvalidValue, match="study"):
            device.assign(study, "ann", "token")
        device.close()
        assert leader.seen == []

    def test_it_needs_consent_and_a_key(self, leader, tmp_path) -> None:
        device = make_device(tmp_path / "device", leader)
        with pytest.raises(InvalidValue, match="key is None: it must be a device key of newsletter"):
            assign(device)
        device.consent(False)
        with pytest.raises(NoConsent):
            assign(device)
        device.close()
        assert leader.seen == []

    def test_a_place_that_comes_after_consent_was_taken_back_is_not_stored(self, leader, device, monkeypatch) -> None:
        answer = leader.answer

        def taking_back(path, body):
            if path.endswith("/assign"):
                device._book.take_back_consent()
            return answer(path, body)

        monkeypatch.setattr(leader, "answer", taking_back)
        with pytest.raises(NoConsent):
            assign(device)
        assert device.show() == []

    def test_after_leaving_nobody_is_asked(self, leader, device) -> None:
        assign(device)
        device.leave(STUDY)
        with pytest.raises(AlreadySpent, match="left"):
            assign(device)
        assert paths(leader) == ["assign", "leave"]


TOKENS = ("missing", "malformed", "unknown_key", "forged", "expired", "expires_too_late")
REFUSALS = [f"token_{each}" for each in TOKENS] + ["wrong_origin", "unauthorized", "forbidden", "unknown_study"]


class TestRefusals:
    @for_each("code", REFUSALS)
    def test_the_service_refuses_by_name(self, code, tmp_path) -> None:
        leader = Leader()
        device = make_device(tmp_path / code, leader, key=KEY)
        with pytest.raises(Refused, match=f"the service refuses the request: {code}") as refused:
            device.assign(STUDY, "ann", code)
        assert refused.value.code == code
        assert device.show() == []
        leader.time += WINDOW
        device.contact()
        device.close()
        assert paths(leader) == ["assign"]

    @for_each("fault", ["lost", "unanswered", 500, 503])
    def test_a_service_that_is_away(self, fault, tmp_path) -> None:
        leader = Leader()
        leader.faults = {0: fault}
        device = make_device(tmp_path / str(fault), leader, key=KEY)
        with pytest.raises(Unreachable):
            assign(device)
        leader._first.clear()  # the first request did not arrive
        assert assign(device) == ShownArm("bold", PAYLOAD)
        device.close()

    @for_each("body", ["{}", "[]", "<h1>", json.dumps({"study": "other", "arm": "a", "ticket": None})])
    def test_somebody_else_who_answers(self, body, tmp_path) -> None:
        transport = httpx.MockTransport(lambda request: httpx.Response(200, text=body))
        device = make_device(tmp_path / str(len(body)), Leader(), key=KEY, transport=lambda: transport)
        with pytest.raises(Unreachable):
            assign(device)
        device.close()

    def test_a_place_of_somebody_else(self, leader, device, monkeypatch) -> None:
        given = {"study": STUDY, "arm": "bold", "ticket": "other", "device": make_local_place()}
        monkeypatch.setattr(leader, "assign", lambda body: (200, given))
        with pytest.raises(Unreachable):
            assign(device)


class TestExpose:
    def test_the_service_is_told_and_the_window_begins(self, leader, device) -> None:
        assign(device)
        leader.time += HOUR
        assert device.record(STUDY, 1) is False
        assert device.expose(STUDY) is True
        assert device.expose(STUDY) is True
        assert paths(leader) == ["assign", "expose"]
        assert leader.exposed == EXPOSED + HOUR
        assert device.record(STUDY, 1) is True
        leader.time += WINDOW - 1
        device.contact()
        assert len(leader.seen) == 2
        leader.time += 1
        device.contact()
        assert paths(leader) == ["assign", "expose", "report"]

    def test_two_operators_are_sent_the_default_at_once(self, leader, device) -> None:
        leader.place = make_place()
        assign(device)
        assert device.expose(STUDY) is True
        assert paths(leader) == ["assign", "expose", "upload"]
        assert leader.opened() == 0

    def test_the_service_is_told_until_it_has_heard(self, leader, device) -> None:
        leader.place = make_place()
        assign(device)
        leader.faults = {1: "lost", 2: 503, 3: "unanswered"}
        device.expose(STUDY)
        for _ in range(4):
            leader.time += HOUR
            device.contact()
        assert paths(leader) == ["assign", *["expose"] * 4, "upload", "upload"]
        leader.time = EXPOSED + WINDOW
        assert device.record(STUDY, 1) is True  # the window began when she saw it
        leader.time += 1
        assert device.record(STUDY, 1) is False

    @for_each("word", ["ok", "left", "late", "unknown_ticket"])
    def test_a_page_of_the_network_has_not_heard_it(self, word, tmp_path) -> None:
        leader = Leader()
        leader.exposed, answer = None, leader.answer
        device = make_device(tmp_path / word, leader, key=KEY)
        assign(device)
        leader.answer = lambda path, body: (200, {"status": word})
        assert device.expose(STUDY) is True
        leader.answer = answer
        leader.time += WINDOW
        device.contact()
        assert paths(leader) == ["assign", "expose", "expose", "report"]
        device.close()

    @for_each("code", ["late", "unknown_ticket"])
    def test_a_place_that_went_to_somebody_else(self, code, tmp_path) -> None:
        leader = Leader()
        leader.exposed = None
        device = make_device(tmp_path / code, leader, key=KEY)
        assign(device)
        leader.answer = lambda path, body: (410, {"code": code})
        assert device.expose(STUDY) is False
        leader.time += WINDOW
        device.contact()
        assert paths(leader) == ["assign", "expose"]
        assert device.show()[0].ended == code
        device.close()

    def test_an_arm_that_counts_as_seen_at_once(self, leader, device) -> None:
        leader.exposed = EXPOSED
        assign(device)
        assert device.record(STUDY, 1) is True
        leader.time += WINDOW
        device.contact()
        assert paths(leader) == ["assign", "report"]


class TestClocks:
    """Of a place that a clock makes impossible nothing is stored and nothing is sent; later it can be taken."""

    @for_each(
        "case", [("ahead", 2 * DAY, Late), ("behind", -2 * DAY, WrongClock), ("of 1970", -EXPOSED, WrongClock)], ids=str
    )
    def test_a_clock_that_cannot_be_right_is_refused(self, case, tmp_path) -> None:
        name, shift, kind = case
        leader, shifts = Leader(), [shift]
        assert 2 * DAY > WINDOW + GRACE
        device = make_device(tmp_path / name, leader, key=KEY, clock=lambda: (leader.time + shifts[0]) / 1000)
        for ask in (lambda: device.join(make_local_place()), lambda: assign(device)):
            with pytest.raises(kind, match="by the clock of this device"):
                ask()
        device.contact()
        assert paths(leader) == ["assign"]
        assert device.show() == []
        shifts[0] = 0
        device.join(make_local_place())
        device.close()

    @for_each("seconds", [-1.0, float("nan"), float("inf"), 1e14])
    def test_one_that_says_no_time_is_refused_and_nothing_is_sent(self, seconds, tmp_path) -> None:
        leader = Leader()
        leader.exposed = None
        device = make_device(tmp_path / str(seconds), leader, key=KEY)
        assign(device)
        device._clock = lambda: seconds
        for call in (device.contact, lambda: device.expose(STUDY), lambda: device.record(STUDY, 1)):
            with pytest.raises(WrongClock, match="no time"):
                call()
        device._clock = leader.clock
        assert device.expose(STUDY) is True
        assert paths(leader) == ["assign", "expose"]
        device.close()

    @for_each("shift", [-DAY + HOUR, -HOUR, -1, 0, 1])
    def test_a_clock_that_is_behind_by_less_is_taken_as_it_is(self, shift, tmp_path) -> None:
        leader = Leader()
        device = make_device(tmp_path / str(shift), leader, key=KEY, clock=lambda: (leader.time + shift) / 1000)
        device.join(make_local_place())
        leader.time += WINDOW
        device.contact()
        device.close()
        assert paths(leader) == ["report"]

    def test_one_that_is_set_back_draws_nothing_twice(self, leader, tmp_path) -> None:
        leader.exposed, shifts = EXPOSED, [0]
        device = make_device(tmp_path / "device", leader, key=KEY, clock=lambda: (leader.time + shifts[0]) / 1000)
        device.join(make_local_place())
        leader.faults = dict.fromkeys(range(9), "lost")
        for shifts[0] in (WINDOW, -DAY, 0, WINDOW, 2 * WINDOW):
            device.contact()
        device.close()
        assert len(leader.bodies) == 5
        assert len(set(leader.bodies)) == 1


def test_a_key_of_each_study(leader, tmp_path) -> None:
    device = Device(tmp_path / "device", "http://service.test", Agreed(1), key={"other": KEY}, clock=leader.clock)
    device.consent(True)
    with pytest.raises(InvalidValue, match="a device key of newsletter"):
        assign(device)
    device.close()
