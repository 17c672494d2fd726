"""Policies decide which user gets which arm. A file in a folder here is found under its class's name."""

from typing import Any

from maskedbandit.rooms import Room

room = Room("policy", __name__)


def __getattr__(name: str) -> Any:
    return room.attribute(name)


def __dir__() -> list[str]:
    return room.classes()
