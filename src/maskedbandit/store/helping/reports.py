"""What the helper is offered of the reports of a cohort, and what it answers: the same however often it is asked.

A report stands in the database under its name, for ever, so that it is in one cohort, and a place of a cohort has one.
Both seals of a report are bound to these too, so one that is offered elsewhere after a copy of the database was
restored, in which it is missing, cannot be opened there.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from maskedbandit.channels.offers import Offer
from maskedbandit.errors import Disagreement, Malformed, NotRunning, ProtocolError
from maskedbandit.secagg.prio3 import NONCE, SEED
from maskedbandit.secagg.uploads import MOST_TURNS, SEAL, ReportTerms
from maskedbandit.store.databases.database import Database
from maskedbandit.store.helping.locked_shares import ShareLock
from maskedbandit.store.helping.session import HelperSession

MOST_REPORTS = 256  # in one request
LARGEST_COHORT = 2**32
VERIFIERS = 24, 32  # bytes: of a proof for a number, and for a bit


class OfferedReport(NamedTuple):
    """A report, as the leader offers it."""

    place: int
    report: bytes  # its name
    turn: int
    sealed: bytes  # the helper's share
    verifier: bytes  # what the leader's share shows of the proof

    def check(self, n: int) -> None:
        """Raise `Malformed` unless it has the form of a report of a cohort of n."""
        for name, value, most in (("place", self.place, n), ("turn", self.turn, MOST_TURNS)):
            if type(value) is not int or not 0 <= value < most:
                raise Malformed(f"the {name} of a report is a whole number from 0 to {most - 1}")
        for name, part, sizes in (
            ("name", self.report, (NONCE,)),
            ("helper's share", self.sealed, (SEAL + SEED,)),
            ("leader's verifier", self.verifier, VERIFIERS),
        ):
            if type(part) is not bytes or len(part) not in sizes:
                raise Malformed(f"the {name} of a report has {' or '.join(map(str, sizes))} bytes")

    @property
    def item(self) -> str:
        """The hash of all that is offered."""
        numbers = self.place.to_bytes(8) + self.turn.to_bytes(8)
        return sha256(numbers + self.report + self.sealed + self.verifier).hexdigest()


class ReportAnswer(NamedTuple):
    """What the leader is told of a report."""

    ok: bool  # whether it may be in the total
    verifier: bytes  # what the helper's share shows of the proof; empty if it could not be read


LEFT_OUT = ReportAnswer(False, b"")  # another report has its name, or its place, and that one stands


class TakenReport(NamedTuple):
    """A report, as it is stored."""

    report: str
    cohort: int
    n: int
    place: int
    turn: int
    item: str
    accepted: int
    verifier: str
    locked: str | None

    @property
    def answer(self) -> ReportAnswer:
        """What the leader is told."""
        return ReportAnswer(self.accepted == 1, bytes.fromhex(self.verifier))

    @property
    def row(self) -> bytes:
        """All but the share: the share is locked together with it, and the ledger has its hash."""
        return join_row(self[:-1])

    def unlock(self, lock: ShareLock) -> int:
        """The helper's share of the value, or raise `Forged` if anything of the report was changed."""
        return lock.unlock(self.locked or "", self.row)


COLUMNS = ", ".join(TakenReport._fields)


def join_row(values: Sequence[Any]) -> bytes:
    """Numbers and words of a row as bytes."""
    return "\n".join(map(str, values)).encode()


def read_taken(database: Database, study: str, cohort: int) -> list[TakenReport]:
    """The reports of a cohort that were offered, by place."""
    find = f"SELECT {COLUMNS} FROM helped_report WHERE study = ? AND cohort = ? ORDER BY place"
    return [TakenReport(*row) for row in database.rows(find, study, cohort)]


def check_cohort(session: HelperSession, cohort: int, n: int) -> Offer:
    """What was offered to a cohort of n, or raise `Disagreement` if it was said to have another size before."""
    for name, value, least, most in (("cohort", cohort, 0, 2**63 - 1), ("n", n, 1, LARGEST_COHORT)):
        if type(value) is not int or not least <= value <= most:
            raise Malformed(f"{name} is a whole number from {least} to {most}")
    find = "SELECT n FROM helped_report WHERE study = ? AND cohort = ? LIMIT 1"
    before = {size for (size,) in session.database.rows(find, session.name, cohort)}
    before |= {session.made[cohort].n} if cohort in session.made else set()
    if before - {n}:
        raise Disagreement(
            f"cohort {cohort} of {session.name} has {min(before)} places, and the leader asks for it as one of {n}"
        )
    return session.offer(n)


def take_reports(session: HelperSession, cohort: int, n: int, reports: Sequence[OfferedReport]) -> list[ReportAnswer]:
    """Check the proofs of reports that the leader offers for a cohort: what it is told of each.

    What does not hold stops nothing: a report whose name another one has, as devices choose the names, and may choose
    one twice; and another report of a place than before, as a leader that was restored may have lost the newer one.
    Raise `Disagreement`, and take none, if it offers a place twice at once, or more for a cohort that has its total.
    """
    offer = check_cohort(session, cohort, n)
    if not 1 <= len(reports) <= MOST_REPORTS:
        raise Malformed(f"a request has 1 to {MOST_REPORTS} reports")
    for each in reports:
        each.check(n)
    check_places(session, cohort, reports)
    database, name, new, answers = session.database, session.name, list[TakenReport](), list[ReportAnswer]()
    names, places = [each.report.hex() for each in reports], [each.place for each in reports]
    find = f"SELECT {COLUMNS} FROM helped_report WHERE study = ? AND report IN keys"
    known = {row[0]: TakenReport(*row) for row in database.rows_in(find, name, keys=names)}
    find = "SELECT place, report FROM helped_report WHERE study = ? AND cohort = ? AND place BETWEEN ? AND ?"
    holders: dict[int, str] = dict(database.rows(find, name, cohort, min(places), max(places)))
    for each, which in zip(reports, names, strict=True):
        if (taken := known.get(which)) is None:
            if cohort in session.made:
                raise Disagreement(
                    f"the total of cohort {cohort} of {name} was made, and the leader offers more for it"
                )
            if each.place in holders:
                answers.append(LEFT_OUT)
                continue
            if session.state != "running":
                raise NotRunning(f"{name} is {session.state} here: no report is taken any more")
            taken = known[which] = examine_report(session, offer, cohort, n, each)
            holders[each.place] = which
            new.append(taken)
        elif (taken.cohort, taken.place, taken.item) != (cohort, each.place, each.item):
            answers.append(LEFT_OUT)
            continue
        answers.append(taken.answer)
    if new:
        database.insert("helped_report", f"study, {COLUMNS}", [(name, *taken) for taken in new])
    return answers


def check_places(session: HelperSession, cohort: int, reports: Sequence[OfferedReport]) -> None:
    """Raise `Disagreement` if two reports are offered for one place."""
    names = dict[int, bytes]()
    for each in reports:
        if names.setdefault(each.place, each.report) != each.report:
            raise Disagreement(
                f"place {each.place} of cohort {cohort} of {session.name} is offered with two reports at once"
            )


def examine_report(session: HelperSession, offer: Offer, cohort: int, n: int, given: OfferedReport) -> TakenReport:
    """Open the helper's share of a report, and check the proof with what the leader's share shows of it."""
    terms = ReportTerms(session.digest, cohort, offer.digest, offer.steps, given.place)
    accepted, verifier, value = 0, b"", 0
    try:
        share = session.reader.read(terms, given.report, given.turn, given.sealed)
        verifier = share.verifier
        terms.range.check(given.verifier, verifier)
        accepted, value = 1, share.value
    except ProtocolError:
        pass  # it is answered all the same, and in no total
    row = given.report.hex(), cohort, n, given.place, given.turn, given.item, accepted, verifier.hex()
    return TakenReport(*row, session.share_lock.lock(value, join_row(row)))
