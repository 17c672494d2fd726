"""The sources of the releases that `estimate` reads, and checks of them."""

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.checks import LARGEST_COHORT, is_number
from maskedbandit.core import UNKNOWN, Floats, Release
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.goals.identify.identify import Found
from maskedbandit.lab.goals.regret.simulate import Run
from maskedbandit.lab.goals.select.select import Selected
from maskedbandit.privacy.exact import to_whole
from maskedbandit.privacy.statistics import SINGLE_REWARD
from maskedbandit.reports.estimate.bias import LONGER, PlayedStudy
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.entries import read_entries
from maskedbandit.store.study import Study
from maskedbandit.words import say_decimal

ReleaseTable = Floats

MOST_ESTIMATED_ARMS = 10**4


class Source(NamedTuple):
    """A source of releases."""

    what: str
    rows: ReleaseTable  # [releases, 4] the fields of `Release`
    channel: Channel
    names: tuple[str, ...]
    least: float = 0.0  # of a reward, in its units
    most: float = 1.0
    played: PlayedStudy | None = None  # how to simulate it, if that is known
    unplayed: str = "nothing is known of how arms were assigned"  # why it cannot be simulated
    control: int | None = None  # the arm that was dealt together with all others, if there is one


def source_of(what: Any, channel: Channel | None, run: int | None) -> Source:
    """The source of the releases, or raise `InvalidValue`."""
    if channel is not None and isinstance(what, Run | Found | Selected | Study):
        raise InvalidValue("channel", channel, "left out unless a list of releases is estimated from")
    if isinstance(what, Run | Found | Selected):
        return source_of_run(what, run)
    if run is not None:
        raise InvalidValue("run", run, "left out unless several runs are estimated from")
    if isinstance(what, Study):
        return source_of_study(what)
    known = list(what) if isinstance(what, Iterable) else []
    if not all(isinstance(each, Release) for each in known) or len({each.epoch == UNKNOWN for each in known}) != 1:
        said = "a result of simulate, identify or select, a study, or a list of releases, each or none with an epoch"
        raise InvalidValue("what", what, said)
    if not isinstance(channel, Channel):
        raise InvalidValue("channel", channel, "the channel of these releases, such as Central(epsilon=1)")
    rows, most = table_releases(check_known_releases(known)), float(getattr(channel, "statistics", SINGLE_REWARD).cap)
    names = tuple(map(str, range(int(rows[:, 0].max()) + 1)))
    return Source(f"{type(channel).__name__}{cut(most > 1, most)}", rows, channel, names, most=most)


def cut(several: bool, most: float) -> str:
    """What the means are of, if people have several rewards: rewards above the cap are in no release."""
    return f", sums of a person's rewards cut at {say_decimal(most)}" if several else ""


def check_known_releases(known: Sequence[Release]) -> list[Release]:
    """These releases, or raise `InvalidValue`; those without an epoch were not dealt together with any other.

    >>> check_known_releases([Release(0, 10, 4.0), Release(0, 0, 4.0)])
    Traceback (most recent call last):
    maskedbandit.errors.InvalidValue: n of release 1 is 0: it must be a whole number of at least 1
    """
    found, seen = [], set()
    for i, each in enumerate(known):
        arm = to_whole(f"the arm of release {i}", each.arm, 0, MOST_ESTIMATED_ARMS - 1)
        n = to_whole(f"n of release {i}", each.n, 1, LARGEST_COHORT)
        if not is_number(each.total) or not abs(each.total) <= sys.float_info.max:
            raise InvalidValue(f"the total of release {i}", each.total, "a finite number")
        epoch = -1 - i
        if each.epoch != UNKNOWN:
            epoch = to_whole(f"the epoch of release {i}", each.epoch, 0, LARGEST_COHORT)
        if (arm, epoch) in seen:
            said = f"another one: arm {arm} has a release of this epoch already, and an arm is in an epoch once"
            raise InvalidValue(f"the epoch of release {i}", epoch, said)
        seen.add((arm, epoch))
        found.append(Release(arm, n, float(each.total), epoch))
    return found


def source_of_run(result: Run | Found | Selected, run: int | None) -> Source:
    """One of the runs of a result."""
    if result.recorded is None:
        raise InvalidValue("what", result, "a result that has its releases: run it with keep_releases=True")
    numbers = range(result.runs_from, result.runs_from + len(result.recorded))
    one = numbers[0] if run is None and len(numbers) == 1 else run
    if isinstance(one, bool) or not isinstance(one, int | np.integer) or one not in numbers:
        raise InvalidValue("run", run, f"the number of one run, from {numbers[0]} to {numbers[-1]}")
    i = int(one) - result.runs_from
    rows, people = result.recorded[i], int(result.pulls[i].sum())
    if isinstance(result, Run):
        played = PlayedStudy(result.policy, result.horizon, result.delay, result.horizon)
    else:
        most = max(min(LONGER * people, result.max_pulls), result.pulls.shape[1])
        played = PlayedStudy(result.policy, result.delta, result.delay, most)
    cap, several = float(result.instance.statistics.cap), not result.instance.tells_all
    title = f"{type(result.policy).__name__} over {type(result.channel).__name__}{cut(several, cap)}"
    names = tuple(map(str, range(result.pulls.shape[1])))
    return Source(title, rows, result.channel, names, most=cap, played=played)


def source_of_study(study: Study) -> Source:
    """The releases of a stored study so far. If its policy has not ended it, simulations end at as many people."""
    protocol, rows = study.protocol, table_releases(study.recorded())
    names, reward = tuple(name for name, _ in protocol.arms), protocol.reward
    title = f"{study.name}{cut(reward.cap > 1, reward.highest)}"
    source = Source(title, rows, protocol.channel, names, reward.least, reward.highest)
    if Book(study.name, protocol, read_entries(study.database, study.name, "arm_")).stages:
        return source._replace(unplayed="its arms changed, and only the first stage of a study can be simulated")
    if protocol.control is not None:
        why = "it has a control arm, and simulations have none"
        return source._replace(unplayed=why, control=protocol.control_arm)
    people = int(rows[:, 1].sum())
    most = min(LONGER * people, protocol.people or LONGER * people)
    released = people if study.answer is None else math.inf
    return source._replace(played=PlayedStudy(protocol.policy, protocol.aim, AT_ONCE, most, released))


def table_releases(recorded: Iterable[Release]) -> ReleaseTable:
    """Releases as an array."""
    return np.array(list(recorded), np.float64).reshape(-1, 4)
