"""Two worlds that differ in one person's outcome look alike to whoever sees the network, the service included.

What is compared is everything but random texts and numbers: times, order, number, paths, headers, sizes, all plain
fields, and which message repeats which. Random texts are those of two seals: that an operator alone learns nothing of
the value from them is tested in tests/secagg. Random numbers are those that have noise: test_local_law.py.
"""

from contextlib import suppress
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from maskedbandit.channels.local import Local
from maskedbandit.device import Agreed, Device
from maskedbandit.device.device_book import DeviceBook, MadeReport
from maskedbandit.device.own_place import read_place
from maskedbandit.device.turns import KeptReport, choose_turn
from maskedbandit.errors import Refused
from maskedbandit.privacy.statistics import capped_sum
from tests.device.fake_leader import (
    EXPOSED,
    GRACE,
    HOUR,
    KEY,
    STUDY,
    WINDOW,
    Leader,
    Wire,
    listening,
    make_device,
    make_local_place,
    make_place,
)

END = EXPOSED + WINDOW
HARM, HALF = "harm", Local("1/2", grid=255)
CAPPED = HALF.carrying(capped_sum(3))
# what becomes of the person: when it is recorded, and what
WORLDS = {
    "nothing": [],
    "a bit": [(HOUR, 1)],
    "a fraction": [(HOUR, 0.371)],
    "the default": [(HOUR, 0)],
    "early": [(0, 1)],
    "late": [(5 * HOUR, 1)],
    "at the last moment": [(WINDOW, 1)],
    "after the window": [(WINDOW + 1, 1)],
    "often": [(hour * HOUR // 2, hour % 3 / 2) for hour in range(13)],
    "the same again": [(hour * HOUR, 1) for hour in range(7)],
    "then not": [(HOUR, 1), (2 * HOUR, 0)],
}
# of two operators, and of local trust, where a person may have several rewards and a second outcome; without a place
# the device asks for one
WAYS = {
    "standing": (make_place(), {"reports": "standing"}),
    "deadline": (make_place(), {"reports": "deadline"}),
    "local": (make_local_place(), {"key": KEY}),
    "local, asked for": (None, {"key": KEY}),
    "local, several": (
        make_local_place(
            cap=3,
            offer=f"{CAPPED.offer(100).at(7).to_text()}\n{replace(HALF.offer(100).at(7), metric=HARM).to_text()}",
            further=[{"name": HARM, "default": 1}],
        ),
        {"key": KEY, "agreed": Agreed(1)},
    ),
}
CONTACTS = {
    "never again": [],
    "hourly": [hour * HOUR for hour in range(1, 40)],
    "at the end": [3 * HOUR, WINDOW, WINDOW, WINDOW + 1, WINDOW + HOUR],
    "after the end": [WINDOW + 2 * HOUR, WINDOW + 3 * HOUR, WINDOW + 4 * HOUR],
    "too late": [WINDOW + GRACE + 1, WINDOW + GRACE + HOUR],
}
FAULTS = {
    "none": {},
    "away": dict.fromkeys(range(99), "lost"),
    "at times": {0: "lost", 2: "unanswered", 3: 503, 4: "lost", 5: 429, 8: "unanswered"},
    "unanswered": dict.fromkeys(range(7), "unanswered"),
}


def begin(device, leader, place):
    """The person sees the arm of a place, or of one that is asked for."""
    if place is not None:
        device.join(place)
        return
    leader.exposed = None
    with suppress(Refused):  # the network does what it likes
        device.assign(STUDY, "ann", "token")
    device.expose(STUDY)


def watch(folder, world, contacts, faults, way, kind=Device):
    """All that is seen of a device in a world."""
    leader, (place, options) = Leader(), WAYS[way]
    leader.faults = FAULTS[faults]
    made = make_device(folder, leader, kind, **options)
    begin(made, leader, place)
    events = sorted(
        [(time, 1, None) for time in CONTACTS[contacts]]
        + [(time, 2 * (time == WINDOW), value) for time, value in world]
    )  # at the last moment an outcome comes after a contact, else before
    for time, _, value in events:
        leader.time = EXPOSED + time
        if value is None:
            made.contact()
        else:
            made.record(STUDY, value)
            if place and "further" in place:
                made.record(STUDY, 1 - value, HARM)
    made.close()
    return leader


def telling(folder, contacts, faults, way, kind=Device):
    """Worlds that look otherwise than the one in which nothing happens."""
    seen = {}
    for number, (name, world) in enumerate(WORLDS.items()):
        seen[name] = watch(folder / f"{contacts} {faults} {number}", world, contacts, faults, way, kind).seen
    return [name for name in seen if seen[name] != seen["nothing"]]


def all_telling(folder, way, kind=Device):
    """The same, whenever the device is in contact and whatever the network does."""
    return {
        (contacts, faults): found
        for contacts in CONTACTS
        for faults in FAULTS
        if (found := telling(folder, contacts, faults, way, kind))
    }


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_worlds_look_alike(way, tmp_path) -> None:
    assert all_telling(tmp_path, way) == {}


@pytest.mark.sparing(2)
@pytest.mark.parametrize("way", WAYS)
def test_worlds_look_alike_where_most_happens(way, tmp_path) -> None:
    assert telling(tmp_path, "at the end", "at times", way) == []


def draw_times(random, count):
    """Times about which something changes are as likely as all others together."""
    marks = (0, WINDOW, WINDOW + 1, WINDOW + GRACE, WINDOW + GRACE + 1)
    return [random.choice((*marks, *(random.randrange(2 * WINDOW) for _ in marks))) for _ in range(count)]


@pytest.mark.slow
def test_worlds_look_alike_whenever_anything_happens(tmp_path, monkeypatch) -> None:
    """Two hundred random outcomes, contacts and faults, each against the world in which nothing happens."""
    random = Random(33)
    for number in range(200):
        monkeypatch.setitem(CONTACTS, "random", sorted(draw_times(random, random.randrange(12))))
        faults = {i: random.choice(("lost", "unanswered", 429, 500, 503)) for i in range(20) if random.random() < 0.3}
        monkeypatch.setitem(FAULTS, "random", faults)
        world = [(time, random.choice((0, 1, random.random()))) for time in draw_times(random, random.randrange(6))]
        way = random.choice(tuple(WAYS))
        folder = tmp_path / str(number)
        one = watch(folder / "one", world, "random", "random", way)
        two = watch(folder / "two", [], "random", "random", way)
        assert one.seen == two.seen


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_worlds_look_alike_on_a_socket(way, tmp_path) -> None:
    seen, (place, options) = [], WAYS[way]
    for number, world in enumerate(WORLDS.values()):
        leader = Leader()
        leader.faults = {number + (place is None): fault for number, fault in FAULTS["at times"].items()}
        with listening(leader) as url:
            made = make_device(tmp_path / str(number), leader, url=url, transport=None, **options)
            begin(made, leader, place)
            outcomes = list(world)
            for time in CONTACTS["at the end"]:
                while outcomes and outcomes[0][0] <= time:
                    leader.time = EXPOSED + outcomes[0][0]
                    made.record(STUDY, outcomes.pop(0)[1])
                leader.time = EXPOSED + time
                made.contact()
            made.close()
        seen.append(leader.seen)
    assert len(seen[0]) >= 2
    assert [number for number, each in enumerate(seen) if each != seen[0]] == []


def test_something_is_seen(tmp_path) -> None:
    """Contacts and faults are such that reports are repeated, replaced, and come after the window."""
    standing = watch(tmp_path / "s", [], "at the end", "at times", "standing")
    turns = [dict(message.body)["turn"] for message in standing.seen]
    assert turns == [0, 1, 2, 2, 2, 2]
    assert len(set(standing.bodies)) == 3
    deadline = watch(tmp_path / "d", [], "after the end", "unanswered", "deadline")
    assert [dict(message.body)["turn"] for message in deadline.seen] == [0, 0, 0]
    assert len(set(deadline.bodies)) == 1
    local = watch(tmp_path / "l", [], "after the end", "unanswered", "local, several")
    assert [dict(message.body)["metric"] for message in local.seen] == ["", HARM] * 3
    assert len(set(local.bodies)) == 2
    asked = watch(tmp_path / "a", [], "at the end", "none", "local, asked for")
    assert [message.head[0][1].rpartition("/")[2] for message in asked.seen] == ["assign", "expose", "report"]


class Eager(Device):
    """It sends when the outcome is recorded."""

    def record(self, study, value):
        found = super().record(study, value)
        self.contact()
        return found


class Telling(Device):
    """Its size depends on what it says."""

    @staticmethod
    def _seal(place, steps, turn):
        return Device._seal(place, steps, turn).replace('"turn"', " " * steps + '"turn"')


class Repeating(Device):
    """It sends one more report if there is an outcome."""

    def contact(self):
        super().contact()
        if any(booked.held for booked in self._book.places()):
            super().contact()


class OnlyOutcomes(Device):
    """It reports only if there is an outcome."""

    def contact(self):
        if any(booked.held for booked in self._book.places()):
            super().contact()


class Sparing(Device):
    """It sends no report that says the same as the last one."""

    def contact(self):
        for booked in self._book.places():
            turns = self._book.reports(booked.study)
            if turns and turns[-1].answer and turns[-1].says == booked.steps:
                return
        super().contact()


class FreshBook(DeviceBook):
    """Of a turn that is sent again it gives another body if the value has changed meanwhile."""

    def take_turn(self, study, now, standing, make):
        due, turns, booked = super().take_turn(study, now, standing, make), self.reports(study), self.find(study)
        if due and turns[-1].says != booked.steps:
            place = booked.place
            return [due[0]._replace(body=make(place, place.outcomes[0], booked, due[0].turn).body)]
        return due


class Resealing(Device):
    """It seals anew on a retry, only if the value changed."""

    def consent(self, given):
        self._book = self._book or FreshBook(self._folder)
        super().consent(given)


class LaterRetry(Device):
    """It tries again at once if the last report was not answered and says that something happened."""

    def contact(self):
        super().contact()
        for booked in self._book.places():
            turns = self._book.reports(booked.study)
            if turns and not turns[-1].answer and turns[-1].says:
                super().contact()


class Marked(Device):
    """A header depends on the outcome."""

    def contact(self):
        happened = any(booked.held.get("") for booked in self._book.places())
        make = self._calls._make

        class Marking(Wire):
            def handle_request(self, request):
                request.headers["Priority"] = "high" if happened else "low"
                return super().handle_request(request)

        self._calls._make = lambda: Marking(make().leader)
        super().contact()
        self._calls._make = make


class Hasty(Device):
    """It reports when something happens, and does not wait for the end of the window."""

    def record(self, study, value, metric=""):
        found = super().record(study, value, metric)
        now, self._now = self._now, lambda: END
        self.contact()
        self._now = now
        return found


class Unpadded(Device):
    """A report is as long as its number."""

    def _make_report(self, *given):
        says, body = super()._make_report(*given)
        return MadeReport(says, body.replace(" ", ""))


class Fickle(Device):
    """It draws again if the service did not answer and another outcome was recorded."""

    def record(self, study, value, metric=""):
        with self._book._file.transaction() as connection:
            connection.execute("DELETE FROM kept_report WHERE answer = ''")
        return super().record(study, value, metric)


TWINS = (Eager, Telling, Repeating, OnlyOutcomes, Sparing, Resealing, LaterRetry, Marked)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_a_device_that_tells_is_found(twin, tmp_path) -> None:
    way = "deadline" if twin is OnlyOutcomes else "standing"
    contacts, faults = "at the end", "none" if twin in (Sparing, Repeating) else "at times"
    assert telling(tmp_path, contacts, faults, way, twin)


LOCAL_TWINS = (Hasty, OnlyOutcomes, Unpadded, Fickle, Marked)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("twin", LOCAL_TWINS, ids=lambda twin: twin.__name__)
def test_a_device_that_tells_under_local_trust_is_found(twin, tmp_path) -> None:
    """`Unpadded` escapes if numbers of twelve worlds have as many digits: in fewer than 1 of 10^6 runs."""
    assert telling(tmp_path, "at the end", "unanswered" if twin is Fickle else "at times", "local, several", twin)


@pytest.mark.slow
def test_the_outcome_arrives_all_the_same(tmp_path) -> None:
    """Else all of this would be easy: both operators together read what held at the end."""
    for reports in ("standing", "deadline"):
        for name, expected in (("nothing", 0), ("a bit", 255), ("late", 255), ("then not", 0), ("after the window", 0)):
            leader = watch(tmp_path / f"{reports} {name}", WORLDS[name], "hourly", "at times", reports)
            assert leader.opened() == expected, (reports, name)


def test_what_decides_does_not_look_at_what_a_report_says() -> None:
    for standing, place in product((False, True), (read_place(make_place()), read_place(make_local_place()))):
        for now in range(EXPOSED, END + GRACE + 2 * HOUR, HOUR):
            for sealed in range(EXPOSED, now + 1, HOUR):
                for answer in ("", "stored"):
                    lasts = [KeptReport(4, sealed, steps, 700, answer) for steps in (0, 1, 255)]
                    assert len({choose_turn(place, last, now, standing) for last in lasts}) == 1
