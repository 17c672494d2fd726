"""The figure of noise in running sums shows what the channels say."""

import numpy as np

from maskedbandit.law import nodes
from tools.figures.running_sums import CHANNELS, LENGTH, noise_of_sums, variances


def test_curves_are_the_variances_of_channels_of_one_loss():
    lines, losses = noise_of_sums().axes[0].lines, [channel.loss(1).epsilon(1e-6) for channel, _ in CHANNELS.values()]
    assert max(losses) < 1.01 * min(losses)
    assert [line.get_label() for line in lines] == list(CHANNELS)
    for line, (channel, _) in zip(lines, CHANNELS.values(), strict=True):
        assert (line.get_xdata()[0], line.get_xdata()[-1]) == (1, LENGTH)
        np.testing.assert_array_equal(line.get_ydata(), variances(channel, line.get_xdata().tolist()))
    root = CHANNELS["root"][0].law()
    assert lines[-1].get_ydata()[-1] == root.scale**2 * nodes(root, LENGTH) / 2


def test_factorizations_have_less_noise_than_trees_at_their_worst():
    worst = {line.get_label(): line.get_ydata().max() for line in noise_of_sums().axes[0].lines}
    trees = min(value for label, value in worst.items() if "tree" in label)
    assert worst["root"] < worst["endless (no length)"] < trees / 2
    assert worst["root, 64 bands"] > trees
