"""Figures of replays: click rates over that of random choice, against delay or privacy, with intervals of 95 %."""

from __future__ import annotations

from textwrap import fill

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from maskedbandit.lab.clicks import places, summary
from maskedbandit.lab.style import PLAIN, THEORY, looks, name_ends

WIDE = 1.96  # standard errors


def rates(table: pl.DataFrame, title: str = "", caption: str = "") -> Figure:
    """Lines against epsilon, if that varies; else points for each delay [MT15, Fig. 2]."""
    rows, varied = summary(table), places(table)
    against = next((name for name in varied if name.endswith(".epsilon")), None)
    others = [name for name in varied if name not in (against, "delay" if against is None else None)]
    said = [pl.format(", {} {}", pl.lit(name.rpartition(".")[2]), name) for name in others]
    rows = rows.with_columns(pl.concat_str("label", *(pl.coalesce(each, pl.lit("")) for each in said)))
    figure = Figure(figsize=(10, 5.5), layout="constrained")
    plot = figure.subplots()
    look = looks(rows["label"].unique(maintain_order=True).to_list(), [])
    ends: dict[str, float] = {}
    if against is None:
        delays = rows["delay"].unique(maintain_order=True).to_list() if "delay" in rows.columns else [0]
        labels = list(look)
        for place, label in enumerate(labels):
            mine = rows.filter(pl.col("label") == label)
            x = np.array([delays.index(each) for each in mine["delay"]]) if "delay" in rows.columns else np.zeros(1)
            x = x + (place - (len(labels) - 1) / 2) * 0.8 / len(labels)
            style = {"color": look[label]["color"], "marker": "os^Dv<>p"[place % 8], "linestyle": "none"}
            plot.errorbar(x, mine["relative"], WIDE * mine["error"], label=label, capsize=3, **style)
        plot.set_xticks(range(len(delays)), [f"{each}" for each in delays])
        plot.set_xlabel("users who come before a reward is known", **PLAIN)
        plot.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    else:
        values = rows[against].drop_nulls()
        plot.set(xscale="log", xlim=(values.min(), values.max()))
        for label in look:
            mine = rows.filter(pl.col("label") == label).sort(against)
            if mine[against].null_count():  # level: it takes no epsilon
                mine = pl.concat([mine.with_columns(pl.lit(x).alias(against)) for x in plot.get_xlim()])
            x, y, error = (mine[name].to_numpy() for name in (against, "relative", "error"))
            plot.plot(x, y, **{"marker": "."} | look[label])
            band = y - WIDE * error, y + WIDE * error
            plot.fill_between(x, *band, color=look[label]["color"], alpha=0.15, linewidth=0)
            ends[label] = float(y[-1])
        plot.set_xlabel("ε", **PLAIN)
    plot.axhline(1, color=THEORY, linewidth=1, zorder=1)
    plot.set_ylabel("click rate / that of random choice", **PLAIN)
    plot.grid(which="major", alpha=0.3)
    plot.spines[["top", "right"]].set_visible(False)
    name_ends(plot, ends, look)
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium", **PLAIN)
    if caption:
        figure.supxlabel(fill(caption, 140), x=0.01, ha="left", fontsize="small", **PLAIN)
    return figure
