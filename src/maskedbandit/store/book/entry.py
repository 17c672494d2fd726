"""An entry of a ledger: what all kinds of them have in common."""

from dataclasses import dataclass
from typing import ClassVar, dataclass_transform

from maskedbandit.study.operators import OperatorKeys

Whole = tuple[int, ...]
Keys = tuple[OperatorKeys, ...]


@dataclass(frozen=True, kw_only=True)
@dataclass_transform(frozen_default=True, kw_only_default=True)
class Entry:
    """What every entry says, and where in the ledger it is; subclasses are dataclasses as this one."""

    kind: ClassVar[str]
    state: ClassVar[str]  # in which the study is from then on, if the entry says so
    number: int
    hash: str
    at: int  # milliseconds since 1970

    def __init_subclass__(cls, kind: str = "", state: str = "") -> None:
        cls.kind, cls.state = kind, state
        made = dataclass(frozen=True, kw_only=True)(cls)
        KINDS.update({kind: made} if kind else {})


KINDS: dict[str, type[Entry]] = {}


class Requested(Entry):
    """Somebody asked for what the entry says: `by` is the public part of the key, and empty on the machine itself."""

    by: str = ""


class StageChange(Entry):
    """A stage of the study may begin with it."""

    step: int | None = None  # of the log, at which the stage begins
    aim: int | float | None = None  # of the stage
    arms: Whole = ()  # in play in the stage
