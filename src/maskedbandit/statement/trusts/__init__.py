"""What is said of each trust model of a study. A file in this folder is found under its class's name."""

from maskedbandit.rooms import Room

room = Room("trust model", __name__)
__getattr__, __dir__ = room.attribute, room.classes
