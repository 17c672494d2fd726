"""The sealed reports of a cohort that is due, some at a time: read within a transaction, and opened after it.

To open them takes most of the time of a release, and no transaction of somebody who comes meanwhile waits for it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from maskedbandit.channels.offers import Offer
from maskedbandit.errors import ProtocolError
from maskedbandit.secagg.prio3 import Range
from maskedbandit.secagg.uploads import ReportTerms, ShareReader
from maskedbandit.store.databases.database import Row

MOST_OF_BATCH = 256  # reports: as many as a helper takes in one request


class SealedBatch(NamedTuple):
    """Some reports of a cohort as they came, by place."""

    study: bytes  # the digest of the protocol
    cohort: int
    offer: Offer
    rows: list[Row]  # place, name, turn, and both sealed shares
    next: int | None  # the place from which on there may be more; None: these are the last


class OpenedReport(NamedTuple):
    """A report of which this operator has opened its share."""

    place: int
    report: bytes
    turn: int
    sealed: bytes  # the share for the helper
    verifier: bytes  # what this operator's share shows of the proof
    value: int  # this operator's share of the value


class Batch(NamedTuple):
    """Some reports of a cohort, by place: those that are for this operator and were not altered."""

    reports: list[OpenedReport]
    next: int | None  # as in the sealed batch
    range: Range  # in which each value is


def open_batch(reader: ShareReader, batch: SealedBatch) -> Batch:
    """Open this operator's shares of a batch."""
    offer, found = batch.offer, list[OpenedReport]()
    for place, name, turn, mine, sealed in batch.rows:
        terms, report = ReportTerms(batch.study, batch.cohort, offer.digest, offer.steps, place), bytes.fromhex(name)
        try:
            share = reader.read(terms, report, turn, bytes.fromhex(mine))
        except ProtocolError:  # whoever made it is missing, as anybody else who sent nothing
            continue
        found.append(OpenedReport(place, report, turn, bytes.fromhex(sealed), share.verifier, share.value))
    return Batch(found, batch.next, ReportTerms(batch.study, batch.cohort, offer.digest, offer.steps, 0).range)


def compare_proofs(batch: Batch, verifiers: Mapping[int, bytes]) -> list[OpenedReport]:
    """The reports of a batch whose proofs hold, by what the helper's shares show, by place; those of others do not."""
    found = []
    for each in batch.reports:
        try:
            batch.range.check(each.verifier, verifiers.get(each.place, b""))
        except ProtocolError:
            continue
        found.append(each)
    return found
