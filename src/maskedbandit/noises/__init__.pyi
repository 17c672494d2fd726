# Written by `make golden`, for type checkers and editors. Do not edit.

import maskedbandit.rooms
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace as DiscreteLaplace
from maskedbandit.noises.skellam import Skellam as Skellam

room: maskedbandit.rooms.Room
