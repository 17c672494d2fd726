# Written by `make golden`, for type checkers and editors. Do not edit.

import maskedbandit.rooms
from maskedbandit.lab.delays.constant import Constant as Constant
from maskedbandit.lab.delays.geometric import Geometric as Geometric
from maskedbandit.lab.delays.lost import Lost as Lost
from maskedbandit.lab.delays.recorded import Recorded as Recorded

room: maskedbandit.rooms.Room
