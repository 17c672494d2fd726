"""The figure of noise in running sums: `python -m tools.figures.running_sums FILE` draws it."""

import sys

import numpy as np
from matplotlib.figure import Figure

from maskedbandit.channels.tree import Tree
from maskedbandit.core import Floats
from maskedbandit.law import nodes, widest_scale
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from tools.figures.saved import save

LENGTH = 10_000
CHANNELS = {
    "binary tree": (Tree(noise=DiscreteGaussian(), counter="binary", length=LENGTH), "#999999"),
    "hybrid tree (no length)": (Tree(noise=DiscreteGaussian(), counter="hybrid"), "#CC79A7"),
    "Honaker's tree": (Tree(noise=DiscreteGaussian(), counter="honaker", length=LENGTH), "#E69F00"),
    "k-ary tree": (Tree(noise=DiscreteGaussian(), counter="kary", length=LENGTH), "#D55E00"),
    "root, 64 bands": (Tree(noise=DiscreteGaussian(), counter="root", length=LENGTH, bands=64), "#56B4E9"),
    "endless (no length)": (Tree(noise=DiscreteGaussian(), counter="endless", length=2), "#009E73"),
    "root": (Tree(noise=DiscreteGaussian(), counter="root", length=LENGTH), "#0072B2"),
}


def variances(channel: Tree, releases: list[int]) -> Floats:
    """ρ times the variance of the running sum after so many releases: of one draw it is 1/2."""
    law = channel.law()
    return np.array([widest_scale(law, m) ** 2 * nodes(law, m) / 2 for m in releases])


def noise_of_sums() -> Figure:
    """Variance of an arm's running sum against the number of its releases, at one and the same zCDP loss."""
    releases = np.unique(np.geomspace(1, LENGTH, 1200).round().astype(int)).tolist()
    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    plot = figure.subplots()
    for label, (channel, colour) in CHANNELS.items():
        y = variances(channel, releases)
        plot.plot(releases, y, color=colour, linewidth=1.4 if "tree" in label else 2.2, label=label)
    plot.set(xscale="log", yscale="log", xlim=(1, LENGTH))
    plot.set(xlabel="releases of the arm", ylabel="ρ × variance of its running sum")
    plot.set_title("Running sums at one zCDP loss: three factorizations, four trees", loc="left")
    plot.title.set_fontsize("medium")
    plot.legend(fontsize="small", ncols=2, frameon=False)
    plot.grid(which="major", alpha=0.3)
    plot.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    save(noise_of_sums, sys.argv[1])
