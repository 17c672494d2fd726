"""The figure of amplification by shuffling: `python -m tools.figures.amplification FILE` draws it."""

import math
import sys
from fractions import Fraction

import numpy as np
from matplotlib.figure import Figure

from maskedbandit.channels.shuffled import coins_needed
from maskedbandit.theory.amplification import Randomizer, closed_epsilon, local_epsilon_for, shuffled_epsilon
from tools.figures.saved import save

DELTA, EPSILON = 1e-6, 1
LOCAL = {0.5: "#009E73", 1: "#0072B2", 2: "#D55E00", 4: "#CC79A7"}
USERS = np.geomspace(1000, 10**6, 13).round().astype(int).tolist()
DRAWN: dict[Randomizer, tuple[str, int]] = {"any": ("-", 1), "exact_response": ("--", 3)}  # a line, through every third
WAYS: dict[Randomizer, tuple[str, str, float]] = {
    "any": ("bits that may be false, bound for any randomizer", "#D55E00", 1.25),
    "response": ("bits that may be false, bound for these", "#0072B2", 1.1),
    "exact_response": ("bits that may be false, exact", "#56B4E9", 0.89),
}


def response_deviation(n: int, local: float) -> float:
    """The standard deviation of the sum of rewards that n randomized bits give, but for the rewards' own."""
    flip = 1 / (1 + math.exp(local))
    return math.sqrt(n * flip * (1 - flip)) / (1 - 2 * flip)


def amplification() -> Figure:
    """What shuffling makes of an eps on every device; and the noise of several ways to the same eps."""
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    worth, noise = figure.subplots(1, 2)
    for local, colour in LOCAL.items():
        for randomizer, (style, every) in DRAWN.items():
            users = USERS[::every]
            y = [shuffled_epsilon(local, n, DELTA, randomizer) for n in users]
            worth.plot(users, y, color=colour, linewidth=1.8, linestyle=style)
            if style == "-":
                worth.annotate(f" ε₀ = {local:g}", (users[-1], y[-1]), color=colour, va="center", fontsize="small")
        worth.plot(USERS, [closed_epsilon(local, n, DELTA) for n in USERS], color=colour, linewidth=1, linestyle=":")
    for style, label in (("-", "any randomizer"), ("--", "randomized response, exact"), (":", "any, closed form")):
        worth.plot([], [], color="0.3", linestyle=style, label=label)
    worth.legend(frameon=False, fontsize="small", loc="lower left")
    worth.set(
        xscale="log", yscale="log", xlim=(USERS[0], USERS[-1]), xlabel="users, n", ylabel="ε of the shuffled messages"
    )
    worth.set_title(f"Messages of ε₀, shuffled: ε at δ = {DELTA:g}", loc="left", fontsize="medium")
    for randomizer, (label, colour, height) in WAYS.items():
        y = [response_deviation(n, local_epsilon_for(EPSILON, n, DELTA, randomizer)) for n in USERS]
        noise.plot(USERS, y, color=colour, linewidth=1.8)
        noise.annotate(
            label, (USERS[len(USERS) // 2], y[len(USERS) // 2] * height), color=colour, ha="center", fontsize="small"
        )
    coins = math.sqrt(coins_needed(Fraction(EPSILON), Fraction(1, 10**6))) / 2
    noise.axhline(coins, color="#009E73", linewidth=1.8)
    noise.annotate(
        "coins beside true bits, exact",
        (USERS[len(USERS) // 2], coins * 0.89),
        color="#009E73",
        ha="center",
        fontsize="small",
    )
    central = math.sqrt(2) / EPSILON
    noise.axhline(central, color="0.5", linewidth=1.2, linestyle="--")
    noise.annotate(
        "a trusted server, pure ε", (USERS[len(USERS) // 2], central * 1.06), color="0.4", ha="center", fontsize="small"
    )
    noise.set(xscale="log", yscale="log", xlim=(USERS[0], USERS[-1]), ylim=(1, 30), xlabel="users, n")
    noise.set_ylabel("standard deviation of a sum's noise")
    noise.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"], minor=False)
    noise.minorticks_off()
    noise.set_title(f"Ways to ε = {EPSILON}, δ = {DELTA:g}", loc="left", fontsize="medium")
    for plot in (worth, noise):
        plot.grid(which="major", alpha=0.3)
        plot.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    save(amplification, sys.argv[1])
