"""All that may be shown of a study: one value, from which the page is drawn.

Its numbers are of three kinds, and each part says of which: RELEASED ones are from the entries of the ledger that the
witness has seen, or computed from those; OPERATIONAL ones say who came, when, and which arm; all are SIMULATED if the
study says so. Nothing else is in it. In particular nothing depends on rewards that were not released.
"""

import json
from collections import Counter

from msgspec import Struct

from maskedbandit.privacy.loss import Loss
from maskedbandit.service.study_messages import AttentionItem
from maskedbandit.service.views.answers import GuardrailResult, MetricResult
from maskedbandit.service.views.attention import find_attention
from maskedbandit.service.views.counts import StudyCounts, count_places
from maskedbandit.service.views.describe import find_approvals
from maskedbandit.service.views.estimates import (
    ALPHA,
    ArmDifference,
    Estimate,
    estimate_arms,
    estimate_differences,
    estimate_gain,
    find_confidences,
)
from maskedbandit.service.views.further import estimate_guardrail, estimate_metrics, list_released
from maskedbandit.service.views.link import LinkState
from maskedbandit.service.views.rounds_of_devices import DueRound, list_due_rounds
from maskedbandit.service.views.sums_of_sites import DueSum, list_due_sums
from maskedbandit.service.views.tally import Tally
from maskedbandit.statement.content import Statement
from maskedbandit.statement.facts import Facts
from maskedbandit.statement.study import study_statement
from maskedbandit.store.approvals import Approvals
from maskedbandit.store.book.book import Book, read_published
from maskedbandit.store.book.entries import Release
from maskedbandit.store.book.entry import Entry
from maskedbandit.store.book.finish import Finish, find_finish
from maskedbandit.store.book.site_lists import SiteLists
from maskedbandit.store.book.standing import Standing
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.study.protocol import Protocol
from maskedbandit.theory.best import Confidence

SAID_FINISH = {
    "answer_found": "its answer was found",
    "people_used_up": "all the people who were planned have seen their arms",
    "asks_for_nobody": "its policy asks for nobody any more",
    "all_arms_harmful": "all its arms in play were found harmful",
}


class ArmView(Struct, frozen=True):
    """An arm, and what is estimated of it from what was released; the mean is scaled to [0, 1]."""

    name: str
    payload: str | None  # JSON
    estimate: Estimate | None
    confidence: Confidence | None = None  # that it is the best, and that it is beaten, if arms in play were compared
    more: ArmDifference | None = None  # what it has more than the arm that others are compared with
    guarded: GuardrailResult | None = None  # what is estimated of its guardrail
    metrics: list[MetricResult] = []  # and of its metrics, once it has a release
    stands: str = "in play"  # or paused, or harmful, or control


class StudyView(Struct, frozen=True):
    """A study at a time."""

    protocol: Protocol
    now: int
    state: str
    simulated: bool
    standing: Standing
    arms: tuple[ArmView, ...]
    ledger: tuple[Entry, ...]
    releases: tuple[Release, ...]  # in the order in which they were made
    facts: Facts
    counts: StudyCounts
    named: tuple[int, ...] | None  # the arms of the final answer: that arm alone, or all arms of a kind
    kept_in: str  # the database and its version
    key: str  # that signs the ledger, its public part
    approvals: Approvals = Approvals()  # of a draft, by officers of privacy; or the one on which the start rests
    finish: Finish | None = None  # why it gives nobody a place any more, and since when
    gain: ArmDifference | None = None  # what all whom the policy placed had more than the control
    attention: tuple[AttentionItem, ...] = ()  # what needs it
    link: LinkState | None = None  # to the helper of two operators, in the process that holds the study
    site_lists: SiteLists = SiteLists()  # of its sites, if they keep the outcomes
    contacts: tuple[tuple[int, int], ...] = ()  # when each site last asked that process, by its number
    due_sums: tuple[DueSum, ...] = ()  # of sites
    due_rounds: tuple[DueRound, ...] = ()  # of devices

    @property
    def name(self) -> str:
        """The name of the study."""
        return self.protocol.name

    @property
    def head(self) -> str:
        """The hash of the newest entry of the ledger, or nothing."""
        return self.ledger[-1].hash if self.ledger else ""

    @property
    def loss(self) -> Loss:
        """What a person loses by all that this study publishes."""
        return self.facts.at_most

    @property
    def statement(self) -> Statement:
        """The privacy statement of the study."""
        return study_statement(self.protocol, self.facts, self.key, self.kept_in)

    @property
    def started(self) -> int | None:
        """When the study was started."""
        return self.ledger[0].at if self.ledger else None

    @property
    def base(self) -> ArmView:
        """The arm that others are compared with: the control, or else the first one."""
        return self.arms[self.protocol.control_arm or 0]

    @property
    def answer(self) -> int | None:
        """The arm of the policy's final answer, if it has one: of a selection, the arm that is served from then on."""
        return self.counts.answer

    @property
    def served(self) -> int | None:
        """The arm of whoever comes while no places are given; None: any."""
        return self.highest if self.counts.served is None else self.counts.served

    @property
    def over(self) -> bool:
        """Whether nothing will be released any more: no cohort waits, and no place will be given."""
        placed, people = self.counts.placed, self.protocol.people
        all_placed = placed is not None and people is not None and placed >= people
        ended = self.state in ("stopped", "archived") or all_placed or self.answer is not None
        return ended and not any(each.may_be_released for each in self.counts.cohorts)

    @property
    def best(self) -> int | None:
        """The arm that is better than all others in play, over the same people and at any time, if one surely is."""
        sure = [each for each, arm in enumerate(self.arms) if arm.confidence and arm.confidence.best >= 1 - ALPHA]
        return sure[0] if sure else None

    @property
    def highest(self) -> int | None:
        """The arm in play of the highest mean in what was released, which need not be the best."""
        means = {
            each: arm.estimate.mean
            for each, arm in enumerate(self.arms)
            if arm.estimate and each in self.standing.in_play
        }
        return max(means, key=means.__getitem__, default=None)


def read_view(database: Database, witness: Witness, name: str, now: int, tally: Tally | None = None) -> StudyView:
    """The study at a time in milliseconds; raise `BehindWitness` if the database is not the one that was published.

    A tally that is kept between views of the same study changes nothing of it, and makes it faster for large studies.
    """
    witness = witness.as_now()  # first: the ledger may only go on from what was seen
    with database.still():
        book, tally = read_published(database, witness, name), tally or Tally()
        counted, kept_in = count_places(database, book, now, tally), database.named()
        due_sums = list_due_sums(database, book, counted.cohorts)
        due_rounds = list_due_rounds(database, book, counted.cohorts)
        finish, approvals = find_finish(book), find_approvals(database, book, now)
        named = tally.once("named", (book.head, book.horizon.step, counted.answer), lambda: book.named)
    arms, gain = show_arms(book)
    return StudyView(
        book.protocol,
        now,
        book.state,
        book.is_simulated,
        book.standing,
        arms,
        book.entries,
        book.releases,
        Facts.of(book),
        counted,
        named,
        kept_in,
        witness.signing_key().public_key().public_bytes_raw().hex(),
        approvals,
        finish,
        gain,
        find_attention(book, counted, finish, now),
        due_sums=due_sums,
        due_rounds=due_rounds,
        site_lists=book.site_lists,
    )


def show_arms(book: Book) -> tuple[tuple[ArmView, ...], ArmDifference | None]:
    """The arms, with their estimates from what was released, and what the policy brings, if there is a control."""
    protocol, now, released = book.protocol, book.standing, list_released(book, 0)
    law, control = protocol.channel.law(), protocol.control_arm
    found, more = estimate_arms(law, released), estimate_differences(law, released, control)
    gain = None
    if control is not None:
        gain = estimate_gain(law, released, control, Counter(each.epoch for each in book.demand.deck.cohorts))
    sure = find_confidences(law, released, now.in_play, book.draft.k)
    named = zip(protocol.arms, found, more, estimate_guardrail(book), estimate_metrics(book), strict=True)
    arms = tuple(
        ArmView(
            name,
            None if payload is None else json.dumps(payload, ensure_ascii=False),
            each,
            sure.get(arm),
            other,
            guarded,
            metrics,
            now.is_said(arm),
        )
        for arm, ((name, payload), each, other, guarded, metrics) in enumerate(named)
    )
    return arms, gain
