"""Delays: the rounds from serving a user until the reward arrives. A file here is found under its class's name."""

from maskedbandit.rooms import Room

room = Room("delay", __name__)
__getattr__, __dir__ = room.attribute, room.classes
