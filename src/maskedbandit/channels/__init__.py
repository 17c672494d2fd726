"""Channels carry privatized rewards to the policy: each is the protocol of a trust model. Files here are found."""

from maskedbandit.rooms import Room

room = Room("channel", __name__)
__getattr__, __dir__ = room.attribute, room.classes
