"""The rounds of a study that are under way, as they stand: made from what was written down, and kept while it is held.

What a party sends is written down before anybody is told anything more, and the whole round can be made again from that
(`RoundServer` draws nothing): whoever takes the study over, after a process was killed or a transaction failed, does.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from os import urandom
from typing import Any

from maskedbandit.secagg.kept_round import AGREEING, RoundTerms, name_round
from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.plan import RoundPlan
from maskedbandit.secagg.server import RoundServer
from maskedbandit.store.session import Session
from maskedbandit.study.coalitions import count_site_places
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.site_stages import find_stage


@dataclass
class HeldRound:
    """An attempt at the sum of a cohort."""

    server: RoundServer
    terms: RoundTerms
    phase: int  # counted from 0
    since: int  # when it began
    answered: set[int] = field(default_factory=set)  # parties, in this phase
    left: set[int] = field(default_factory=set)  # those that left the attempt: the next one has them back

    def take_message(self, party: int, message: bytes) -> None:
        """What a party answers, which is due; with no message it leaves the attempt."""
        if message:
            self.server.receive(party, message)  # raises unless it is one of a party that follows the protocol
            self.answered.add(party)
        else:
            self.server.waiting.discard(party)
            self.left.add(party)

    def go_on(self, now: int) -> None:
        """The next phase begins."""
        self.phase, self.since = self.phase + 1, now
        self.answered.clear()


def make_plan(protocol: Protocol, terms: RoundTerms) -> RoundPlan:
    """What all parties agree on, which each of them computes from the protocol of the cohort, or what it was offered.

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
    backend, least, (offer,) = channel.backend, channel.counted_on(terms.n), protocol.offers(terms.n)
    kind = "devices" if protocol.sites is None else "sites"
    name = name_round(kind, bytes.fromhex(protocol.name_of_sites), offer.digest, terms.cohort, terms.attempt)
    if protocol.sites is None:
        found: RoundPlan = backend.rules.plan(terms.n, least, offer.modulus, name, terms.ring)
        return found
    weights = dict(zip(count_site_places(protocol, terms.n), terms.weights, strict=True))
    found = backend.plan(weights, least, offer.modulus, name, terms.ring)
    return found


def hold_rounds(session: Session) -> dict[int, HeldRound]:
    """The rounds that are under way, by cohort."""
    if session.rounds is None:
        find = "SELECT cohort, attempt, seed, phase, since FROM round WHERE study = ? ORDER BY cohort"
        session.rounds = {row[0]: rebuild_round(session, *row) for row in session.database.rows(find, session.name)}
    return session.rounds


def begin_attempt(session: Session, cohort: int, attempt: int) -> None:
    """Write down that a round begins."""
    database, name = session.database, session.name
    database.change("DELETE FROM round WHERE study = ? AND cohort = ?", name, cohort)
    row = cohort, attempt, urandom(KEY).hex(), 0, session.now
    database.insert("round", "study, cohort, attempt, seed, phase, since", [(name, *row)])
    hold_rounds(session)[cohort] = rebuild_round(session, *row)


def end_phase_of(session: Session, cohort: int, held: HeldRound) -> None:
    """Write down that the next phase begins."""
    held.go_on(session.now)
    keep = "UPDATE round SET phase = ?, since = ? WHERE study = ? AND cohort = ?"
    session.database.change(keep, held.phase, held.since, session.name, cohort)


def may_tell_list(session: Session, held: HeldRound) -> bool:
    """Whether the next message has no list of devices that differs from one that they were told in this attempt.

    It does if a copy of the database goes on that was made before the devices were told. Sites sign their list instead.
    """
    server = held.server
    if server.plan.signed or held.phase + 1 != AGREEING:
        return True
    told = sha256(server.message_for(min(server.waiting))).hexdigest()  # all are told the same
    return session.witness.keep_list(session.name, held.terms.ring.hex(), told)


def rebuild_round(session: Session, cohort: int, attempt: int, seed: str, phase: int, since: int) -> HeldRound:
    """The round as it stands, made from what the parties sent."""
    secret = bytes.fromhex(seed)
    size = session.driver.cohorts[cohort].size
    weights, ring = count_weights(session, cohort), sha256(secret).digest()
    terms = RoundTerms(session.number_of(cohort), attempt, size, weights, ring)
    stages = session.site_lists.stages
    identities = {site: keys.signs for site, keys in find_stage(stages, cohort).keys.items()} if stages else {}
    server = RoundServer(make_plan(session.protocol_of(cohort), terms), secret, identities)
    held = HeldRound(server, terms, 0, since)
    find = "SELECT phase, party, message FROM round_message WHERE study = ? AND cohort = ? AND attempt = ?"
    sent = session.database.rows(f"{find} ORDER BY phase, party", session.name, cohort, attempt)
    for of_phase, party, message in sent:
        while held.phase < of_phase:
            server.close()
            held.go_on(since)
        held.take_message(party, bytes.fromhex(message))
    while held.phase < phase:
        server.close()
        held.go_on(since)
    return held


def count_weights(session: Session, cohort: int) -> tuple[int, ...]:
    """How many places of a cohort are of each site, in the order of its list, if there are any."""
    if session.protocol.sites is None:
        return ()
    find = "SELECT site, COUNT(*) FROM place WHERE study = ? AND cohort = ? AND returned IS NULL GROUP BY site"
    counts: dict[int, Any] = dict(session.database.rows(find, session.name, cohort))
    sites = find_stage(session.site_lists.stages, cohort).sites.sites
    return tuple(int(counts.get(each.number, 0)) for each in sites)


def list_tickets(session: Session, cohort: int, site: int) -> tuple[str, ...]:
    """The tickets of a site's people in a cohort, by place."""
    find = "SELECT ticket FROM place WHERE study = ? AND cohort = ? AND site = ? AND returned IS NULL ORDER BY place"
    return tuple(ticket for (ticket,) in session.database.rows(find, session.name, cohort, site))


def count_people_of(held: HeldRound, parties: frozenset[int]) -> int:
    """How many people these parties are, of the cohort of a round."""
    weights = dict(zip(held.server.plan.users, held.terms.weights, strict=False))
    return sum(weights[party] for party in parties) if weights else len(parties)


def forget_round(session: Session, cohort: int) -> None:
    """Erase what the parties sent of a round that is over."""
    hold_rounds(session).pop(cohort)
    database, name = session.database, session.name
    for table in ("round", "round_message"):
        database.change(f"DELETE FROM {table} WHERE study = ? AND cohort = ?", name, cohort)
    database.change("UPDATE study SET traces = traces + 1 WHERE study = ?", name)
