"""Random histories of a study of two operators: whatever comes in between, a release is the sum of what counts.

People come, upload in any order of turns, leave, and come again; processes end; a cohort is settled in steps that are
repeated, or left for later. A model knows what counts: of each place the newest report, when the list was written down.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.errors import Conflict, Late
from maskedbandit.secagg.uploads import Upload
from maskedbandit.store.batches import OpenedReport, compare_proofs
from maskedbandit.store.requests import Assigned
from maskedbandit.store.rows import Rows
from maskedbandit.store.settle import ListedReports
from maskedbandit.study.reward import Reward
from tests.store.small_study import WINDOW, Clock
from tests.store.test_settle import no_noise, verify
from tests.store.two_operators import GRACE, Leading

STEPS = 120
DEFAULT = 0.25


class Model:
    """A study, and what it has to release."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng, self.clock = Random(f"history {seed}"), Clock()
        reward = {"window": "20 seconds", "exposure": "10 seconds", "grace": "5 seconds", "default": DEFAULT}
        where = f"sqlite:///{folder}/study.db", folder / "witness"
        self.leading = Leading(*where, self.clock, reward=reward, people=60)
        self.people: dict[str, Assigned] = {}
        self.counts: dict[str, Upload] = {}  # the newest report of each person
        self.values: dict[bytes, int] = {}  # by the name of a report
        self.listed: dict[int, tuple[ListedReports, float]] = {}
        self.released: dict[int, float] = {}

    def come(self) -> None:
        """Somebody comes, or comes again."""
        unit = f"person {self.rng.randint(0, 40)}"
        given = self.leading.do("assign", unit)
        if given.ticket is not None and unit not in self.people:
            self.leading.do("expose", given.ticket)
            self.people[unit] = self.leading.do("assign", unit)

    def upload(self) -> None:
        """A device sends a report, which may be an older one."""
        if not self.people:
            return
        unit, value = self.rng.choice(sorted(self.people)), self.rng.randint(0, 1)
        given, turn = self.people[unit], self.rng.randint(0, 5)
        sent = self.leading.seal(given, value, turn)
        late = self.clock.now > int(given.seen or 0) + WINDOW + GRACE
        try:
            self.leading.upload(given, sent)
        except Late:
            assert late
        except Conflict:  # another one of the same turn
            assert self.counts[unit].turn == turn
        else:
            assert not late
            if unit not in self.counts or self.counts[unit].turn < turn:
                self.counts[unit], self.values[sent.report] = sent, value

    def leave(self) -> None:
        """Somebody's data is erased."""
        if self.people and self.rng.random() < 0.3:
            unit = self.rng.choice(sorted(self.people))
            self.leading.study.erase(unit)
            del self.people[unit]
            self.counts.pop(unit, None)

    def reopen(self) -> None:
        """Another process goes on."""
        self.leading.reopen()

    def wait(self) -> None:
        """Time passes."""
        self.clock.now += self.rng.choice([1000, 5000, WINDOW + GRACE + 1])
        self.leading.do("tick")

    def settle(self) -> None:
        """Some of the steps by which cohorts are released."""
        for due in self.leading.do("due"):
            held = self.listed.get(due.cohort)
            assert due.listed == (held and held[0])
            if self.rng.random() < 0.3:
                break
            found = self.leading.list_cohort(due.cohort, due.n)
            if held is None:
                held = self.listed[due.cohort] = found, self.sum(due.cohort, due.n)
            assert found == held[0]
            said = self.leading.helper.state_total(self.leading.protocol, found)
            if self.rng.random() < 0.3:
                break
            self.released[due.cohort] = self.leading.do("settle", due.cohort, said).total
            assert self.released[due.cohort] == held[1]

    def sum(self, cohort: int, n: int) -> float:
        """What counts of a cohort now."""
        counted = [self.values[sent.report] for unit, sent in self.counts.items() if self.people[unit].cohort == cohort]
        return sum(counted) + DEFAULT * (n - len(counted))

    def play(self) -> None:
        """The whole history, to its end."""
        steps: list[Callable[[], None]] = [self.come, self.upload, self.leave, self.reopen, self.wait, self.settle]
        for _ in range(STEPS):
            self.rng.choices(steps, [30, 40, 3, 2, 10, 10])[0]()
        self.clock.now += WINDOW + GRACE + 1
        while any(self.leading.do("due")):
            self.settle()
        assert {each.cohort: each.total for each in self.leading.study.releases()} == self.released
        verify(self.leading)
        self.leading.study.close()


def play(folder: Path, many: int) -> int:
    """So many histories: how many releases they had."""
    found = 0
    for seed in range(many):
        (where := folder / str(seed)).mkdir()
        model = Model(where, seed)
        model.play()
        found += len(model.released)
    return found


def test_releases_are_what_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_noise(monkeypatch)
    assert play(tmp_path, 3) >= 6


@pytest.mark.slow
def test_in_many_more_histories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_noise(monkeypatch)
    assert play(tmp_path, 60) >= 200


# --- broken twins ---------------------------------------------------------------------------------------------------


def older_replaces(patch: pytest.MonkeyPatch) -> None:
    """A report of a lower turn takes the place of a newer one."""

    def add(self: Rows, ticket: str, upload: Upload, now: int) -> Upload | None:
        self._uploads[ticket], self._new_uploads[ticket] = upload, now
        return None

    patch.setattr(Rows, "add_upload", add)


def missing_are_nothing(patch: pytest.MonkeyPatch) -> None:
    """Who is missing counts as 0, and not as the default."""
    patch.setattr(Reward, "of", lambda self, told: 0.0)


def one_is_left_out(patch: pytest.MonkeyPatch) -> None:
    """The first report of each batch does not count."""
    real = compare_proofs

    def compare(*given: Any) -> list[OpenedReport]:
        return real(*given)[1:]

    patch.setattr("tests.store.two_operators.compare_proofs", compare)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("twin", [older_replaces, missing_are_nothing, one_is_left_out])
def test_a_leader_that_counts_otherwise_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twin: Callable[[pytest.MonkeyPatch], None]
) -> None:
    no_noise(monkeypatch)
    twin(monkeypatch)
    with pytest.raises(AssertionError):
        play(tmp_path, 3)
