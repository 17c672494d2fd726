"""All that a policy may know of a channel: the distribution of the noise in released sums, as numbers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from maskedbandit.errors import InvalidValue

KINDS = ("NO_NOISE", "LAPLACE", "SKELLAM", "GAUSSIAN", "RESPONSE", "COINS", "SUB_GAMMA")
NO_NOISE, LAPLACE, SKELLAM, GAUSSIAN, RESPONSE, COINS, SUB_GAMMA = range(len(KINDS))
BINARY, HONAKER, KARY, HYBRID = range(1, 5)  # how a running sum is counted; 0: releases are independent


class LawParameters(NamedTuple):
    """The fields of a `Law`, whose docstring explains them."""

    kind: int
    scale: float = 0.0  # of one draw, in units of reward: a standard deviation, except for Laplace and sub-gamma noise
    grid: float = 0.0  # 0: rewards are not rounded
    root: float = 0.0
    per_release: float = 0.0
    per_pull: float = 0.0
    honest: float = 1.0
    flip: float = 0.0
    counter: int = 0
    arity: int = 0  # of a k-ary tree
    variance: float = 0.0  # of a sub-gamma draw of scale 1, or more
    tail: float = 0.0  # of the same
    spare: float = 0.0


class Law(LawParameters):
    """The distribution of the noise in released sums, as numbers: all that a policy may know of a channel.

    A sum over n pulls is kept in steps of 1/g, g = max(grid, ceil(root * sqrt(n))), after every reward has been
    rounded at random to a multiple of 1/g (so rounded rewards stay in [0, 1] and keep their mean), and is released
    with independent noise draws of the given kind and scale: `per_pull * n` of them, and `per_release` of them times
    n / ceil(honest * n), because n users add noise shares of which ceil(honest * n) are calibrated to sum to one draw.
    And `spare` more. Users who are lost take noise with them: where `honest` is below 1, or there are spare draws, a
    release has at most so many draws, and at least `per_release`, besides those of pulls.
    Randomized response adds nothing: each rounded bit is flipped with probability `flip`, and the released
    total (sum of bits - n * flip) / (1 - 2 * flip) is unbiased. A draw of coins is one fair coin, 1/2 or -1/2.

    Of a sub-gamma draw Z only log E exp(lam Z) <= scale^2 variance lam^2 / (2 (1 - tail scale |lam|)) is known
    [BLM13, Sec. 2.4]; many draws, or a part of one, have as many times that bound.

    On a tree (`counter`) a release is the change of an arm's running sum, which itself carries `nodes(law, m)`
    draws after m releases, wherever the stream is; single releases are not independent there.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **values: Any) -> Law:
        law = super().__new__(cls, *args, **values)
        if law.kind not in range(len(KINDS)):
            allowed = f"a known kind ({', '.join(KINDS)}); noise of any other distribution has the kind SUB_GAMMA"
            raise InvalidValue("kind", law.kind, allowed)
        for name in ("scale", "grid", "root", "per_release", "per_pull", "spare"):
            if not 0 <= getattr(law, name) < math.inf:
                raise InvalidValue(name, getattr(law, name), "a finite number of at least 0")
        if not 0 < law.honest <= 1:
            raise InvalidValue("honest", law.honest, "a fraction of the users, above 0 and at most 1")
        if not 0 <= law.flip < 0.5:
            raise InvalidValue("flip", law.flip, "a probability below 1/2")
        if law.kind == SUB_GAMMA and not 0 < law.variance < math.inf:
            raise InvalidValue(
                "variance", law.variance, "above 0: the variance of a draw of scale 1, stated by its noise"
            )
        if law.kind == SUB_GAMMA and not 0 <= law.tail < math.inf:
            raise InvalidValue("tail", law.tail, "at least 0: of a draw of scale 1, stated by its noise")
        if law.kind != SUB_GAMMA and (law.variance, law.tail) != (0, 0):
            raise InvalidValue("variance", law.variance, "left out, and `tail` too, unless the kind is SUB_GAMMA")
        if law.counter == HYBRID and law.kind == SUB_GAMMA:
            allowed = "another one, as for this noise it is not known how wide the draws of that counter must be"
            raise InvalidValue("counter", "hybrid", allowed)
        return law

    def _replace(self, **values: Any) -> Law:
        return Law(**{**self._asdict(), **values})
