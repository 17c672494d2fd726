"""What was counted of settled places, and is written down, is what anybody would count who begins anew."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.errors import InvalidValue, Refused, StorageFailed
from maskedbandit.service.views import tally as tally_module
from maskedbandit.service.views.counts import keep_counts
from maskedbandit.service.views.sample_ratio import SampleRatio
from maskedbandit.service.views.tally import Tally, read_settled
from maskedbandit.service.views.view import read_view
from maskedbandit.store import reconcile
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.databases.sqlite import Sqlite
from maskedbandit.store.lease import read_clock
from maskedbandit.store.studies import find_witness
from tests.service.inside import Inside
from tests.service.journal import Journaled
from tests.service.live import Live
from tests.service.load import TABLE
from tests.service.played import HOUR, MINUTE, Played, quick_folder
from tests.store.databases import fresh_postgresql
from tests.store.test_reconcile import House

MEANS = [0.5, 0.6, 0.45, 0.5]
BEGIN, WRITE = Tally._begin, Tally.write


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as found:
        yield found


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written down after every fifth place."""
    monkeypatch.setattr(tally_module, "KEPT_EVERY", 5)


def keep(played: Played, tally: Tally) -> bool:
    """Go on with what is written down, as the clock of a service does: whether there is more of it now."""
    ((people,),) = played.database.rows("SELECT people FROM study")
    before = read_settled(played.database, "newsletter")
    keep_counts(played.database, played.witness(), "newsletter", people, tally)
    after = read_settled(played.database, "newsletter")
    return after is not None and (before is None or before.places.until < after.places.until)


@contextmanager
def unread() -> Iterator[None]:
    """Nobody reads what is written down."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally_module, "read_settled", lambda database, study: None)
        yield


def check_kept(*where: Any) -> None:
    """Of those who have counted nothing yet, whoever reads what is written down sees what all others see."""
    found = read_view(*where)
    with unread():
        assert read_view(*where) == found


def play_history(folder: Path, kind: str, seed: int) -> int:
    """People come, are erased, and lose their places, and arms are paused and added, while counts are kept: how often.

    Three processes keep them: one that goes on, one that begins anew each time, and one that also looks at the study.
    """
    address = fresh_postgresql() if kind == "postgresql" else None
    played, random, kept = Played(folder / f"{kind}{seed}", address, policy="contemporaneous_klucb"), Random(seed), 0
    played.random = Random(seed)
    going_on, looking = Tally(), Tally()
    played.study.start()
    moves: list[Callable[[], Any]] = [
        lambda: played.study.erase(f"person {random.randrange(1, played._people + 1)}"),
        lambda: played.study.change_arms("pause", "short"),
        lambda: played.study.change_arms("resume", "short"),
        lambda: played.study.change_arms("add", "another"),
        lambda: played.study.pause(),
        lambda: played.study.resume(),
        lambda: played.wait(random.randrange(3 * 60 * MINUTE)),
        lambda: played.reopen(),
    ]
    for _ in range(30):
        played.come(random.randrange(12), MEANS, every=random.choice((1000, MINUTE, 10 * MINUTE)), unseen=0.2)
        with suppress(Refused, InvalidValue):  # as to resume what was not paused
            random.choice(moves)()
        tally = random.choice((going_on, Tally(), looking))
        if tally is looking:
            read_view(played.database, played.witness(), "newsletter", played.now, looking)
        kept += keep(played, tally)
        check_kept(played.database, played.witness(), "newsletter", played.now)
    played.study.stop()
    played.wait(3 * 60 * MINUTE)
    while keep(played, Tally()):
        kept += 1
    settled = read_settled(played.database, "newsletter")
    assert settled is not None
    assert played.study.people - settled.places.people < 5  # a start need count no more
    check_kept(played.database, played.witness(), "newsletter", played.now)
    played.study.archive()
    check_kept(played.database, played.witness(), "newsletter", played.now)
    played.study.close()
    return kept


@pytest.mark.sparing(1)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_it_is_what_would_be_counted_anew(folder: Path, kind: str, seed: int) -> None:
    assert play_history(folder, kind, seed) > 5


def find_all_settled(self: Tally, database: Database, study: str) -> Any:
    """It takes all places for settled that were given before now."""
    settled, _ = BEGIN(self, database, study)
    return settled, int(database.rows("SELECT reached FROM study WHERE study = ?", study)[0][0])


@pytest.mark.parametrize("kind", ["sqlite"])
def test_one_that_counts_what_is_not_settled_is_found(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tally, "_begin", find_all_settled)
    with pytest.raises(AssertionError):
        play_history(folder, kind, 0)


def test_one_that_forgets_how_arms_were_seen_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(database: Database, study: str) -> Any:
        found = read_settled(database, study)
        if found is not None:
            found.ratio = SampleRatio(3, scanned=found.ratio.scanned)
        return found

    monkeypatch.setattr(tally_module, "read_settled", read)
    with pytest.raises(AssertionError):
        play_history(folder, "sqlite", 0)


def reconcile_a_copy(folder: Path, how: str) -> None:
    """A copy that has counts is put back, and what its ledger lacks is charged to all, or brought back."""
    house, tally = House(folder), Tally()
    house.play(0, 150)
    with closing(open_database(house.address)) as database:
        witness = find_witness(database, folder / "witness")
        while tally.is_behind(150):
            before = read_settled(database, "s")
            keep_counts(database, witness, "s", 150, tally)
            if read_settled(database, "s") == before:
                break
        assert read_settled(database, "s") is not None
        check_kept(database, witness, "s", house.now)
    copy = house.keep()
    house.play(150, 400)
    export = house.export()
    house.restore(copy)
    given = (reconcile.burn_missing,) if how == "burn" else (reconcile.bring_back, export)
    house.reconcile(*given)
    with closing(open_database(house.address)) as database:
        check_kept(database, witness, "s", house.now)
        tally.write(database, "s")  # by somebody who counted before that
        check_kept(database, witness, "s", house.now)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("how", ["burn", "bring back"])
def test_what_reconcile_changes_is_counted_anew(tmp_path: Path, how: str) -> None:
    reconcile_a_copy(tmp_path, how)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("how", ["burn", "bring back"])
def test_counts_that_reconcile_leaves_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    fence = "UPDATE study SET fence = fence + 1, holder = '', lease = 0 WHERE study = ?"
    monkeypatch.setattr(reconcile, "fence_off", lambda database, study: database.change(fence, study))
    with pytest.raises(AssertionError):
        reconcile_a_copy(tmp_path, how)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("how", ["burn", "bring back"])
def test_one_who_counted_before_and_writes_after_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    def write(self: Tally, database: Database, study: str) -> None:
        ((self._fence,),) = database.rows("SELECT fence FROM study")
        WRITE(self, database, study)

    monkeypatch.setattr(Tally, "write", write)
    with pytest.raises(AssertionError):
        reconcile_a_copy(tmp_path, how)


def test_what_cannot_be_read_is_counted_anew(folder: Path) -> None:
    played = Played(folder)
    played.study.start()
    played.come(40, MEANS)
    while keep(played, Tally()):
        pass
    for text in ("", "12", "{}", '{"places": []}'):
        assert played.database.change("UPDATE tally SET settled = ?", text) == 1
        check_kept(played.database, played.witness(), "newsletter", played.now)
    played.study.close()


@pytest.mark.slow
def test_a_start_counts_only_what_is_new(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is written down is not counted again, whoever looks."""
    played = Played(folder)
    played.study.start()
    played.come(200, MEANS)
    while keep(played, Tally()):
        pass
    since: list[int] = []
    rows = Sqlite.rows

    def spied(database: Sqlite, statement: str, *values: Any) -> Any:
        if "assigned >= ?" in statement:
            since.append(values[1])
        return rows(database, statement, *values)

    monkeypatch.setattr(Sqlite, "rows", spied)
    read_view(played.database, played.witness(), "newsletter", played.now)
    inside, *counted = sorted(since)
    assert inside == played.now - 2 * HOUR - 10 * MINUTE
    assert min(counted) > played.now - 30 * MINUTE
    played.study.close()


def test_the_clock_of_a_service_keeps_counts(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nobody looks; and if they cannot be written, all else goes on, and they are written later."""
    service.begin(policy={"name": "successive_elimination", "least": 100})
    with closing(open_database(service.address)) as database:
        for i in range(12):
            service.seen(f"person {i}")
            service.tick(1)
            assert read_settled(database, "small") is None or i >= 4
        before = read_settled(database, "small")
        assert before is not None
        with monkeypatch.context() as broken:
            broken.setattr(Tally, "write", lambda *given: fail())
            for i in range(12, 24):
                service.seen(f"person {i}")
                service.tick(1)
            assert service.host.ready
        assert read_settled(database, "small") == before
        service.tick(1)
        after = read_settled(database, "small")
        assert after is not None
        assert after.places.people >= before.places.people + 5
        check_kept(database, service.host.witness, "small", service.clock())


def fail() -> None:
    raise StorageFailed("the disk is full")


@pytest.mark.slow
def test_kills_of_a_service_that_counts(tmp_path: Path) -> None:
    """SIGKILL at times that differ in every run, of one that writes its counts down in each round of its clock.

    How PostgreSQL counts is looked at above, and what it keeps of a server that is killed, in test_durability.py.
    """
    live = Live(tmp_path, None, ("-m", "tests.service.mutant_server", "counts often", "serve"))
    try:
        live.begin()
        live.start_study(TABLE)
        load = Journaled(live, live.kill_and_begin)
        load.run(300, 5)
        assert live.end() == 0, live.said()
        load.check()
    finally:
        live.abandon()
    with closing(open_database(live.address)) as database:
        assert read_settled(database, TABLE["name"]) is not None
        check_kept(database, find_witness(database, live.witness), TABLE["name"], read_clock())
