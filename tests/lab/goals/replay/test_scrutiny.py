"""Logs that do not tell the truth about their chances are found out, by any number of the user; honest ones are not.

A truthful log is refused with probability below 1e-9; the seeds are fixed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import BiasedLog, InvalidValue
from maskedbandit.lab.goals.replay.log_contexts import LogContexts, refuse_impossible
from maskedbandit.lab.goals.replay.replay import replay
from maskedbandit.lab.goals.replay.scrutiny import Scrutiny
from maskedbandit.lab.logs.log import Chunk, Log
from tests.for_each import for_each
from tests.lab.corner import Corner

RAW, ANY = mb.channels.Raw(), mb.policies.RandomChoice()


@dataclass(frozen=True)
class Two(Log):
    """Two articles, and visits as they are given."""

    chunked: tuple[Chunk, ...] = ()
    least: float = 0.5
    d: int = 2
    read: list[int] = field(default_factory=list)

    k = 2
    events = 10**9
    recorded = True
    radius = article_radius = 2**0.5

    def pools(self):
        return np.array([0, 2]), np.arange(2)

    def articles(self):
        return np.array([11, 22]), np.eye(2)

    def chunks(self, seed: int = 0) -> Iterator[Chunk]:
        for i, chunk in enumerate(self.chunked):
            self.read.append(i)
            yield chunk


def visits(arm: np.ndarray, chance: np.ndarray | float = 0.5, second: np.ndarray | float = 0.0) -> Chunk:
    """Visits that show these arms, with stated chances, to users with a constant 1 and a second number."""
    ones = np.ones(arm.size)
    user = np.stack([ones, second * ones], axis=1)
    return Chunk(np.arange(arm.size), user, arm, 0 * ones, np.zeros(arm.size, np.int64), chance * ones)


def alternating(n: int) -> np.ndarray:
    return np.arange(n) % 2


@pytest.fixture(autouse=True)
def as_python(monkeypatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


# --- what is looked at --------------------------------------------------------------------------------------------


def test_every_number_of_the_user_is_looked_at() -> None:
    """Each arm is shown as often as it should be, but to other users: seen by their second number alone."""
    arm = alternating(4000)
    honest, tilted = visits(arm, second=np.arange(4000) // 2 % 2), visits(arm, second=arm)
    Scrutiny(Two()).add(honest)
    with pytest.raises(BiasedLog, match="standard deviations off"):
        Scrutiny(Two()).add(tilted)
    Scrutiny(Two(d=1)).add(tilted)  # the mutant that looks at the constant


def test_the_first_number_is_looked_at_too() -> None:
    Scrutiny(Two()).add(visits(alternating(2000)))
    with pytest.raises(BiasedLog, match=r"article (11|22) was not shown"):
        Scrutiny(Two()).add(visits(np.ones(2000, np.int64)))


@for_each(("shown", "off"), [(1165, None), (1170, "8.2")])
def test_deviations_are_those_of_the_sum(shown: int, off: str | None) -> None:
    """Of 2000 visits with weights of 2, an arm shown m times is 2000 - 2 m off, and its variance is 2 m + 8^2."""
    chunk = visits((np.arange(2000) < shown).astype(np.int64))
    if off is None:
        Scrutiny(Two()).add(chunk)  # 330 / sqrt(2 835 + 64) = 7.9
        return
    with pytest.raises(BiasedLog, match=rf"article 11 .* it is {off} standard deviations off"):
        Scrutiny(Two()).add(chunk)  # 340 / sqrt(2 830 + 64) = 8.2


# --- when -------------------------------------------------------------------------------------------------------


def test_it_is_judged_before_the_end() -> None:
    """A log that shows one arm and then the other is even at its end."""
    first, then = visits(np.zeros(1000, np.int64)), visits(np.ones(1000, np.int64))
    Scrutiny(Two()).add(visits(np.concatenate([first.arm, then.arm])))
    log = Two((first, then))
    with pytest.raises(BiasedLog, match="after 1,000 visits"):
        replay(ANY, RAW, log)
    assert log.read == [0]


def test_it_is_judged_at_the_end() -> None:
    """What comes after the last doubling counts as well."""
    log = Two((visits(alternating(3000)), visits(np.ones(2000, np.int64))))
    with pytest.raises(BiasedLog, match="after 5,000 visits"):
        replay(ANY, RAW, log)


def test_it_is_judged_whenever_visits_have_doubled() -> None:
    judged: list[int] = []

    class Watched(Scrutiny):
        def judge(self) -> None:
            judged.append(self.visits)

    watched = Watched(Two())
    for _ in range(40):
        watched.add(visits(alternating(10)))
    assert judged == [10, 20, 40, 80, 160, 320]


# --- rare arms ------------------------------------------------------------------------------------------------------

RARE = 1e-4


def rare(n: int, shown: int) -> Chunk:
    """n visits, of which some show the arm with the chance 1e-4."""
    arm = (np.arange(n) < shown).astype(np.int64)
    return visits(arm, np.where(arm == 1, RARE, 1 - RARE))


def refusals(log: Two) -> int:
    """Of 20 truthful logs with a rare arm, after 40,000 visits each, how many are refused at least once."""
    found = 0
    for seed in range(20):
        rng = np.random.Generator(np.random.PCG64(seed))
        scrutiny = Scrutiny(log)
        try:
            for _ in range(16):
                arm = (rng.random(2500) < RARE).astype(np.int64)
                chunk = visits(arm, np.where(arm == 1, RARE, 1 - RARE))
                if log.least > RARE:
                    seen = min(scrutiny.log.least, chunk.propensity.min())
                    scrutiny.log = replace(log, least=float(seen))
                scrutiny.add(chunk)
            scrutiny.judge()
        except BiasedLog:
            found += 1
    return found


def test_a_truthful_log_with_a_rare_arm_is_believed() -> None:
    assert refusals(Two(least=RARE)) == 0
    assert refusals(Two(least=1.0)) > 10  # the mutant that goes by the largest weight seen


@for_each(("expected", "refused"), [(28, False), (31, False), (33, True)])
def test_none_of_so_many_expected_ones(expected: int, refused: bool) -> None:
    """Four of the largest weights are a deviation: the limit is at 32 expected ones."""
    scrutiny, chunk = Scrutiny(Two(least=RARE)), rare(int(expected / RARE), 0)
    if not refused:
        scrutiny.add(chunk)
        return
    with pytest.raises(BiasedLog, match=r"article 22 .* it is 8.2 standard deviations off"):
        scrutiny.add(chunk)


# --- what is impossible ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Odd(Corner):
    """One visit in the middle says something else."""

    name: str = "click"
    value: float = 0.0

    def chunks(self, seed=0):
        for chunk in super().chunks(seed):
            getattr(chunk, self.name)[len(chunk.arm) // 2] = self.value
            yield chunk


@for_each("value", [20.0, 2.0, 1.001, float("nan"), -1.0, 0.0, 0.19, float("inf")])
def test_an_impossible_chance_is_refused(value: float) -> None:
    said = f"^propensity is {value}: it must be a probability from 0.2, the least that the log states, to 1$"
    with pytest.raises(InvalidValue, match=said):
        replay(ANY, RAW, Odd(name="propensity", value=value))


def test_a_chance_of_nothing_is_refused() -> None:
    log = Odd(name="propensity", value=0.0)
    with pytest.raises(InvalidValue, match=r"^propensity is 0.0: it must be a probability from 0.2, the least"):
        LogContexts(log, "user").page(next(log.chunks()))


@for_each("value", [3.7, 0.5, -1.0, 2.0, float("nan")])
def test_a_click_is_a_bit(value: float) -> None:
    with pytest.raises(InvalidValue, match=f"^click is {value}: it must be 0 or 1$"):
        replay(ANY, RAW, Odd(name="click", value=value))


@for_each(("name", "value"), [("click", 1.0), ("click", 0.0), ("propensity", 0.2 * (1 - 1e-10))])
def test_bits_and_rounded_chances_are_possible(name: str, value: float) -> None:
    (chunk,) = Odd(name=name, value=value).chunks()
    refuse_impossible(chunk, 0.2)
