"""The lots of a study's people: keyed hashes of their pseudonyms, of which nothing is stored.

A lot for the ramp is of one study; a lot for a group is of all studies of the project that name this group.
"""

from fractions import Fraction

from maskedbandit.store.book.witness import Witness
from maskedbandit.study.enrolment import PersonLots
from maskedbandit.study.protocol import Protocol


class StudyLots:
    """Draws the lots that the protocol of a study asks for."""

    def __init__(self, protocol: Protocol, witness: Witness) -> None:
        rules = protocol.enrolment
        self._group = witness.lots(protocol.project, f"group\n{rules.group.name}") if rules.group else None
        self._ramp = witness.lots(protocol.project, f"ramp\n{protocol.name}") if rules.ramp else None

    def of(self, person: str) -> PersonLots:
        """The lots of a person, by the pseudonym."""
        return PersonLots(*(Fraction(0) if each is None else each.of(person) for each in (self._group, self._ramp)))
