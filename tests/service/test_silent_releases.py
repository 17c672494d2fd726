"""Releases that look as if nobody had reported: found when nobody did, and hardly ever when somebody does."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from maskedbandit import core
from maskedbandit.service.views.silent_releases import NEAR_DEFAULT, SILENT_ERROR, find_silent_releases
from maskedbandit.study.protocol import Protocol
from tests.service.inside import TABLE
from tests.statistics import at_most


def find_silence(mean: float, seed: int, releases: int = 8, n: int = 1000, **changes: Any) -> Any:
    """What is said of releases of a study whose people have outcomes 1 with this probability, and 0 else."""
    protocol, rng = Protocol.from_table(TABLE | changes), np.random.default_rng(seed)
    law, made = protocol.channel.law(), list[Any]()
    for i in range(releases):
        total = float(rng.binomial(n, mean))
        if law.flip:
            kept = rng.binomial(n, law.flip + (1 - 2 * law.flip) * mean)
            total = (kept - n * law.flip) / (1 - 2 * law.flip)
        elif law.scale:
            total += float(rng.geometric(1 - np.exp(-1 / law.scale)) - rng.geometric(1 - np.exp(-1 / law.scale)))
        release = core.Release(i % 2, n, total)
        made.append(SimpleNamespace(n=release.n, total=release.total, arm=release.arm, at=1000 * i))
    book: Any = SimpleNamespace(protocol=protocol, releases=made)
    return find_silent_releases(book)


def test_that_nobody_reported_is_found() -> None:
    """In most studies: noise may hide it. So many releases are looked at as would show it without noise."""
    found = [find_silence(0.0, seed) for seed in range(20)]
    said = [(each.many, each.people, each.since) for each in found if each is not None]
    assert set(said) == {(4, 4000, 4000)}
    assert len(said) > 15
    assert all(find_silence(0.0, seed, releases=3) is None for seed in range(5))  # too few people


def test_other_defaults_are_looked_at() -> None:
    assert find_silence(1.0, 1, n=2000, reward=TABLE["reward"] | {"default": 1}) is not None
    assert find_silence(0.0, 1, reward=TABLE["reward"] | {"default": 1}) is None
    assert find_silence(0.5, 1, reward=TABLE["reward"] | {"default": 0.5}) is None  # what 1000 people cannot tell


def test_local_noise_of_few_people_tells_nothing() -> None:
    local = {"channel": {"name": "response", "epsilon": 1}, "reward": {"rule": "first"}}
    assert find_silence(0.0, 1, **local) is None


@pytest.mark.slow
def test_people_who_report_are_hardly_ever_taken_for_none() -> None:
    """Outcomes that differ from the default a little more than is allowed, in 2000 sets of releases."""
    found = [find_silence(1.1 * NEAR_DEFAULT, seed, releases=4) for seed in range(2000)]
    at_most(sum(each is not None for each in found), 2000, SILENT_ERROR)


def test_common_outcomes_are_not_taken_for_none() -> None:
    assert [find_silence(mean, 3) for mean in (0.05, 0.3, 1.0)] == [None] * 3


@pytest.mark.slow
def test_a_bound_without_the_noise_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the newest sums were those of the people: then outcomes at the limit are often taken for none."""

    def plain(law: Any, releases: list[Any], alpha: float) -> Any:
        mean = sum(each.total for each in releases) / sum(each.n for each in releases)
        return SimpleNamespace(low=mean, high=mean)

    monkeypatch.setattr("maskedbandit.service.views.silent_releases.mean_interval", plain)
    found = [find_silence(1.1 * NEAR_DEFAULT, seed, releases=4) for seed in range(200)]
    with pytest.raises(AssertionError):
        at_most(sum(each is not None for each in found), 200, SILENT_ERROR)
