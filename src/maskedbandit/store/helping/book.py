"""The book of a study's helper, or shuffler: what its ledger says, and whether that fits the protocol."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from maskedbandit.errors import Corrupted, InvalidValue
from maskedbandit.privacy.loss import Loss
from maskedbandit.secagg.prio3 import FIELD
from maskedbandit.store.book.book import find_largest_loss, parse_protocol, seen_head
from maskedbandit.store.book.chain import Head, check_chain, read_links
from maskedbandit.store.book.entries import (
    CohortHelped,
    HelpClosed,
    Helped,
    HelpEnded,
    Helping,
    Mixed,
    parse_entries,
    state_after,
)
from maskedbandit.store.book.entry import Entry
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.pairing import find_pairing
from maskedbandit.store.study_rows import read_studies, read_study
from maskedbandit.study.operators import OperatorKeys, Operators
from maskedbandit.study.protocol import Protocol


class HelpBook(NamedTuple):
    """A study as the ledger of its helper has it."""

    study: str
    protocol: Protocol
    entries: tuple[Entry, ...]
    made: dict[int, CohortHelped]  # by cohort
    head: Head
    seen: Head  # the newest entry that the witness has seen

    @property
    def totals(self) -> dict[int, Helped]:
        """The totals of a helper, by cohort."""
        return {cohort: each for cohort, each in self.made.items() if isinstance(each, Helped)}

    @property
    def mixes(self) -> dict[int, Mixed]:
        """What a shuffler mixed, by cohort."""
        return {cohort: each for cohort, each in self.made.items() if isinstance(each, Mixed)}

    @property
    def worst(self) -> Loss:
        """What was made of the reports cost the worst person, who is in one cohort."""
        return find_largest_loss(self.protocol.price(n) for n in {each.n for each in self.made.values()})


def is_helper(database: Database, witness: Witness, study: str) -> bool:
    """Whether this operator is the helper of a study, and its ledger here that of the helper."""
    operators = parse_protocol(read_study(database, study).protocol).operators
    return operators is not None and operators.helper.key == read_own_keys(witness).fingerprint


def list_helped(database: Database) -> list[str]:
    """The studies of this database that are led by others: they have no seed, as nothing is drawn for their people."""
    return [str(name) for (name,) in database.rows("SELECT study FROM study WHERE seed = '' ORDER BY study")]


def check_role(database: Database, role: str) -> None:
    """Raise `InvalidValue` if this is the database of an operator of the other role."""
    helped = list_helped(database)
    led = [each.name for each in read_studies(database) if each.name not in helped]
    if role == "leader" and helped:
        raise InvalidValue("role", role, f"helper here, where {helped[0]} is helped: lead studies in another database")
    if role != "leader" and led:
        raise InvalidValue("role", role, f"leader here, where {led[0]} is led: have other roles in another database")


def read_help_book(database: Database, witness: Witness, study: str) -> HelpBook:
    """The whole ledger of a study's helper, or raise `Corrupted` or `BehindWitness` unless it fits what is stored."""
    row, links = read_study(database, study), read_links(database, study)
    head, protocol = check_chain(study, links, witness.signing_key().public_key()), Protocol.from_text(row.protocol)
    entries = parse_entries(study, links)
    if row.state != (said := state_after(entries)):
        raise Corrupted(f"the state of {study} was changed: it is {row.state}, and the ledger says {said}")
    made = collect_helped(study, protocol, entries)
    seen = seen_head(database, witness, study)
    witness.check_others(database, study)
    return HelpBook(study, protocol, entries, made, head, seen)


def find_operators(study: str, protocol: Protocol) -> Operators:
    """The operators of a study that has a helper."""
    if protocol.operators is None:
        raise Corrupted(f"the protocol of {study} was changed: it names no helper")
    return protocol.operators


def find_leader_keys(database: Database, operators: Operators) -> OperatorKeys:
    """The public keys of a study's leader, with which this helper was paired."""
    found = find_pairing(database, operators.leader.key)
    if found is None or found.keys.fingerprint != operators.leader.key:
        raise Corrupted(
            f"the keys of the leader {operators.leader.name} are not here, or were changed: pair with it again"
        )
    return found.keys


def collect_helped(study: str, protocol: Protocol, entries: Sequence[Entry]) -> dict[int, CohortHelped]:
    """What was made of each cohort, or raise `Corrupted` unless a helper of this study can have said so.

    It has the noise of the protocol, and its cohort has no other.
    """
    found = dict[int, CohortHelped]()
    kinds = Helping, Mixed if protocol.shuffled else Helped, HelpEnded, HelpClosed
    for each in entries:
        if (each.number == 0) != isinstance(each, Helping) or not isinstance(each, kinds):
            raise Corrupted(f"entry {each.number} of the ledger of {study} is not one of a helper")
        if isinstance(each, Helping):
            if (each.protocol, each.leader) != (protocol.digest, find_operators(study, protocol).leader.key):
                raise Corrupted(f"the protocol of {study} was changed: it is not the one with which the help began")
        elif isinstance(each, CohortHelped):
            which = f"what was made of cohort {each.cohort} of {study}"
            if each.cohort in found:
                raise Corrupted(f"{which} is in the ledger twice")
            if each.offer != protocol.offers(each.n)[0].digest.hex():
                raise Corrupted(f"{which} had other noise than its protocol says")
            if not 0 <= each.reports <= each.n or not can_be_made(protocol, each):
                raise Corrupted(f"{which} is not what a cohort of {each.n} can have")
            found[each.cohort] = each
    return found


def can_be_made(protocol: Protocol, each: CohortHelped) -> bool:
    """Whether a total is a number of the field, or so many messages can be those of so many reports."""
    if isinstance(each, Helped):
        return each.total.isdecimal() and int(each.total) < FIELD
    channel: Any = protocol.channel
    assert isinstance(each, Mixed)
    least, most = channel.bundle_sizes(each.reports, each.n)
    return bool(each.messages == 0 or least <= each.messages <= most)
