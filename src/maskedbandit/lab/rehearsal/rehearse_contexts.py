"""A contextual study over a real protocol, all parties in one process: a device for every user.

A device knows its user's context and chooses the arm from released sums alone. When the reward has arrived, after its
delay, the device makes its vector of statistics, from these and from what is released by then, and joins the open
cohort: with its own block for the model of its arm and zeros for all others, so that nobody sees which arm it was. When
the cohort closes, each device checks what it is offered and adds its noise to every number, and the channel's `backend`
carries the vectors in one round. The policy is told the sums, and how many values are in them. What the compiled loop
(engine/context_loop.py) draws at once has the same distribution, with the same contexts, rewards and delays at the same
seed.

Before an arm is chosen the user agrees to a cohort of at least the size that the policy would close now, and is
charged for it. The actual cohort may be larger if the reward is late; it costs no more.

A cohort whose protocol fails is tried again, and after `backend.attempts` failures thrown away with its users, as in
rehearse.py.

**Guarantee**: no user is charged more than `channel.loss(n)`, n the size of the user's one cohort.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.core import Floats, Integers
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.delay import Delay, draw_delay
from maskedbandit.lab.engine.checkpoints import marked
from maskedbandit.lab.engine.context_loop import EVENTS, MATCHED, RELEASES, USERS, add_statistics
from maskedbandit.lab.engine.context_play import Finished
from maskedbandit.lab.rehearsal.cohorts import Cohorts
from maskedbandit.lab.rehearsal.rehearse import carry_cohort, explain_refusal
from maskedbandit.lab.streams import Rewards
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.policies.contextual_policy import Aim, ContextualPolicy
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.statistics import clip_vector
from maskedbandit.study.rehearsed_device import RehearsedDevice


class Arrival(NamedTuple):
    """A user whose reward arrives, and the least size of a cohort that the user agreed to."""

    name: str
    agreed: int
    arm: int
    z: Floats
    reward: float


@dataclass
class ContextRehearsal:
    """One run: the policy, the server's part in the cohorts, and the devices whose rewards have arrived."""

    policy: ContextualPolicy
    channel: Channel  # one that carries the statistics of the policy
    contexts: Contexts
    name: str
    horizon: int
    bits: Bits

    def __post_init__(self) -> None:
        contexts, policy = self.contexts, self.policy
        self.models, self.size = policy.models(contexts.k), policy.statistics(contexts.d, contexts.signed).size
        self.law, self.state = self.channel.law(), policy.init(contexts.k, Aim(contexts.d, self.horizon))
        self.cohorts = Cohorts(self.channel, self.models * self.size, self.name, self.bits)
        self.open: list[RehearsedDevice] = []
        self.releases = 0
        self.agreed = self.find_size()

    def is_due(self, n: int) -> bool:
        """Whether the open cohort, which has n users, closes now: that of each model, as they have the same users."""
        due = {bool(self.policy.due(self.state, self.law, model, n)) for model in range(self.models)}
        if len(due) > 1:
            raise InvalidValue("policy", self.policy, "one that closes the cohorts of all arms at the same time")
        return due.pop()

    def find_size(self) -> int:
        """The size at which the policy would close a cohort, from what is released; the horizon if it never does."""
        return next((n for n in range(1, self.horizon) if self.is_due(n)), self.horizon)

    def describe_user(self, arm: int, z: Floats, reward: float) -> list[float]:
        """What a user adds to the sums of all models: zeros, but for the model of the arm."""
        sums, model = np.zeros((self.models, self.size)), arm if self.models > 1 else 0
        of = self.policy.factors(self.state, model, z, reward)
        add_statistics(sums[model], z, float(self.policy.products) * of.products, of.reward)
        return [float(x) for x in sums.ravel()]

    def join(self, user: Arrival) -> None:
        """The reward of a user has arrived: the device joins the open cohort, which may close."""
        adds = self.describe_user(user.arm, user.z, user.reward)
        self.open.append(RehearsedDevice(user.name, adds, self.channel, user.agreed))
        n = len(self.open)
        if not self.is_due(n):
            return
        devices, self.open = self.open, []
        with explain_refusal(self.policy, n):
            self.channel.check_size(n)
            found = carry_cohort(self.cohorts, 0, devices, self.bits, self.models * self.size)
        if found is not None:
            answers, sums = found
            self.releases += self.models
            for model, of_model in enumerate(np.reshape(sums, (self.models, self.size))):
                self.policy.tell(self.state, self.law, model, answers, of_model)
            self.agreed = self.find_size()


def rehearse_contexts(
    policy: ContextualPolicy,
    channel: Channel,
    contexts: Contexts,
    name: str,
    marks: Integers,
    delay: Delay,
    streams: Any,
) -> Finished:
    """One run, as `run_contexts` in context_loop.py; the last of the marks is the horizon."""
    keys, of_rewards, of_noise, of_policy, of_delays = streams
    horizon, world, lags = int(marks[-1]), contexts.parameters(), delay.parameters()
    study = ContextRehearsal(policy, channel, contexts, name, horizon, Bits(of_noise.bytes))
    signed, stream, x = contexts.signed, Rewards(of_rewards, keys), np.zeros((contexts.rows, contexts.d))
    regrets, rewards, pulls = np.zeros(len(marks)), np.zeros(len(marks)), np.zeros(contexts.k, np.int64)
    late = list[tuple[int, int, Arrival]]()  # when each reward arrives, those of one time by user
    mark, regret, total = 0, 0.0, 0.0
    for t in range(horizon):
        pool = contexts.present(world, t, t, x, stream)
        while late and late[0][0] <= t:
            study.join(heappop(late)[2])
        user, size = str(t), study.agreed
        study.cohorts.charge(user, size)
        arm = int(
            policy.ask(study.state, x, world.arms[world.starts[pool] : world.starts[pool + 1]], study.law, of_policy)
        )
        reply = contexts.answer(world, t, t, x, arm, stream)
        pulls[arm] += 1
        regret, total = regret + (reply.best - reply.mean), total + reply.reward
        due = t + 1 + draw_delay(lags, of_delays)
        lost = lags.lost > 0.0 and of_delays.random() < lags.lost
        z = np.zeros(contexts.d)
        policy.direction(study.state, arm, x[arm if len(x) > 1 else 0], z)
        clip_vector(z, signed)
        heappush(late, (due, t, Arrival(user, size, arm, z, lags.default if lost else float(reply.reward))))
        mark = marked(marks, mark, t + 1, regret, total, regrets, rewards)
    if study.cohorts.thrown_away and not study.releases:
        study.cohorts.give_up()
    counts = np.zeros(7, np.int64)
    counts[[USERS, EVENTS, MATCHED]], counts[RELEASES] = horizon, study.releases
    loss = policy.loss(study.cohorts.loss(), horizon)
    findings = policy.findings(study.state) | {"thrown_away": study.cohorts.thrown_away}
    return Finished(counts, np.array([regret, total]), np.zeros(5), regrets, rewards, pulls, loss, findings)
