"""Noises are families of integer noise whose noise shares sum to one draw. A file added here is found."""

from maskedbandit.rooms import Room

room = Room("noise", __name__)
__getattr__, __dir__ = room.attribute, room.classes
