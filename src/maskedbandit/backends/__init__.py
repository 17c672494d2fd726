"""Backends: how a cohort's messages become a sum, S of the protocol P = (R, S, A). A file added here is found."""

from typing import Any

from maskedbandit.rooms import Room

room = Room("backend", __name__)


def __getattr__(name: str) -> Any:
    return room.attribute(name)


def __dir__() -> list[str]:
    return room.classes()
