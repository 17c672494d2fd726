"""Sessions whose time, or lease, is moved by reports: each tells that something was reported, and when."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from maskedbandit.store.requests import Done, Reported
from maskedbandit.store.session import Session
from maskedbandit.store.study import Study

Patch = pytest.MonkeyPatch


def moving_with_others(patch: Patch) -> None:
    """A report that is in one transaction with other operations moves the time of the study, and its lease."""
    apply, report, alone = Session._apply, Study.operations["report"], [True]

    def _apply(self: Session, operations: Sequence[Callable[[], Any]], *given: Any) -> list[Done]:
        alone[:] = [len(operations) == 1]
        return apply(self, operations, *given)

    def moving(session: Session, *given: Any) -> Reported:
        try:
            found: Reported = report(session, *given)
            return found
        finally:
            session.silent = alone[0]

    patch.setattr(Session, "_apply", _apply)
    patch.setitem(Study.operations, "report", moving)


def moving_when_opened(patch: Patch) -> None:
    """Whoever opens a study moves its time by as many milliseconds as there are reports."""
    real = Session._load

    def load(self: Session) -> None:
        real(self)
        self.now += self.database.rows("SELECT COUNT(*) FROM reward WHERE study = ?", self.name)[0][0]

    patch.setattr(Session, "_load", load)


def renewing(patch: Patch) -> None:
    """A transaction that has more than one report in it renews the lease."""
    do, came = Session._do, list[Session]()

    def _do(self: Session, operation: Callable[[], Any]) -> Done:
        came[:] = [*came, self] if came[-1:] == [self] and not self._moved else [self]
        done = do(self, operation)
        self._moved = self._moved or len(came) > 1
        return done

    patch.setattr(Session, "_do", _do)
