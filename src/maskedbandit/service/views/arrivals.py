"""Whether people come no more, although there are places: by when they were given theirs."""

from itertools import groupby

from maskedbandit.service.views.counts import StudyCounts
from maskedbandit.store.book.book import Book

LONG_SILENCE = 86_400_000  # milliseconds in which nobody came, at the least
LONGER = 3  # times as long as the longest silence before


def find_silence(book: Book, counts: StudyCounts, now: int) -> int | None:
    """Since when nobody has come, if there are places and that is long for this study; None if it is not.

    A study's own pace is in the pictures of its page: the longest run of columns in which nobody came.
    """
    has_places = any(each.state == "open" and each.dealt < each.size for each in counts.cohorts)
    if book.database is None or (counts.cohorts and not has_places):  # the policy is asked when the first person comes
        return None
    newest = "SELECT MAX(assigned) FROM place WHERE study = ? AND assigned < ?"
    ((last,),) = book.database.rows(newest, book.study, book.horizon.time)
    since = book.entries[0].at if last is None else int(last)
    since = max([since, *(each.at for each in book.entries if each.kind == "resumed")])
    empty = (len(list(run)) for none, run in groupby(counts.columns, lambda each: not any(each.arms)) if none)
    longest = (max(empty, default=0) + 1) * counts.step
    return since if now - since > max(LONG_SILENCE, LONGER * longest) else None
