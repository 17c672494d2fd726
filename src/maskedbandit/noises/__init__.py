"""Noises are families of integer noise whose shares sum to one draw. Drop a file here and it is found."""

from typing import Any

from maskedbandit.rooms import Room

room = Room("noise", __name__)


def __getattr__(name: str) -> Any:
    return room.attribute(name)


def __dir__() -> list[str]:
    return room.classes()
