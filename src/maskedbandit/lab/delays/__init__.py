"""Delays: how many rounds after a user was served the reward arrives. A file here is found under its class's name."""

from typing import Any

from maskedbandit.rooms import Room

room = Room("delay", __name__)


def __getattr__(name: str) -> Any:
    return room.attribute(name)


def __dir__() -> list[str]:
    return room.classes()
