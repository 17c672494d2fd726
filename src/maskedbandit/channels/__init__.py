"""Channels carry rewards to the policy, privatized: each is one trust model. Drop a file here and it is found."""

from maskedbandit.rooms import Room

room = Room("channel", __name__)
__getattr__, __dir__ = room.attribute, room.classes
