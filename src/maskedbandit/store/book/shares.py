"""The releases of two operators: what the ledger says of them, and whether the total follows from both shares.

    total = (share of the leader + share of the helper) mod p, decoded, + default * (places without a report)

Both shares are in the entry of the release, each with the noise of its operator, and the helper has signed its own,
with the list of reports that are in it. So whoever reads the ledger can compute the release again.
"""

from fractions import Fraction

from maskedbandit.errors import Corrupted, MaskedBanditError
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.prio3 import FIELD
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.entries import Release
from maskedbandit.store.book.mixes import check_mixes
from maskedbandit.study.operators import OperatorKeys, Operators
from maskedbandit.study.protocol import Protocol


def decode_total(protocol: Protocol, leader: int, said: HelperTotal) -> float:
    """The released sum of a cohort, from the noisy shares of both operators: who is missing counts as the default."""
    (offer,) = protocol.offers(said.n)
    total = (leader + said.total) % FIELD
    found = protocol.channel.analyze(total, offer, Bits(), answers=said.reports)
    missing = Fraction(protocol.reward.of([])) * (said.n - said.reports)
    return float(Fraction(found) + missing) + 0.0


def match_total(protocol: Protocol, cohort: int, n: int, said: HelperTotal, signs: bytes) -> None:
    """Raise `Forged` or `Disagreement` unless the helper with this key stated it, of this cohort of the study."""
    said.verify(signs)
    (offer,) = protocol.offers(n)
    said.match(study=protocol.name, protocol=protocol.digest, cohort=cohort, n=n, offer=offer.digest.hex())


def check_operators(operators: Operators, keys: tuple[OperatorKeys, ...]) -> None:
    """Raise `Corrupted` unless these are the keys whose fingerprints are in the protocol."""
    named = operators.leader.key, operators.helper.key
    if tuple(each.fingerprint for each in keys) != named:
        raise Corrupted("the keys of the operators are not those of the protocol")


def check_all_shares(book: Book) -> None:
    """Raise `Corrupted` unless every release of two operators is what both of them added up, and only these are."""
    operators, started = book.draft.operators, book.started
    if started is None:
        return
    if operators is None:
        if started.operators or any(each.helper or each.leader or each.mixed for each in book.releases):
            raise Corrupted(f"the ledger of {book.study} names a second operator, and its protocol has none")
        return
    check_operators(operators, started.operators)
    if book.draft.shuffled:
        check_mixes(book.study, book.draft, book.entries, started.operators[1].signs)
        return
    for each in book.releases:
        check_shares(book, each, started.operators[1].signs)


def check_shares(book: Book, release: Release, signs: bytes) -> None:
    """Raise `Corrupted` unless this release follows from the shares that its entry has."""
    which = f"the release of cohort {release.cohort} of {book.study}"
    if release.helper is None or release.leader is None:
        raise Corrupted(f"{which} does not say what both operators added up")
    try:
        match_total(book.draft, release.cohort, release.n, release.helper, signs)
        total = decode_total(book.draft, int(release.leader), release.helper)
    except MaskedBanditError as why:
        raise Corrupted(f"{which} does not fit what its helper stated: {why}") from why
    if total != release.total:
        raise Corrupted(f"{which} is {release.total!r}, and both operators added up {total!r}")
