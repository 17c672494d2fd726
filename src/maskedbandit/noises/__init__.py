"""Noises are families of integer noise whose noise shares sum to one draw. A file added here is found."""

from typing import Any

from maskedbandit.rooms import Room

room = Room("noise", __name__)


def __getattr__(name: str) -> Any:
    return room.attribute(name)


def __dir__() -> list[str]:
    return room.classes()
