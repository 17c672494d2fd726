"""A stored study with people of the lab: the study is real, and its people, their rewards and the time are simulated.

Person i comes i * `every` after the start, sees the arm at once and reports at once, or never with probability `lost`.
A cohort is closed at the deadline of its last place all the same, so with a window of W the study is that of the lab
with a delay of W / every. As many people come as the study has places, as in the lab; whoever comes while the policy
waits has none. Each person's reward is keyed by the person's number: a simulation that was interrupted goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from maskedbandit.checks import is_number
from maskedbandit.errors import Conflict, InvalidValue
from maskedbandit.lab.experiments.names import TABLES
from maskedbandit.lab.streams import Rewards, Streams, draw_uniform
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.privacy.exact import to_whole
from maskedbandit.privacy.sampling import Bits
from maskedbandit.store import people
from maskedbandit.store.arms import change_arms
from maskedbandit.store.due import do_what_is_due
from maskedbandit.store.session import Session
from maskedbandit.store.study import Study
from maskedbandit.study.naming import refuse_unknown
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.reward import parse_duration

WHAT = ("pause", "resume", "add")  # is done to an arm
SIMULATION_KEYS = ("instance", "guardrail", "metrics", "changes", "every", "lost", "seed")
TOGETHER = 200  # people in a transaction
MOST = 10**7  # of a search that does not end
YEAR, EARLIEST = 31_536_000_000, 946_684_800_000  # milliseconds; and the year 2000


class Change(NamedTuple):
    """Before person `at` comes, an arm is paused, resumed or added."""

    at: int
    what: str
    arm: str

    @classmethod
    def of(cls, given: Any) -> Change:
        """One of the tables of `changes`."""
        found = [what for what in WHAT if isinstance(given, dict) and what in given]
        if len(found) != 1:
            raise InvalidValue("changes of [simulation]", given, 'tables such as { at = 5000, pause = "b" }')
        refuse_unknown("key of changes", given, ("at", found[0]))
        return cls(to_whole("at", given.get("at"), 0), found[0], given[found[0]])


class Simulated(NamedTuple):
    """What a [simulation] table says."""

    instance: Instance
    further: tuple[Instance, ...]  # of the guardrail, if there is one, and of the metrics
    every: int  # milliseconds between two people
    lost: float
    seed: int
    changes: tuple[Change, ...]  # of the arms

    @classmethod
    def of(cls, protocol: Protocol) -> Simulated:
        """The table of a protocol."""
        if protocol.operators is not None:
            allowed = "one without operators: those are rehearsed by experiments of the lab, with the same channel"
            raise InvalidValue("channel", protocol.channel, allowed)
        if protocol.sites is not None:
            allowed = "one without sites: those are rehearsed by `sites-demo`, and by experiments with the same channel"
            raise InvalidValue("channel", protocol.channel, allowed)
        if protocol.rounds is not None:
            allowed = "one without rounds of devices: those are rehearsed by `devices-demo --trust secagg`"
            raise InvalidValue("channel", protocol.channel, allowed)
        given = protocol.table.get("simulation")
        if not isinstance(given, dict):
            raise InvalidValue("simulation", given, "a [simulation] table with the instance of the lab that is played")
        refuse_unknown("key of [simulation]", given, SIMULATION_KEYS)
        listed = given.get("changes", [])
        if not isinstance(listed, list):
            raise InvalidValue("changes of [simulation]", listed, "a list of tables")
        changes = tuple(map(Change.of, listed))
        k = protocol.k - len(protocol.added) + sum(each.what == "add" for each in changes)
        instance = instance_of(k, given.get("instance"))
        guardrail = {} if protocol.guardrail is None else {protocol.guardrail.name: given.get("guardrail")}
        metrics = given.get("metrics", {})
        if (protocol.guardrail is None) != ("guardrail" not in given):
            allowed = "an instance of the lab, if the study has a guardrail, and only then"
            raise InvalidValue("guardrail of [simulation]", given.get("guardrail"), allowed)
        if not isinstance(metrics, dict) or metrics.keys() != {each.name for each in protocol.metrics}:
            allowed = "a table with an instance of the lab for each metric of the study, by its name"
            raise InvalidValue("metrics of [simulation]", metrics, allowed)
        if instance.statistics.cap != protocol.reward.cap:
            allowed = f"one whose people have as many rewards that count as the protocol says, {protocol.reward.cap}"
            raise InvalidValue("instance of [simulation]", instance, allowed)
        further = list[Instance]()
        for outcome in protocol.outcomes[1:]:
            played = instance_of(k, (guardrail | metrics)[outcome.metric])
            if played.statistics.cap != (cap := outcome.reward.cap):
                allowed = f"one whose people have as many outcomes that count as the protocol says, {cap}"
                raise InvalidValue(f"{outcome.metric} of [simulation]", played, allowed)
            further.append(played)
        if not is_number(lost := given.get("lost", 0)) or not 0 <= lost <= 1:
            raise InvalidValue("lost", lost, "a probability")
        every = parse_duration("every", given.get("every", "1 second"), 0)
        return cls(instance, tuple(further), every, float(lost), to_whole("seed", given.get("seed", 1), 0), changes)


def instance_of(k: int, given: Any) -> Instance:
    """An instance of all arms that a study ever has."""
    instance = TABLES.made("instance", given)
    if not isinstance(instance, Instance) or instance.true_means().size != k:
        raise InvalidValue("instance", instance, f"one of arms, as many as the study ever has, {k}")
    return instance


class Clock:
    """The time of a simulated study, which the simulation sets."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


class Played(NamedTuple):
    """What was simulated now."""

    people: int
    over: int  # their budgets, who were served
    regret: float  # each with the arm that is best for this person


def came(study: Study, every: int) -> int:
    """How many people came so far: the study had seen the time of the last but one when the last one began."""
    since = study.time - study.began
    return since // every + 2 if every and since else study.people


def people_to_come(protocol: Protocol) -> int | None:
    """How many people come in all; None if they come until the study has its answer, some while nobody gets a place."""
    return protocol.people if protocol.policy.purpose.serves else None


def choose_start(protocol: Protocol, now: int) -> int:
    """When a simulation begins that is to be over by now; a search is, if its people come within a year.

    >>> protocol = Protocol.from_table({
    ...     "name": "example", "people": 10, "policy": "ucb1", "channel": {"name": "central", "epsilon": 1},
    ...     "arms": [{"name": "a"}, {"name": "b"}], "budget": {"epsilon": 1}, "reward": {"window": "1 hour"},
    ...     "simulation": {"instance": {"name": "bernoulli", "means": [0.1, 0.2]}, "every": "1 minute"}})
    >>> (1_795_305_600_000 - choose_start(protocol, 1_795_305_600_000)) / 60_000 > 10 + 60
    True
    """
    every, people, reward = Simulated.of(protocol).every, people_to_come(protocol), protocol.reward
    coming = YEAR if people is None else people * every
    return max(now - coming - 3 * (reward.taken_for + reward.exposure + 1), EARLIEST)


def play_study(study: Study, clock: Clock, advance: Callable[[int], None]) -> Played:
    """Play a running study to its end: all people who come, and then the releases that are due."""
    protocol, simulated, bits = study.protocol, Simulated.of(study.protocol), Bits()
    every, last = simulated.every, people_to_come(protocol)
    world = simulated.instance.parameters()
    streams = Streams(simulated.seed, protocol.name)
    of_people: Any = streams.of(run=0)
    stream, chances = Rewards(of_people[1], of_people[0]), Rewards(of_people[1], streams.of(run=1)[0])
    further = [(each, Rewards(of_people[1], streams.of(run=2 + i)[0])) for i, each in enumerate(simulated.further)]
    first, over, regret, began = came(study, every), 0, 0.0, study.began

    def come(session: Session, i: int) -> None:
        nonlocal over, regret
        if last is None and study.answer is not None:
            return  # the study has ended within these people
        clock.now = began + i * every
        do_what_is_due(session)
        for each in simulated.changes:
            if each.at == i:
                with suppress(Conflict):  # the rule was faster
                    change_arms(session, "", each.what, each.arm)
        given = people.enrol(session, session.pseudonym(f"person {i}"))  # whomever a rule turns away does not come
        known = simulated.instance.expected(world, given.arm, i)
        regret += float(known.best - known.mean)
        if given.ticket is None:
            over += given.why == "budget_exceeded"
            return
        people.expose(session, given.ticket)
        if is_lost(i):
            return
        found = [float(simulated.instance.one(world, given.arm, i, 0, stream))]
        found += [float(each.one(each.parameters(), given.arm, i, 0, rewards)) for each, rewards in further]
        for j, (outcome, scaled) in enumerate(zip(protocol.outcomes, found, strict=True)):
            values = outcome.reward.reports(scaled)
            if outcome.on_devices:
                values = [outcome.channel.randomize(scaled, given.offers[j], bits)]
            for nth, value in enumerate(values):
                people.report(session, given.ticket, value, str(nth or ""), outcome.metric)

    def is_lost(i: int) -> bool:
        return simulated.lost > 0 and float(draw_uniform(chances, i)) < simulated.lost

    def alone() -> bool:
        return len(study.in_play) == 1 and all(each.at < i for each in simulated.changes)

    i = first
    with np.errstate(over="ignore"):  # the stream of rewards counts modulo 2^64
        while (i < last if last is not None else study.answer is None) and i < (last or MOST):
            if study.state != "running" or (last is None and alone()):
                break  # all its arms did harm, or there is nothing to compare any more
            many = min(TOGETHER, (last or MOST) - i)
            for done in study.apply([(come, each) for each in range(i, i + many)]):
                done.value()
            i += many
            advance(many)
            if last is None and every == 0:  # all come at the same moment, and the next ones when these are released
                clock.now = study.time + protocol.reward.taken_for + protocol.reward.exposure + 1
                study.tick()
        clock.now = began + i * every + protocol.reward.taken_for + protocol.reward.exposure + 1
        while study.tick():
            clock.now += protocol.reward.taken_for + 1
    return Played(i - first, over, regret)
