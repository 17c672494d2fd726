"""Logs: recorded or generated visits, to be replayed. A file here is found under its class's name."""

from typing import Any

from maskedbandit.rooms import Room

room = Room("instance", __name__)


def __getattr__(name: str) -> Any:
    return room.attribute(name)


def __dir__() -> list[str]:
    return room.classes()
