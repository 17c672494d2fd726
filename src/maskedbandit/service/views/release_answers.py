"""Releases, as the service says them to everybody who may hear of them."""

from maskedbandit.service.views.answers import Released
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.entries import Release


def show_release(book: Book, each: Release) -> Released:
    """A release of a study."""
    arm, _ = book.protocol.arms[each.arm]
    names = (outcome.metric for outcome in book.protocol.outcomes[1:])
    return Released(
        cohort=each.cohort,
        arm=arm,
        n=each.n,
        total=each.total,
        mean=book.protocol.reward.in_units(each.total / each.n),
        loss=str(each.loss),
        at=each.at,
        entry=each.number,
        further=dict(zip(names, (further.total for further in each.further), strict=True)),
    )
