"""What is done in a transaction, and what comes of it: a result, or a refusal that leaves the transaction as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from maskedbandit.errors import IllegalDecision, MaskedBanditError, ProtocolError, StoreError

Operation = Callable[[], Any]


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
