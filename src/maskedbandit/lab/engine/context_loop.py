"""The loop of contextual studies: one user at a time, on simulated contexts or on a log.

An event shows contexts and a pool of arms; the policy chooses one. A simulated event has a reward for every arm, an
event of a log only for the one that was tried, and otherwise it is nobody's (see replay.py). The reward of a user
arrives after a delay. Then the user's statistics go to the open cohorts, and a cohort that is due is released, with one
draw of noise for every number.

The loop keeps everything in `Progress` and can go on with the next chunk of a log.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.core import Floats, Integers, kernel
from maskedbandit.lab.delays.delay import draw_delay
from maskedbandit.lab.engine.checkpoints import marked
from maskedbandit.lab.engine.compiler import HOOK
from maskedbandit.lab.engine.in_flight import InFlight, first_due, pop_due_slot, push_slot
from maskedbandit.lab.engine.outcomes import BAD_ARM, DONE, MORE_SIZES, NO_FIT, TOO_WIDE, note_size, too_wide
from maskedbandit.lab.streams import Rewards
from maskedbandit.law import Law, count_steps, draws_of_one, is_noiseless
from maskedbandit.privacy.statistics import clip_vector

USERS, MARK, RELEASES, EVENTS, MATCHED, FLIGHTS, FAULT = range(7)
REGRET, REWARD = range(2)
WEIGHT, SQUARE, VALUE, VALUE_SQUARE, BOTH = range(5)


class ContextProgress(NamedTuple):
    """The state of a run."""

    counts: Integers  # [7] users served, mark, releases, events seen, events whose arm was tried, ..., last fault
    totals: Floats  # [2] regret and reward so far
    tallies: Floats  # [5] sums of w, w^2, w r, (w r)^2, w^2 r over events, w = 1 / propensity where the arm was tried
    regret: Floats  # [c] at the marks
    reward: Floats  # [c]
    pulls: Integers  # [k]
    sizes: Integers  # the different sizes of released cohorts, then zeros
    open: Integers  # [m] users in the open cohort of each model
    sums: Floats  # [m, size] what they added
    release: Floats  # [size] the one under way
    x: Floats  # [rows, d] contexts of the event at hand
    flight: InFlight  # which rewards are on their way
    arm: Integers  # of each of them
    pool: Integers
    z: Floats  # [flights, d]
    paid: Floats


# what the loop calls: contexts, a policy and a channel
present = answer = ask = direction = factors = arrived = due = tell = perturb = noise = HOOK


@kernel
def add_statistics(sums: Floats, z: Floats, products: float, reward: float) -> None:
    """The statistics of a user: z_i z_j for i <= j times `products`, if they are added, then z times `reward`."""
    at = 0
    if sums.size > z.size:
        for i in range(z.size):
            for j in range(i, z.size):
                sums[at] += products * z[i] * z[j]
                at += 1
    for i in range(z.size):
        sums[at + i] += reward * z[i]


def run_contexts(
    s: Any,
    law: Law,
    parameters: Any,
    memory: Any,
    source: Any,
    delay: Any,
    events: int,
    horizon: int,
    least: float,
    products: float,
    signed: bool,
    marks: Integers,
    p: ContextProgress,
    keys: npt.NDArray[np.uint64],
    of_rewards: np.random.Generator,
    of_noise: np.random.Generator,
    of_policy: np.random.Generator,
    of_delays: np.random.Generator,
) -> int:
    """Go through so many events, until `horizon` users were served; how it ended.

    An event whose arm was tried with chance 1/w is taken with chance `least` * w: so each is as likely as all others.
    """
    stream, m, size = Rewards(of_rewards, keys), p.open.size, p.release.size
    hidden = products > 0.0 and not is_noiseless(law)
    for i in range(events):
        t = p.counts[USERS]
        if t >= horizon:
            break
        pool = present(source, i, t, p.x, stream)
        while first_due(p.flight) <= t:
            slot = pop_due_slot(p.flight)
            own = p.arm[slot] if m > 1 else 0
            arrived(s, p.arm[slot], p.z[slot])
            of = factors(s, own, p.z[slot], p.paid[slot])
            add_statistics(p.sums[own], p.z[slot], products * of.products, of.reward)
            begin, end = source.starts[p.pool[slot]], source.starts[p.pool[slot] + 1]
            if not hidden or m == 1:
                begin, end = 0, 1
            for at in range(begin, end):
                model = source.arms[at] if hidden and m > 1 else own
                p.open[model] += 1
                n = p.open[model]
                if not due(s, law, model, n):
                    continue
                g = count_steps(law, n)
                wide, count = law.scale * g, draws_of_one(law, n)
                if too_wide(wide, count, n, g):
                    p.counts[FAULT] = n
                    return TOO_WIDE
                for j in range(size):
                    total = p.sums[model, j]
                    z = noise(wide, count, of_noise)
                    total = total * g if g > 0 else total
                    total = perturb(parameters, memory, law, model * size + j, total, n, z, of_noise)
                    if total != total:
                        p.counts[FAULT] = n
                        return NO_FIT
                    p.release[j] = total
                    p.sums[model, j] = 0.0
                p.open[model] = 0
                p.counts[RELEASES] += 1
                if not note_size(p.sizes, n):
                    p.counts[FAULT] = p.sizes.size
                    return MORE_SIZES
                tell(s, law, model, n, p.release)
        arms = source.arms[source.starts[pool] : source.starts[pool + 1]]
        arm = ask(s, p.x, arms, law, of_policy)
        if arm < 0 or arm >= p.pulls.size:
            p.counts[FAULT] = arm
            return BAD_ARM
        reply = answer(source, i, t, p.x, arm, stream)
        w, reward = reply.weight, reply.reward
        taken = least * w >= 1.0 or (w > 0.0 and of_rewards.random() < least * w)
        if not taken or t + 1 < horizon:  # the visit that ends a run is taken for certain: it is in no estimate
            p.counts[EVENTS] += 1
            p.counts[MATCHED] += w > 0.0
            p.tallies[WEIGHT] += w
            p.tallies[SQUARE] += w * w
            p.tallies[VALUE] += w * reward
            p.tallies[VALUE_SQUARE] += w * w * reward * reward
            p.tallies[BOTH] += w * w * reward
        if not taken:
            continue
        p.pulls[arm] += 1
        p.totals[REGRET] += reply.best - reply.mean
        p.totals[REWARD] += reward
        slot = push_slot(p.flight, t + 1 + draw_delay(delay, of_delays))
        lost = delay.lost > 0.0 and of_delays.random() < delay.lost
        p.arm[slot], p.pool[slot], p.paid[slot] = arm, pool, delay.default if lost else reward
        direction(s, arm, p.x[arm if p.x.shape[0] > 1 else 0], p.z[slot])
        clip_vector(p.z[slot], signed)  # wherever it comes from: noise hides what is in the unit ball
        p.counts[USERS] = t + 1
        regret, rewards = p.totals[REGRET], p.totals[REWARD]
        p.counts[MARK] = marked(marks, p.counts[MARK], t + 1, regret, rewards, p.regret, p.reward)
    return DONE
