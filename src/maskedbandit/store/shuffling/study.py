"""A study of another operator for which this one is the shuffler: written down once, and held by one process.

register_study -> ShufflerStudy -> take_bundle -> ... -> mix_cohort -> read_messages -> ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from maskedbandit.store.helping.serving_session import close_help
from maskedbandit.store.helping.study import ServingStudy
from maskedbandit.store.holding import check_still_newest
from maskedbandit.store.shuffling.bundles import drop_bundle, take_bundle
from maskedbandit.store.shuffling.mixes import mix_cohort, read_messages
from maskedbandit.store.shuffling.session import ShufflerSession


class ShufflerStudy(ServingStudy[ShufflerSession]):
    """The shuffler's part of a study, held by this process alone. `apply` does several operations in one transaction.

    **Guarantee**: a place has one bundle, and a cohort one mix, in an order that is uniformly random; it is on disk and
    at the witness before anybody is told, and which message came from whom is stored nowhere from then on.
    """

    operations: ClassVar[dict[str, Callable[..., Any]]] = {  # by verb: functions of a session, within a transaction
        "take_bundle": take_bundle,
        "drop_bundle": drop_bundle,
        "mix_cohort": mix_cohort,
        "read_messages": read_messages,
        "close_help": close_help,
        "tick": check_still_newest,
    }

    session_class = ShufflerSession
