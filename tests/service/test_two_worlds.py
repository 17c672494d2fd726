"""Nobody can tell what was reported of one person, or whether anything was, before it is released: two_worlds.py."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import structs

from maskedbandit.errors import Conflict
from maskedbandit.service import view
from maskedbandit.service.api import routes
from maskedbandit.service.metrics import Metrics
from maskedbandit.store import people, verify
from maskedbandit.store.people import check_kept
from maskedbandit.store.requests import Reported
from maskedbandit.store.rows import Rows
from maskedbandit.store.session import Session
from tests.service.inside import Inside
from tests.service.two_worlds import SECRETS, VICTIM, WINDOW, Worlds, asked, exported, stream

STUDY = "/v1/studies/small"
MANY, FEW = 240, 8  # sequences of requests; in `make test`
LONG = 40  # requests in one
PAGES = ("", "", "", "/ledger", "/statement", "/statement.json", "/releases.json", "/ledger.json", "/plan", "/audit")


@contextmanager
def worlds(folder: Path, all_exposed: bool) -> Iterator[Worlds]:
    """Two worlds, in which one person may not have seen the arm."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        made = Worlds(folder, patch, all_exposed)
        try:
            yield made
        finally:
            made.end()


def reports(rng: Random, ticket: str) -> Callable[[Inside], None]:
    """What the victim's application reports in one world: nothing, one outcome or many, with a proof or without."""
    many = rng.choice([0, 1, 1, 2, 5])
    proof = rng.choice(["", "proof-of-the-application"])
    bodies = [
        {"ticket": ticket, "value": rng.choice([0, 1, 4]), "event": rng.choice(["", "", "x", f"e{i}"]), "proof": proof}
        for i in range(many)
    ]

    def act(service: Inside) -> None:
        for body in bodies:
            service.study("report", body)

    return act


def report(rng: Random, worlds: Worlds) -> dict[str, Any]:
    """What an attacker, or the application of somebody else, may send."""
    who = rng.choice([VICTIM, VICTIM, "one", "early", "last"])
    found: dict[str, Any] = {"ticket": worlds.tickets[who], "value": rng.choice([0, 1, 4, 5, 0.5])}
    if rng.random() < 0.5:
        found["event"] = rng.choice(["", "x", "e0", "other"])
    if rng.random() < 0.6:
        found["proof"] = rng.choice(SECRETS)
    return found


def probe(rng: Random, worlds: Worlds) -> tuple[str, Callable[[Any], Any]]:
    """A request of anybody."""
    who = rng.choice([VICTIM, VICTIM, "one", "last", "new"])
    ticket, client = worlds.tickets.get(who, "0" * 32), rng.choice(["client", "another", "scoped"])
    staff, unit = rng.choice(["owner", "officer"]), {"unit": who}
    context = {"context": {"targetingKey": who}}
    kind = rng.randrange(24)
    if kind < 7:
        return asked("POST", f"{STUDY}/report", report(rng, worlds), client)
    if kind < 9:
        together = {"requests": [report(rng, worlds) for _ in range(rng.randrange(1, 5))]}
        return asked("POST", f"{STUDY}/report/batch", together, client)
    if kind < 11:
        verb = rng.choice(["expose", "budget"])
        return asked("POST", f"{STUDY}/{verb}", {"ticket": ticket}, client)
    if kind == 11:
        verb, body = rng.choice([("assign", unit), ("expose", {"ticket": ticket})])
        return asked("POST", f"{STUDY}/{verb}/batch", {"requests": [body, body]}, client)
    if kind == 12:
        return asked("POST", f"{STUDY}/assign", unit, client)
    if kind == 13:
        return asked(
            "POST", rng.choice(["/ofrep/v1/evaluate/flags", "/ofrep/v1/evaluate/flags/small"]), context, client
        )
    if kind < 17:
        return asked("GET", STUDY + rng.choice(GETS), None, rng.choice([staff, client, None]))
    if kind < 19:
        return asked(
            "GET", rng.choice([*("/studies/small" + each for each in PAGES), "/studies", "/"]), None, staff, True
        )
    if kind == 19:
        return "the stream of events", stream
    if kind == 20:
        return "an export", exported
    if kind == 21:
        return asked("POST", f"{STUDY}/verify", None, staff)
    if kind == 22:
        verb = rng.choice(["pause", "resume", "pause", "resume", "arms/a/pause", "arms/a/resume", "stop", "archive"])
        return asked("POST", f"{STUDY}/{verb}", None, "owner")
    what = rng.choice([("GET", "/v1/studies"), ("GET", "/v1/keys"), ("GET", "/readyz"), ("GET", "/healthz")])
    if rng.random() < 0.3:
        return asked("POST", f"{STUDY}/erase", unit, staff)
    return asked(*what, None, "owner")


GETS = [
    route.path.removeprefix("/v1/studies/{study}")
    for route in routes()
    if route.method == "GET" and route.path.startswith("/v1/studies/{study}") and not route.path.endswith("/events")
]


def check_sequence(folder: Path, seed: int) -> bool:
    """Requests in some order, with time between them, until the windows are over: whether cohorts were released."""
    rng = Random(f"two worlds {seed}")
    with worlds(folder / str(seed), seed % 4 > 0) as both:
        ticket = both.tickets[VICTIM]
        differs = rng.randrange(LONG // 2)
        for i in range(LONG):
            if i == differs or rng.random() < 0.05:
                both.differ(reports(rng, ticket), reports(rng, ticket))
            both.probe(*probe(rng, both))
            if rng.random() < 0.15:
                both.tick(rng.choice([0, 1, 3, 7]))
        both.tick(max(WINDOW - (both.clock.now - both.exposed) // 1000, 0))  # the last moment
        both.differ(reports(rng, ticket), reports(rng, ticket))
        for _ in range(4):
            both.probe(*probe(rng, both))
        both.tick(1)
        for _ in range(8):
            both.probe(*probe(rng, both))
        return both.released


def test_worlds_that_differ_in_one_persons_outcomes_look_the_same(tmp_path: Path) -> None:
    released = [check_sequence(tmp_path, seed) for seed in range(FEW)]
    assert sum(released) >= FEW / 2


@pytest.mark.slow
def test_many_more_sequences(tmp_path: Path) -> None:
    for seed in range(FEW, MANY):
        check_sequence(tmp_path, seed)


# --- broken twins ---------------------------------------------------------------------------------------------------


def before(session: Session, ticket: str, event: str) -> list[float]:
    """What anybody reported under this name."""
    session.write()
    find = "SELECT value FROM reward WHERE study = ? AND ticket = ? AND event = ? ORDER BY position"
    return [value for (value,) in session.database.rows(find, session.name, ticket, event)]


def as_it_was(session: Session, ticket: str, value: float, event: str, metric: str, proof: str) -> Reported:
    """Whoever reports is told what came before, at any time."""
    session.rows.place(ticket)
    if known := before(session, ticket, event):
        if known[0] != value:
            raise Conflict("this report came before, with another value: the first one stands")
        return Reported(again=True)
    return REPORT(session, ticket, value, event, metric, proof)


def until_the_end(session: Session, ticket: str, value: float, event: str, metric: str, proof: str) -> Reported:
    """Whoever reports in time is told that somebody has."""
    known = before(session, ticket, event)
    return Reported(REPORT(session, ticket, value, event, metric, proof).again or bool(known))


def moving(session: Session, *given: Any) -> Reported:
    """A report moves the time of the study."""
    try:
        return REPORT(session, *given)
    finally:
        session.silent = False


def looking_first(session: Session, ticket: str, value: float, event: str, metric: str, proof: str) -> Reported:
    """Nothing is written of a report whose event has one, and everybody is answered the same."""
    session.rows.place(ticket)
    if before(session, ticket, event) and not proof:
        session.silent = True
        check_kept(session, session.rows.place(ticket))
        return Reported(again=False)
    return REPORT(session, ticket, value, event, metric, proof)


def at_most_two(session: Session, ticket: str, *given: Any) -> Reported:
    """No more than two reports of a person are taken."""
    found = REPORT(session, ticket, *given)
    session.write()
    count = "SELECT COUNT(*) FROM reward WHERE study = ? AND ticket = ?"
    if session.database.rows(count, session.name, ticket)[0][0] > 2:
        raise Conflict("this person has two reports")
    return found


def told_by(report: Callable[..., Reported]) -> Callable[[pytest.MonkeyPatch], None]:
    """A service with another way to report."""
    return lambda patch: patch.setattr(people, "report", report)


def reading_reports(patch: pytest.MonkeyPatch) -> None:
    """Whatever is asked about a place, its reports are read too."""
    real = Rows.place

    def place(self: Rows, ticket: str) -> Any:
        self._database.rows("SELECT value FROM reward WHERE study = ? AND ticket = ?", self._study, ticket)
        return real(self, ticket)

    patch.setattr(Rows, "place", place)


def counting_in_the_view(patch: pytest.MonkeyPatch) -> None:
    """People whose window is not over are those who have not reported."""
    real = view.counts

    def leaking(database: Any, *given: Any) -> Any:
        (reporters,) = database.rows("SELECT COUNT(DISTINCT ticket) FROM reward")[0]
        found = real(database, *given)
        return structs.replace(found, inside=max(found.inside - reporters, 0))

    patch.setattr(view, "counts", leaking)


def counting_in_verify(patch: pytest.MonkeyPatch) -> None:
    """Everybody is counted who reported."""
    real = verify.check_accounts

    def leaking(database: Any, *given: Any) -> Any:
        people, worst = real(database, *given)
        return people + database.rows("SELECT COUNT(*) FROM reward")[0][0], worst

    patch.setattr(verify, "check_accounts", leaking)


def counting_in_metrics(patch: pytest.MonkeyPatch) -> None:
    """Reports are counted with all other requests."""

    def answered(self: Metrics, route: str, status: int, seconds: float) -> None:
        self._answers[route, status, 0] += 1

    patch.setattr(Metrics, "answered", answered)


def logging_reports(patch: pytest.MonkeyPatch) -> None:
    """A report that is not taken is written to the log."""

    def logged(session: Session, ticket: str, value: float, event: str, metric: str, proof: str) -> Reported:
        if before(session, ticket, event):
            logging.getLogger("maskedbandit").warning("a report came twice")
        return REPORT(session, ticket, value, event, metric, proof)

    told_by(logged)(patch)


REPORT = people.report
TWINS = {
    "today's report": told_by(as_it_was),
    "told until the end": told_by(until_the_end),
    "a report moves the time": told_by(moving),
    "written if it is new": told_by(looking_first),
    "a limit": told_by(at_most_two),
    "reads what it need not": reading_reports,
    "the page counts": counting_in_the_view,
    "verify counts": counting_in_verify,
    "metrics count": counting_in_metrics,
    "the log says so": logging_reports,
}
QUICK = "today's report"


def told_in(folder: Path, seed: int) -> str:
    """What tells in a sequence."""
    try:
        check_sequence(folder, seed)
    except AssertionError as why:
        return str(why)
    return ""


@pytest.mark.parametrize(
    "twin", [pytest.param(name, marks=[pytest.mark.slow] * (name != QUICK), id=name) for name in TWINS]
)
def test_a_service_that_tells_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twin: str) -> None:
    """Each of the twins, in fewer sequences than the service itself goes through."""
    TWINS[twin](monkeypatch)
    found = next((why for seed in range(MANY // 4) if (why := told_in(tmp_path, seed))), "")
    assert "tells" in found
