# Written by `make golden`, for type checkers and editors. Do not edit.

from maskedbandit import backends as backends
from maskedbandit import channels as channels
from maskedbandit import errors as errors
from maskedbandit import noises as noises
from maskedbandit import policies as policies
from maskedbandit import theory as theory
from maskedbandit.core import Decision as Decision
from maskedbandit.core import Release as Release
from maskedbandit.core import kernel as kernel
from maskedbandit.lab import delays as delays
from maskedbandit.lab import worlds as worlds
from maskedbandit.lab.goals.answer.answer import answer as answer
from maskedbandit.lab.goals.compare import compare as compare
from maskedbandit.lab.goals.identify.identify import identify as identify
from maskedbandit.lab.goals.regret.simulate import simulate as simulate
from maskedbandit.lab.goals.replay.replay import replay as replay
from maskedbandit.lab.goals.select.select import select as select
from maskedbandit.lab.logs.frame_log import FrameLog as FrameLog
from maskedbandit.lab.logs.newsroom import Newsroom as Newsroom
from maskedbandit.lab.logs.recorded_log import RecordedLog as RecordedLog
from maskedbandit.lab.worlds.bernoulli import Bernoulli as Bernoulli
from maskedbandit.lab.worlds.beta import Beta as Beta
from maskedbandit.lab.worlds.changing import Changing as Changing
from maskedbandit.lab.worlds.clipped_gaussian import ClippedGaussian as ClippedGaussian
from maskedbandit.lab.worlds.drifting import Drifting as Drifting
from maskedbandit.lab.worlds.linear_contexts import LinearContexts as LinearContexts
from maskedbandit.lab.worlds.logistic_contexts import LogisticContexts as LogisticContexts
from maskedbandit.lab.worlds.named_means import uniform_means as uniform_means
from maskedbandit.lab.worlds.visits import Visits as Visits
from maskedbandit.policies.policy import Policy as Policy
from maskedbandit.privacy.budget import Ledger as Ledger
from maskedbandit.privacy.counting import CountingQuery as CountingQuery
from maskedbandit.privacy.counting import LaplaceMechanism as LaplaceMechanism
from maskedbandit.privacy.counting import queries_affordable as queries_affordable
from maskedbandit.privacy.counting import queries_limit as queries_limit
from maskedbandit.privacy.counting import users_needed as users_needed
from maskedbandit.privacy.loss import Loss as Loss
from maskedbandit.privacy.repeated_batches import returning_users as returning_users
from maskedbandit.reports.estimate.estimate import estimate as estimate
from maskedbandit.reports.plan.plan import plan as plan
from maskedbandit.reports.plan.sites import plan_sites as plan_sites
from maskedbandit.study.signatures import sign_person as sign_person

__version__: str
