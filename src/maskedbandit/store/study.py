"""A study that survives its process: the driver of `study/`, and a database in which all that it does is written first.

    new -> start -> assign -> expose -> report -> ... -> tick (closes cohorts, releases) -> ... -> stop -> archive

A cohort is closed at the deadline of its last place, and not before: whether a report came is private too, and one that
did not come counts as the default. Only then are its rewards read. In one transaction its membership is sealed by a
digest, the noise is drawn from the operating system, the release and its entry in the ledger are written, and the
policy is told. The witness sees the ledger's new head before anybody sees the release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from maskedbandit import core
from maskedbandit.channels.offers import Offer
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits
from maskedbandit.store import people
from maskedbandit.store.arms import change
from maskedbandit.store.book.checks import seed_digest
from maskedbandit.store.book.entries import Release, read_entries
from maskedbandit.store.book.harm import rule_of_harm
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.erasure import erase_person
from maskedbandit.store.lease import wall_clock
from maskedbandit.store.operation import About, Done, Operation
from maskedbandit.store.release import do_what_is_due
from maskedbandit.store.requests import Assigned, Reported, checked_unit
from maskedbandit.store.session import Session
from maskedbandit.store.states import archive, move
from maskedbandit.store.traces import Scrubber
from maskedbandit.study.protocol import Protocol


class Study:
    """A study of a database, held by this process alone. `apply` does several operations in one transaction.

    **Guarantee**: a report counts once; a cohort of n is released once, with exactly n people; a person has one place,
    and is charged for it, within the budget of the project, before the arm is known to anybody; what is released costs
    a person what was charged; all that is decided follows from the seed and the releases.

    >>> from maskedbandit.store.studies import example
    >>> with example() as study:
    ...     ann = study.assign("ann")
    ...     study.expose(ann.ticket)
    ...     [study.report(ann.ticket, 1, proof="a secret of yours".replace(" ", "-")).again for _ in range(2)]
    [False, True]
    """

    def __init__(
        self,
        database: Database,
        witness: Witness,
        name: str,
        clock: Callable[[], int] = wall_clock,
        holder: str | None = None,
    ) -> None:
        self._session = Session(database, witness, name, clock, holder)
        self.name, self.database = name, database
        self._bits = Bits()
        self._person = lru_cache(1024)(witness.pseudonyms(self._session.project).of)  # which a batch asks for twice

    @property
    def protocol(self) -> Protocol:
        """The protocol, with the arms that were added."""
        return self._session.protocol

    @property
    def state(self) -> str:
        """draft, running, paused, stopped or archived."""
        return self._session.shown.state

    @property
    def in_play(self) -> tuple[int, ...]:
        """The arms that people may get."""
        return self._session.shown.in_play

    @property
    def people(self) -> int:
        """How many people have a place."""
        return self._session.shown.people

    @property
    def time(self) -> int:
        """The latest time that the study has seen, in milliseconds; it never goes back."""
        return self._session.now

    @property
    def answer(self) -> int | None:
        """The arm of the policy's final answer, if it has one."""
        return self._session.shown.answer

    @property
    def named(self) -> tuple[int, ...] | None:
        """The arms of the policy's final answer, if it has one: that arm alone, or all arms of a kind."""
        return self._session.shown.named

    def apply(self, operations: Sequence[Operation], about: Sequence[About] = ()) -> list[Done]:
        """Do these in one transaction; nothing is done if the store fails.

        It is faster if all that they are about is named; what cannot be is for the operations to refuse.
        """
        people = [self._person(each.unit) for each in about if type(each.unit) is str and each.unit.isprintable()]
        tickets = [each.ticket for each in about if type(each.ticket) is str and each.ticket.isalnum()]
        reports = [each.report for each in about if each.report and "".join(each.report[:2]).isprintable()]
        return self._session.apply(operations, tickets, people, reports)

    def _one(self, operation: Callable[..., Any], *given: Any) -> Any:
        return self.apply([partial(operation, *given)])[0].value()

    def assign(self, unit: str) -> Assigned:
        """The arm for a person, who is charged; the same one if the person has a place already.

        Whoever is over budget is served the best arm of what was released: without a ticket, and charged nothing.
        """
        found: Assigned = self._one(self.op_assign, unit)
        return found

    def expose(self, ticket: str) -> None:
        """The person saw the arm: from now on the outcome counts."""
        self._one(self.op_expose, ticket)

    def report(self, ticket: str, value: float, event: str = "", metric: str = "", proof: str = "") -> Reported:
        """A person's outcome, or that of the guardrail named `metric`: or one of several with an `event`.

        The first one counts. Whether there was one before is told to whoever made it, who proves it by the same secret.
        """
        found: Reported = self._one(self.op_report, ticket, value, event, metric, proof)
        return found

    def erase(self, unit: str) -> int:
        """Remove a person's data from this study: of how many places. What was released, and charged, stays.

        The person takes no further part in it, and is served the arm that is best in what was released.
        """
        found: int = self._one(self.op_erase, unit)
        Scrubber().scrub(self.database)
        return found

    def tick(self) -> list[Release]:
        """Do what is due: give back places that nobody saw, close cohorts, and release them."""
        found: list[Release] = self._one(self.op_tick)
        return found

    def start(self, simulated: bool = False) -> None:
        """Freeze the protocol and begin; the ledger says for ever if all people of the study are `simulated`."""
        self._one(self.op_start, simulated)

    def pause(self) -> None:
        """Give no more places, until `resume`; reports and releases go on."""
        self._one(self.op_pause)

    def resume(self) -> None:
        """Go on after a pause."""
        self._one(self.op_resume)

    def stop(self) -> None:
        """Give no more places, for ever; reports and releases of full cohorts go on."""
        self._one(self.op_stop)

    def archive(self) -> None:
        """Erase the data of all people; what was released, and charged, stays."""
        self._one(self.op_archive)
        Scrubber().scrub(self.database)

    def change_arms(self, what: str, name: str, payload: Any = None) -> None:
        """`pause` or `resume` the arm of this name, or `add` one, while the study runs (store/book/standing.py)."""
        self._one(self.op_change_arms, what, name, payload)

    def offers(self, ticket: str) -> tuple[Offer, ...]:
        """What a device is offered that adds the noise itself: one offer for each outcome."""
        found: tuple[Offer, ...] = self._one(self.op_offers, ticket)
        return found

    def releases(self) -> list[Release]:
        """All releases that are on disk and at the witness, in the order in which the policy was told."""
        with self._session.lock:
            steps, found = self._session.shown.steps, read_entries(self.database, self.name, Release.kind)
            return [each for each in found if isinstance(each, Release) and each.step < steps]

    def recorded(self) -> list[core.Release]:
        """The same, with the epochs of the cohorts: what estimates need."""
        with self._session.lock:
            cohorts = self._session.driver.cohorts
            return [each.in_epoch(cohorts[each.cohort].epoch) for each in self.releases()]

    def close(self) -> None:
        """Give the study and the database back."""
        self._session.close()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # operations, within a transaction

    def op_assign(self, unit: str, evaluated: bool = False) -> Assigned:
        """See `assign`; with `evaluated` it is a flag that the application evaluates for the person."""
        return people.assign(self._session, self._person(checked_unit(unit)), self._bits, evaluated)

    def op_expose(self, ticket: str) -> None:
        """See `expose`."""
        people.expose(self._session, ticket)

    def op_report(self, ticket: str, value: float, event: str = "", metric: str = "", proof: str = "") -> Reported:
        """See `report`."""
        return people.report(self._session, ticket, value, event, metric, proof)

    def op_offers(self, ticket: str) -> tuple[Offer, ...]:
        """See `offers`."""
        return people.offers(self._session, ticket)

    def op_spent(self, ticket: str) -> Loss:
        """What the person who has this ticket has spent in its period, in all studies of the project."""
        return people.spent(self._session, ticket)

    def op_erase(self, unit: str) -> int:
        """See `erase`."""
        return erase_person(self._session, self._person(checked_unit(unit)))

    def op_tick(self) -> list[Release]:
        """See `tick`."""
        return do_what_is_due(self._session)

    def op_start(self, simulated: bool = False) -> None:
        """See `start`."""
        says = {"protocol": self.protocol.digest, "seed": seed_digest(self._session.seed), "simulated": simulated}
        move(self._session, "started", **says, **rule_of_harm(self.protocol))

    def op_pause(self) -> None:
        """See `pause`."""
        move(self._session, "paused")

    def op_resume(self) -> None:
        """See `resume`."""
        move(self._session, "resumed")

    def op_stop(self) -> None:
        """See `stop`."""
        move(self._session, "stopped")

    def op_archive(self) -> None:
        """See `archive`."""
        archive(self._session)

    def op_change_arms(self, what: str, name: str, payload: Any = None) -> None:
        """See `change_arms`."""
        change(self._session, what, name, payload)
