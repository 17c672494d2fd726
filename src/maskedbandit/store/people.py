"""A person in a study, within a transaction: given a place, seen to have it, and heard of.

assign (the place, and its charge) -> expose (the arm was seen) -> report (the outcome, until its window is over)
"""

from fractions import Fraction
from functools import partial
from os import urandom
from typing import Any

from maskedbandit.channels.offers import Offer
from maskedbandit.errors import (
    BudgetExceeded,
    Conflict,
    Forbidden,
    Late,
    MaskedBanditError,
    NotExposed,
    NotRunning,
    UnknownTicket,
)
from maskedbandit.person_attributes import check_attributes
from maskedbandit.privacy.loss import Loss
from maskedbandit.store.book.finish import MAY_FINISH
from maskedbandit.store.requests import Assigned, Reported, check_report, check_unit, name_report
from maskedbandit.store.rows import Place
from maskedbandit.store.session import Session
from maskedbandit.study.coalitions import count_site_places
from maskedbandit.study.deck import Places
from maskedbandit.study.enrolment import NotEnrolled


def assign(
    session: Session, unit: str, evaluated: bool = False, attributes: Any = None, site: int | None = None
) -> Assigned:
    """The arm for a person, who is charged; the same one if the person has a place already.

    With `evaluated` the person is shown the arm as the value of a flag, which counts as exposure unless the protocol
    says otherwise. The attributes are what the application says of the person, for the rules of the protocol: whoever
    is turned away by these gets the default arm, and is charged nothing. In a study of sites one of them asks, for a
    person of its own.
    """
    check_asking(session, site)
    person, said = session.pseudonym(check_unit(unit)), check_attributes(attributes)
    exposes = evaluated and session.protocol.reward.evaluating == "exposes"
    if (had := session.rows.place_of(person)) is not None:
        check_site(had, site)
        if exposes and had.exposed is None and may_be_exposed(session, had):
            had = note_exposed(session, had)
        return describe_place(session, had, again=True)
    if session.began is None or session.state == "archived":
        raise NotRunning(f"{session.name} is {session.state}: nobody is given an arm")
    lots, since = session.lots(person), session.now - session.began
    if (why := session.protocol.enrolment.turn_away(said, lots, since)) is not None:
        return serve_default(session, why)
    return enrol(session, person, exposes, site)


def serve_default(session: Session, why: NotEnrolled) -> Assigned:
    """What a person gets whom the protocol does not enrol: the default arm, unless it was found harmful."""
    default = session.protocol.enrolment.default
    if default not in session.arms.harmful:
        return Assigned(default, None, Fraction(1), why=why)
    served = session.driver.serve(session.bits)
    return Assigned(served.arm, None, served.propensity, why=why)


def enrol(session: Session, person: str, exposes: bool = False, site: int | None = None) -> Assigned:
    """A place for a person who has none, whom no rule turned away: see `assign`.

    Whoever is over budget, or of a site whose people have its share of all cohorts, is served as those for whom there
    is no place.
    """
    protocol = session.protocol
    all_there = protocol.people is not None and session.people >= protocol.people
    enrols = session.state == "running" and not all_there and not session.rows.was_erased(person)
    is_full = None if site is None else partial(has_share, session, site, {})
    given = session.driver.assign(session.bits, is_full) if enrols else session.driver.serve(session.bits)
    if given.cohort is None or given.place is None:
        return Assigned(given.arm, None, given.propensity, why="finished" if has_finished(session, all_there) else None)
    period = session.accounts.period(session.now)
    milliseconds = session.now % 2**32  # first, so that rows that come together stand together on disk
    ticket = f"{milliseconds:08x}{urandom(12).hex()}"
    try:
        size = session.driver.cohorts[given.cohort].size
        protocol.channel.check_size(size, session.memory, given.arm)
        price = session.price(size)
        session.accounts.charge(person, period, price, ticket)
    except MaskedBanditError as why:
        session.driver.give_back(given.cohort, given.place)
        if not isinstance(why, BudgetExceeded):
            raise
        served = session.driver.serve(session.bits)
        return Assigned(served.arm, None, served.propensity, why="budget_exceeded")
    named = given.cohort, given.place, given.arm, person, str(given.propensity)
    session.rows.deal(dealt := Place(ticket, *named, price, period, session.now, site=site))
    if site is not None:
        session.of_sites[given.cohort, site] = session.of_sites.get((given.cohort, site), 0) + 1
    if exposes or not protocol.reward.exposure:
        dealt = note_exposed(session, dealt)
    return describe_place(session, dealt, again=False)


def has_share(session: Session, site: int, shares: dict[int, int], places: Places) -> bool:
    """Whether the people of a site have its share of a cohort, so that the cohort is full for them.

    A site that has left has none, nor has one that has not agreed to the list of sites yet. The shares by size of a
    cohort are filled in as they are asked for: many cohorts have the same size.
    """
    if places.size not in shares:
        shares[places.size] = count_site_places(session.protocol, places.size).get(site, 0)
    return site in session.site_lists.missing or session.of_sites.get((places.cohort, site), 0) >= shares[places.size]


def has_finished(session: Session, all_there: bool) -> bool:
    """Whether the study gives nobody a place any more: for the reasons of book/finish.py."""
    if session.state not in MAY_FINISH:
        return False
    if session.arms.all_harmful or session.driver.answer is not None:
        return True
    dealt = session.driver.deck.unreleased_dealt.items() if all_there else ()
    return all_there and all(session.exposed.get(cohort, (0, 0))[0] == many for cohort, many in dealt)


def describe_place(session: Session, place: Place, again: bool) -> Assigned:
    """What whoever has this place gets, and what the person's device needs, if it makes the report private."""
    bound = session.protocol.operators is not None or session.protocol.rounds is not None
    offers = make_offers(session, place) if bound or session.protocol.on_devices else ()
    found = Assigned(place.arm, place.ticket, Fraction(place.propensity), again, place.exposed, offers=offers)
    return found._replace(cohort=session.number_of(place.cohort)) if bound or place.site is not None else found


def check_asking(session: Session, site: int | None) -> None:
    """Raise `Forbidden` unless one of the sites asks, if the study has any."""
    if (session.protocol.sites is None) != (site is None):
        why = "a site asks for its people" if session.protocol.sites else "no site has a part"
        raise Forbidden(f"in {session.name} {why}")


def check_site(place: Place, site: int | None) -> None:
    """Raise `Forbidden` unless the place is of a person of the site that asks."""
    if place.site != site:
        raise Forbidden("this place is of a person of another site")


def expose(session: Session, ticket: str, site: int | None = None) -> int:
    """The person saw the arm: when."""
    place = session.rows.place(ticket)
    check_site(place, site)
    check_kept(session, place)
    if place.exposed is None:
        place = note_exposed(session, place)
    assert place.exposed is not None
    return place.exposed


def report(session: Session, ticket: str, value: float, event: str = "", metric: str = "", proof: str = "") -> Reported:
    """What the person's outcome is: the first report of an event counts.

    **Guarantee**: what is answered, and which statements are made, depend on the place, the time, and the reports with
    the same proof, which only whoever made them knows; so nobody is told whether somebody else reported, or what. A
    report moves no time of the study that others see.
    """
    session.silent = True
    place = session.rows.place(ticket)
    check_report(session.protocol, value, event, metric, proof)
    check_kept(session, place)
    if place.exposed is None:
        raise NotExposed("say first that the person saw the arm: a report must not decide who is in a cohort")
    if session.now > place.exposed + session.protocol.reward.taken_for or session.driver.cohorts[place.cohort].closed:
        raise Late("the window in which this outcome counts is over")
    name, position = name_report(session.protocol, ticket, event, metric, proof), next(session.positions)
    before = session.rows.add_report(name, float(value), session.now, position)
    if before is not None and before != float(value):
        raise Conflict("this report came before, with another value: the first one stands")
    return Reported(again=before is not None)


def read_offers(session: Session, ticket: str) -> tuple[Offer, ...]:
    """What the person's device is offered for each outcome, if it adds the noise itself."""
    return make_offers(session, session.rows.place(ticket))


def make_offers(session: Session, place: Place) -> tuple[Offer, ...]:
    """The same, for whoever has this place."""
    found = session.offers(session.driver.cohorts[place.cohort].size)
    return tuple(offer.at(place.place) for offer in found)


def read_spent(session: Session, ticket: str) -> Loss:
    """What the person has spent in the period of the place, in all studies of the project."""
    place = session.rows.place(ticket)
    if place.person is None:
        raise UnknownTicket(f"no place of {session.name} has this ticket")
    session.write()
    return session.accounts.spent(place.person, place.period)


def check_kept(session: Session, place: Place) -> None:
    """Raise `Late` if the place went back, or should have."""
    if place.exposed is None:
        if not may_be_exposed(session, place):
            raise Late("nobody said in time that the arm was seen: the place went to another person")
    elif place.returned is not None:
        raise Late("the database was restored from a copy, and the place went to another person")


def may_be_exposed(session: Session, place: Place) -> bool:
    """Whether a place that nobody saw is kept for its person."""
    return place.returned is None and session.now <= place.assigned + session.protocol.reward.exposure


def note_exposed(session: Session, place: Place) -> Place:
    """Somebody saw the arm of this place, now."""
    count, latest = session.exposed.get(place.cohort, (0, 0))
    session.exposed[place.cohort] = count + 1, max(latest, session.now)
    return session.rows.add_exposure(place.ticket, session.now)
