"""A study that survives its process: the driver of `study/`, and a database in which all that it does is written first.

    new -> start -> assign -> expose -> report -> ... -> tick (closes cohorts, releases) -> ... -> stop -> archive

A cohort is closed at the deadline of its last place, and not before: whether a report came is private too, and one that
did not come counts as the default. Only then are its rewards read. In one transaction its membership is sealed by a
digest, the noise is drawn from the operating system, the release and its entry in the ledger are written, and the
policy is told. The witness sees the ledger's new head before anybody sees the release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from maskedbandit import core
from maskedbandit.channels.offers import Offer
from maskedbandit.errors import NotRunning
from maskedbandit.person_attributes import PersonAttributes
from maskedbandit.store import people
from maskedbandit.store.approvals import approve_protocol
from maskedbandit.store.arms import change_arms
from maskedbandit.store.book.entries import Release, read_entries
from maskedbandit.store.book.entry import Keys
from maskedbandit.store.book.site_lists import SiteLists
from maskedbandit.store.change_sites import change_sites
from maskedbandit.store.due import do_what_is_due
from maskedbandit.store.erasure import erase, leave
from maskedbandit.store.held_study import HeldStudy
from maskedbandit.store.mixes import ask_mix, give_pass, settle_mix
from maskedbandit.store.requests import Assigned, Done, Operation, Reported, ReportName, is_text, name_report
from maskedbandit.store.rounds import go_round_of_device, go_rounds_of_site
from maskedbandit.store.session import Session
from maskedbandit.store.settle import cohorts_due, fix_list, give_up_helper, read_batch, settle_cohort
from maskedbandit.store.start import start
from maskedbandit.store.states import archive, move_study
from maskedbandit.store.traces import Scrubber
from maskedbandit.store.uploads import upload


class Study(HeldStudy[Session]):
    """A study of a database, held by this process alone. `apply` does several operations in one transaction.

    **Guarantee**: a report counts once; a cohort of n is released once, with exactly n people; a person has one place,
    and is charged for it, within the budget of the project, before the arm is known to anybody; what is released costs
    a person what was charged; all that is decided follows from the seed and the releases.

    >>> from maskedbandit.store.studies import open_example
    >>> with open_example() as study:
    ...     ann = study.assign("ann")
    ...     study.expose(ann.ticket)
    ...     [study.report(ann.ticket, 1, proof="a secret of yours".replace(" ", "-")).again for _ in range(2)]
    [False, True]
    """

    operations: ClassVar[dict[str, Callable[..., Any]]] = {  # by verb: functions of a session, within a transaction
        "assign": people.assign,
        "expose": people.expose,
        "report": people.report,
        "upload": upload,
        "offers": people.read_offers,
        "spent": people.read_spent,
        "erase": erase,
        "leave": leave,
        "tick": do_what_is_due,
        "due": cohorts_due,
        "batch": read_batch,
        "list": fix_list,
        "settle": settle_cohort,
        "give_up_helper": give_up_helper,
        "pass": give_pass,
        "ask_mix": ask_mix,
        "settle_mix": settle_mix,
        "rounds": go_rounds_of_site,
        "device_round": go_round_of_device,
        "approve": approve_protocol,
        "start": start,
        "pause": partial(move_study, kind="paused"),
        "resume": partial(move_study, kind="resumed"),
        "stop": partial(move_study, kind="stopped"),
        "archive": archive,
        "change_arms": change_arms,
        "change_sites": change_sites,
    }

    session_class = Session

    @property
    def state(self) -> str:
        """draft, running, paused, stopped or archived."""
        return self._session.shown.state

    @property
    def operators(self) -> Keys:
        """The public keys of both operators, if there are two, once the study is started."""
        return self._session.operators

    @property
    def site_lists(self) -> SiteLists:
        """The lists of its sites, if they keep the outcomes, once the study is started."""
        return self._session.shown.site_lists

    @property
    def helper_lost(self) -> bool:
        """Whether the study ended without its helper."""
        return self._session.helper_lost

    @property
    def began(self) -> int:
        """When it was started, in milliseconds."""
        if self._session.began is None:
            raise NotRunning(f"{self.name} was not started")
        return self._session.began

    @property
    def in_play(self) -> tuple[int, ...]:
        """The arms among which the policy chooses."""
        return self._session.shown.in_play

    @property
    def people(self) -> int:
        """How many people have a place."""
        return self._session.shown.people

    @property
    def answer(self) -> int | None:
        """The arm of the policy's final answer, if it has one."""
        return self._session.shown.answer

    @property
    def named(self) -> tuple[int, ...] | None:
        """The arms of the policy's final answer, if it has one: that arm alone, or all arms of a kind."""
        return self._session.shown.named

    def apply(self, operations: Sequence[Operation]) -> list[Done]:
        """Do these in one transaction, each a verb of `operations`, or a function of a session, with what it is given.

        Nothing is done if the store fails. The rows of people, places and reports are read together first; what cannot
        be read is for the operations to refuse.
        """
        tickets, people, reports = list[str](), list[str](), list[ReportName]()
        for verb, *given in operations:
            if verb == "assign" and is_text(given[0]):
                people.append(self._session.pseudonym(given[0]))
            elif verb == "report" and is_text(given[0], *given[2:]):
                tickets.append(given[0])
                reports.append(name_report(self.protocol, given[0], *given[2:]))
            elif verb in ("expose", "upload") and is_text(given[0]):
                tickets.append(given[0])
        return self._session.apply(self._bind(operations), tickets, people, reports)

    def assign(self, unit: str, attributes: PersonAttributes | None = None) -> Assigned:
        """The arm for a person, who is charged; the same one if the person has a place already.

        The attributes are what rules of the protocol are about: whoever these do not enrol gets the default arm, and
        whoever is over budget the best arm of what was released. Both have no ticket, and are charged nothing.
        """
        found: Assigned = self._do("assign", unit, False, attributes)
        return found

    def expose(self, ticket: str) -> None:
        """The person saw the arm: from now on the outcome counts."""
        self._do("expose", ticket)

    def report(self, ticket: str, value: float, event: str = "", metric: str = "", proof: str = "") -> Reported:
        """A person's outcome, or that of the guardrail or the metric named `metric`; one of several with an `event`.

        The first one counts. Whether there was one before is told to whoever made it, who proves it by the same secret.
        """
        found: Reported = self._do("report", ticket, value, event, metric, proof)
        return found

    def erase(self, unit: str) -> int:
        """Remove a person's data from this study: of how many places. What was released, and charged, stays.

        The person takes no further part in it, and is served the arm that is best in what was released.
        """
        found: int = self._do("erase", unit)
        Scrubber().scrub(self.database)
        return found

    def tick(self) -> list[Release]:
        """Do what is due: give back places that nobody saw, close cohorts, and release them."""
        found: list[Release] = self._do("tick")
        return found

    def start(self, simulated: bool = False, looked_at: str | None = None) -> None:
        """Freeze the protocol and begin, if it is the one that was looked at, by its hash; without a hash, whichever.

        The ledger says for ever if all people of the study are `simulated`.
        """
        self._do("start", "", simulated, looked_at)

    def pause(self) -> None:
        """Give no more places, until `resume`; reports and releases go on."""
        self._do("pause")

    def resume(self) -> None:
        """Go on after a pause."""
        self._do("resume")

    def stop(self) -> None:
        """Give no more places, for ever; reports and releases of full cohorts go on."""
        self._do("stop")

    def give_up_helper(self) -> None:
        """End a study whose helper is away for ever, without what was not released."""
        self._do("give_up_helper")
        Scrubber().scrub(self.database)

    def archive(self) -> None:
        """Erase the data of all people; what was released, and charged, stays."""
        self._do("archive")
        Scrubber().scrub(self.database)

    def change_arms(self, what: str, name: str, payload: Any = None) -> None:
        """`pause` or `resume` the arm of this name, or `add` one, while the study runs (store/book/standing.py)."""
        self._do("change_arms", "", what, name, payload)

    def change_sites(self, given: Any) -> None:
        """Have another list of sites, as in the [sites] table of a protocol, while the study runs (change_sites.py)."""
        self._do("change_sites", "", given)

    def offers(self, ticket: str) -> tuple[Offer, ...]:
        """What a device is offered that adds the noise itself: one offer for each outcome."""
        found: tuple[Offer, ...] = self._do("offers", ticket)
        return found

    def releases(self) -> list[Release]:
        """All releases that are on disk and at the witness, in the order in which the policy was told."""
        steps = self._session.shown.steps  # first: in a fork the lock may be held by a thread that is not there
        with self._session.lock:
            found = read_entries(self.database, self.name, Release.kind)
        return [each for each in found if isinstance(each, Release) and each.step < steps]

    def recorded(self) -> list[core.Release]:
        """The same, with the epochs of the cohorts: what estimates need."""
        with self._session.lock:
            cohorts = self._session.driver.cohorts
            return [each.in_epoch(cohorts[each.cohort].epoch) for each in self.releases()]
