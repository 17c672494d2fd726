"""Noises are families of integer noise whose shares sum to one draw. Drop a file here and it is found."""

from typing import Any

from maskedbandit.errors import UnknownName
from maskedbandit.rooms import Room

room = Room("noise", __name__)


def __getattr__(name: str) -> Any:
    try:
        return room[name]
    except UnknownName as unknown:
        raise AttributeError(str(unknown)) from None


def __dir__() -> list[str]:
    return ["room", *(room[name].__name__ for name in room)]
