# Written by `make golden`, for type checkers and editors. Do not edit.

import maskedbandit.rooms
from maskedbandit.lab.logs.frame_log import FrameLog as FrameLog
from maskedbandit.lab.logs.front_page import FrontPage as FrontPage
from maskedbandit.lab.logs.newsroom import Newsroom as Newsroom
from maskedbandit.lab.logs.recorded_log import RecordedLog as RecordedLog

room: maskedbandit.rooms.Room
