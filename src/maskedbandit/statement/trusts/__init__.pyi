# Written by `make golden`, for type checkers and editors. Do not edit.

import maskedbandit.rooms
from maskedbandit.statement.trusts.adding_devices import AddingDevices as AddingDevices
from maskedbandit.statement.trusts.leader_and_helper import LeaderAndHelper as LeaderAndHelper
from maskedbandit.statement.trusts.leader_and_shuffler import LeaderAndShuffler as LeaderAndShuffler
from maskedbandit.statement.trusts.own_sites import OwnSites as OwnSites
from maskedbandit.statement.trusts.private_devices import PrivateDevices as PrivateDevices
from maskedbandit.statement.trusts.trusted_server import TrustedServer as TrustedServer

room: maskedbandit.rooms.Room
