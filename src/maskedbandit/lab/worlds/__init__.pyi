# Written by `make golden`, for type checkers and editors. Do not edit.

import maskedbandit.rooms
from maskedbandit.lab.worlds.bernoulli import Bernoulli as Bernoulli
from maskedbandit.lab.worlds.beta import Beta as Beta
from maskedbandit.lab.worlds.changing import Changing as Changing
from maskedbandit.lab.worlds.clipped_gaussian import ClippedGaussian as ClippedGaussian
from maskedbandit.lab.worlds.drifting import Drifting as Drifting
from maskedbandit.lab.worlds.linear_contexts import LinearContexts as LinearContexts
from maskedbandit.lab.worlds.logistic_contexts import LogisticContexts as LogisticContexts
from maskedbandit.lab.worlds.visits import Visits as Visits

room: maskedbandit.rooms.Room
