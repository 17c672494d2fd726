"""What a client was told of a study, and whether the database says the same."""

from collections import Counter, defaultdict
from typing import Any

from maskedbandit.privacy.loss import ZERO
from maskedbandit.store.accounts import Losses
from maskedbandit.store.databases.database import Database, Row
from maskedbandit.study.protocol import Protocol

MOVES = {"start": "running", "pause": "paused", "stop": "stopped"}  # the state after each move


class History:
    """All that a client was told of one study."""

    def __init__(self, name: str, project: str) -> None:
        self.name, self.project = name, project
        self.acknowledged = 0
        self.people: dict[str, str] = {}  # of each ticket
        self.arms: dict[str, int] = {}
        self.latest: dict[str, str] = {}  # the latest ticket of each person
        self.fresh: list[str] = []  # tickets of which nothing was told yet
        self.shown: set[str] = set()  # tickets whose place cannot go back
        self.reports: dict[tuple[str, str], float] = {}  # by ticket and event
        self.late: set[tuple[str, str]] = set()  # too late, so nobody is told whether it came before
        self.erased: set[str] = set()  # people
        self.unsure: set[str] = set()  # people whose erasure was under way at a kill: it may be done already
        self.releases: dict[int, tuple[int, int, float]] = {}
        self.state = "draft"

    def refused(self, why: str, kind: str, given: tuple[Any, ...]) -> None:
        """A refusal."""
        self.acknowledged += 1
        if kind == "report":
            ticket, value, event = given
            before = self.reports.get((ticket, event))
            if why == "Conflict":
                assert before is not None, "a report that was not acknowledged is there"
                assert before != value, "a retry was taken for a contradiction"
            elif why == "UnknownTicket":
                assert self.people[ticket] in self.erased | self.unsure, "an acknowledged place was lost"
            else:
                assert why == "Late", why
                self.late.add((ticket, event))
        elif kind in MOVES:
            assert why == "NotRunning", why  # it was done before the kill
            self.state = MOVES[kind]
        elif kind == "expose" and why == "UnknownTicket":
            assert self.people[given[0]] in self.erased | self.unsure, "an acknowledged place was lost"
        else:
            assert (kind, why) == ("expose", "Late"), (kind, why)

    def done(self, result: Any, kind: str, given: tuple[Any, ...]) -> None:
        """An acknowledgement."""
        self.acknowledged += 1
        if kind == "assign":
            self._assigned(given[0], *result)
        elif kind == "expose":
            self.shown.add(given[0])
        elif kind == "report":
            ticket, value, event = given
            before = self.reports.get((ticket, event))
            assert before is None or (result and before == value), "a report was taken twice"
            self.reports[ticket, event] = value
            self.shown.add(ticket)
        elif kind == "erase":
            self.erased.add(given[0])
        elif kind in MOVES:
            self.state = MOVES[kind]
        else:
            self.told(result)

    def _assigned(self, unit: str, arm: int, ticket: str | None, again: bool) -> None:
        latest = self.latest.get(unit)
        if latest in self.shown and unit not in self.erased:
            assert latest == ticket, "an acknowledged place was lost"
        if ticket is not None:
            if ticket not in self.people:
                self.fresh.append(ticket)
            assert self.people.setdefault(ticket, unit) == unit, "two people have one ticket"
            assert self.arms.setdefault(ticket, arm) == arm, "a person was shown two arms"
            self.latest[unit] = ticket

    def told(self, releases: list[tuple[int, int, int, float]]) -> None:
        """Releases that the client saw; each is what it was before."""
        for cohort, *release in releases:
            before = self.releases.setdefault(cohort, tuple(release))
            assert before == tuple(release), f"a release was drawn again: {before}, then {tuple(release)}"


class Stored:
    """What the database says of a study, row by row."""

    def __init__(self, database: Database, name: str, protocol: Protocol) -> None:
        self.database, self.name, self.protocol = database, name, protocol
        self.places = {
            row[0]: row[1:]
            for row in self._rows("ticket, cohort, place, arm, person, exposed, returned, erased FROM place")
        }

    def _rows(self, what: str) -> list[Row]:
        return self.database.rows(f"SELECT {what} WHERE study = ?", self.name)

    def check_places(self, people: dict[str, str], history: History) -> None:
        """No acknowledged place is lost, none is dealt twice, nobody has two."""
        live, holders = Counter[tuple[int, int]](), Counter[str]()
        for ticket, (cohort, place, arm, person, exposed, returned, erased) in self.places.items():
            if returned is None:
                live[cohort, place] += 1
                holders[person] += person is not None
            else:
                assert ticket not in history.shown, "a place went back that was seen"
            if erased is None:
                assert ticket in people, "nobody was told of a place"
                assert exposed is not None or ticket not in history.shown, "an acknowledged exposure was lost"
                assert (people[ticket], history.arms[ticket]) == (person, arm), "a place is another's"
        assert max(live.values(), default=1) == 1, "a place was dealt twice"
        assert max(holders.values(), default=1) == 1, "a person has two places"
        gone = people.keys() - self.places.keys()
        assert all(history.people[ticket] in history.erased for ticket in gone), "an acknowledged place was lost"
        assert len(people) == len(self.places), "a place was lost, or made by nobody"

    def check_reports(self, history: History) -> None:
        """Each acknowledged report is there once, and nothing else is."""
        stored = defaultdict(list)
        for ticket, event, value in self._rows("ticket, event, value FROM reward"):
            stored[ticket, event].append(value)
        assert max(map(len, stored.values()), default=1) == 1, "a report counts twice"
        for (ticket, event), value in history.reports.items():
            kept = history.people[ticket] not in history.erased or ticket in self.places
            assert not kept or stored.get((ticket, event)) == [value], "an acknowledged report was lost"
        known = history.reports.keys() | history.late
        assert stored.keys() <= known, "a report is there that was not acknowledged"

    def check_releases(self, history: History) -> None:
        """Each release has exactly its n people, and is what the client saw; its total is what they reported."""
        of_cohort = defaultdict(list)
        for ticket, (cohort, place, _, _, _, returned, erased) in self.places.items():
            if returned is None:
                of_cohort[cohort].append((place, ticket, erased))
        sums = Counter[str]()
        unknown = dict.fromkeys(history.late - history.reports.keys(), 0.0)  # to the client, who was told nothing
        for ticket, event, value in self._rows("ticket, event, value FROM reward"):
            if (ticket, event) in unknown:
                unknown[ticket, event] = value
        for (ticket, _), value in (*history.reports.items(), *unknown.items()):
            sums[ticket] += value
        stored = {row[0]: row[1:] for row in self._rows("cohort, arm, n, total FROM release")}
        for cohort, release in history.releases.items():
            assert stored.get(cohort) == release, f"a release changed: {release}, then {stored.get(cohort)}"
        exact = self.protocol.channel.epsilon > 200  # so that noise cannot hide a report
        for cohort, (_, n, total) in stored.items():
            members = sorted(of_cohort[cohort])
            assert [place for place, _, _ in members] == list(range(n)), "a cohort was released without all its people"
            if exact and not any(erased for _, _, erased in members):
                true = sum(self.protocol.reward.of([sums[ticket]]) for _, ticket, _ in members)
                assert abs(total - true) < 1 / 8, f"a release is {total}, and {true} was reported"

    def check_accounts(self, project: str, charges: Counter[str]) -> None:
        """Every account is the sum of its charges: for each ticket that its person was given."""
        losses, price = Losses(self.database), self.protocol.price(1)
        accounts = dict(self.database.rows("SELECT person, spent FROM account WHERE project = ?", project))
        for number, count in {(accounts.get(person), charges[person]) for person in charges.keys() | accounts.keys()}:
            spent, expected = losses[number] if number else ZERO, count * price if count else ZERO
            assert spent == expected, f"an account has {spent}, and its charges are {expected}"
