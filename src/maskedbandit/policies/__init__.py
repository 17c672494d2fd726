"""Policies decide who gets which arm. A file in a folder here is found under its class's name."""

from typing import Any

from maskedbandit.errors import UnknownName
from maskedbandit.rooms import Room

room = Room("policy", __name__)


def __getattr__(name: str) -> Any:
    try:
        return room[name]
    except UnknownName as unknown:
        raise AttributeError(str(unknown)) from None


def __dir__() -> list[str]:
    return ["room", *(room[name].__name__ for name in room)]
