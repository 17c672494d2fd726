"""Policies decide which user gets which arm. A file in a folder here is found under its class's name."""

from maskedbandit.rooms import Room

room = Room("policy", __name__)
__getattr__, __dir__ = room.attribute, room.classes
