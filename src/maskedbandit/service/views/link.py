"""How a server stands with another operator, its helper or its coordinator: operational, as no outcome is in it."""

from msgspec import Struct


class LinkState(Struct, frozen=True):
    """Of one study, as the process that holds it knows it; times are in milliseconds."""

    reached: int | None = None  # when the other one answered last
    away_since: int | None = None
    waiting: int = 0  # cohorts that are due and not settled by the helper
    refusal: str = ""  # why answers do not fit: the code of an error
    unconfirmed: bool = False  # the coordinator has another list of sites, in which this one is
    unlisted: bool = False  # this site left the study: it is not in the coordinator's list of sites
