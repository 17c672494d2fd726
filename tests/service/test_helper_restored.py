"""A helper of which a copy was restored, from before it was offered a cohort's reports: it is offered them again."""

import shutil
from contextlib import closing
from typing import Any

import apsw
import httpx
import pytest

from tests.service.two_operators_inside import GRACE, WINDOW, Both
from tests.store.test_settle import no_noise


def lose_reports(both: Both) -> None:
    """The helper accepts all reports of a cohort, and is away before it is asked for the total; an old copy comes back.

    No total is missing in it, so its witness has nothing against it.
    """
    both.go()
    file = both.folder / "helper.db"
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(file, both.folder / "kept.db")
    answer = both.helper.answer

    def end_before_total(method: str, path: list[str], body: Any) -> Any:
        if path[-1] == "total":
            raise httpx.ConnectError("away")
        return answer(method, path, body)

    both.helper.answer = end_before_total
    both.go(WINDOW + GRACE + 1)
    assert both.helper.asked[-1].endswith("/total")
    both.helper.restart()
    for path in both.folder.glob("helper.db*"):
        path.unlink()
    shutil.copy(both.folder / "kept.db", file)
    both.helper.answer = answer


def test_a_helper_is_offered_again_what_it_lost(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    no_noise(monkeypatch)
    both.come(4, lambda i: 1)
    lose_reports(both)
    both.service.clock.now += 20_000  # milliseconds: the lease of the process that ended is over
    both.go(61)
    both.go(61)
    assert [each["total"] for each in both.releases()] == [2, 2]
    assert both.warnings() == []
