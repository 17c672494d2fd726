"""How a cohort of a study of sites is released: in a round, with one sum of each site, phase after phase.

    due -> keys -> sealed key shares -> masked values -> votes -> key shares -> released

What a site sends is written down before it is told anything more, and the whole round is made again from that in every
transaction (`RoundServer` draws nothing), so a process that was killed goes on where it was. A phase ends when all
sites have answered, or after the `wait` of the protocol, once those that may be lost are all that is missing.

An attempt fails if too many sites leave it. The next one has fresh keys and fresh noise, and the price of a place is
that of all attempts. After the last one the cohort is discarded: its people are charged, and its places dealt again.

**Guarantee**: a cohort has one release. The coordinator has no outcome, and no sum but that of a list of sites of which
each honest one agreed that enough people are in it.
"""

from collections.abc import Sequence
from hashlib import sha256
from os import urandom
from typing import Any, NamedTuple

from maskedbandit.channels.channel import find_backend
from maskedbandit.errors import Conflict, OutOfTurn, ProtocolError
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.plan import RoundPlan
from maskedbandit.secagg.server import RoundServer
from maskedbandit.store.book.entries import Release
from maskedbandit.store.change_sites import note_confirmation
from maskedbandit.store.release import check_newest, close_cohort, list_due, may_answer, write_release
from maskedbandit.store.requests import Done
from maskedbandit.store.session import Session
from maskedbandit.study.deck import Places
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.site_stages import find_stage

PHASE_OF_VALUES = 2  # counted from 0


class RoundTerms(NamedTuple):
    """What a site is told of a round, and checks: of the cohort, and of all sites."""

    cohort: int
    attempt: int  # counted from 1
    n: int  # places of the cohort
    weights: tuple[int, ...]  # how many of them are of each site
    ring: bytes  # the hash of the seed of the ring


class RoundDue(NamedTuple):
    """What is due from a site."""

    terms: RoundTerms
    phase: int
    message: bytes  # what it is to answer
    tickets: tuple[str, ...] = ()  # in the first phase: of its people in the cohort, as many as its weight says


class RoundAnswer(NamedTuple):
    """What a site answers; with no message it leaves the attempt."""

    cohort: int
    attempt: int
    phase: int
    message: bytes


class RoundRow(NamedTuple):
    """A round, as it is written down."""

    cohort: int
    attempt: int
    seed: str
    phase: int
    since: int


def make_plan(protocol: Protocol, terms: RoundTerms) -> RoundPlan:
    """What all sites and the coordinator agree on, which each of them computes from the protocol of the cohort.

    >>> from maskedbandit.study.sites import SitesOfStudy
    >>> sites = {"list": [{"name": name, "key": name * 64, "share": "1/2"} for name in "abc"]}
    >>> protocol = Protocol.from_table({
    ...     "name": "example", "people": 1000, "policy": {"name": "successive_elimination", "least": 64},
    ...     "channel": {"name": "distributed", "epsilon": 1, "backend": {"name": "sites"}},
    ...     "arms": [{"name": "a"}, {"name": "b"}], "budget": {"epsilon": 1}, "sites": sites})
    >>> plan = make_plan(protocol, RoundTerms(0, 1, 100, (50, 30, 20), bytes(32)))
    >>> plan.people, plan.least, plan.threshold
    (100, 3, 2)
    """
    channel: Any = protocol.channel
    (offer,) = protocol.offers(terms.n)
    where = terms.cohort.to_bytes(8) + terms.attempt.to_bytes(8)
    name = b"maskedbandit sites 1 " + bytes.fromhex(protocol.name_of_sites) + offer.digest + where
    weights = dict(zip(protocol.places_of_sites(terms.n), terms.weights, strict=True))
    found: RoundPlan = channel.backend.plan(weights, channel.counted_on(terms.n), offer.modulus, name, terms.ring)
    return found


def go_round(
    session: Session, site: int, answers: Sequence[RoundAnswer], confirmed: str = "", signed: str = ""
) -> list[RoundDue] | Done:
    """Take what a site answers, and say what is due from it now: the same however often it is asked.

    It says to which list of sites it agreed last.
    """
    check_newest(session)
    session.write()
    try:
        note_confirmation(session, site, confirmed, signed)
        for each in answers:
            take_answer(session, site, each)
    except ProtocolError as why:
        return Done(None, why)  # and others, who are in the same transaction, do not fail with it
    go_on_with_rounds(session)
    found = []
    for row in read_rounds(session):
        server, terms = rebuild_round(session, row)
        if site in server.waiting:
            tickets = list_tickets(session, row.cohort, site) if row.phase == 0 else ()
            found.append(RoundDue(terms, row.phase, server.message_for(site), tickets))
    return found


def take_answer(session: Session, site: int, given: RoundAnswer) -> None:
    """Write down what a site sent, if it is due; what was sent before is the same, or is refused."""
    find = "SELECT message FROM round_message WHERE study = ? AND cohort = ? AND attempt = ? AND phase = ? AND site = ?"
    name, where = session.name, (given.cohort, given.attempt, given.phase, site)
    if (before := session.database.one(find, name, *where)) is not None:
        if before[0] != given.message.hex():
            raise Conflict("this site has answered this phase otherwise: the first answer stands")
        return
    row = next((each for each in read_rounds(session) if each[:2] == where[:2] and each.phase == given.phase), None)
    if row is None:
        return  # it is over, and whoever missed the answer is told by what is due now
    server, _ = rebuild_round(session, row)
    if site not in server.waiting:
        raise OutOfTurn("nothing is due from this site in this phase")
    if given.message:
        server.receive(site, given.message)  # raises unless it is one of a site that follows the protocol
    columns = "study, cohort, attempt, phase, site, message"
    session.database.insert("round_message", columns, [(name, *where, given.message.hex())])


def go_on_with_rounds(session: Session) -> list[Release]:
    """Begin the rounds that are due, end the phases that are over, and release the cohorts of those that ended."""
    released = []
    while True:
        changed = False
        due = {places.cohort: places for places in list_first_due(session)}
        rows = {row.cohort: row for row in read_rounds(session)}
        for cohort, places in due.items():
            if (row := rows.get(cohort)) is None:
                begin_attempt(session, cohort, 1)
                changed = True
            elif (made := end_phase(session, places, row)) is not None:
                changed = True
                if isinstance(made, Release):
                    released.append(made)
        if not changed:
            break
    if released and may_answer(session):
        session.driver.ask()
    return released


def list_first_due(session: Session) -> list[Places]:
    """The cohorts whose round may be under way: of each arm the first one."""
    found = dict[int, Places]()
    for places in list_due(session):
        found.setdefault(places.arm, places)
    return list(found.values())


def begin_attempt(session: Session, cohort: int, attempt: int) -> None:
    """Write down that a round begins."""
    database, name = session.database, session.name
    database.change("DELETE FROM round WHERE study = ? AND cohort = ?", name, cohort)
    row = (name, cohort, attempt, urandom(KEY).hex(), 0, session.now)
    database.insert("round", "study, cohort, attempt, seed, phase, since", [row])


def read_rounds(session: Session) -> list[RoundRow]:
    """The rounds that are under way."""
    find = "SELECT cohort, attempt, seed, phase, since FROM round WHERE study = ? ORDER BY cohort"
    return [RoundRow(*row) for row in session.database.rows(find, session.name)]


def rebuild_round(session: Session, row: RoundRow) -> tuple[RoundServer, RoundTerms]:
    """The round as it stands, made from what the sites sent."""
    seed, stage = bytes.fromhex(row.seed), find_stage(session.site_lists.stages, row.cohort)
    size, weights = session.driver.cohorts[row.cohort].size, tuple(count_weights(session, row.cohort).values())
    terms = RoundTerms(row.cohort, row.attempt, size, weights, sha256(seed).digest())
    identities = {number: keys.signs for number, keys in stage.keys.items()}
    server = RoundServer(make_plan(session.protocol_of(row.cohort), terms), seed, identities)
    find = "SELECT phase, site, message FROM round_message WHERE study = ? AND cohort = ? AND attempt = ?"
    sent = session.database.rows(f"{find} ORDER BY phase, site", session.name, row.cohort, row.attempt)
    for phase in range(row.phase + 1):
        for of_phase, site, message in sent:
            if of_phase == phase and message:
                server.receive(site, bytes.fromhex(message))
        if phase < row.phase:
            server.close()
    for of_phase, site, message in sent:
        if of_phase == row.phase and not message:
            server.waiting.discard(site)
    return server, terms


def count_weights(session: Session, cohort: int) -> dict[int, int]:
    """How many places of a cohort are of each site, in the order of its list."""
    find = "SELECT site, COUNT(*) FROM place WHERE study = ? AND cohort = ? AND returned IS NULL GROUP BY site"
    counts: dict[int, Any] = dict(session.database.rows(find, session.name, cohort))
    sites = find_stage(session.site_lists.stages, cohort).sites.sites
    return {each.number: int(counts.get(each.number, 0)) for each in sites}


def list_tickets(session: Session, cohort: int, site: int) -> tuple[str, ...]:
    """The tickets of a site's people in a cohort, by place."""
    find = "SELECT ticket FROM place WHERE study = ? AND cohort = ? AND site = ? AND returned IS NULL ORDER BY place"
    return tuple(ticket for (ticket,) in session.database.rows(find, session.name, cohort, site))


def end_phase(session: Session, places: Places, row: RoundRow) -> Release | bool | None:
    """End the phase of a round if it is over: the release, if it was the last one; None if it goes on."""
    server, _ = rebuild_round(session, row)
    sites, channel = session.protocol.sites, session.protocol.channel
    assert sites is not None
    backend: Any = find_backend(channel)
    waits = session.now <= row.since + sites.wait
    can = can_succeed(session, row, server, waits)
    if server.waiting and waits and can:
        return None
    may_succeed = can and not (has_leavers(session, row) and row.attempt < backend.attempts)
    try:
        server.close()
    except ProtocolError:  # too few are left, or what they sent does not fit
        return None if may_succeed else end_attempt(session, places, row)
    if server.phase:
        keep = "UPDATE round SET phase = ?, since = ? WHERE study = ? AND cohort = ?"
        session.database.change(keep, row.phase + 1, session.now, session.name, places.cohort)
        return True
    there, weights = sorted(server.survivors), count_weights(session, places.cohort)
    n = sum(weights[site] for site in there)
    assert server.total is not None
    try:
        total = channel.analyze(server.total, session.offers(places.size)[0], Bits(), answers=n)
    except ProtocolError:  # a sum to which noise alone does not lead
        return end_attempt(session, places, row)
    made = write_release(session, places, total, close_cohort(session, places), n=n, sites=there)
    forget_round(session, places.cohort)
    return made


def has_leavers(session: Session, row: RoundRow) -> bool:
    """Whether a site has left the attempt: the next one has it back."""
    find = "SELECT 1 FROM round_message WHERE study = ? AND cohort = ? AND attempt = ? AND message = '' LIMIT 1"
    return bool(session.database.rows(find, session.name, row.cohort, row.attempt))


def can_succeed(session: Session, row: RoundRow, server: RoundServer, waits: bool) -> bool:
    """Whether the phase could end well if all sites answered that have not yet; those that have left it `waits` for."""
    if not server.waiting:
        return False
    find = "SELECT site FROM round_message WHERE study = ? AND cohort = ? AND attempt = ? AND phase = ?"
    where = session.name, row.cohort, row.attempt, row.phase
    expected = server.waiting if waits else server.waiting & session.site_lists.stages[-1].keys.keys()
    there = expected | {int(site) for (site,) in session.database.rows(f"{find} AND message <> ''", *where)}
    voting = row.phase > PHASE_OF_VALUES
    return len(there) >= (server.plan.threshold if voting else server.plan.least) and (
        voting or server.plan.count_people(there) >= server.plan.people
    )


def end_attempt(session: Session, places: Places, row: RoundRow) -> bool:
    """An attempt failed: begin the next one, or discard the cohort, whose places are dealt to other people."""
    channel: Any = session.protocol.channel
    database, name, cohort = session.database, session.name, places.cohort
    if row.attempt < channel.backend.attempts:
        begin_attempt(session, cohort, row.attempt + 1)
        return True
    forget_round(session, cohort)
    session.driver.close(cohort)
    session.driver.reopen(cohort)
    database.change(
        "UPDATE place SET returned = ? WHERE study = ? AND cohort = ? AND returned IS NULL", session.now, name, cohort
    )
    session.exposed.pop(cohort, None)
    session.of_sites = {of: many for of, many in session.of_sites.items() if of[0] != cohort}
    session.rows.clear()
    session.enter(kind="discarded", cohort=cohort, attempt=row.attempt)
    return True


def forget_round(session: Session, cohort: int) -> None:
    """Erase what the sites sent of a round that is over."""
    database, name = session.database, session.name
    for table in ("round", "round_message"):
        database.change(f"DELETE FROM {table} WHERE study = ? AND cohort = ?", name, cohort)
    database.change("UPDATE study SET traces = traces + 1 WHERE study = ?", name)
