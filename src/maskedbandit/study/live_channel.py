"""The channel of a live study: those that can carry outcomes from people to a release.

With central and local trust a database is enough. Two servers need two operators, whose helper runs elsewhere: devices
seal for both, with proofs. With shuffled trust the second operator is the shuffler. Secure aggregation needs parties
that answer more than once: sites, or devices that stay.
"""

from collections.abc import Collection
from typing import Any

from maskedbandit.backends.backend import NoisyAdder
from maskedbandit.backends.secagg import SecAgg
from maskedbandit.backends.shuffler import Shuffler
from maskedbandit.backends.sites import Sites
from maskedbandit.channels.channel import Channel, find_backend
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.mixing_channel import MixingChannel
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.secagg.round_rules import AgreedRounds
from maskedbandit.study.device_rounds import DeviceRounds
from maskedbandit.study.naming import STUDY_PARTS, expand_table
from maskedbandit.study.operators import Operators
from maskedbandit.study.reward import Reward
from maskedbandit.study.sites import SitesOfStudy

MOST_STEPS = 2**20  # in one unit of reward: proofs of longer numbers make every report longer
MOST_COINS = 2**13  # of a cohort, whose only person would send as many messages
MANY_PEOPLE = 10**6  # in a cohort of a study that does not say how many come


def make_live_channel(
    given: Any, operators: Operators | None, sites: SitesOfStudy | None, rounds: DeviceRounds | None
) -> Channel:
    """The channel that a protocol with these operators, sites or rounds names, or raise `InvalidValue`."""
    found: Channel = STUDY_PARTS.made("channel", given if sites is None else put_shares(given, sites))
    backend = find_backend(found)
    if isinstance(backend, SecAgg):
        check_adding_devices(found, backend, rounds)
        for name, partners in (("operators", operators), ("sites", sites)):
            if partners is not None:
                raise InvalidValue(name, "given", "left out, as the outcomes stay on the devices")
        return found
    if rounds is not None:
        raise InvalidValue("rounds", "given", 'left out: only a channel with backend = "secagg" has rounds of devices')
    if isinstance(backend, Sites):
        if not isinstance(found, Distributed):  # each site draws the noise shares of its own people
            raise InvalidValue("channel", found, "distributed: sites carry the sum of no other channel")
        if sites is None:
            raise InvalidValue("sites", None, "a [sites] table with a list of the sites")
        if operators is not None:
            raise InvalidValue("operators", "given", "left out, as the outcomes stay at the sites")
        if backend.dropout:
            raise InvalidValue(
                "dropout", str(backend.dropout), "left out: sites of a live study are lost by themselves"
            )
        return found
    if sites is not None:
        raise InvalidValue("sites", "given", 'left out: only a channel with backend = "sites" has sites')
    if isinstance(backend, NoisyAdder) and backend.modulus:  # devices prove that their numbers are in range
        if operators is None:
            raise InvalidValue(
                "operators", None, "an [operators] table with leader and helper, who are the two servers"
            )
        if backend != type(backend)():
            raise InvalidValue("backend", backend, f"{type(backend)()}: it is people who drop out of a live study")
        return found
    if isinstance(found, MixingChannel) and isinstance(backend, Shuffler):
        if operators is None:
            raise InvalidValue("operators", None, "an [operators] table with leader and helper, who is the shuffler")
        if backend != Shuffler():
            raise InvalidValue("backend", backend, f"{Shuffler()}: in a live study `honest` says who may be missing")
        return found
    if hasattr(found, "backend") or found.trust not in ("central", "local"):
        allowed = (
            'one of central or of local trust, two_servers with backend = "prio3", one of a shuffler, or distributed '
            'with backend = "secagg"'
        )
        raise InvalidValue("channel", found, f"{allowed}: nothing carries the sum of other channels")
    if operators is not None:
        allowed = 'left out: only two_servers with backend = "prio3" and backend = "shuffler" have operators'
        raise InvalidValue("operators", "given", allowed)
    return found


def check_adding_devices(found: Channel, backend: SecAgg, rounds: DeviceRounds | None) -> None:
    """Raise `InvalidValue` unless the devices of a live study can add up by this backend."""
    if not isinstance(found, Distributed):  # each device draws its noise share
        raise InvalidValue("channel", found, "distributed: devices carry the sum of no other channel")
    if rounds is None:
        raise InvalidValue("rounds", None, "a [rounds] table, which says how long a phase waits for devices")
    if backend.server != "honest":
        allowed = "honest: in a live study nobody but the service could say whose the keys of devices are"
        raise InvalidValue("server", backend.server, allowed)
    if backend.dropout:
        raise InvalidValue("dropout", str(backend.dropout), "left out: devices of a live study are lost by themselves")
    AgreedRounds.from_table(AgreedRounds(backend.rules, backend.attempts).to_table(), "the backend")


def put_shares(given: Any, sites: SitesOfStudy) -> Any:
    """The table of a channel whose backend has the shares of these sites, which stand with the sites in a protocol."""
    if not isinstance(given, dict) or "backend" not in given:
        return given
    backend = dict(expand_table("backend", given["backend"]))
    if "shares" in backend:
        raise InvalidValue("shares of the backend", backend["shares"], "left out: each site of [sites] has its share")
    if backend.get("name") == "sites":
        backend["shares"] = [str(each.share) for each in sites.sites]
    return {**given, "backend": backend}


def check_live_outcomes(channel: Any, reward: Reward, further: Collection[str], people: int | None) -> None:
    """Raise `InvalidValue` unless the channel of a live study carries the reward, and what these `further` keys say."""
    if reward.grace and channel.trust == "central":
        raise InvalidValue(
            "grace of the reward",
            f"{reward.grace} ms",
            "left out: without devices cohorts close when the window is over",
        )
    mixed = isinstance(channel, MixingChannel)
    if channel.trust != "distributed" and not mixed:
        return
    if reward.grace and isinstance(find_backend(channel), SecAgg):
        allowed = "left out: when the window is over, rounds wait for devices in each phase"
        raise InvalidValue("grace of the reward", f"{reward.grace} ms", allowed)
    for key in sorted(further):
        raise InvalidValue(key, "given", "left out: what adds up here is one number of each person")
    if reward.cap == 1 and reward.rule != "last":
        raise InvalidValue(
            "rule of the reward",
            reward.rule,
            "last, or sum with a cap above 1: devices report all that is known by then",
        )
    if mixed:
        check_mixing(channel, reward)
        return
    if channel.noise != DiscreteLaplace():
        raise InvalidValue("noise", channel.noise, f"{DiscreteLaplace()}, which is what devices look for")
    if (steps := channel.steps(people or MANY_PEOPLE)) > MOST_STEPS:
        raise InvalidValue("grid", channel.grid, f"of at most {MOST_STEPS} steps, and it has {steps} in large cohorts")


def check_mixing(channel: Any, reward: Reward) -> None:
    """Raise `InvalidValue` unless devices can send one bundle each for this channel, some time after the window."""
    if not reward.grace:
        raise InvalidValue("grace of the reward", "0 ms", "above 0: each device reports once, after its window")
    if reward.cap > 1:
        raise InvalidValue("cap of the reward", reward.cap, "1, as one reward of each person is mixed")
    if channel.honest == 1:
        raise InvalidValue("honest", 1, "below 1: some devices never come back, and a cohort must do without them")
    if isinstance(channel, Shuffled) and (coins := channel.coins()) > MOST_COINS:
        allowed = f"such that at most {MOST_COINS} coins are tossed, and this takes {coins}: use split_and_mix"
        raise InvalidValue("epsilon and delta", (str(channel.epsilon), str(channel.delta)), allowed)
    if not isinstance(channel, Shuffled) and (channel.grid.fineness or channel.grid.fixed > MOST_STEPS):
        raise InvalidValue("grid", channel.grid, f"a whole number of at most {MOST_STEPS} steps")
