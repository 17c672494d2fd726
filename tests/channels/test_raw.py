"""The raw channel changes nothing and promises nothing."""

from maskedbandit.channels.raw import Raw
from maskedbandit.privacy.loss import Loss
from tests.for_each import for_each
from tests.statistics import seeded


@for_each("reward", [0, 1, 0.25])
def test_rewards_arrive_as_they_are(reward):
    channel, offer = Raw(), Raw().offer(3)
    assert channel.analyze(3 * channel.randomize(reward, offer, seeded(1)), offer, seeded(1), answers=3) == 3 * reward


def test_there_is_no_privacy():
    assert Raw().loss(10**9) == Loss.unbounded()
