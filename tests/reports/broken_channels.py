"""Channels of one's own, as an experiment names them: they promise more than they give, all but the first."""

from typing import Any

from maskedbandit.channels.central import Central
from maskedbandit.channels.distributed import Distributed
from maskedbandit.privacy.loss import Loss


class Sound(Central):
    """What it is derived from, which an audit cannot know."""


class HalfNoise(Central):
    """The mean of the noisy sum and of the sum."""

    def analyze(self, total: float, *given: Any, **more: Any) -> float:
        return (super().analyze(total, *given, **more) + total) / 2


class AllHonest(Distributed):
    """Noise shares as if everybody were honest."""

    def counted_on(self, n: int) -> int:
        return n

    def aggregate(self, sent: Any, *given: Any, **more: Any) -> Any:
        return super().aggregate([sent[0], *[0] * (len(sent) - 1)], *given, **more)  # one person's noise is there


class PromisesMuch(Central):
    """A tenth of what it costs."""

    def loss(self, n: int) -> Loss:
        return Loss.pure(float(self.epsilon) / 10)
