"""What is said of each trust model of a study. A file added here is found."""

from functools import cache

from maskedbandit.rooms import Room
from maskedbandit.statement.trusts.trust_words import TrustWords
from maskedbandit.study.protocol import Protocol

room = Room("trust model", __name__)


def find_trust_words(protocol: Protocol) -> TrustWords:
    """The words of a study: those of the one trust model that it has."""
    (found,) = [each for each in list_trust_words() if each.holds(protocol)]
    return found(protocol)


@cache
def list_trust_words() -> tuple[type[TrustWords], ...]:
    """Those of all trust models."""
    return tuple(room[name] for name in room)
