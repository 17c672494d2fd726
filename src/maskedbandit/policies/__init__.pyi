# Written by `make golden`, for type checkers and editors. Do not edit.

import maskedbandit.rooms
from maskedbandit.policies.answer.equal_split import EqualSplit as EqualSplit
from maskedbandit.policies.answer.pooled_elimination import PooledElimination as PooledElimination
from maskedbandit.policies.answer.sequential_halving import SequentialHalving as SequentialHalving
from maskedbandit.policies.contextual.ada_c_gope import AdaCGOPE as AdaCGOPE
from maskedbandit.policies.contextual.ada_c_oful import AdaCOFUL as AdaCOFUL
from maskedbandit.policies.contextual.centred_ucb import CentredUCB as CentredUCB
from maskedbandit.policies.contextual.fixed_weights import FixedWeights as FixedWeights
from maskedbandit.policies.contextual.lin_thompson import LinThompson as LinThompson
from maskedbandit.policies.contextual.lin_ucb import LinUCB as LinUCB
from maskedbandit.policies.contextual.newton_ucb import NewtonUCB as NewtonUCB
from maskedbandit.policies.contextual.random_choice import RandomChoice as RandomChoice
from maskedbandit.policies.identify.ada_p_tt import AdaPTT as AdaPTT
from maskedbandit.policies.identify.ada_p_tt_star import AdaPTTStar as AdaPTTStar
from maskedbandit.policies.identify.best_arm_dpse import BestArmDPSE as BestArmDPSE
from maskedbandit.policies.identify.best_arm_elimination import BestArmElimination as BestArmElimination
from maskedbandit.policies.identify.contemporaneous_elimination import (
    ContemporaneousElimination as ContemporaneousElimination,
)
from maskedbandit.policies.identify.dp_tt import DPTT as DPTT
from maskedbandit.policies.identify.eb_tci import EBTCI as EBTCI
from maskedbandit.policies.identify.released_likelihood import ReleasedLikelihood as ReleasedLikelihood
from maskedbandit.policies.identify.track_and_stop import TrackAndStop as TrackAndStop
from maskedbandit.policies.identify.ttucb import TTUCB as TTUCB
from maskedbandit.policies.identify.uniform_glr import UniformGLR as UniformGLR
from maskedbandit.policies.regret.ada_cucb import AdaCUCB as AdaCUCB
from maskedbandit.policies.regret.ada_p_klucb import AdaPKLUCB as AdaPKLUCB
from maskedbandit.policies.regret.ada_p_ucb import AdaPUCB as AdaPUCB
from maskedbandit.policies.regret.anytime_lazy_ucb import AnytimeLazyUCB as AnytimeLazyUCB
from maskedbandit.policies.regret.capped_thompson import CappedThompson as CappedThompson
from maskedbandit.policies.regret.contemporaneous_klucb import ContemporaneousKLUCB as ContemporaneousKLUCB
from maskedbandit.policies.regret.dp_imed import DPIMED as DPIMED
from maskedbandit.policies.regret.dp_klucb import DPKLUCB as DPKLUCB
from maskedbandit.policies.regret.dp_thompson import DPThompson as DPThompson
from maskedbandit.policies.regret.dpse import DPSE as DPSE
from maskedbandit.policies.regret.dpucb import DPUCB as DPUCB
from maskedbandit.policies.regret.dpucb_int import DPUCBInt as DPUCBInt
from maskedbandit.policies.regret.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from maskedbandit.policies.regret.gaussian_thompson import GaussianThompson as GaussianThompson
from maskedbandit.policies.regret.klucb import KLUCB as KLUCB
from maskedbandit.policies.regret.lazy_dp_thompson import LazyDPThompson as LazyDPThompson
from maskedbandit.policies.regret.ldp_ucb import LDPUCB as LDPUCB
from maskedbandit.policies.regret.noise_aware_klucb import NoiseAwareKLUCB as NoiseAwareKLUCB
from maskedbandit.policies.regret.restarting_klucb import RestartingKLUCB as RestartingKLUCB
from maskedbandit.policies.regret.successive_elimination import SuccessiveElimination as SuccessiveElimination
from maskedbandit.policies.regret.sw_ucb import SWUCB as SWUCB
from maskedbandit.policies.regret.thompson_sampling import ThompsonSampling as ThompsonSampling
from maskedbandit.policies.regret.ucb1 import UCB1 as UCB1
from maskedbandit.policies.regret.uniform import Uniform as Uniform
from maskedbandit.policies.select.arms_above import ArmsAbove as ArmsAbove
from maskedbandit.policies.select.kl_lucb import KLLUCB as KLLUCB
from maskedbandit.policies.select.top_arms import TopArms as TopArms
from maskedbandit.policies.select.uniform_arms_above import UniformArmsAbove as UniformArmsAbove
from maskedbandit.policies.select.uniform_top_arms import UniformTopArms as UniformTopArms

room: maskedbandit.rooms.Room
