# Written by `make golden`, for type checkers and editors. Do not edit.

import maskedbandit.rooms
from maskedbandit.backends.ideal import Ideal as Ideal
from maskedbandit.backends.prio3 import Prio3 as Prio3
from maskedbandit.backends.sealed_shares import SealedShares as SealedShares
from maskedbandit.backends.secagg import SecAgg as SecAgg
from maskedbandit.backends.shuffler import Shuffler as Shuffler
from maskedbandit.backends.sites import Sites as Sites

room: maskedbandit.rooms.Room
