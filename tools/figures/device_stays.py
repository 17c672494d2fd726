"""The figure of how long devices must stay to add up: `python -m tools.figures.device_stays FILE` draws it.

When the window is over, a device stays for a time that has an exponential distribution, and is in contact twice in each
`wait`. Each dot is from real rounds, phase by phase, with keys and messages. A phase that somebody misses lasts for a
whole `wait`. If somebody misses each of the first two, a device sends its masked value between 2 and 2.5 waits after
the window, if it is still there; else earlier. So the sum is opened with a probability of about

    P(Bin(n, q) >= opened),    q = E exp(-(2 + U / 2) / stay),    U uniform on [0, 1]

which is a line, below the dots where nobody misses a phase. A report that is made once needs one contact alone.
"""

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from hashlib import sha256
from random import Random
from typing import NamedTuple

from matplotlib.figure import Figure
from scipy.stats import binom
from tqdm import tqdm

from maskedbandit.errors import ProtocolError
from maskedbandit.lab.goals.style import THEORY
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.round_rules import RoundRules
from maskedbandit.secagg.server import RoundServer
from tools.figures.saved import save

N, ROUNDS = 30, 20
RULES = RoundRules(corrupted=Fraction(1, 10), smallest=1)
HONEST = {Fraction(1, 2): "#0072B2", Fraction(7, 10): "#009E73", Fraction(4, 5): "#D55E00"}
STAYS = (2, 4, 7, 12, 20, 35, 60)  # mean times, in waits
EVERY = 0.5  # waits between two contacts of a device
SEED = bytes(32)


class Completion(NamedTuple):
    """What became of some rounds."""

    stay: float
    opened: float  # the share of rounds
    counted: float  # the share of people whose outcome is in a sum


def count_opened(n: int, honest: Fraction) -> int:
    """How many values a sum needs."""
    return -int(-honest * n // 1) + RULES.count_corrupted(n)


def play_round(n: int, honest: Fraction, leaves: Sequence[float], firsts: Sequence[float]) -> int:
    """A real round, in which devices leave at these times; how many values are in the sum, and 0 if there is none."""
    plan = RULES.plan(n, -int(-honest * n // 1), 2**16, b"figure", sha256(SEED).digest())
    clients = {user: RoundClient(plan, user, 1, Bits()) for user in range(n)}
    server, since = RoundServer(plan, SEED), 0.0
    contacts = {user: firsts[user] for user in range(n)}
    try:
        while server.phase:
            due = sorted((contacts[user], user) for user in server.waiting)
            for at, user in due:
                if at <= min(leaves[user], since + 1):
                    server.receive(user, clients[user].receive(server.message_for(user)))
            since = since + 1 if server.waiting else due[-1][0]
            server.close()
            contacts = {user: find_contact(firsts[user], since) for user in range(n)}
    except ProtocolError:  # too few are left
        return 0
    assert server.total == len(server.survivors)
    return len(server.survivors)


def find_contact(first: float, since: float) -> float:
    """When a device is in contact for the first time after `since`."""
    return first + EVERY * max(0, math.ceil((since - first) / EVERY))


def play_rounds(honest: Fraction, stay: float, rounds: int = ROUNDS, n: int = N) -> Completion:
    """Rounds of devices that stay for so long on average."""
    random, counts = Random(f"{honest} {stay}"), list[int]()
    for _ in range(rounds):
        leaves = [random.expovariate(1 / stay) for _ in range(n)]
        counts.append(play_round(n, honest, leaves, [EVERY * random.random() for _ in range(n)]))
    return Completion(stay, sum(count > 0 for count in counts) / rounds, sum(counts) / rounds / n)


def find_chance(honest: Fraction, stay: float, n: int = N) -> float:
    """The probability that the sum is opened."""
    q = stay / EVERY * (math.exp(-2 / stay) - math.exp(-(2 + EVERY) / stay))
    return float(binom.sf(count_opened(n, honest) - 1, n, q))


def find_stay(honest: Fraction, n: int, chance: float = 0.95) -> float:
    """The least mean stay, in waits, with which the sum is opened with this probability."""
    low, high = 0.1, 1000.0
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if find_chance(honest, middle, n) >= chance else (middle, high)
    return high


def draw_stays(found: dict[Fraction, list[Completion]]) -> Figure:
    """The share of rounds that are opened, and of people who are in a sum."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    stays = [STAYS[0] * (STAYS[-1] / STAYS[0]) ** (i / 100) for i in range(101)]
    opened, counted = figure.subplots(1, 2, sharey=True)
    for honest, points in found.items():
        colour, label = HONEST[honest], f"honest = {honest}"
        opened.plot(stays, [find_chance(honest, stay) for stay in stays], color=colour, linewidth=1)
        opened.plot([each.stay for each in points], [each.opened for each in points], "o", color=colour, markersize=5)
        counted.plot([each.stay for each in points], [each.counted for each in points], "o-", color=colour, label=label)
    once = [stay / EVERY * (1 - math.exp(-EVERY / stay)) for stay in stays]
    counted.plot(stays, once, color=THEORY, linewidth=1, label="a report that is made once")
    for plot, label in ((opened, "cohorts that are released"), (counted, "people whose outcome is in a sum")):
        plot.set(xscale="log", xlabel="mean time that a device stays, in waits of a phase", ylim=(-0.03, 1.03))
        plot.set_title(label, fontsize="medium")
        plot.set_xticks(STAYS, [f"{stay:g}" for stay in STAYS], minor=False)
        plot.set_xticks([], minor=True)
        plot.grid(alpha=0.3)
        plot.spines[["top", "right"]].set_visible(False)
    counted.legend(fontsize="small", frameon=False, loc="lower right")
    figure.suptitle(
        f"Rounds of {N} devices, a tenth of them corrupted at most: dots are {ROUNDS} real rounds", fontsize="medium"
    )
    return figure


if __name__ == "__main__":
    path = sys.argv[1]  # at once, before minutes are spent
    cases = [(honest, stay) for honest in HONEST for stay in STAYS]
    found: dict[Fraction, list[Completion]] = {honest: [] for honest in HONEST}
    for honest, stay in tqdm(cases, unit="point"):
        found[honest].append(play_rounds(honest, stay))
    save(partial(draw_stays, found), path)
