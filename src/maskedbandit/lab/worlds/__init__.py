"""Worlds: the rewards of simulated arms, with or without contexts. A file here is found under its class's name."""

from maskedbandit.rooms import Room

room = Room("instance", __name__)
__getattr__, __dir__ = room.attribute, room.classes
