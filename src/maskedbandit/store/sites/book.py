"""A site's book of a study: what its ledger says, and whether that fits the protocol."""

from collections.abc import Sequence
from typing import NamedTuple

from maskedbandit.errors import Corrupted, Disagreement, InvalidValue
from maskedbandit.privacy.loss import Loss
from maskedbandit.store.book.book import find_largest_loss, seen_head
from maskedbandit.store.book.chain import Head, check_chain, read_links
from maskedbandit.store.book.entries import parse_entries, state_after
from maskedbandit.store.book.entry import Entry
from maskedbandit.store.book.site_entries import SiteAdmitted, SiteAgreed, SiteBegan, SiteEnded, SiteJoined, SiteMasked
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.study_rows import read_study
from maskedbandit.study.cohort_numbers import find_cohort
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.site_stages import Stages, add_stage, begin_stages, find_numbers
from maskedbandit.study.sites import SitesOfStudy

Attempt = tuple[int, int]  # a cohort, and the number of the attempt


class SiteBook(NamedTuple):
    """A study as the ledger of one of its sites has it."""

    study: str
    protocol: Protocol
    entries: tuple[Entry, ...]
    joined: dict[Attempt, SiteJoined]
    agreed: dict[Attempt, SiteAgreed]
    stages: Stages  # the lists of the sites to which this one agreed
    number: int  # of this site
    head: Head
    seen: Head  # the newest entry that the witness has seen

    @property
    def worst(self) -> Loss:
        """What the rounds that were joined may have cost the worst person, who is in those of one cohort."""
        return find_largest_loss(self.protocol.price(n) for n in {each.n for each in self.joined.values()})


def find_sites(study: str, protocol: Protocol) -> SitesOfStudy:
    """The sites of a study that has some."""
    if protocol.sites is None:
        raise Corrupted(f"the protocol of {study} was changed: it names no sites")
    return protocol.sites


def find_own_number(study: str, stages: Stages, witness: Witness) -> int:
    """The number of the site whose witness this is."""
    number = find_numbers(stages).get(read_own_keys(witness).fingerprint)
    if number is None:
        raise Corrupted(f"this site is in none of the lists of {study}")
    return number


def read_site_book(database: Database, witness: Witness, study: str) -> SiteBook:
    """The whole ledger of a site's study, or raise `Corrupted` or `BehindWitness` unless it fits what is stored."""
    row, links = read_study(database, study), read_links(database, study)
    head, protocol = check_chain(study, links, witness.signing_key().public_key()), Protocol.from_text(row.protocol)
    entries = parse_entries(study, links)
    if row.state != (said := state_after(entries)):
        raise Corrupted(f"the state of {study} was changed: it is {row.state}, and the ledger says {said}")
    joined, agreed, stages = collect_rounds(study, protocol, entries)
    seen = seen_head(database, witness, study)
    witness.check_others(database, study)
    return SiteBook(
        *(study, protocol, entries, joined, agreed, stages), *(find_own_number(study, stages, witness), head, seen)
    )


def collect_rounds(
    study: str, protocol: Protocol, entries: Sequence[Entry]
) -> tuple[dict[Attempt, SiteJoined], dict[Attempt, SiteAgreed], Stages]:
    """The attempts that were joined, those whose sum was agreed to, and the lists of sites, or raise `Corrupted`.

    Each is joined once, with the noise of the protocol, after the ones before. A value is masked once in each, and of a
    cohort one sum is agreed to, in the attempt that was joined last. No cohort that was joined has another list later.
    """
    joined, agreed, stages, last = dict[Attempt, SiteJoined](), dict[Attempt, SiteAgreed](), Stages(), dict[int, int]()
    masked, opened = set[Attempt](), set[int]()
    for each in entries:
        where = f"entry {each.number} of the ledger of {study}"
        if (each.number == 0) != isinstance(each, SiteBegan):
            raise Corrupted(f"{where} is not one of a site")
        if isinstance(each, SiteBegan):
            if each.protocol != protocol.digest:
                raise Corrupted(f"the protocol of {study} was changed: it is not the one with which this site began")
            try:
                stages = begin_stages(protocol.digest, find_sites(study, protocol), each.sites)
            except Disagreement as why:
                raise Corrupted(f"the keys of the sites of {study} were changed: {why}") from why
        elif isinstance(each, SiteAdmitted):
            if any(find_cohort(cohort) >= each.first for cohort in last):
                raise Corrupted(f"{where} has a list of sites for a cohort that was joined before")
            try:
                stages = add_stage(stages, each.first, each.sites)
            except InvalidValue as why:
                raise Corrupted(f"{where} has a list of sites that is not allowed: {why}") from why
        elif isinstance(each, SiteJoined):
            if each.attempt <= last.get(each.cohort, 0):
                raise Corrupted(f"{where} joins an attempt that was joined before")
            if each.offer != protocol.offers(each.n)[0].digest.hex():
                raise Corrupted(f"{where} says of other noise than the protocol")
            last[each.cohort] = each.attempt
            joined[each.cohort, each.attempt] = each
        elif isinstance(each, SiteMasked):
            if (each.cohort, each.attempt) in masked or last.get(each.cohort) != each.attempt:
                raise Corrupted(f"{where} masks a value of an attempt that was not joined last, or twice")
            masked.add((each.cohort, each.attempt))
        elif isinstance(each, SiteAgreed):
            if (each.cohort, each.attempt) not in masked or each.cohort in opened or last[each.cohort] != each.attempt:
                raise Corrupted(f"{where} agrees to what was not masked last, or to a second sum of a cohort")
            opened.add(each.cohort)
            agreed[each.cohort, each.attempt] = each
        elif not isinstance(each, SiteEnded):
            raise Corrupted(f"{where} is not one of a site")
    return joined, agreed, stages
