"""What a device keeps, sends, sends again and forgets."""

import json
import sqlite3
import subprocess
import sys
from contextlib import suppress
from fractions import Fraction

import httpx
import pytest

from maskedbandit.channels.codec import encode_reward
from maskedbandit.device import Agreed, Device
from maskedbandit.device.device_book import BOOK_FILE
from maskedbandit.device.own_place import read_place
from maskedbandit.device.rounding import round_outcome
from maskedbandit.device.sealing import seal_upload
from maskedbandit.device.service_calls import DeviceRequest, ServiceCalls, ServiceReply, read_object
from maskedbandit.errors import InvalidValue, NoConsent, PersonalValue, UnknownStudy
from maskedbandit.private_files import PrivateFile
from maskedbandit.secagg.uploads import ReportTerms, seal_report
from tests.device.fake_leader import (
    EXPOSED,
    GRACE,
    HOUR,
    KEYS,
    PINNED,
    STUDY,
    TICKET,
    URL,
    WINDOW,
    Leader,
    Wire,
    listening,
    make_device,
    make_offer,
    make_place,
)
from tests.for_each import for_each
from tests.statistics import at_most, seeded


@pytest.fixture
def leader():
    return Leader()


@pytest.fixture
def device(leader, tmp_path):
    made = make_device(tmp_path / "device", leader)
    yield made
    made.close()


def turns(leader):
    return [dict(message.body).get("turn") for message in leader.seen]


class TestConsent:
    def test_before_it_nothing_is_stored_or_sent(self, leader, tmp_path) -> None:
        folder = tmp_path / "device"
        device = Device(folder, URL, Agreed(1, PINNED), clock=leader.clock, transport=lambda: Wire(leader))
        with pytest.raises(NoConsent):
            device.join(make_place())
        with pytest.raises(NoConsent):
            device.record(STUDY, 1)
        device.contact()
        assert device.show() == []
        device.consent(False)
        assert not folder.exists()
        assert leader.seen == []
        device.consent(True)
        device.join(make_place())
        device.close()
        assert turns(leader) == [0]

    def test_whoever_took_it_back_is_erased_when_the_leader_can_be_reached(self, leader, device) -> None:
        device.join(make_place())
        leader.faults = {1: "lost", 2: "lost"}
        device.consent(False)
        device.contact()
        assert leader.left == []
        device.contact()
        assert leader.left == [TICKET]
        assert len(leader.seen) == 4

    def test_a_process_that_ends_while_it_is_taken_back_leaves_all_or_nothing(
        self, leader, device, tmp_path, monkeypatch
    ) -> None:
        device.join(make_place())
        begun, real = [], PrivateFile.transaction

        def ending(file):
            begun.append(file)
            assert len(begun) == 1, "the process ends here"
            return real(file)

        monkeypatch.setattr(PrivateFile, "transaction", ending)
        with suppress(AssertionError):
            device.consent(False)
        monkeypatch.undo()
        other = make_device(tmp_path / "device", leader)  # she agrees again
        sent = len(leader.bodies)
        leader.time += 1
        other.contact()
        assert [each.ended for each in other.show()] == ["left"]
        assert not any(b"leader" in body for body in leader.bodies[sent:])
        other.close()

    def test_taken_back_it_ends_all(self, leader, device) -> None:
        device.join(make_place())
        device.consent(False)
        assert leader.left == [TICKET]
        assert leader.uploads == {}
        device.contact()
        assert len(leader.seen) == 2
        with pytest.raises(NoConsent):
            device.record(STUDY, 1)
        device.consent(True)
        device.contact()
        assert len(leader.seen) == 2
        assert [each.ended for each in device.show()] == ["left"]


class TestStandingReports:
    def test_every_contact_within_the_window_and_the_first_after_it(self, leader, device) -> None:
        device.join(make_place())
        for hour in (1, 5, 7, 8, 20):
            leader.time = EXPOSED + hour * HOUR
            device.contact()
        assert turns(leader) == [0, 1, 2, 3]
        assert {each.answer for each in device.show()[0].sent} == {"stored"}

    def test_where_reports_end_with_the_window_there_is_none_after_it(self, leader, device) -> None:
        device.join(make_place(grace=0))
        for hour in (1, 7, 8):
            leader.time = EXPOSED + hour * HOUR
            device.contact()
        assert turns(leader) == [0, 1]

    def test_the_default_is_reported_until_there_is_an_outcome(self, leader, device) -> None:
        device.join(make_place(default=0.8, offer=make_offer(steps=5).to_text()))
        assert leader.opened(make_offer(steps=5)) == 4
        device.record(STUDY, 0.2)
        assert leader.opened(make_offer(steps=5)) == 4
        device.contact()
        assert leader.opened(make_offer(steps=5)) == 1

    def test_outcomes_are_in_the_units_of_the_study(self, leader, device) -> None:
        device.join(make_place(least=-10, most=10, default=0, offer=make_offer(steps=2).to_text()))
        assert leader.opened(make_offer(steps=2)) == 1
        device.record(STUDY, 10)
        device.contact()
        assert leader.opened(make_offer(steps=2)) == 2

    @for_each("value", [-0.1, 1.1, float("nan"), "1", None, True, 10**400])
    def test_other_outcomes_are_refused_and_not_shown(self, value, leader, tmp_path) -> None:
        device = make_device(tmp_path / str(value)[:9], leader)
        device.join(make_place())
        with pytest.raises(PersonalValue, match="a number from 0 to 1"):
            device.record(STUDY, value)
        device.close()

    def test_of_no_study_nothing_is_recorded(self, device) -> None:
        assert device.record("other", 1) is False
        with pytest.raises(UnknownStudy, match="other"):
            device.leave("other")

    def test_after_the_window_nothing_counts(self, leader, device) -> None:
        device.join(make_place())
        assert device.record(STUDY, 1) is True
        leader.time = EXPOSED + WINDOW + 1
        assert device.record(STUDY, 0) is False
        device.contact()
        assert leader.opened() == 255

    def test_an_exposure_in_the_future_is_now(self, leader, device) -> None:
        device.join(make_place(exposed=EXPOSED + 5 * HOUR))
        leader.time = EXPOSED + WINDOW + 1
        assert device.record(STUDY, 1) is False


class TestReportsAtTheDeadline:
    @pytest.fixture
    def device(self, leader, tmp_path):
        made = make_device(tmp_path / "device", leader, reports="deadline")
        yield made
        made.close()

    def test_one_for_everybody(self, leader, device) -> None:
        device.join(make_place())
        for hour in (1, 5, 7, 8, 20):
            leader.time = EXPOSED + hour * HOUR
            device.contact()
        assert turns(leader) == [0]
        assert leader.seen[0].time == EXPOSED + 7 * HOUR

    def test_it_needs_time_after_the_window(self, device) -> None:
        with pytest.raises(InvalidValue, match="grace of a place is 0: it must be above 0"):
            device.join(make_place(grace=0))

    def test_nothing_is_sent_too_late(self, leader, device) -> None:
        device.join(make_place())
        leader.time = EXPOSED + WINDOW + GRACE + 1
        device.contact()
        assert leader.seen == []

    def test_other_ways_are_refused(self, tmp_path) -> None:
        with pytest.raises(InvalidValue, match="'standing' or 'deadline'"):
            Device(tmp_path, URL, Agreed(1, PINNED), reports="sometimes")


class TestRetries:
    @for_each("fault", ["lost", "unanswered", 429, 500, 503])
    def test_the_same_bytes_until_there_is_an_answer(self, fault, tmp_path) -> None:
        leader = Leader()
        leader.faults = {1: fault, 2: fault, 3: fault}
        device = make_device(tmp_path / str(fault), leader)
        device.join(make_place())
        device.record(STUDY, 1)
        leader.time = EXPOSED + WINDOW
        for _ in range(9):
            device.contact()
            leader.time += HOUR
            device.record(STUDY, 0)
        assert turns(leader) == [0, 1, 1, 1, 1]
        assert len(set(leader.bodies)) == 2
        assert leader.opened() == 255
        device.close()

    def test_also_by_the_next_process(self, leader, tmp_path) -> None:
        leader.faults = {0: "lost"}
        for _ in range(3):
            device = make_device(tmp_path / "device", leader, reports="deadline")
            device.join(make_place())
            leader.time = EXPOSED + WINDOW
            device.contact()
            device.close()
        assert turns(leader) == [0, 0]
        assert leader.bodies[0] == leader.bodies[1]

    def test_a_process_that_ends_between_sealing_and_sending(self, leader, tmp_path, monkeypatch) -> None:
        """What it sealed is what the next one sends."""
        device = make_device(tmp_path / "device", leader, reports="deadline")
        device.join(make_place())
        device.record(STUDY, 1)
        leader.time = EXPOSED + WINDOW
        ended = []

        def end(calls, requests):
            ended.extend(each.body.encode() for each in requests)
            if requests:
                raise SystemExit
            return []

        with monkeypatch.context() as patch:
            patch.setattr(ServiceCalls, "post", end)
            with pytest.raises(SystemExit):
                device.contact()
        device.close()
        device = make_device(tmp_path / "device", leader, reports="deadline")
        device.contact()
        device.close()
        assert leader.bodies == ended
        assert leader.opened() == 255

    def test_a_copy_of_before_does_not_replace_what_was_sent(self, leader, tmp_path) -> None:
        """The leader has these turns already; the copy goes on with the next ones, until one is new."""
        book = tmp_path / "device" / BOOK_FILE
        device = make_device(tmp_path / "device", leader)
        device.join(make_place())
        copy = book.read_bytes()
        device.record(STUDY, 1)
        device.contact()
        device.close()
        book.write_bytes(copy)
        device = make_device(tmp_path / "device", leader)
        device.contact()
        assert leader.opened() == 255
        assert [each.answer for each in device.show()[0].sent] == ["stored", "conflict"]
        device.contact()
        device.close()
        assert leader.opened() == 0  # what this copy knows, and knew at its last contact

    def test_nothing_is_sealed_for_operators_whom_the_application_dropped(self, leader, tmp_path) -> None:
        device = make_device(tmp_path / "device", leader)
        device.join(make_place())
        device.close()
        device = make_device(tmp_path / "device", leader, agreed=Agreed(1, (PINNED[0], "77" * 32)))
        device.contact()
        device.close()
        assert turns(leader) == [0]

    def test_a_ticket_that_nobody_knows_ends_it(self, leader, device) -> None:
        device.join(make_place(ticket="gone"))
        device.contact()
        assert turns(leader) == [0]
        assert device.show()[0].ended == "unknown_ticket"

    def test_a_turn_that_was_answered_is_not_kept(self, leader, device, tmp_path) -> None:
        device.join(make_place())
        report = json.loads(leader.bodies[0])["helper"].encode()
        assert report not in (tmp_path / "device" / BOOK_FILE).read_bytes()
        leader.faults = {1: "lost"}
        device.contact()
        connection = sqlite3.connect(tmp_path / "device" / BOOK_FILE)
        assert connection.execute("SELECT turn FROM kept_report WHERE body IS NOT NULL").fetchall() == [(1,)]
        connection.close()


class TestLeaving:
    def test_it_is_erased_here_and_there(self, leader, device, tmp_path) -> None:
        device.join(make_place())
        device.record(STUDY, 0.371)
        device.leave(STUDY)
        device.leave(STUDY)
        assert leader.left == [TICKET]
        assert leader.uploads == {}
        device.contact()
        assert len(leader.seen) == 2
        (shown,) = device.show()
        assert (shown.ended, shown.sent, shown.operators, shown.arm) == ("left", (), (), "")
        stored = (tmp_path / "device" / BOOK_FILE).read_bytes()
        assert not any(text in stored for text in (TICKET.encode() + b'"', b"bold", KEYS[0].seals.hex().encode()))

    def test_what_another_process_left_stays_empty(self, leader, device, tmp_path) -> None:
        device.join(make_place())
        booked = device._book.find(STUDY)
        other = make_device(tmp_path / "device", leader)
        other.leave(STUDY)
        other.close()
        device._book.record(booked, "", 0.371, seeded(1))
        assert device._book.find(STUDY).held == {}
        assert device.record(STUDY, 0.371) is False

    def test_the_leader_is_told_when_it_can_be_reached(self, leader, device) -> None:
        device.join(make_place())
        leader.faults = {1: "lost", 2: 503}
        device.leave(STUDY)
        device.contact()
        assert leader.left == []
        device.contact()
        device.contact()
        assert leader.left == [TICKET]
        assert len(leader.seen) == 4


class TestWhatIsShown:
    def test_all_that_was_sent(self, leader, device) -> None:
        device.join(make_place())
        leader.time += HOUR
        device.record(STUDY, 1)
        leader.faults = {1: "lost"}
        device.contact()
        (shown,) = device.show()
        assert [(each.turn, each.made, each.says, each.answer) for each in shown.sent] == [
            (0, EXPOSED, 0, "stored"),
            (1, EXPOSED + HOUR, 255, ""),
        ]
        assert shown.steps == 255
        assert [each.size for each in shown.sent] == [message.size for message in leader.seen]


class TestRounding:
    def test_is_that_of_the_channels(self) -> None:
        for number in range(200):
            value, steps = number / 199, 1 + number % 9
            mine, theirs = seeded(number), seeded(number)
            assert round_outcome(Fraction(value), steps, mine) == encode_reward(value, steps, theirs)

    def test_is_drawn_once_for_a_value_that_is_recorded(self, leader, device) -> None:
        device.join(make_place(offer=make_offer(steps=1).to_text()))
        said = set()
        for _ in range(40):
            device.record(STUDY, 0.5)
            device.contact()
            said.add(device.show()[0].sent[-1].says)
        assert len(said) == 1

    @pytest.mark.slow
    def test_keeps_the_mean(self, leader, device) -> None:
        device.join(make_place(offer=make_offer(steps=1).to_text()))
        ones = 0
        for _ in range(300):
            device.record(STUDY, 1)
            device.record(STUDY, 0.25)
            (booked,) = device._book.places()
            ones += booked.steps
        at_most(ones, 300, 0.25)
        at_most(300 - ones, 300, 0.75)


class TestTransport:
    def test_a_real_socket(self, leader, tmp_path) -> None:
        with listening(leader) as url:
            device = make_device(tmp_path / "device", leader, url=url, transport=None)
            device.join(make_place())
            device.record(STUDY, 1)
            device.contact()
            device.leave(STUDY)
            device.close()
        assert turns(leader) == [0, 1, None]
        assert leader.left == [TICKET]

    def test_nobody_listens(self, leader, tmp_path) -> None:
        with listening(leader) as url:
            pass
        device = make_device(tmp_path / "device", leader, url=url, transport=None)
        device.join(make_place())
        assert [each.answer for each in device.show()[0].sent] == [""]
        device.close()

    def test_no_header_names_the_person(self, leader, device) -> None:
        device.join(make_place())
        names = {name for name, _ in leader.seen[0].head}
        assert names == {"", "host", "content-type", "accept", "user-agent", "content-length"}

    def test_an_endless_answer_is_none(self) -> None:
        class Endless(httpx.BaseTransport):
            def handle_request(self, request):
                return httpx.Response(200, stream=Drops())

        class Drops(httpx.SyncByteStream):
            def __iter__(self):
                while True:
                    yield b" " * 1024

        assert ServiceCalls(URL, None, Endless).post([DeviceRequest(STUDY, "leave", "{}")])[0].status == 0

    @for_each("content", [b"", b"[]", b"\xff", b"[" * 10**5, b'{"code": 1}', b'{"code": "NO"}', b'{"status": 200}'])
    def test_other_bodies_say_nothing(self, content) -> None:
        said = {ServiceReply(status, read_object(content)).said for status in (200, 410)}
        assert said == {""}

    def test_a_page_of_the_network_is_no_answer(self, leader, tmp_path) -> None:
        """Whoever is asked to log in first is answered with the status 200, and by some networks in JSON."""
        pages = (
            {"html": "<h1>Welcome</h1>"},
            *({"json": {"status": word}} for word in ("ok", "late", "unknown_ticket")),
        )
        for number, page in enumerate(pages):

            class Portal(httpx.BaseTransport):
                def handle_request(self, request, page=page):
                    return httpx.Response(200, **page)

            device = make_device(tmp_path / str(number), leader, transport=Portal)
            device.join(make_place())
            assert device.show()[0].sent[0].answer == ""
            device.leave(STUDY)
            assert device._book.farewells() == [(STUDY, TICKET)]
            device.close()

    @for_each("url", ["", "ftp://x", "https://", "https://u:p@x", "https://x/?a", None, "https://x y"])
    def test_other_addresses_are_refused(self, url, tmp_path) -> None:
        with pytest.raises(InvalidValue, match="url"):
            Device(tmp_path, url, Agreed(1, PINNED))


def test_a_body_is_what_uploads_make() -> None:
    place = read_place(make_place())
    body = json.loads(seal_upload(place, 9, 3, lambda count: bytes(range(count))))
    terms = ReportTerms(place.protocol, 3, place.offer.digest, 255, 7)
    made = seal_report(terms, 9, (KEYS[0].seals, KEYS[1].seals), 3, lambda count: bytes(range(count)))
    assert (body["ticket"], body["report"], body["turn"]) == (TICKET, made.report.hex(), 3)
    assert list(body) == ["ticket", "report", "turn", "leader", "helper"]


HEAVY = ("numpy", "scipy", "numba", "polars", "httpx", "cryptography", "Cryptodome", "cffi", "asyncio")


def loaded(code):
    """Which of these a fresh interpreter has loaded after some code."""
    script = f"{code}\nimport sys\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_a_device_loads_nothing_that_computes_or_sends() -> None:
    assert loaded("import maskedbandit.device") == []


@pytest.mark.slow
def test_what_is_loaded_is_found() -> None:
    assert "numpy" in loaded("import maskedbandit.device, maskedbandit.channels.codec")
