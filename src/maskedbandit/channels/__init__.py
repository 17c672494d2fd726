"""Channels carry rewards to the policy, privatized: each is one trust model. Drop a file here and it is found."""

from typing import Any

from maskedbandit.errors import UnknownName
from maskedbandit.rooms import Room

room = Room("channel", __name__)


def __getattr__(name: str) -> Any:
    try:
        return room[name]
    except UnknownName as unknown:
        raise AttributeError(str(unknown)) from None


def __dir__() -> list[str]:
    return ["room", *(room[name].__name__ for name in room)]
