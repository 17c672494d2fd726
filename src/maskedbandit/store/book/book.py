"""The book of a study: what its ledger says, parsed once, and all that follows from it.

What is shown to anybody is what the witness has seen (`read_published`). What a ledger has beyond that is told to
nobody: should this database be lost now, a copy of it may make those releases again, with other noise. Nor is anything
told that follows from it: `Horizon`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from maskedbandit.errors import BehindWitness, Corrupted, MaskedBanditError, UnknownStudy
from maskedbandit.policies.parts.selection import Selection
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.store.book.chain import NO_ENTRY, START, Head, is_on_chain
from maskedbandit.store.book.demand import Demand, arms_of_answer, follow_decisions
from maskedbandit.store.book.entries import ArmAdded, ArmChange, HelperLost, Release, Started, read_entries, state_after
from maskedbandit.store.book.entry import Entry, StageChange
from maskedbandit.store.book.site_entries import Discarded
from maskedbandit.store.book.site_lists import SiteLists, follow_lists
from maskedbandit.store.book.standing import Standing, follow_changes
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database, Row
from maskedbandit.study.driver import Driver
from maskedbandit.study.protocol import Protocol

EVER = 2**62  # more steps than any log has, and a later time than any


class Horizon(NamedTuple):
    """Up to where the study may be shown: nothing that happened at this time or later, nor was decided at this step."""

    time: int = EVER
    step: int = EVER
    whole: bool = True  # nothing is left out

    @classmethod
    def of(cls, unseen: Sequence[Entry]) -> Horizon:
        """The horizon before the first of these entries, which the witness has not seen."""
        steps = (each.step for each in unseen if isinstance(each, Release | StageChange) and each.step is not None)
        return cls(unseen[0].at, min(steps, default=EVER), False)


EVERYTHING = Horizon()


@dataclass(frozen=True)
class Book:
    """A study as these entries of its ledger have it.

    What follows from them is computed when it is asked for first. The decisions of its policy are read from the
    database then, up to the horizon; without a database there are none.
    """

    study: str
    draft: Protocol  # without the arms that were added since
    entries: tuple[Entry, ...] = ()
    database: Database | None = None
    people: int | None = None  # with a place; None while it is not known how many may be shown
    seen: Head = NO_ENTRY  # the newest entry that the witness has seen
    horizon: Horizon = EVERYTHING

    def until(self, number: int) -> Book:
        """The book before an entry, as if nothing after it had happened."""
        if number >= len(self.entries):
            return self
        horizon = Horizon.of(self.entries[number:])
        people = self.people if horizon.whole else None
        return replace(self, entries=self.entries[:number], people=people, horizon=horizon)

    @property
    def head(self) -> Head:
        """The newest of the entries."""
        return Head(len(self.entries), self.entries[-1].hash if self.entries else START)

    @property
    def started(self) -> Started | None:
        """The first entry, of a study that is no draft."""
        first = self.entries[0] if self.entries else None
        if first is not None and not isinstance(first, Started):
            raise Corrupted(f"the ledger of {self.study} does not begin with its start")
        return first

    @property
    def is_simulated(self) -> bool:
        """Whether all people of the study are simulated."""
        first = self.entries[0] if self.entries else None
        return isinstance(first, Started) and first.simulated

    @cached_property
    def state(self) -> str:
        """draft, running, paused, stopped or archived."""
        return state_after(self.entries)

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """All releases, in the order in which the policy was told."""
        return tuple(each for each in self.entries if isinstance(each, Release))

    @cached_property
    def released(self) -> dict[int, int]:
        """The step of the log at which each cohort was released."""
        return {each.cohort: each.step for each in self.releases}

    @cached_property
    def worst(self) -> Loss:
        """What the releases cost the worst person, who is in one of them, or in a mix that was discarded."""
        mixed = [each.mixed.n for each in self.entries if isinstance(each, Discarded) and each.mixed]
        return find_largest_loss([*(each.loss for each in self.releases), *map(self.draft.price, set(mixed))])

    @property
    def helper_lost(self) -> bool:
        """Whether the second operator was given up, and with it what was not released."""
        return any(isinstance(each, HelperLost) for each in self.entries)

    @cached_property
    def stage_changes(self) -> tuple[StageChange, ...]:
        """What was said of arms, and of sites."""
        return tuple(each for each in self.entries if isinstance(each, StageChange))

    @cached_property
    def changes(self) -> tuple[ArmChange, ...]:
        """What was said of arms."""
        return tuple(each for each in self.stage_changes if isinstance(each, ArmChange))

    @cached_property
    def site_lists(self) -> SiteLists:
        """The lists of its sites, if it has any, or raise `Corrupted`."""
        return follow_lists(self.study, self.draft, self.entries)

    @cached_property
    def listed(self) -> Protocol:
        """The protocol, with the sites of the newest list."""
        later = self.site_lists.stages[1:]
        return self.draft.among(later[-1]) if later else self.draft

    @cached_property
    def protocol(self) -> Protocol:
        """The same, with the arms that were added."""
        more = [(each.name, each.payload) for each in self.changes if isinstance(each, ArmAdded)]
        return self.listed.also(more) if more else self.listed

    @cached_property
    def standing(self) -> Standing:
        """How the arms stand, or raise `Corrupted`."""
        return follow_changes(self.study, self.protocol, self.stage_changes)

    @cached_property
    def stages(self) -> dict[int, Row]:
        """Where in the log a stage begins, and what the log says there."""
        return {each.step: ("stage", each.aim, *each.arms) for each in self.stage_changes if each.step is not None}

    @property
    def sizes(self) -> set[int]:
        """The sizes of the cohorts that were asked for, as far as they are known here."""
        return {each.size for each in self.demand.deck.cohorts} | {each.n for each in self.releases}

    @cached_property
    def decisions(self) -> list[Row]:
        """What the policy decided: the step of the log, its number, arm, n, and close."""
        find = "SELECT step, number, arm, n, close FROM decision WHERE study = ? AND step < ? ORDER BY step"
        return [] if self.database is None else self.database.rows(find, self.study, self.horizon.step)

    @cached_property
    def demand(self) -> Demand:
        """What the policy has asked for, and its answer."""
        return follow_decisions(self.protocol, self.decisions, self.released, self.stages)

    @cached_property
    def named(self) -> tuple[int, ...] | None:
        """The arms of the policy's final answer, if it has one: that arm alone, or all arms of a kind.

        The log says when a policy gave its answer, and which arm is served from then on. Which arms a selection named
        follows from it, as everything that a policy does: what the log says is done again.
        """
        answer = self.demand.answer
        if answer is None or not isinstance(self.protocol.policy, Selection):
            return None if answer is None else (answer,)
        return arms_of_answer(self.replay())

    @cached_property
    def seed(self) -> bytes:
        """What all decisions follow from, with the releases; it is secret."""
        if self.database is None:
            raise UnknownStudy(f"without a database nobody knows the seed of {self.study!r}")
        return bytes.fromhex(self.database.rows("SELECT seed FROM study WHERE study = ?", self.study)[0][0])

    def replay(self, dealt: Iterable[tuple[int, int]] = ()) -> Driver:
        """The driver that wrote the log, before its next step, or raise `Corrupted`; `dealt` as for `Driver.replay`."""
        log = {step: ("ask", *what) for step, *what in self.decisions}
        log |= {each.step: ("tell", each.cohort, each.n, each.total) for each in self.releases} | self.stages
        if sorted(log) != list(range(len(self.decisions) + len(self.releases) + len(self.stages))):
            raise Corrupted(f"a decision or a release of {self.study} is missing from its log")
        protocol, k, steps = self.protocol, self.draft.k, [log[i] for i in range(len(log))]
        how = protocol.policy, protocol.channel.law(), k, protocol.aim, self.seed
        try:
            return Driver.replay(*how, steps, dealt, control=protocol.control)
        except MaskedBanditError as why:
            raise Corrupted(f"the log of {self.study} is not one that it can have written: {why}") from why


def find_largest_loss(losses: Iterable[Loss]) -> Loss:
    """A loss that covers all of these. Equal losses are mostly one object, which is looked at once."""
    found = ZERO
    for loss in {id(loss): loss for loss in losses}.values():
        found |= loss
    return found


def read_published(database: Database, witness: Witness, study: str) -> Book:
    """What the witness has seen of a study, or raise `BehindWitness` if the ledger here is not the one it knows.

    The witness must be as it was before the ledger is read (`as_now`), which may only go on from what was seen.
    """
    row = database.one("SELECT people, protocol FROM study WHERE study = ?", study)
    if row is None:
        raise UnknownStudy(f"there is no study {study!r} in this database")
    head, found = seen_head(database, witness, study), read_entries(database, study)
    return Book(study, parse_protocol(row[1]), found, database, int(row[0]), head).until(head.entries)


@lru_cache(maxsize=64)
def parse_protocol(text: str) -> Protocol:
    """A protocol, which is read once however often it is looked at."""
    return Protocol.from_text(text)


def seen_head(database: Database, witness: Witness, study: str) -> Head:
    """The newest entry that the witness has seen, or raise `BehindWitness` if it is not in the ledger here."""
    seen = witness.seen(study)
    if seen is None:
        if database.rows("SELECT number FROM entry WHERE study = ? LIMIT 1", study):
            raise BehindWitness(
                f"the witness in {witness.folder} has never seen {study}: name the folder that has, with --witness"
            )
        return NO_ENTRY
    if not is_on_chain(database, study, seen.head):
        ((many,),) = database.rows("SELECT COUNT(*) FROM entry WHERE study = ?", study)
        raise make_behind_error(witness, study, many, seen.head)
    return seen.head


def make_behind_error(witness: Witness, study: str, entries: int, seen: Head) -> BehindWitness:
    """The ledger with so many entries is not the one that the witness has seen."""
    return BehindWitness(
        f"the ledger of {study} has {entries} entries here, and its witness in {witness.folder} has seen "
        f"{seen.entries}, which are others: this is a restored or another copy of the database. Use the newest "
        "one; if it is lost, `maskedbandit study reconcile` brings back what was exported, or charges everybody"
    )
