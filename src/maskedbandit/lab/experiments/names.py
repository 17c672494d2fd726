"""The names of an experiment: those of a study, and the lab's own instances and delays."""

import maskedbandit.lab.delays as delays
import maskedbandit.lab.logs as logs
import maskedbandit.lab.worlds as worlds
from maskedbandit.lab.delays.constant import Constant
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.logs.log import Log
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.study.naming import STUDY_PARTS as OF_STUDIES
from maskedbandit.study.naming import TablePart, Tables

PARTS = ("policy", "channel", "instance")
TABLES = Tables(
    {
        **OF_STUDIES.parts,
        "instance": TablePart((worlds.room, logs.room), (Instance, Contexts, Log)),
        "delay": TablePart((delays.room,), (Delay,), short=Constant),  # a number of rounds
    }
)
