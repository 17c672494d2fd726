"""Channels carry rewards to the policy, privatized: each is one trust model. Drop a file here and it is found."""

from typing import Any

from maskedbandit.rooms import Room

room = Room("channel", __name__)


def __getattr__(name: str) -> Any:
    return room.attribute(name)


def __dir__() -> list[str]:
    return room.classes()
