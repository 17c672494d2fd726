"""Backends: how a cohort's messages become a sum, S of the protocol P = (R, S, A). A file added here is found."""

from maskedbandit.rooms import Room

room = Room("backend", __name__)
__getattr__, __dir__ = room.attribute, room.classes
