"""The releases of a study with a shuffler: what the ledger says of them, and whether the total follows from it.

    total = analyze(the sum of the messages, and half of the coins of places without a report)
            + default * (places without a report)

The sum of the messages is in the entry of the release, and the shuffler has signed how many they are, of how many
reports, and which.
"""

from fractions import Fraction
from typing import Any

from maskedbandit.errors import Corrupted, Disagreement, MaskedBanditError
from maskedbandit.privacy.sampling import Bits
from maskedbandit.store.book.dealt_again import find_turn
from maskedbandit.store.book.entries import Burned, Release
from maskedbandit.store.book.site_entries import Discarded
from maskedbandit.study.cohort_numbers import number_cohort
from maskedbandit.study.mix_statement import MixStatement
from maskedbandit.study.protocol import Protocol


def match_mix(protocol: Protocol, cohort: int, n: int, said: MixStatement, signs: bytes) -> None:
    """Raise `Forged` or `Disagreement` unless the shuffler with this key stated it, of the cohort with this number."""
    said.verify(signs)
    (offer,), channel = protocol.offers(n), find_mixing(protocol)
    said.match(study=protocol.name, protocol=protocol.digest, cohort=cohort, n=n, offer=offer.digest.hex())
    least, most = channel.bundle_sizes(said.reports, n)
    if said.messages and not (least <= said.messages <= most and channel.hides(said.messages, said.reports, n)):
        raise Disagreement(f"{said.which} states {said.messages} messages of {said.reports} reports, which do not fit")


def find_mixing(protocol: Protocol) -> Any:
    """The channel of a study with a shuffler."""
    return protocol.channel


def decode_mix(protocol: Protocol, total: int, said: MixStatement) -> float:
    """The released sum of a cohort, from the sum of its messages: who is missing counts as the default."""
    (offer,), channel = protocol.offers(said.n), find_mixing(protocol)
    found = channel.analyze(
        channel.sum_messages(total, said.messages, said.reports, offer), offer, Bits(), answers=said.reports
    )
    missing = Fraction(protocol.reward.of([])) * (said.n - said.reports)
    return float(Fraction(found) + missing) + 0.0


def check_mixes(study: str, protocol: Protocol, entries: Any, signs: bytes) -> None:
    """Raise `Corrupted` unless all releases, and all cohorts that were discarded, are as the shuffler stated."""
    discards, burned = dict[int, int](), None
    for each in entries:
        burned = each if isinstance(each, Burned) else burned
        if not isinstance(each, Release | Discarded):
            continue
        which = f"what the ledger of {study} says of the mix of cohort {each.cohort}"
        if each.mixed is None:
            raise Corrupted(f"{which} has no statement of the shuffler")
        number = number_cohort(each.cohort, find_turn(burned, discards.get(each.cohort, 0)))
        try:
            match_mix(protocol, number, each.mixed.n, each.mixed, signs)
            if isinstance(each, Discarded):
                discards[each.cohort] = discards.get(each.cohort, 0) + 1
                continue
            total = decode_mix(protocol, int(each.leader or ""), each.mixed)
        except (MaskedBanditError, ValueError) as why:
            raise Corrupted(f"{which} does not fit what its shuffler stated: {why}") from why
        if each.n != each.mixed.n or total != each.total or not each.mixed.messages:
            raise Corrupted(f"the release of cohort {each.cohort} of {study} does not follow from what was mixed")
