"""What is done in a transaction, and what comes of it: a result, or a refusal that leaves the transaction as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from maskedbandit.errors import IllegalDecision, MaskedBanditError, ProtocolError, StoreError
from maskedbandit.store.requests import ReportName

Operation = Callable[[], Any]


class About(NamedTuple):
    """What an operation is about, as far as it is known before it is done."""

    ticket: str | None = None
    unit: str | None = None
    report: ReportName | None = None


NOTHING = About()


class Done(NamedTuple):
    """The result of an operation, or why it was refused."""

    result: Any
    refusal: MaskedBanditError | None = None

    @classmethod
    def of(cls, operation: Operation) -> Done:
        """Do it; a failure of the store, the policy or the channel is no refusal, as something may have been done."""
        try:
            return cls(operation())
        except (StoreError, IllegalDecision, ProtocolError):
            raise
        except MaskedBanditError as why:
            return cls(None, why)

    def value(self) -> Any:
        """The result, or raise the refusal."""
        if self.refusal:
            raise self.refusal
        return self.result
