"""Backends carry what the devices of a cohort send to a sum: S of the protocol P = (R, S, A). Drop a file here."""

from typing import Any

from maskedbandit.errors import UnknownName
from maskedbandit.rooms import Room

room = Room("backend", __name__)


def __getattr__(name: str) -> Any:
    try:
        return room[name]
    except UnknownName as unknown:
        raise AttributeError(str(unknown)) from None


def __dir__() -> list[str]:
    return ["room", *(room[name].__name__ for name in room)]
