"""The rounds in which the devices of a study add up, if they do, as they stand in its protocol.

    [rounds]
    wait = "10 minutes"     # for the devices that are not in contact, in each phase of a round

    [channel]
    name = "distributed"
    honest = "7/10"
    backend = { name = "secagg", corrupted = "1/10" }

A device is in contact when its application runs. The shorter a phase waits, the sooner a cohort is released, and the
more devices are lost in it: see docs/device_rounds.md.
"""

from dataclasses import dataclass
from typing import Any, Self

from maskedbandit.errors import InvalidValue
from maskedbandit.study.naming import refuse_unknown
from maskedbandit.study.reward import parse_duration

ROUNDS_KEYS = ("wait",)


@dataclass(frozen=True)
class DeviceRounds:
    """How long each phase of a round waits, in milliseconds.

    >>> DeviceRounds.from_table({"wait": "1 hour"})
    DeviceRounds(wait=3600000)
    """

    wait: int = 600_000

    @classmethod
    def from_table(cls, given: Any) -> Self:
        """The [rounds] table of a protocol."""
        if not isinstance(given, dict):
            raise InvalidValue("rounds", given, "a [rounds] table, which may have wait")
        refuse_unknown("key of [rounds]", given, ROUNDS_KEYS)
        return cls(parse_duration("wait of the rounds", given.get("wait", "10 minutes"), 1))
