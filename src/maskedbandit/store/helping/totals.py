"""The helper's total of a cohort: its shares of the reports that both operators accepted, with a whole draw of noise.

The noise is drawn in the transaction that writes the total into the ledger, and the shares are erased in it. So there
is one total of a cohort, of one list of reports, and whoever asks again is told the same, byte for byte.
"""

from collections.abc import Collection, Sequence
from hashlib import sha256

from maskedbandit.channels.offers import Offer
from maskedbandit.errors import Corrupted, Disagreement, Malformed, NotRunning, ProtocolError
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.prio3 import FIELD
from maskedbandit.secagg.total_request import TotalRequest
from maskedbandit.secagg.uploads import digest_reports
from maskedbandit.store.book.entries import Helped
from maskedbandit.store.helping.book import find_leader_keys
from maskedbandit.store.helping.reports import TakenReport, check_cohort, read_taken
from maskedbandit.store.helping.session import HelperSession


def make_total(
    session: HelperSession, cohort: int, n: int, left_out: Collection[int], digest: str, signature: str
) -> HelperTotal:
    """The total of all reports of a cohort that were accepted, but for the places that the leader leaves out.

    `digest` is that of the list that the leader has (`digest_reports`). Raise `Disagreement` if it is another one, or
    if the total was made of another list, and `Forged` unless the leader signed what it asks for.
    """
    offer = check_cohort(session, cohort, n)
    if any(type(place) is not int or not 0 <= place < n for place in left_out):
        raise Malformed(f"a place that is left out is a whole number from 0 to {n - 1}")
    asked = TotalRequest(
        study=session.name, protocol=session.protocol.digest, cohort=cohort, n=n, digest=digest, signature=signature
    )
    asked.verify(find_leader_keys(session.database, session.operators).signs)
    made = session.made.get(cohort) or add_up(session, offer, frozenset(left_out), asked)
    assert isinstance(made, Helped)
    if made.digest != digest:
        raise Disagreement(
            f"the total of cohort {cohort} of {session.name} is of {made.reports} reports, and the leader asks for "
            "that of another list"
        )
    return session.state_total(made)


def add_up(session: HelperSession, offer: Offer, left_out: frozenset[int], asked: TotalRequest) -> Helped:
    """Make the total, write it into the ledger, and erase the shares."""
    database, name, cohort, n = session.database, session.name, asked.cohort, asked.n
    if session.state != "running":
        raise NotRunning(f"{name} is {session.state} here: no total is made any more")
    taken = read_taken(database, name, cohort)
    chosen = [each for each in taken if each.accepted and each.place not in left_out]
    if digest_reports({each.place: bytes.fromhex(each.report) for each in chosen}) != asked.digest:
        raise Disagreement(
            f"the list of {len(chosen)} reports of cohort {cohort} of {name} is not the one that the leader has"
        )
    price = session.protocol.price(n)
    database.take_time()  # a hundredth of a millisecond for each report
    total = session.noise(n).noise_share(1, Bits())  # fresh bits: none from before a fork or a snapshot
    for each in chosen:
        try:
            total += each.unlock(session.share_lock)
        except ProtocolError:
            raise Corrupted(f"the report of place {each.place} of cohort {cohort} of {name} was changed") from None
    erase_shares(session, cohort)
    says = {"cohort": cohort, "n": n, "reports": len(chosen), "digest": asked.digest}
    says |= {"offer": offer.digest.hex(), "answers": seal_answers(taken), "asked": asked.signature}
    made = session.enter(kind="helped", **says, total=str(total % FIELD))
    assert isinstance(made, Helped)
    session.made[cohort] = made
    session.worst |= price
    return made


def seal_answers(taken: Sequence[TakenReport]) -> str:
    """What the ledger says of the reports of a cohort: the digest of all that was offered and answered.

    Each row is hashed first, so that two rows that are written into one, line below line, have another digest.
    """
    return sha256(b"".join(sha256(each.row).digest() for each in taken)).hexdigest()


def erase_shares(session: HelperSession, cohort: int) -> None:
    """Remove the helper's shares of a cohort."""
    where = "study = ? AND cohort = ?"
    session.database.change(f"UPDATE helped_report SET locked = NULL WHERE {where}", session.name, cohort)
    session.database.change("UPDATE study SET traces = traces + 1 WHERE study = ?", session.name)
