"""Releases that are played as they are made live, for two neighbours: devices randomize, their sum is released.

The noise is that of `randomize`, `aggregate` and `analyze`, from bits that repeat with the seed. As many devices as the
channel allows are dishonest, and add no noise. Of two servers one works against the people, and subtracts its own
noise.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from maskedbandit.backends.backend import Aggregate, NoisyAdder
from maskedbandit.channels.channel import Channel, make_ideal
from maskedbandit.channels.pure_shuffled import PureShuffled
from maskedbandit.channels.tree import Tree
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits
from maskedbandit.reports.audit.audit import (
    ERROR,
    USUAL_AUDIT,
    Advance,
    AuditPart,
    AuditPromise,
    BrokenTwin,
    How,
    breaks_promise,
)
from maskedbandit.reports.audit.bounds import ShownEpsilon, Views, measure_shown_epsilon
from maskedbandit.reports.audit.exact import loosen_channel, promise_of

MOST_SAMPLES = 200_000
VISIBLE_DELTA = 1e-2  # of losses without a pure ε: at a smaller one, what exceeds it is too rare to be seen
TREE_RELEASES = 3
Both = tuple[Views, Views]  # what was seen of two neighbours


def promise_to_samples(loss: Loss) -> AuditPromise:
    """The promise of a loss, at a δ at which samples can refute it."""
    return promise_of(loss, VISIBLE_DELTA)


def count_enough_samples(promise: AuditPromise) -> int:
    """Samples with which twice the promised ε is noticed; more than `MOST_SAMPLES` if it cannot be."""
    if not math.isfinite(promise.epsilon):
        raise InvalidValue("what is promised", str(promise), "a finite ε: there is nothing to audit")
    epsilon = max(promise.epsilon, 1e-6)
    return 2 * math.ceil(max(10_000.0, 1500 / epsilon**2, 200 * math.exp(min(epsilon, 30.0))) / 2)


def sampled_part(
    name: str,
    promise: AuditPromise,
    views: Both,
    twins: Sequence[tuple[str, Both]],
    names: Sequence[str],
    error: float = ERROR,
) -> AuditPart:
    """The loss that samples of both neighbours show, and whether as many samples show that the twins are broken."""

    def look(both: Both) -> ShownEpsilon:
        more = [f"{each}, again" for each in names] * (both[0].shape[1] // len(names) - 1)
        return measure_shown_epsilon(*both, [*names, *more], promise.delta, error)

    found, seen = look(views), [(twin, look(broken)) for twin, broken in twins]
    controls = [BrokenTwin(twin, each.epsilon, breaks_promise(each.epsilon, promise, "sampled")) for twin, each in seen]
    samples = sum(map(len, views))
    return AuditPart(
        name,
        promise,
        "sampled",
        found.epsilon,
        tuple(controls),
        samples,
        error,
        found.event,
        found.curve,
        found.corner,
        seen[0][1].curve if seen else found.curve[:, :0],
    )


@dataclass(frozen=True)
class OneKnown(NoisyAdder):
    """Two servers, seen by one of them: it knows its own noise, and takes it off."""

    attempts = 1

    def noisy_sum(
        self, values: Sequence[int], modulus: int, largest: int, noise: Callable[[], int], cohort: bytes, bits: Bits
    ) -> Aggregate:
        return Aggregate((sum(values) + noise()) % modulus, range(len(values)))


def at_worst(channel: Channel) -> Any:
    """The channel as its worst adversary sees it, with an ideal sum in place of a protocol."""
    if isinstance(channel, PureShuffled):
        return channel.summed  # the rest of its epsilon is for the messages of a relaxed sum
    if isinstance(channel, TwoServers):
        return replace(channel, backend=OneKnown())
    return make_ideal(channel)


def live(channel: Channel, n: int, samples: int, seed: int, advance: Advance, again: int = 1) -> Both:
    """Releases of cohorts of n, of whom one has a reward of 0, or of 1; each sum is released so often."""
    each = at_worst(channel)
    offer = each.offer(n)
    honest = each.counted_on(n) if channel.trust == "distributed" and hasattr(each, "counted_on") else n
    releases = TREE_RELEASES if isinstance(each, Tree) else 1
    bits = Bits(Random(seed).randbytes)

    def one(reward: float) -> Iterator[float]:
        memory = each.memory(1)
        for release in range(releases):
            rewards = [reward if release == 0 else 0.0] + [0.0] * (honest - 1)
            sent = [each.randomize(value, offer.at(i), bits) for i, value in enumerate(rewards)]
            found = each.aggregate([*sent, *[0] * (n - honest)], offer, bits)
            yield each.analyze(found.total, offer, bits, memory, 0, answers=len(found.survivors))

    views: tuple[list[list[float]], list[list[float]]] = [], []
    for i in range(samples // 2):
        for world in (0, 1):
            views[world].append([total for _ in range(again) for total in one(float(world))])
        if i % 100 == 99:
            advance(200)
    return np.array(views[0]), np.array(views[1])


def live_part(channel: Channel, n: int, how: How = USUAL_AUDIT) -> tuple[AuditPart | None, str]:
    """The release of a cohort of n as it is made live; or why it is not audited."""
    n, channel = 1 if channel.trust == "local" else n, at_worst(channel)
    promise = promise_to_samples(channel.loss(n))
    many = count_enough_samples(promise) if how.samples is None else how.samples
    if many > MOST_SAMPLES:
        return None, f"{promise} by samples: it would take more than {MOST_SAMPLES:,} of them"
    try:
        twin = "half of the noise", live(loosen_channel(channel), n, many, how.seed + 1, how.advance)
    except (InvalidValue, TypeError, AttributeError):  # a channel whose epsilon has another meaning, or a bound
        twin = "noise redrawn for the same sum", live(channel, n, many, how.seed + 1, how.advance, again=2)
    name = "what a device sends, live" if channel.trust == "local" else f"the release of a cohort of {n}, live"
    names = [f"release {i + 1}" for i in range(TREE_RELEASES)] if isinstance(channel, Tree) else ["the release"]
    return sampled_part(name, promise, live(channel, n, many, how.seed, how.advance), [twin], names, how.error), ""
