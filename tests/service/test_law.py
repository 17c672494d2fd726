"""Studies that are played over HTTP have the law of the lab, and releases reveal no more than was promised."""

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.channels.central import Central
from tests.audit.events import seen_epsilon
from tests.quick import QUICK
from tests.service.inside import Inside, inside
from tests.statistics import same_distribution_of_two

TOGETHER = 25  # studies in a database: each asks the witness of all others
MEANS, PEOPLE, FAILURE = (0.6, 0.4, 0.3), 120, 0.95
POLICY = {"name": "successive_elimination", "least": 4, "failure": FAILURE}
SHORT: dict[str, Any] = {  # everybody sees the arm, and reports, at once
    "people": PEOPLE,
    "policy": POLICY,
    "channel": {"name": "central", "epsilon": 8},
    "arms": [{"name": name} for name in "abc"],
    "reward": {"window": "0 seconds", "exposure": "0 seconds"},
    "budget": {"epsilon": 8},
}


@contextmanager
def fast() -> Iterator[Inside]:
    """A service whose database is in memory where there is a folder for that: what is tested here is no disk."""
    with (
        TemporaryDirectory(dir=QUICK) as folder,
        inside(f"sqlite:///{folder}/studies.db", Path(folder) / "witness") as made,
    ):
        yield made


async def wave(service: Inside, name: str, units: range, reward: Any) -> list[str]:
    """These people come, and whoever has a place reports: the arms that they got."""
    path = f"/v1/studies/{name}"
    asked = {"requests": [{"unit": f"{name} {i}"} for i in units]}
    items = (await service.asked("POST", f"{path}/assign/batch", asked)).json["items"]
    given = [item["answer"] for item in items]
    reports = [
        {"ticket": each["ticket"], "value": reward(each["arm"], i)}
        for i, each in zip(units, given, strict=True)
        if each["ticket"] is not None
    ]
    if reports:
        answer = (await service.asked("POST", f"{path}/report/batch", {"requests": reports})).json["items"]
        assert {item["answer"]["status"] for item in answer} == {"accepted"}
    return [each["arm"] for each in given]


async def play(service: Inside, table: dict[str, Any], reward: Any) -> list[str]:
    """A study from its first person to its last: the arms that they got. The clock goes as soon as a wave is over."""
    name = table["name"]
    assert (await service.asked("POST", "/v1/studies", table, "owner")).status == 201
    assert (await service.started(name)).status == 200
    held: Any = await service.host.hold(name)
    deck, arms = held.study._session.driver.deck, list[str]()
    while len(arms) < table["people"]:
        arms += await wave(service, name, range(len(arms), len(arms) + 1), reward)  # who has the policy ask
        many = min(deck.left or 50, table["people"] - len(arms))
        arms += await wave(service, name, range(len(arms), len(arms) + many), reward) if many else []
        service.clock.now += 1
        await held.submit("tick")
    await service.host.drop(name)
    return arms


def pulls_over_http(studies: int) -> np.ndarray:
    """How many people got each arm, in each of so many studies."""
    rng, found = np.random.default_rng(15), list[list[int]]()

    def reward(arm: str, person: int) -> int:
        return int(rng.random() < MEANS["abc".index(arm)])

    for _ in range(studies // TOGETHER):
        with fast() as service:
            for i in range(TOGETHER):
                arms = service.run(play(service, SHORT | {"name": f"s{i}", "project": f"s{i}"}, reward))
                found.append([arms.count(name) for name in "abc"])
    return np.array(found)


def pulls_of_the_lab(runs: int, share: float = 1.0) -> np.ndarray:
    """The same in the lab, when this share of the rewards arrives."""
    policy = mb.policies.SuccessiveElimination(least=POLICY["least"], failure=FAILURE)
    return mb.simulate(
        policy, mb.channels.Central(epsilon=8), mb.Bernoulli([share * mean for mean in MEANS]), PEOPLE, runs, seed=15
    ).pulls


def check_same_distribution(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Allocation, regret and wrong answers have one law: three assertions, of a chance of 1e-9 each to be wrong."""
    gaps = np.round(10 * (max(MEANS) - np.array(MEANS))).astype(np.int64)
    assert (ours.sum(axis=1) == PEOPLE).all()
    same_distribution_of_two(ours[:, 0] * 1000 + ours[:, 1], theirs[:, 0] * 1000 + theirs[:, 1])
    same_distribution_of_two(ours @ gaps, theirs @ gaps)
    same_distribution_of_two(*((pulls.argmax(axis=1) != 0).astype(np.int64) for pulls in (ours, theirs)))


@pytest.mark.slow
def test_studies_over_http_have_the_law_of_the_lab() -> None:
    """Runs of the lab are cheap: 675 studies against 40,000 runs tell as much as 1000 against 2000."""
    ours = pulls_over_http(675)
    check_same_distribution(ours, pulls_of_the_lab(40_000))
    with pytest.raises(AssertionError, match="two distributions"):
        check_same_distribution(ours, pulls_of_the_lab(40_000, 0.5))  # lost reports are noticed


# --- privacy ---------------------------------------------------------------------------------------------------

EACH = 10  # arms of either kind
MANY: dict[str, Any] = {  # a cohort of two for each arm, again and again
    "name": "audited",
    "people": 10**6,
    "policy": {"name": "successive_elimination", "least": 2, "base": 1.000001, "failure": 1e-200},
    "channel": {"name": "central", "epsilon": 1},
    "arms": [{"name": f"{kind}{i}"} for kind in "ab" for i in range(EACH)],
    "reward": {"window": "0 seconds", "exposure": "0 seconds"},
    "budget": {"epsilon": 1},
}
THRESHOLDS = (-1.0, 0.0, 0.5, 1.0, 2.0)


def totals(service: Inside, releases: int) -> dict[str, list[float]]:
    """What is released of cohorts of two: those of arms b have a reward of 1 that those of arms a have not."""
    victims = set[str]()

    def reward(arm: str, person: int) -> int:
        if arm[0] == "a" or arm in victims:
            return 0
        victims.add(arm)
        return 1

    async def rounds() -> dict[str, list[float]]:
        assert (await service.asked("POST", "/v1/studies", MANY, "owner")).status == 201
        assert (await service.started("audited")).status == 200
        held: Any = await service.host.hold("audited")
        for first in range(0, 2 * releases, 4 * EACH):
            victims.clear()
            arms = await wave(service, "audited", range(first, first + 4 * EACH), reward)
            assert sorted(arms) == sorted(2 * [arm["name"] for arm in MANY["arms"]])
            service.clock.now += 1
            await held.submit("tick")
        said = (await service.asked("GET", "/v1/studies/audited/releases", None, "officer")).json["releases"]
        return {kind: [each["total"] for each in said if each["arm"][0] == kind] for kind in "ab"}

    found: dict[str, list[float]] = service.run(rounds())
    assert sum(map(len, found.values())) == releases
    return found


def audited(found: dict[str, list[float]]) -> float:
    """The epsilon that the releases show at least; wrong with a probability of at most 1e-9."""

    def events(values: list[float]) -> Counter[Hashable]:
        seen: Counter[Hashable] = Counter({None: len(values)})
        for threshold in THRESHOLDS:
            seen["above", threshold] = sum(value > threshold for value in values)
            seen["below", threshold] = sum(value <= threshold for value in values)
        return seen

    return seen_epsilon(events(found["a"]), events(found["b"]), 2 * len(THRESHOLDS))


@pytest.mark.slow
def test_five_thousand_releases_over_http_reveal_no_more_than_was_promised() -> None:
    with fast() as service:
        found = audited(totals(service, 5_000))
    assert 0.5 < found <= 1  # the lower bound is near what is promised, so the audit sees something


@pytest.mark.slow
def test_noise_of_half_the_scale_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Central.analyze

    def half(self: Central, total: float, *given: Any, **more: Any) -> float:
        return (real(self, total, *given, **more) + total) / 2

    monkeypatch.setattr(Central, "analyze", half)
    with fast() as service:
        assert audited(totals(service, 4000)) > 1
