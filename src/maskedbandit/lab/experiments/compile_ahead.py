"""What is compiled ahead, so that nobody waits for it: by short studies, of which nothing but the code is kept.

What the compiler makes depends on the types of a study, and not on its numbers: a thousand people are enough. Studies
are divided among processes, which share what they compile by the user's folder of kernels (engine/kernel_cache.py).
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from typing import Any, NamedTuple

from maskedbandit import channels, policies
from maskedbandit.channels.channel import find_backend
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE, Constant
from maskedbandit.lab.engine.kernel_folder import ROOM, find_kernel_folder, is_usable_folder
from maskedbandit.lab.experiments.examples import find_experiment, find_packaged_folder
from maskedbandit.lab.experiments.names import TABLES
from maskedbandit.lab.goals import find_goal, list_goals
from maskedbandit.lab.goals.setting import Setting
from maskedbandit.lab.worlds.bernoulli import Bernoulli
from maskedbandit.lab.worlds.linear_contexts import LinearContexts
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.policies.parts.purposes import list_purposes

MOST_PEOPLE_AHEAD = 1000  # in a study of which only the code is kept
LAB_POLICY = "noise_aware_klucb"  # the one with which the lab begins
TASK = {"horizon": MOST_PEOPLE_AHEAD, "max_pulls": MOST_PEOPLE_AHEAD, "delta": 0.1}
ARMS, CONTEXTS = Bernoulli([0.9, 0.8, 0.6]), LinearContexts(d=3, k=3, model="shared", fixed=True)


class Ahead(NamedTuple):
    """A setting whose code is wanted, and the name of its goal."""

    label: str
    goal: str
    setting: Setting


class MadeCode(NamedTuple):
    """What was compiled for it."""

    label: str
    seconds: float
    size: int  # bytes


def list_common_policies() -> list[str]:
    """The names of the policies with which studies begin: that of the lab, and those of live studies."""
    return [LAB_POLICY, *(each.live for each in list_purposes().values() if each.live)]


def list_settings_ahead(name: str) -> list[Ahead]:
    """The settings of a policy on every channel that suits it, or of an experiment, by name or, of that, by file."""
    packaged = (find_packaged_folder() / f"{name}.toml").exists() and name not in policies.room
    if packaged or name.endswith(".toml"):
        from maskedbandit.lab.experiments.experiment import read_experiment  # it needs the extra `lab`

        experiment = read_experiment(find_experiment(name))
        settings = [each for each in experiment.settings if isinstance(each, Setting)]
        ideal = [each for each in settings if find_backend(each.channel) is None]  # real protocols run as Python
        return [Ahead(f"{each.id}, {each.label}", experiment.goal.name, each) for each in ideal]
    return list(list_policy_settings(name))


def list_policy_settings(name: str) -> Iterator[Ahead]:
    """A policy on every channel that suits it, with rewards that are there at once, and with late ones."""
    policy = TABLES.made("policy", name)
    instance: Any = CONTEXTS if isinstance(policy, ContextualPolicy) else ARMS
    could = (each for each in list_goals().values() if isinstance(instance, each.worlds))
    goal = next(each for each in could if policy.goal in each.policies)
    task = goal.read_task({key: TASK[key] for key in goal.asks}, instance)
    for carried in channels.room:
        given = {"epsilon": 0.5} if "epsilon" in TABLES.parameters("channel", carried) else {}
        channel = TABLES.made("channel", {"name": carried, **given})
        for delay, said in ((AT_ONCE, ""), (Constant(10), ", late")):
            try:
                goal.check(policy, channel, instance, delay, task)
            except InvalidValue:
                continue
            label = f"{name}, {carried}{said}"
            yield Ahead(label, goal.name, Setting(label, label, policy, channel, instance, task, 1, 0, {}, delay))


def compile_ahead(wanted: Sequence[Ahead], any_processor: bool, tell: Callable[[MadeCode], object]) -> None:
    """Compile what these settings need and is not in the user's folder, and tell of each as it is done."""
    folder = find_kernel_folder()
    if not is_usable_folder(folder):
        raise InvalidValue("the folder of compiled kernels", str(folder), "one that only you can write")
    how: dict[str, Any] = {"mp_context": get_context("spawn"), "initializer": begin_to_compile}
    with ProcessPoolExecutor(os.cpu_count(), **how, initargs=(any_processor,)) as workers:
        done = [workers.submit(compile_setting, each) for each in wanted]
        try:
            for each in as_completed(done):
                tell(each.result())
        except BaseException:
            workers.shutdown(wait=False, cancel_futures=True)
            raise


def begin_to_compile(any_processor: bool) -> None:
    """Have this process compile whatever it runs, for its own processor or for any."""
    import numba

    config: Any = numba.config
    os.environ["MASKEDBANDIT_KERNELS"] = "compiled"
    if any_processor:
        config.CPU_NAME, config.CPU_FEATURES = "generic", ""


def compile_setting(wanted: Ahead) -> MadeCode:
    """Run a short study of a setting, after which all of its code is in the folder."""
    start, before, setting = time.monotonic(), ROOM.taken, wanted.setting
    few = {key: min(value, MOST_PEOPLE_AHEAD) for key, value in setting.task.items() if key in ("horizon", "max_pulls")}
    with suppress(InvalidValue):  # of a cohort that is too small for its channel, once the loop has made it
        find_goal(wanted.goal).run(replace(setting, task=setting.task | few, runs=1))
    return MadeCode(wanted.label, time.monotonic() - start, ROOM.taken - before)
