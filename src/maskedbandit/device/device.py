"""The device of one person, in all studies of one leader to which an application sends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from os import urandom
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from maskedbandit.checks import check_choice
from maskedbandit.device.agreed import Agreed
from maskedbandit.device.device_book import BOOK_FILE, BookedPlace, DeviceBook
from maskedbandit.device.leader_calls import LeaderCalls, LeaderReply
from maskedbandit.device.own_place import HandedOperator, OwnPlace, read_place
from maskedbandit.device.sealing import seal_upload
from maskedbandit.device.turns import WAYS_TO_REPORT, SealedTurn
from maskedbandit.errors import InvalidValue, NoConsent, UnknownStudy
from maskedbandit.privacy.sampling import Bits

if TYPE_CHECKING:
    from fractions import Fraction

    import httpx

TAKEN = frozenset({"stored", "duplicate"})
ENDS = frozenset({"late", "unknown_ticket"})  # refusals after which nothing of a place is sent any more
REFUSALS = ENDS | {"conflict"}  # an older copy of this book sealed another report of this turn: the next one is due


class StudyOnDevice(NamedTuple):
    """What the person may see of a study."""

    study: str
    arm: str
    epsilon: Fraction  # that it costs, once its cohort is released
    steps: int  # a report says how many of so many steps an outcome is; 0 after the person left
    operators: tuple[HandedOperator, ...]  # empty after the person left
    joined: int  # milliseconds
    ended: str  # why nothing more is sent: left, elsewhere, or the leader's refusal; else empty
    sent: tuple[SealedTurn, ...]


class Device:
    """What is kept in a folder for one person, and sent to one leader.

    * `agreed`: what the person agreed to, with the operators' fingerprints that came with the application.
    * `reports`: "standing", where a person may not come back, or "deadline", where the application runs after the
      window: see turns.py. Two people of one study may differ in it.
    * `clock`: seconds since 1970.
    * `transport`: how to reach the leader if not directly, such as lambda: httpx.HTTPTransport(proxy=...).

    **Guarantee**: what anybody sees of a device who cannot read both seals does not depend on an outcome: whether and
    when it was recorded, how often, and its value. It depends on when the application called `join`, `contact` and
    `leave`, which must not depend on it either.
    """

    def __init__(
        self,
        folder: str | Path,
        url: str,
        agreed: Agreed,
        *,
        reports: Literal["standing", "deadline"] = "standing",
        clock: Callable[[], float] = time.time,
        transport: Callable[[], httpx.BaseTransport] | None = None,
    ) -> None:
        check_choice("reports", reports, WAYS_TO_REPORT)
        self._folder, self._agreed, self._standing, self._clock = Path(folder), agreed, reports == "standing", clock
        self._calls, self._bits = LeaderCalls(url, transport), Bits()
        self._book = DeviceBook(self._folder) if (self._folder / BOOK_FILE).exists() else None

    def consent(self, given: bool) -> None:
        """The person takes part in studies, or no longer does: then all of them are left."""
        if given:
            self._book = self._book or DeviceBook(self._folder)
            self._book.write_consent(self._now())
        elif self._book is not None:
            self._book.write_consent(None)
            for booked in self._book.places():
                self._book.leave(booked.study)
            self._say_farewell(self._book)

    def join(self, place: Mapping[str, Any]) -> None:
        """Take the place that the application's backend hands over when the person sees the arm, and be in contact.

        It raises an error with the name of what is not as the person agreed. To join again is to be in contact.
        """
        book, now = self._consented(), self._now()
        if isinstance(place, Mapping) and place.get("exposed", 0) is None:  # nobody said it yet: she sees it now
            place = {**place, "exposed": now}
        read = read_place(place)
        if not self._standing and not read.grace:
            allowed = "above 0, as this device reports after the window"
            raise InvalidValue("grace of a place", read.grace, allowed)
        given = {**place, "exposed": min(read.exposed, now)}  # one in the future says that this clock is behind
        book.take_place(given, read, now, lambda spent: self._agreed.check(read, spent), self._bits)
        self.contact()

    def record(self, study: str, value: float) -> bool:
        """What became of the person, on disk when this returns; whether it can still count. It sends nothing.

        Of several outcomes the last one counts.
        """
        book, now = self._consented(), self._now()
        booked = self._find(book, study)
        if booked.ended or now > booked.place.end:
            return False
        book.record(booked, value, self._bits)
        return True

    def contact(self) -> None:
        """Send what is due. To be called whenever the application runs, and never because of an outcome."""
        book = self._book
        if book is None:
            return
        self._say_farewell(book)
        if not book.consent:
            return
        now, due = self._now(), []
        for booked in book.places():
            if not booked.ended and self._agreed.trusts(booked.place):  # an application may have other operators by now
                taken = book.take_turn(booked.study, now, self._standing, self._seal)
                due += [(booked.study, *taken)] if taken else []
        replies = self._calls.post([(f"/v1/studies/{study}/upload", body) for study, _, body in due]) if due else []
        for (study, turn, _), reply in zip(due, replies, strict=True):
            if answer := read_answer(reply):
                book.settle(study, turn, answer, answer in ENDS)

    def leave(self, study: str) -> None:
        """Erase what there is of a study, here at once, and at the leader when it can be reached."""
        if self._book is None:
            raise UnknownStudy(f"this device is in no study {study!r}")
        self._find(self._book, study)
        self._book.leave(study)
        self._say_farewell(self._book)

    def show(self) -> list[StudyOnDevice]:
        """All that the person may want to know: which studies, what was sent when, what it costs, and to whom."""
        return [self._show(self._book, booked) for booked in self._book.places()] if self._book else []

    def close(self) -> None:
        """Give the folder back."""
        if self._book is not None:
            self._book.close()

    def _show(self, book: DeviceBook, booked: BookedPlace) -> StudyOnDevice:
        place = booked.place if booked.given else None
        arm, steps, operators = (place.arm, place.offer.steps, place.operators) if place else ("", 0, ())
        sent = tuple(book.turns(booked.study))
        return StudyOnDevice(booked.study, arm, booked.epsilon, steps, operators, booked.joined, booked.ended, sent)

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _consented(self) -> DeviceBook:
        if self._book is None or not self._book.consent:
            raise NoConsent("the person did not agree to take part in studies: call consent(True) when she does")
        return self._book

    @staticmethod
    def _find(book: DeviceBook, study: str) -> BookedPlace:
        booked = book.find(study)
        if booked is None:
            raise UnknownStudy(f"this device is in no study {study!r}")
        return booked

    @staticmethod
    def _seal(place: OwnPlace, steps: int, turn: int) -> str:
        return seal_upload(place, steps, turn, urandom)

    def _say_farewell(self, book: DeviceBook) -> None:
        """Ask the leader to erase what it has of studies that the person left, until it has."""
        left = book.farewells()
        bodies = [(f"/v1/studies/{study}/leave", f'{{"ticket":"{ticket}"}}') for study, ticket in left]
        for (study, _), reply in zip(left, self._calls.post(bodies) if left else [], strict=True):
            if reply.said and (reply.status == 200 or reply.said == "unknown_ticket"):
                book.settle_farewell(study)


def read_answer(reply: LeaderReply) -> str:
    """The answer of the leader to an upload, or nothing if there is none yet."""
    return reply.said if reply.said in (TAKEN if reply.status == 200 else REFUSALS) else ""
