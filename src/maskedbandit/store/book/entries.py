"""What the entries of a ledger say: a class for each kind. An entry is parsed once, and whoever reads it reads these.

An entry says what the class of its kind has as fields, and nothing else. One that says more, or less, or something of
another type was written by no version that is known here, and is refused. A float is written in hexadecimal digits, so
that it is read as the same number.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any

from maskedbandit import core
from maskedbandit.errors import Corrupted, Malformed
from maskedbandit.privacy.loss import Loss
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.store.book.chain import Link, read_links
from maskedbandit.store.book.entry import KINDS, Entry, Keys, Requested, StageChange, Whole
from maskedbandit.store.book.further_sum import FurtherSum
from maskedbandit.store.book.site_entries import Listed
from maskedbandit.store.databases.database import Database
from maskedbandit.study.mix_statement import MixStatement
from maskedbandit.study.operators import OperatorKeys
from maskedbandit.study.site_stages import ListedSite

Further = tuple[FurtherSum, ...]
OLD_GUARDRAIL = ("guardrail", "guardrail_offer")  # how entries of earlier versions say their one further sum


class Started(Requested, kind="started", state="running"):
    """The study was started, with this protocol and this seed, of which these are hashes."""

    protocol: str
    seed: str
    simulated: bool = False  # whether all people are
    evidence_of_harm: str = ""  # how it begins, if there is a guardrail: harm.py
    operators: Keys = ()  # their public keys, if there are two
    sites: Keys = ()  # their public keys, if they keep the outcomes
    approved_by: str = ""  # the public part of the officer's key that approved the protocol, if an officer had to


class Paused(Requested, kind="paused", state="paused"):
    """No places are given; nobody asked for it if all arms in play were found harmful."""


class Resumed(Requested, kind="resumed", state="running"):
    """Places are given again."""


class Stopped(Requested, kind="stopped", state="stopped"):
    """No places are given, for ever."""


class Archived(Requested, kind="archived", state="archived"):
    """The data of all people was erased."""


class Release(Entry, kind="released"):
    """A cohort was released: the noisy sum of its n rewards, and what that cost each of its people."""

    cohort: int
    step: int  # of the log
    arm: int
    n: int
    total: float
    loss: Loss
    members: str  # the digest of who is in the cohort, with which rewards
    offer: str  # the digest of what was offered to the cohort: which noise
    memory: str  # a hash of what the channel keeps, that nobody can guess without the key
    cap: int = 1  # the rewards of a person that count
    further: Further = ()  # of each further outcome, in the order of the protocol: the guardrail first
    leader: str | None = (
        None  # of two operators, in digits: this one's share with its noise, or the sum of what is mixed
    )
    helper: HelperTotal | None = None  # and what the other one states of its own
    mixed: MixStatement | None = None  # or, if it is a shuffler, of what it mixed
    size: int = 0  # of the cohort, if people of sites that were lost are not in the sum
    sites: Whole = ()  # whose people are in the sum, if sites keep the outcomes: their numbers in the protocol

    def in_epoch(self, epoch: int, outcome: int = 0) -> core.Release:
        """The release as estimates take it, of a cohort of this epoch: of the outcome with this number in the protocol.

        The reward has 0.
        """
        if outcome > len(self.further):
            raise Corrupted(f"the release of cohort {self.cohort} says nothing of outcome {outcome} of each person")
        total = self.further[outcome - 1].total if outcome else self.total
        return core.Release(self.arm, self.n, total, epoch)


class Burned(Entry, kind="burned"):
    """A restored copy was reconciled, and everybody was charged for the entries that were missing."""

    missing: int
    witness: str  # the hash that the witness had seen last
    loss: Loss


class HelperLost(Requested, kind="helper_lost"):
    """The second operator was given up: these cohorts are never released."""

    cohorts: Whole


class ArmChange(StageChange):
    """An arm was paused, resumed or added, or was found harmful; a stage begins if other arms are in play after it."""

    arm: int
    name: str


class ArmPaused(ArmChange, Requested, kind="arm_paused"):
    """Nobody is given the arm."""


class ArmResumed(ArmChange, Requested, kind="arm_resumed"):
    """People may be given the arm again."""


class ArmAdded(ArmChange, Requested, kind="arm_added"):
    """There is one arm more."""

    payload: object


class ArmHarmful(ArmChange, kind="arm_harmful"):
    """The arm was found harmful by this evidence, in nats."""

    evidence: float


class Helping(Entry, kind="helping", state="running"):
    """A helper, or a shuffler, helps the leader of a study with this protocol: how the helper's ledger begins."""

    protocol: str  # its digest
    leader: str  # the fingerprint of its keys


class CohortHelped(Entry):
    """What a helper did with the reports of a cohort, once."""

    cohort: int
    n: int
    reports: int  # in it
    digest: str  # of the list of these reports, which the leader must have too; or of messages, in their random order
    offer: str  # the digest of what was offered to the cohort: which noise
    asked: str  # the signature of the leader, who asked for it


class Helped(CohortHelped, kind="helped"):
    """The helper's total of a cohort, with its noise: a number of the field that means nothing alone."""

    total: str  # in decimal digits
    answers: str  # the digest of all that the leader offered and was answered


class Mixed(CohortHelped, kind="mixed"):
    """The shuffler mixed the messages of a cohort; or there were too few reports, and it delivers none of them."""

    messages: int
    people: str  # the digest of who has the places, as the service said


class HelpEnded(Entry, kind="help_ended", state="stopped"):
    """A restored copy of the helper was reconciled, and nothing is added up or mixed any more."""

    missing: int
    witness: str  # the hash that the witness had seen last


class HelpClosed(Entry, kind="help_closed", state="stopped"):
    """The leader said that the study ended: what was left of people was erased, and nothing is made of it any more."""


@lru_cache(maxsize=256)
def loss_of(text: str) -> Loss:
    """The loss with this text: most releases of a study cost the same, and have the same object."""
    return Loss.from_text(text)


READ: dict[Any, Callable[[Any], Any]] = {  # what JSON has in another form, by the type of a field
    float: float.fromhex,
    Loss: loss_of,
    Whole: tuple,
    Keys: lambda given: tuple(OperatorKeys.from_text(*keys) for keys in given),
    Listed: lambda given: tuple(ListedSite.from_text(*each) for each in given),
    HelperTotal | None: HelperTotal.from_text,
    MixStatement | None: MixStatement.from_text,
    Further: lambda given: tuple(FurtherSum.from_text(*each) for each in given),
}
TYPES = {kind: {field.name: field.type for field in fields(each)} for kind, each in KINDS.items()}


def parse_entry(study: str, link: Link) -> Entry:
    """What an entry says, or raise `Corrupted` if it says what no entry does."""
    try:
        says = json.loads(link.body)
        kind = says.pop("kind")
        if OLD_GUARDRAIL[0] in says:
            says["further"] = [[says.pop(name) for name in OLD_GUARDRAIL]]
        types: dict[str, Any] = TYPES[kind]
        for name, value in says.items():
            if (read := READ.get(types[name])) is not None:
                says[name] = read(value)
            elif not isinstance(value, types[name]):
                raise TypeError(f"its {name} is {value!r}")
        return KINDS[kind](number=link.number, hash=link.hash, **says)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, Malformed) as why:
        raise Corrupted(f"entry {link.number} of the ledger of {study} cannot be read: {why}") from why


def parse_entries(study: str, links: Iterable[Link]) -> tuple[Entry, ...]:
    """What these entries say."""
    return tuple(parse_entry(study, link) for link in links)


def read_entries(database: Database, study: str, kind: str = "") -> tuple[Entry, ...]:
    """What the entries of a ledger say, or those alone whose kind begins so: if they are few, few are parsed."""
    if not kind:
        return parse_entries(study, read_links(database, study))
    find = "SELECT number, body, hash, signature FROM entry WHERE study = ? AND body LIKE ? ORDER BY number"
    links = [Link(*row) for row in database.rows(find, study, f'%"kind":"{kind}%')]
    return tuple(each for each in parse_entries(study, links) if each.kind.startswith(kind))


def state_after(entries: Sequence[Entry]) -> str:
    """The state in which a study is after these entries."""
    return next((each.state for each in reversed(entries) if each.state), "draft")
