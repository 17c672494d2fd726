"""The engine: one loop that drives every policy over every channel on every instance.

It simulates releases, not rewards: a policy that asks for n users costs one draw of their summed rewards and one of the
noise, so a run costs time by release, not by round. The loop below is a plain function; `compiled` fills it with the
kernels of a policy, a channel and an instance and compiles it, once per machine. The same loop runs as Python with the
environment variable MASKEDBANDIT_KERNELS=python, and gives the same numbers. `simulate` and `identify` differ in what a
stop does: the answer is served to the users who are left, or ends the run.

A cohort that is closed is released when the last of its rewards has arrived, and the policy gets it at once. While the
policy asks for no users, new users are served the arm that it names, or else the one with the highest mean in the
releases, and their rewards are not collected. Cohorts that the policy asked for together are dealt together, as the
places of a deck (deck.py), and are due together.

Policies that ask for single users spend all their time here, so a step does little: values that depend only on the size
of a cohort are kept until the size changes, and an open cohort is recorded only if it stays open.

Every run has random streams of its own (see `Streams`): numbers do not depend on threads, on the order of runs, or on
how many there are. All decisions of a run draw from one stream, because a generator for each would cost more than
most decisions do; rehearsals and services have one for each (study/decisions.py).
"""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from maskedbandit.core import TOGETHER, Integers, Kernel, large_kernel, lean_kernel
from maskedbandit.lab.delays.delay import Delays
from maskedbandit.lab.engine.books import Books, is_whole, open_books, send_cohort
from maskedbandit.lab.engine.checkpoints import marked
from maskedbandit.lab.engine.compiler import HOOK, bind_hooks, check_kernel
from maskedbandit.lab.engine.deck import Progress, best_released, place_cohort
from maskedbandit.lab.engine.in_flight import first_due, pop_due_slot
from maskedbandit.lab.engine.outcomes import (
    BAD_ARM,
    BAD_CLOSE,
    BAD_COUNT,
    BAD_DECK,
    DEADLOCK,
    DONE,
    MORE_RELEASES,
    MORE_SIZES,
    MORE_SLOTS,
    NO_FIT,
    TOO_WIDE,
    UNSIZED,
    Out,
    note_size,
    too_wide,
)
from maskedbandit.lab.streams import Rewards
from maskedbandit.lab.worlds.instance import find_highest_mean
from maskedbandit.law import Law, count_steps, draws_of_one

# what the loop calls: a policy, a channel, a delay and a world, see `kernels`
ask = tell = perturb = noise = late = one = many = expected = earn = deal = HOOK
moves = delayed = loses = kept = HOOK  # whether means move, whether rewards are late, or lost, and releases are kept


def run_arms(
    s: Any,
    law: Law,
    parameters: Any,
    memory: Any,
    instance: Any,
    delay: Delays,
    horizon: int,
    serve: bool,
    marks: Integers,
    out: Out,
    keys: npt.NDArray[np.uint64],
    of_rewards: np.random.Generator,
    of_noise: np.random.Generator,
    of_policy: np.random.Generator,
    of_delays: np.random.Generator,
    books: Books,
) -> int:
    """One run of at most `horizon` users, of whom the last get the answer of a stop if `serve`; how it ended."""
    k, best, stream = out.pulls.size, find_highest_mean(instance.means), Rewards(of_rewards, keys)
    open_n, open_total, seen_n, seen_total, flight, closed, deck = books
    aloft, cohorts, left = 0, 0, 0  # in flight; on the deck; places of the deck that are left
    t, mark, regret, rewards, releases, epoch = 0, 0, 0.0, 0.0, 0, 0
    next_mark = marks[0]
    size, released_size, scale, width, count = 0, 0, 0, 0.0, 0.0  # of the last cohort that was closed, and released
    while t < horizon:
        decision = ask(s, law, of_policy)
        arm, n = decision.arm, decision.n
        idle, waits, ready = n == 0, arm == -1 and n == 0, False
        stop = idle and (aloft == 0 or not serve)
        if waits:
            if aloft == 0:
                return DEADLOCK  # the policy has every release, so there is none to wait for
            arm, stop = best_released(seen_n, seen_total), False
        else:
            out.last[0], out.last[1] = arm, n
            if arm < 0 or arm >= k:
                return BAD_ARM
            if n < 0:
                return BAD_COUNT
        if cohorts > 0 or decision.close == TOGETHER:
            if idle or decision.close == 0 or open_n[arm] > 0 or not place_cohort(deck, cohorts, arm, n):
                return BAD_DECK
            cohorts, left = cohorts + 1, left + n
            if decision.close == TOGETHER:
                continue
        before, total = open_n[arm], open_total[arm]
        if stop:
            if not serve:
                break
            n = horizon - t
        elif idle:
            n = first_due(flight) - t
            if arm == -1:  # nothing was released: those who come meanwhile are spread evenly
                for a in range(k):
                    place_cohort(deck, a, a, n * (a + 1) // k - n * a // k)
                cohorts, left = k, n
        elif law.root > 0.0 and (decision.close == 0 or open_n[arm] > 0):
            return UNSIZED
        if cohorts > 0:
            end = min(t + left, horizon)
            far = Progress(mark, regret, rewards)
            far = deal(deck, cohorts, law, instance, delay, moves(), t, end, marks, far, out, stream, of_delays)
            mark, regret, rewards = far
            next_mark = marks[min(mark, marks.size - 1)]
            wait, whole, t = 0 if idle else late(delay, left, of_delays), is_whole(end, t + left), end
            for i in range(0 if idle else cohorts):
                if not note_size(out.sizes, deck.n[i]):
                    return MORE_SIZES
                if whole:
                    if not send_cohort(books, t + wait, deck.arm[i], deck.n[i], deck.total[i], epoch):
                        return MORE_SLOTS
                    aloft += 1
            cohorts, left, epoch = 0, 0, epoch + 1
        else:
            g = count_steps(law, n)
            end = min(t + n, horizon)
            planned, whole = before + n, is_whole(end, t + n)
            out.pulls[arm] += end - t
            while t < end:
                users = 1 if moves() else min(end, next_mark) - t
                if loses():
                    earned = earn(instance, delay, arm, t, users, g, stream, of_delays)
                    x, told = earned
                else:  # not by `earn`, of which the compiler makes slower code
                    x = one(instance, arm, t, g, stream) if users == 1 else many(instance, arm, users, g, stream)
                    told = x
                total += told
                rewards += x / g if g > 0 else x
                if moves():  # what the best arm pays more than `best` is no merit of the policy
                    now = expected(instance, arm, t)
                    regret, rewards = regret + now.best - now.mean, rewards - (now.best - best)
                else:
                    regret += (best - instance.means[arm]) * users
                t += users
                if t == next_mark:
                    mark = marked(marks, mark, t, regret, best * t - rewards, out.regret, out.realised)
                    next_mark = marks[min(mark, marks.size - 1)]
            if stop:
                break
            if not idle:
                if decision.close == 1 and whole:
                    epoch += 1
                    if before > 0:
                        open_n[arm], open_total[arm] = 0, 0.0
                    if planned != size and not note_size(out.sizes, planned):
                        return MORE_SIZES
                    size = planned
                    wait = late(delay, planned, of_delays)
                    ready = wait == 0
                    if wait > 0:
                        if not send_cohort(books, t + wait, arm, planned, total, epoch - 1):
                            return MORE_SLOTS
                        aloft += 1
                elif decision.close < 0 or decision.close > 1:
                    out.last[1] = decision.close
                    return BAD_CLOSE
                else:
                    open_n[arm], open_total[arm] = planned, total
        while True:  # whatever is there by now is released: what is in flight came before what was closed just now
            if aloft > 0 and first_due(flight) <= t:
                slot = pop_due_slot(flight)
                arm, n, x = int(closed[slot, 0]), int(closed[slot, 1]), closed[slot, 2]
                of = int(closed[slot, 3])
                aloft -= 1
            elif ready:
                arm, n, x, of, ready = decision.arm, planned, total, epoch - 1, False
            else:
                break
            if n != released_size:
                released_size, scale = n, count_steps(law, n)
                width, count = law.scale * scale, draws_of_one(law, n)
                if too_wide(width, count, n, scale):
                    out.last[1] = n
                    return TOO_WIDE
            z = noise(width, count, of_noise)
            released = perturb(parameters, memory, law, arm, x, n, z, of_noise)
            if released != released:
                out.last[1] = n
                return NO_FIT
            if kept():
                if releases == out.recorded.shape[0]:
                    return MORE_RELEASES
                row = out.recorded[releases]
                row[0], row[1], row[2], row[3] = arm, n, released, of
            releases += 1
            if delayed():
                seen_n[arm] += n
                seen_total[arm] += released
            tell(s, arm, n, released)
    out.releases[0] = releases
    for arm in range(k):  # these users sent what they had, though nothing of it is released
        if open_n[arm] > 0 and not note_size(out.sizes, open_n[arm]):
            return MORE_SIZES
    return DONE


run = HOOK  # the loop as a kernel, see `running`


def whole_run(
    s: Any,
    law: Law,
    parameters: Any,
    memory: Any,
    instance: Any,
    delay: Delays,
    horizon: int,
    serve: bool,
    marks: Integers,
    out: Out,
    keys: npt.NDArray[np.uint64],
    of_rewards: np.random.Generator,
    of_noise: np.random.Generator,
    of_policy: np.random.Generator,
    of_delays: np.random.Generator,
    slots: int,
) -> int:
    """One run of `loop`, with room for so many cohorts in flight."""
    books = open_books(out.pulls.size, slots)
    drawn = of_rewards, of_noise, of_policy, of_delays
    return run(s, law, parameters, memory, instance, delay, horizon, serve, marks, out, keys, *drawn, books)


@cache
def make_run_kernel(**names: Kernel[Any, Any]) -> Kernel[Any, int]:
    """The loop with these kernels.

    It makes no arrays itself: references to those that it is given would be counted wherever it returns, and half of
    what is compiled would count. Its kernels may make some.
    """
    found = {name: check_kernel(name, each) for name, each in names.items()}
    scope = {name: Kernel(each.function, **{"_nrt": True, **each.options}) for name, each in found.items()}
    return large_kernel(lean_kernel(bind_hooks(run_arms, scope)))
