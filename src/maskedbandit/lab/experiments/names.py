"""The names of an experiment: those of a study, and the lab's own instances and delays."""

import maskedbandit.lab.delays as delays
import maskedbandit.lab.logs as logs
import maskedbandit.lab.worlds as worlds
from maskedbandit.lab.delays.constant import Constant
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.logs.log import Log
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.study.naming import TABLES as OF_STUDIES
from maskedbandit.study.naming import Part, Tables

PARTS = ("policy", "channel", "instance")
TABLES = Tables(
    {
        **OF_STUDIES.parts,
        "instance": Part((worlds.room, logs.room), (Instance, Contexts, Log)),
        "delay": Part((delays.room,), (Delay,), short=Constant),  # a number of rounds
    }
)
