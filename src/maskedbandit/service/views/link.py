"""How the leader of two operators stands with its helper: operational, as it depends on no outcome."""

from msgspec import Struct


class LinkState(Struct, frozen=True):
    """Of one study, as the process that holds it knows it; times are in milliseconds."""

    reached: int | None = None  # when the helper answered last
    away_since: int | None = None
    waiting: int = 0  # cohorts that are due and not settled
    refusal: str = ""  # why the helper's answers do not fit: the code of an error
