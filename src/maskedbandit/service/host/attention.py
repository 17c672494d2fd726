"""What somebody should look at in the studies that a process serves, although all of it is written.

It is found anew in each round of the clock. The log says it once, with the study, when it begins; `/readyz` says it
while it lasts, and names no study, as everybody may ask.
"""

import logging
from collections.abc import Mapping

log = logging.getLogger("maskedbandit")
CLOCK = (
    "the time of a study, which never goes back, is ahead of this server's clock, which is or was wrong: until it is "
    "there nothing is released, and no place goes back; the log says which study"
)


class Attention:
    """The warnings of a server.

    >>> attention = Attention()
    >>> for many in (True, None, False, None):
    ...     attention.renew({("small", "too many"): many})
    ...     print(attention.sentences)
    ['too many']
    ['too many']
    []
    []
    """

    def __init__(self) -> None:
        self._known = frozenset[tuple[str, str]]()

    @property
    def sentences(self) -> list[str]:
        """What is said to everybody."""
        return sorted({said for _, said in self._known})

    def renew(self, found: Mapping[tuple[str, str], bool | None]) -> None:
        """Whether each sentence holds of a study now; None: nobody can know, and what was said stays."""
        before = self._known
        self._known = frozenset(each for each, holds in found.items() if (each in before if holds is None else holds))
        for study, said in sorted(self._known - before):
            log.warning("a study needs a look", extra={"study": study, "why": said})
