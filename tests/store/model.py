"""What must hold of two studies of a project, in plain Python: the model of the machine in `machine.py`.

It knows nothing of tables, transactions or drivers. What chance decides, which arm and which place a person gets, it is
told; all else it works out by itself, and says of every operation how it has to end.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from maskedbandit.errors import Conflict, InvalidValue, Late, NotExposed, NotRunning, UnknownArm, UnknownTicket
from maskedbandit.store.requests import GUARDRAIL
from maskedbandit.study.protocol import Protocol

MINUTE = 60_000
WINDOW, EXPOSURE, PERIOD = 10 * MINUTE, 5 * MINUTE, 120 * MINUTE
PEOPLE, CHARGES = 40, 2  # of a study; that fit a person's budget in a period
EPSILON = 10_000  # there is no noise: a sum of bits is released as it is, but for one time in e^10000


def protocol(name: str, **other: Any) -> Protocol:
    """A study of the project."""
    policy = {"name": "successive_elimination", "least": 2}
    table: dict[str, Any] = {
        "name": name,
        "project": "both",
        "people": PEOPLE,
        "policy": policy,
        "channel": {"name": "central", "epsilon": EPSILON},
        "arms": [{"name": "a"}, {"name": "b"}],
        "budget": {"epsilon": CHARGES * EPSILON, "period": "2 hours"},
        "reward": {"window": "10 minutes", "exposure": "5 minutes", "rule": "first"},
    }
    return Protocol.from_table({**table, **other})


FURTHER = (GUARDRAIL, "metric spent\n")  # prefixes of what is reported


@dataclass
class Given:
    """A place that was given to a person."""

    unit: str
    cohort: int
    place: int
    arm: int
    propensity: str
    assigned: int
    period: int
    exposed: int | None = None
    returned: int | None = None
    reports: list[tuple[str, float]] = field(default_factory=list)  # event and value
    erased: bool = False

    @property
    def reward(self) -> float:
        return next((value for event, value in self.reports if "\n" not in event), 0.0)

    def further(self, prefix: str) -> float:
        return next((value for event, value in self.reports if event.startswith(prefix)), 0.0)


@dataclass
class Model:
    """A study, and what its project has charged."""

    charges: Counter[tuple[str, int]]  # by person and period; both studies have this one
    state: str = "draft"
    time: int = 0
    given: dict[str, Given] = field(default_factory=dict)  # by ticket
    gone: list[Given] = field(default_factory=list)  # erased
    sizes: dict[int, tuple[int, int]] = field(default_factory=dict)  # arm and size of the cohorts, as was asked
    releases: dict[int, tuple[int, int, float]] = field(default_factory=dict)  # arm, n and total
    further: dict[int, list[float]] = field(default_factory=dict)  # totals of the guardrail and of a metric
    sealed: dict[int, int] = field(default_factory=dict)  # when
    arms: list[str] = field(default_factory=lambda: ["a", "b"])
    control: str | None = None  # one of them, which has its share of all places
    paused: set[str] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)  # cohorts that were not released when their stage ended

    @property
    def places(self) -> list[Given]:
        return [*self.given.values(), *self.gone]

    def live(self, cohort: int) -> list[Given]:
        """Who is in a cohort."""
        return [each for each in self.places if each.cohort == cohort and each.returned is None]

    def of(self, unit: str) -> str | None:
        """The ticket of a person's place."""
        found = [ticket for ticket, each in self.given.items() if each.unit == unit and each.returned is None]
        assert len(found) <= 1, f"{unit} has {len(found)} places"
        return found[0] if found else None

    @property
    def people(self) -> int:
        """Who has a place: whoever is served without one, however often, does not count."""
        return sum(each.returned is None for each in self.places)

    @property
    def period(self) -> int:
        return self.time // PERIOD

    def given_up(self, cohort: int) -> bool:
        """Whether a cohort is never released: its stage ended, and a place of it is left, which nobody gets."""
        return cohort in self.ended and len(self.live(cohort)) < self.sizes[cohort][1]

    @property
    def left(self) -> int:
        """Places that somebody may get."""
        return sum(n - len(self.live(cohort)) for cohort, (_, n) in self.sizes.items() if cohort not in self.ended)

    # what has to come of an operation: a refusal, or what changes

    def may_assign(self) -> type[Exception] | None:
        return NotRunning if self.state in ("draft", "archived") else None

    @property
    def enrols(self) -> bool:
        return self.state == "running" and self.people < PEOPLE

    def assign(self, ticket: str, given: Given) -> None:
        """A person got a place that nobody has."""
        assert self.enrols, f"a place was given while the study is {self.state} and {self.people} have one"
        assert self.arms[given.arm] not in self.paused, "a person was given an arm that is paused"
        assert given.cohort not in self.ended, "a cohort of an earlier stage was filled up"
        assert self.of(given.unit) is None
        assert all(each.unit != given.unit for each in self.gone), "a person who was erased got a place"
        assert self.charges[given.unit, self.period] < CHARGES, "a person over the budget got a place"
        assert all(each.place != given.place for each in self.live(given.cohort)), "a place was dealt twice"
        assert given.cohort not in self.releases, "a place of a released cohort was dealt"
        self.given[ticket] = given
        self.charges[given.unit, self.period] += 1

    def may_expose(self, ticket: str) -> type[Exception] | None:
        if (found := self.given.get(ticket)) is None:
            return UnknownTicket
        late = found.returned is not None or self.time > found.assigned + EXPOSURE
        return Late if late and found.exposed is None else None

    def expose(self, ticket: str) -> None:
        if self.given[ticket].exposed is None:
            self.given[ticket].exposed = self.time

    def may_report(self, ticket: str, value: float, event: str = "") -> type[Exception] | None:
        found = self.given.get(ticket)
        if found is None:
            return UnknownTicket
        if found.exposed is None:
            return self.may_expose(ticket) or NotExposed
        if self.time > found.exposed + WINDOW or found.cohort in self.releases:
            return Late  # whatever was reported before
        before = dict(found.reports).get(event)
        return None if before in (None, value) else Conflict

    def report(self, ticket: str, value: float, event: str = "") -> bool:
        """Whether it came before."""
        reports = self.given[ticket].reports
        if event in dict(reports):
            return True
        reports.append((event, value))
        return False

    def erase(self, unit: str) -> int:
        mine = [ticket for ticket, each in self.given.items() if each.unit == unit]
        for ticket in mine:
            found = self.given.pop(ticket)
            found.reports, found.erased = [], True
            self.gone.append(found)
        return len(mine)

    def tick(self) -> list[tuple[int, int, int, float]]:
        """Cohort, arm, n and total of all that has to be released now."""
        for each in self.places:
            if each.exposed is None and each.returned is None and self.time > each.assigned + EXPOSURE:
                each.returned = self.time
        found, waiting = [], set()
        for cohort, (arm, size) in sorted(self.sizes.items()):
            if cohort in self.releases or self.given_up(cohort):
                continue
            people = self.live(cohort)
            seen = [each.exposed for each in people if each.exposed is not None]
            if arm in waiting or len(seen) < size or self.time <= max(seen) + WINDOW:
                waiting.add(arm)
                continue
            self.releases[cohort] = arm, size, sum(each.reward for each in people)
            self.further[cohort] = [sum(each.further(prefix) for each in people) for prefix in FURTHER]
            self.sealed[cohort] = self.time
            found.append((cohort, *self.releases[cohort]))
        return found

    def may_move(self, kind: str) -> type[Exception] | None:
        before = {"pause": ["running"], "resume": ["paused"], "stop": ["running", "paused"], "start": ["draft"]}
        return None if self.state in before[kind] else NotRunning

    def move(self, kind: str) -> None:
        self.state = {"pause": "paused", "resume": "running", "stop": "stopped", "start": "running"}[kind]

    def may_change(self, what: str, name: str) -> type[Exception] | None:
        if self.state not in ("running", "paused"):
            return NotRunning
        if what == "add":
            return InvalidValue if name in self.arms else None
        if name not in self.arms:
            return UnknownArm
        alone = what == "pause" and {*self.arms} - self.paused - {self.control} == {name}
        return Conflict if name == self.control or alone or (what == "pause") == (name in self.paused) else None

    def change(self, what: str, name: str) -> None:
        if what == "add":
            self.arms.append(name)
        (self.paused.add if what == "pause" else self.paused.discard)(name)
        self.ended |= self.sizes.keys() - self.releases.keys()
