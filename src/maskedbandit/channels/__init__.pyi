# Written by `make golden`, for type checkers and editors. Do not edit.

import maskedbandit.rooms
from maskedbandit.channels.central import Central as Central
from maskedbandit.channels.central_sum import CentralSum as CentralSum
from maskedbandit.channels.distributed import Distributed as Distributed
from maskedbandit.channels.local import Local as Local
from maskedbandit.channels.local_sum import LocalSum as LocalSum
from maskedbandit.channels.pure_shuffled import PureShuffled as PureShuffled
from maskedbandit.channels.raw import Raw as Raw
from maskedbandit.channels.response import Response as Response
from maskedbandit.channels.shuffled import Shuffled as Shuffled
from maskedbandit.channels.split_and_mix import SplitAndMix as SplitAndMix
from maskedbandit.channels.tree import Tree as Tree
from maskedbandit.channels.two_servers import TwoServers as TwoServers

room: maskedbandit.rooms.Room
