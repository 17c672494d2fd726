"""All studies in a list: how each stands and what it has found, in what its witness has seen."""

from collections.abc import Callable

from msgspec import Struct

from maskedbandit import core
from maskedbandit.errors import BehindWitness, Corrupted
from maskedbandit.policies.parts.selection import Selection
from maskedbandit.service.study_messages import AttentionItem
from maskedbandit.service.views.attention import find_attention
from maskedbandit.service.views.counts import count_places
from maskedbandit.service.views.estimates import ALPHA, find_confidences
from maskedbandit.service.views.tally import Tally
from maskedbandit.store.book.book import Book, parse_protocol, read_published
from maskedbandit.store.book.finish import find_finish
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database

STATES = ("draft", "running", "paused", "finished", "stopped", "archived")


class StudySummary(Struct, frozen=True):
    """A study in a list; times are in milliseconds."""

    name: str
    about: str
    state: str
    simulated: bool
    placed: int | None
    people: int | None
    releases: int
    started: int | None = None
    latest: int | None = None  # release
    finished: int | None = None  # since when it gives nobody a place
    answer: str | None = None  # the arm of its policy's answer
    best: str | None = None  # the arm in play that is surely better than all others
    attention: tuple[AttentionItem, ...] = ()

    @property
    def needs_look(self) -> bool:
        """Whether something needs attention, or nobody knows, as its ledger cannot be read."""
        return bool(self.attention) or self.state not in STATES

    def is_about(self, text: str) -> bool:
        """Whether all of these words are in its name or in its question."""
        said = f"{self.name} {self.about}".casefold()
        return all(each in said for each in text.casefold().split())


def read_summaries(
    database: Database,
    witness: Witness,
    now: int,
    tally_of: Callable[[str], Tally] = lambda name: Tally(),
    may_be_seen: Callable[[str], bool] = lambda name: True,
) -> list[StudySummary]:
    """The studies at a time: first those that need attention, then drafts, and then those that were started last.

    With tallies that are kept it is as with `read_view`.
    """
    witness = witness.as_now()
    found = []
    with database.still():
        for name, placed, text in database.rows("SELECT study, people, protocol FROM study ORDER BY study"):
            try:
                if not may_be_seen(name):
                    continue
                found.append(summarize_study(read_published(database, witness, name), now, tally_of(name)))
            except (BehindWitness, Corrupted) as why:  # of this study alone: the others are shown as they are
                book = Book(name, parse_protocol(text), people=placed)
                state = "behind its witness" if isinstance(why, BehindWitness) else why.code
                about, people = book.protocol.about, book.protocol.people
                found.append(StudySummary(name, about, state, book.is_simulated, placed, people, 0))
    return sorted(found, key=lambda each: (not each.needs_look, each.started is not None, -(each.started or 0)))


def summarize_study(book: Book, now: int, tally: Tally) -> StudySummary:
    """A study by its book."""
    assert book.database is not None
    finish, protocol, answer = find_finish(book), book.protocol, book.demand.answer
    several = isinstance(protocol.policy, Selection) or protocol.policy.purpose.serves
    best = find_best_arm(book)
    return StudySummary(
        name=book.study,
        about=protocol.about,
        state="finished" if finish else book.state,
        simulated=book.is_simulated,
        placed=book.people,
        people=protocol.people,
        releases=len(book.releases),
        started=book.entries[0].at if book.entries else None,
        latest=book.releases[-1].at if book.releases else None,
        finished=finish.since if finish else None,
        answer=None if answer is None or several else protocol.arms[answer][0],
        best=None if best is None else protocol.arms[best][0],
        attention=find_attention(book, count_places(book.database, book, now, tally), finish, now),
    )


def find_best_arm(book: Book) -> int | None:
    """The arm in play that is better than all others, over the same people and at any time, if one surely is."""
    released: list[list[core.Release]] = [[] for _ in book.protocol.arms]
    for each in book.releases:
        released[each.arm].append(each.in_epoch(book.demand.deck.cohorts[each.cohort].epoch))
    sure = find_confidences(book.protocol.channel.law(), released, book.standing.in_play, book.draft.k)
    return next((arm for arm, each in sure.items() if each.best >= 1 - ALPHA), None)
