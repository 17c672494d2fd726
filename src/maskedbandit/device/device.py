"""The device of one person, in all studies of one service to which an application sends it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from os import urandom
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from maskedbandit.checks import check_choice
from maskedbandit.device.agreed import Agreed
from maskedbandit.device.booked_place import BookedPlace
from maskedbandit.device.contacts import ask_passes, say_farewell, send_reports, tell_exposures, withdraw_reports
from maskedbandit.device.device_book import BOOK_FILE, PLACE_ELSEWHERE, PLACE_LEFT, DeviceBook, MadeReport
from maskedbandit.device.local_reports import draw_local_value, write_local_report
from maskedbandit.device.own_place import LATEST_TIME, STUDY_TEXT, HandedOperator, OwnOutcome, OwnPlace, read_place
from maskedbandit.device.round_contacts import go_on_adding
from maskedbandit.device.sealing import seal_upload
from maskedbandit.device.service_calls import DeviceRequest, ServiceCalls
from maskedbandit.device.shown_arms import ShownArm, read_answered_arm
from maskedbandit.device.shuffled_reports import draw_bundle, seal_bundle_report
from maskedbandit.device.turns import WAYS_TO_REPORT, KeptReport
from maskedbandit.device_refusals import WrongClock
from maskedbandit.errors import AlreadySpent, InvalidValue, Late, NoConsent, UnknownStudy
from maskedbandit.person_attributes import PersonAttributes, check_attributes
from maskedbandit.privacy.sampling import Bits

if TYPE_CHECKING:
    from fractions import Fraction

    import httpx

CLOCK_SLACK = 86_400_000  # milliseconds by which a clock may be behind when a place is taken


class StudyOnDevice(NamedTuple):
    """What the person may see of a study."""

    study: str
    arm: str
    epsilon: Fraction  # that it costs, once its cohort is released
    steps: int  # a report says how many of so many steps an outcome is; 0 after the person left
    operators: tuple[HandedOperator, ...]  # of two operators, who cannot read a report alone; none after she left
    joined: int  # milliseconds
    ended: str  # why nothing more is sent: left, elsewhere, or the service's refusal; else empty
    sent: tuple[KeptReport, ...]


class Device:
    """What is kept in a folder for one person, and sent to one service.

    * `agreed`: what the person agreed to, with the operators' fingerprints that came with the application.
    * `key`: the device key of the study, or of each study by its name. It is for asking for an arm, saying that it was
      seen, and reporting under local trust, and worth nothing without a person's token or ticket.
    * `reports`: "standing", where a person may not come back, or "deadline", where the application runs after the
      window: see turns.py. Two people of one study may differ in it. Under local trust, and with a shuffler, it
      is always the deadline.
    * `clock`: seconds since 1970.
    * `transport`: how to reach the service if not directly, such as lambda: httpx.HTTPTransport(proxy=...).

    **Guarantee**: what anybody sees of a device who cannot read both seals does not depend on an outcome: whether and
    when it was recorded, how often, and its value; but for one number with noise under local trust, which costs what
    the person agreed to. It depends on when the application called `join`, `assign`, `expose`, `contact`, `leave` and
    `consent`, which must not depend on an outcome either.
    """

    def __init__(
        self,
        folder: str | Path,
        url: str,
        agreed: Agreed,
        *,
        key: str | Mapping[str, str] | None = None,
        reports: Literal["standing", "deadline"] = "standing",
        clock: Callable[[], float] = time.time,
        transport: Callable[[], httpx.BaseTransport] | None = None,
    ) -> None:
        check_choice("reports", reports, WAYS_TO_REPORT)
        self._folder, self._agreed, self._standing, self._clock = Path(folder), agreed, reports == "standing", clock
        self._calls, self._transport = ServiceCalls(url, key, transport), transport
        self._book = DeviceBook(self._folder) if (self._folder / BOOK_FILE).exists() else None

    def consent(self, given: bool) -> None:
        """The person takes part in studies, or no longer does: then all of them are left."""
        if given:
            self._book = self._book or DeviceBook(self._folder)
            self._book.write_consent(self._now())
        elif self._book is not None:
            self._book.take_back_consent()
            self._say_farewell(self._book)

    def join(self, place: Mapping[str, Any]) -> None:
        """Take the place that the application's backend hands over when the person sees the arm, and be in contact.

        It raises an error with the name of what is not as the person agreed. To join again is to be in contact.
        """
        now = self._now()
        if isinstance(place, Mapping) and place.get("exposed", 0) is None:  # nobody said it yet: she sees it now
            place = {**place, "exposed": now}
        self._take(self._consented(), place, now)
        self.contact()

    def assign(self, study: str, unit: str, token: str, attributes: PersonAttributes | None = None) -> ShownArm:
        """Ask the service for the person's arm, with the token of the application's backend, and take the place.

        The attributes are what the rules of the study on who is enrolled are about. Whoever these turn away gets the
        default arm, and the service is asked again the next time.

        It sends nothing else, and nothing at all if the place is in the book. Where the service gave it before, and not
        to this book, the arm is shown and nothing is ever reported of it.
        """
        book = self._consented()
        if not isinstance(study, str) or not STUDY_TEXT.fullmatch(study):
            raise InvalidValue("study", study, "the name of a study")
        self._check_key(study)
        if (booked := book.find(study)) is not None:
            if booked.ended == PLACE_LEFT:
                raise AlreadySpent("the person left this study: it gets no second place")
            return ShownArm(booked.place.arm, booked.place.payload, booked.ended)
        said = {"attributes": named} if (named := check_attributes(attributes)) else {}
        body = json.dumps({"unit": unit, "token": token, **said}, separators=(",", ":"))
        (reply,) = self._calls.post([DeviceRequest(study, "assign", body)])
        shown, place = read_answered_arm(reply, study)
        if place is not None:
            try:
                self._take(book, place, self._now())
            except AlreadySpent:
                if (found := book.find(study)) is None or found.ended != PLACE_ELSEWHERE:
                    raise
                return shown._replace(why=PLACE_ELSEWHERE)
        return shown

    def expose(self, study: str) -> bool:
        """The person sees the arm of `assign` now: tell the service. Returns whether it will hear of the outcome."""
        book, now = self._consented(), self._now()
        book.expose(study, now)
        self.contact()
        booked = book.find(study)
        return booked is not None and not booked.ended

    def record(self, study: str, value: float, metric: str = "") -> bool:
        """Keep the person's outcome, on disk when this returns, and send nothing. Returns whether it can still count.

        Of several outcomes the last one counts; where several rewards of a person count, they are added up. `metric` is
        the name of the guardrail or of the metric, if the outcome is that.
        """
        book, now = self._consented(), self._now()
        booked = book.find(study)
        if booked is None or booked.ended or (place := booked.place).exposed is None or now > place.end:
            return False
        book.record(booked, metric, value, Bits())
        return True

    def contact(self) -> None:
        """Send what is due. To be called whenever the application runs, and never because of an outcome."""
        book = self._book
        if book is None:
            return
        self._say_farewell(book)
        if not book.consent:
            return
        places = [booked for booked in book.places() if not booked.ended and self._may_send(booked.place)]
        tell_exposures(book, self._calls, places)
        ask_passes(book, self._calls, places)
        due, now = [], self._now()
        for booked in places:
            if booked.place.rounds is None:
                due += book.take_turn(booked.study, now, self._standing, self._make_report)
            elif booked.place.exposed is not None and now > booked.place.end:
                go_on_adding(book, self._calls, booked, now)
        send_reports(book, self._calls, [each for each in due if not each.address])
        for address in {each.address for each in due if each.address}:
            send_reports(book, self._reach_shuffler(address), [each for each in due if each.address == address])

    def leave(self, study: str) -> None:
        """Erase what there is of a study, here at once, and at the service when it can be reached."""
        if self._book is None or self._book.find(study) is None:
            raise UnknownStudy(f"this device is in no study {study!r}")
        self._book.leave(study)
        self._say_farewell(self._book)

    def show(self) -> list[StudyOnDevice]:
        """All that the person may want to know: which studies, what was sent, when and to whom, and what it costs."""
        return [self._show(self._book, booked) for booked in self._book.places()] if self._book else []

    def close(self) -> None:
        """Close the folder."""
        if self._book is not None:
            self._book.close()

    def _reach_shuffler(self, address: str) -> ServiceCalls:
        """The way to a shuffler, which gets no key of the service."""
        return ServiceCalls(address, None, self._transport)

    def _say_farewell(self, book: DeviceBook) -> None:
        say_farewell(book, self._calls)
        withdraw_reports(book, self._reach_shuffler)

    def _show(self, book: DeviceBook, booked: BookedPlace) -> StudyOnDevice:
        place = booked.place if booked.given else None
        arm, steps, operators = (place.arm, place.offer.steps, place.operators) if place else ("", 0, ())
        sent = tuple(book.reports(booked.study))
        return StudyOnDevice(booked.study, arm, booked.epsilon, steps, operators, booked.joined, booked.ended, sent)

    def _now(self) -> int:
        if not 0 <= (seconds := self._clock()) <= LATEST_TIME / 1000:
            raise WrongClock("the clock of this device gives no time since 1970")
        return int(seconds * 1000)

    def _consented(self) -> DeviceBook:
        if self._book is None or not self._book.consent:
            raise NoConsent(
                "the person did not agree to take part in studies: call consent(True) when the person agrees"
            )
        return self._book

    def _check_key(self, study: str) -> None:
        if self._calls.find_key(study) is None:
            raise InvalidValue("key", None, f"a device key of {study}, which comes with the application")

    def _take(self, book: DeviceBook, place: Mapping[str, Any], now: int) -> None:
        """Take a place, unless this book has it, or raise an error with the name of what is not as agreed."""
        read = read_place(place)
        if read.is_local:
            self._check_key(read.study)
        if not (read.grace or read.rounds or (self._standing and read.operators and not read.shuffled)):
            raise InvalidValue("grace of a place", read.grace, "above 0, as this device reports after the window")

        def check(spent: Fraction) -> Fraction:
            if read.exposed is not None and read.exposed > now + CLOCK_SLACK:
                raise WrongClock(
                    "by the clock of this device, which is more than a day behind, the arm was not seen yet"
                )
            if read.exposed is not None and now > read.last_call and read.rounds is None:
                raise Late("by the clock of this device the time for reports of this place is over")
            return self._agreed.check(read, spent)

        exposed = None if read.exposed is None else min(read.exposed, now)  # later by a little: this clock is behind
        book.take_place({**place, "exposed": exposed}, read, now, check, Bits())

    def _may_send(self, place: OwnPlace) -> bool:
        """Whether the application still has what reports of this place need: it may have other operators by now."""
        return self._agreed.trusts(place) and (not place.is_local or self._calls.find_key(place.study) is not None)

    def _make_report(self, place: OwnPlace, outcome: OwnOutcome, booked: BookedPlace, turn: int) -> MadeReport:
        """Make the report of the outcome as it is now, once."""
        if place.shuffled:
            return MadeReport(booked.steps, seal_bundle_report(place, draw_bundle(place, booked.steps), booked.shown))
        if place.operators:
            return MadeReport(booked.steps, self._seal(place, booked.steps, turn))
        held = booked.held.get(outcome.metric)
        bits = Bits()  # fresh: none from before the process was copied, or put to sleep and woken twice
        value = draw_local_value(outcome.offer, outcome.scale_outcome(held), bits)
        return MadeReport(value, write_local_report(place.ticket, value, outcome.metric, urandom))

    @staticmethod
    def _seal(place: OwnPlace, steps: int, turn: int) -> str:
        return seal_upload(place, steps, turn, urandom)
