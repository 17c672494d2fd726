"""A shuffler as the second operator of a demo: devices send to it, and it mixes what they sent."""

from typing import Any, ClassVar

from maskedbandit.cli.parts.people_of_demo import EPSILON
from maskedbandit.cli.parts.two_operators import TwoOperators
from maskedbandit.device import Agreed

DELTA = "1/1000000"
CHANNEL = {"name": "shuffled", "epsilon": EPSILON, "delta": DELTA, "honest": "1/2", "backend": "shuffler"}


class WithShuffler(TwoOperators):
    """The leader, the shuffler, and n people. Whoever never comes back counts as the default."""

    role, states = "shuffler", "mixed"
    parts: ClassVar[dict[str, Any]] = {"channel": CHANNEL, "budget": {"epsilon": EPSILON, "delta": DELTA}}

    @property
    def agreed(self) -> Agreed:
        return Agreed(EPSILON, self._fingerprints, delta=DELTA)
