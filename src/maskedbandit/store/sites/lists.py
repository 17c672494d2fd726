"""A site agrees to another list of the sites of a study: somebody looks at it, and confirms it by its name.

    agree_to_lists (while a server may hold the study) -> admit_lists (by the server, in its next turn)

What was agreed to is signed with the site's own key, and the ledger says it before the coordinator is told. A list that
does not go on from those that this site knows is another history of the study, and nobody can agree to it here.

**Guarantee**: no outcome of the site is added up with sites to which nobody at this site has agreed.
"""

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from maskedbandit.errors import Conflict, Corrupted, Disagreement, Forged, InvalidValue
from maskedbandit.secagg.kept_round import RoundDue
from maskedbandit.secagg.signing import check_signature, sign_bytes
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database, do_again
from maskedbandit.store.holding import check_still_newest
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.sites.book import Attempt, SiteBook, read_site_book
from maskedbandit.store.sites.session import SiteSession
from maskedbandit.study.cohort_numbers import find_cohort
from maskedbandit.study.site_stages import ListedSite, Stages, add_stage, write_confirmation


class ToldList(NamedTuple):
    """A list of sites as the coordinator tells it, or as the site has written it down."""

    first: int  # the cohort from which on it holds
    listed: tuple[ListedSite, ...]

    def to_table(self) -> dict[str, Any]:
        """As messages and rows say it."""
        return {"first": self.first, "sites": [each.to_text() for each in self.listed]}

    @classmethod
    def from_table(cls, given: Any) -> "ToldList":
        """What `to_table` wrote, or raise `InvalidValue`."""
        try:
            first, sites = given["first"], tuple(ListedSite.from_text(*each) for each in given["sites"])
        except (TypeError, LookupError, AttributeError):
            raise InvalidValue("list of sites", "not shown", "a first cohort, and four texts of each site") from None
        if type(first) is not int or not 0 <= first < 2**62:
            raise InvalidValue("first cohort of a list of sites", first, "a whole number of at least 0")
        return cls(first, sites)


def follow_told(stages: Stages, told: Sequence[ToldList]) -> Stages:
    """All lists, of which these are the later ones, or raise `Disagreement` if they do not go on from those known."""
    known = [ToldList(each.first, each.listed) for each in stages[1:]]
    if list(told[: len(known)]) != known:
        raise Disagreement("the coordinator shows other lists of sites than those that were agreed to here")
    for each in told[len(known) :]:
        stages = add_stage(stages, each.first, each.listed)
    return stages


def look_at_lists(
    database: Database, witness: Witness, study: str, told: Sequence[ToldList]
) -> tuple[SiteBook, Stages]:
    """What this site knows of a study, and all its lists, with those that the coordinator tells.

    Each is held to the rules of a protocol.
    """
    witness = witness.as_now()
    with database.still():
        book = read_site_book(database, witness, study)
    stages = follow_told(book.stages, told)
    for each in stages[len(book.stages) :]:
        book.protocol.among(each).check()
        check_first(each.first, book.joined)
    return book, stages


def check_first(first: int, joined: Iterable[Attempt]) -> None:
    """Raise `Disagreement` if a new list is for a cohort whose round this site has joined among the sites of before."""
    if any(find_cohort(cohort) >= first for cohort, _ in joined):
        raise Disagreement("the coordinator has another list of sites for a cohort whose round was joined here")


def agree_to_lists(database: Database, witness: Witness, study: str, told: Sequence[ToldList], name: str) -> None:
    """Write down that this site agrees to the list of this name, and to all before it; a server may run meanwhile."""
    book, stages = look_at_lists(database, witness, study, told)
    if stages[-1].name != name:
        newest = f"the newest list of the sites of {study} has the hash {stages[-1].name}"
        raise Conflict(f"{newest}, and not {name}: look at it again")
    if len(stages) == len(book.stages):
        raise Conflict(f"this site agreed to this list of the sites of {study} already")
    signed = sign_bytes(witness.signing_key(), write_confirmation(name))
    lists = json.dumps([each.to_table() for each in told])
    do_again(partial(write_agreed_list, database, study, lists, signed))


def list_agreed(stages: Stages, name: str, first: int, due: Sequence[RoundDue]) -> list[RoundDue]:
    """What is due of cohorts to whose list this site agreed; the newest one has this name, and holds from `first` on.

    Rounds of a list to which nobody at this site has agreed yet wait for that.
    """
    return [each for each in due if name == stages[-1].name or find_cohort(each.terms.cohort) < first]


def write_agreed_list(database: Database, study: str, lists: str, signed: str) -> None:
    """Write the row, in place of an earlier one."""
    with database.transaction():
        database.change("DELETE FROM agreed_list WHERE study = ?", study)
        database.insert("agreed_list", "study, lists, signed", [(study, lists, signed)])


def admit_lists(session: SiteSession) -> None:
    """In every turn of the clock: write into the ledger what somebody at this site has agreed to, if that is new."""
    check_still_newest(session)
    find = "SELECT lists, signed FROM agreed_list WHERE study = ?"
    if (row := session.database.one(find, session.name)) is None:
        return
    told = [ToldList.from_table(each) for each in json.loads(row[0])]
    try:
        stages = follow_told(session.stages, told)
        own = read_own_keys(session.witness).signs
        check_signature(own, write_confirmation(stages[-1].name), row[1], "nobody at this site agreed to this list")
    except (Disagreement, Forged, InvalidValue) as why:
        raise Corrupted(f"the list of the sites of {session.name} that was agreed to here was changed: {why}") from why
    for each in told[len(session.stages) - 1 :]:  # somebody may have agreed twice
        check_first(each.first, session.joined)
        session.enter(kind="site_admitted", **each.to_table())
    session.stages = stages
    session.database.change("DELETE FROM agreed_list WHERE study = ?", session.name)
