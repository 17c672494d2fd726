"""A small study whose releases are stated, for the tests of statements."""

from pathlib import Path

from maskedbandit.statement.check import make_statement
from maskedbandit.statement.content import Statement, encode_statement
from tests.service.played import HOUR, Played

MEANS = [0.5, 0.6, 0.45]


def finished(folder: Path, people: int = 160, **protocol: object) -> Played:
    """A study that was stopped after some releases."""
    found = Played(folder, **protocol)
    found.study.start(simulated=True)
    found.come(people, MEANS)
    found.study.stop()
    found.wait(3 * HOUR)
    return found


def stated(played: Played, upto: int | None = None) -> Statement:
    """What its ledger gives."""
    return make_statement(played.database, played.witness(), played.protocol.name, upto)


def as_file(played: Played, upto: int | None = None) -> bytes:
    """The same as the command writes it."""
    return encode_statement(stated(played, upto))
