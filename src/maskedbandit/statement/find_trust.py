"""The words of the trust model that a study has."""

from functools import cache

from maskedbandit.statement import trusts
from maskedbandit.statement.trusts.trust_words import TrustWords
from maskedbandit.study.protocol import Protocol


def find_trust_words(protocol: Protocol) -> TrustWords:
    """The words of a study: those of the one trust model that it has."""
    (found,) = [each for each in list_trust_words() if each.holds(protocol)]
    return found(protocol)


@cache
def list_trust_words() -> tuple[type[TrustWords], ...]:
    """Those of all trust models."""
    return tuple(trusts.room[name] for name in trusts.room)
