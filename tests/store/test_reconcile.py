"""A restored copy of a database is refused, and reconciled: the gap is brought back, or burned."""

import json
import shutil
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.errors import BehindWitness, InvalidValue, Late
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.store import people
from maskedbandit.store.book.verify import Verified, verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.reconcile import bring_back, burn_missing, export_ledger, reveal_text
from maskedbandit.store.session import Session
from maskedbandit.store.studies import find_witness, open_study, write_study
from maskedbandit.store.study import Study
from maskedbandit.study.protocol import Protocol

PROTOCOL = Protocol.from_table(
    {
        "name": "s",
        "people": 10_000,
        "policy": {"name": "successive_elimination", "least": 20},
        "channel": {"name": "central", "epsilon": 1},
        "arms": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
        "budget": {"epsilon": 2},
        "reward": {"window": "20 seconds", "exposure": "5 seconds"},
    }
)


class House:
    """A study, its database, its witness, and the copies that are made of it."""

    def __init__(self, folder: Path, table: Mapping[str, Any] = PROTOCOL.table) -> None:
        self.folder, self.now, self.random = folder, 0, Random(1)
        self.file, self.address = folder / "study.db", f"sqlite:///{folder}/study.db"
        write_study(Protocol.from_table(table), self.address, folder / "witness")
        with self.open() as study:
            study.start()

    def open(self) -> Study:
        return open_study(self.address, "s", self.folder / "witness", lambda: self.now)

    def play(self, first: int, last: int) -> None:
        """These people come, a second apart."""
        with self.open() as study:

            def come(session: Session, i: int) -> None:
                self.now = 1000 * i
                given = people.assign(session, f"person {i}")
                if given.ticket and self.random.random() < 0.9:  # the others never see the arm
                    people.expose(session, given.ticket)
                    people.report(session, given.ticket, float(self.random.random() < 0.5))

            for i in range(first, last, 10):
                for done in study.apply([(come, each) for each in range(i, i + 10)]):
                    done.value()
                study.tick()

    def archive(self, study: Study) -> None:
        """The study is stopped, what is due is released, and all data of people is erased."""
        study.stop()
        self.now += 10**6
        while study.tick():
            self.now += 10**6
        study.archive()

    def keep(self) -> Path:
        return Path(shutil.copy(self.file, self.folder / "kept.db"))

    def restore(self, kept: Path) -> None:
        for more in ("-wal", "-shm"):
            Path(f"{self.file}{more}").unlink(missing_ok=True)
        shutil.copy(kept, self.file)

    def verify(self) -> Verified:
        database = open_database(self.address)
        try:
            return verify_study(database, find_witness(database, self.folder / "witness"), "s")
        finally:
            database.close()

    def reconcile(self, how, *given) -> str:
        database = open_database(self.address)
        try:
            return how(database, find_witness(database, self.folder / "witness"), "s", *given)
        finally:
            database.close()

    def export(self) -> Path:
        database = open_database(self.address)
        path = self.folder / "export"
        path.write_text("\n".join(export_ledger(database, find_witness(database, self.folder / "witness"), "s")))
        database.close()
        return path


@pytest.fixture
def restored(tmp_path: Path) -> tuple[House, Path, list]:
    """A house in which last night's copy was put back, the newest export, and the releases that are known."""
    house = House(tmp_path)
    house.play(0, 150)
    kept = house.keep()
    house.play(150, 400)
    with house.open() as study:
        releases = study.releases()
    export = house.export()
    house.restore(kept)
    return house, export, releases


def test_a_restored_copy_is_refused_by_everything(restored) -> None:
    house, _, _ = restored
    for use in (house.open, house.verify):
        with pytest.raises(BehindWitness, match="restored or another copy"):
            use()


@pytest.mark.slow
def test_a_gap_is_brought_back(restored) -> None:
    house, export, releases = restored
    assert "were brought back" in house.reconcile(bring_back, export)
    with house.open() as study:
        assert study.releases() == releases
        assert study.people == sum(each.n for each in releases)  # the places of all others went back
    house.verify()
    house.play(400, 700)  # and it goes on
    assert house.verify().releases > len(releases)
    with house.open() as study:  # those who were in the gap have been charged
        in_the_gap = [row[0] for row in study.database.rows("SELECT person FROM place WHERE assigned > 150000")]
        assert in_the_gap
        for person in in_the_gap:
            assert study._session.accounts.spent(person, 0) != ZERO


@pytest.mark.slow
def test_a_gap_is_burned(restored) -> None:
    house, _, _ = restored
    assert "was charged ε = 1 for 9 missing entries, of a budget of ε = 2 for ever" in house.reconcile(burn_missing)
    with house.open() as study:
        accounts = study._session.accounts
        assert accounts.spent("nobody knows", 0) == Loss.pure(1)
        assert accounts.spent(study._session.pseudonym("person 0"), 0) == 2 * Loss.pure(1)  # as was the charge before
        in_flight = [places.cohort for places in study._session.driver.deck.unreleased()]
        for cohort in in_flight:  # they may have been released: all of it goes to other people
            live = "SELECT COUNT(*) FROM place WHERE study = 's' AND cohort = ? AND returned IS NULL"
            assert study.database.rows(live, cohort) == [(0,)]
    house.verify()
    house.play(400, 700)
    house.verify()
    with house.open() as study:
        assert study.assign("person 650").again
    with pytest.raises(InvalidValue, match="nothing is missing here"):
        house.reconcile(burn_missing)


def test_a_place_that_was_burned_takes_no_report(restored) -> None:
    """It went to another person, so an outcome that was acknowledged would be lost."""
    house, _, _ = restored
    house.reconcile(burn_missing)
    with house.open() as study:
        house.now = study.time
        find = "SELECT reward.ticket, value FROM place JOIN reward USING (ticket) WHERE returned >= 0 AND exposed >= ?"
        in_time = study.database.rows(find, house.now - study.protocol.reward.window)
        assert in_time
        for ticket, value in in_time:
            for do in (partial(study.expose, ticket), *(partial(study.report, ticket, value, x) for x in ("", "x"))):
                with pytest.raises(Late, match="the place went to another person"):
                    do()


@pytest.mark.slow
def test_an_export_that_does_not_fit_changes_nothing(restored, tmp_path_factory) -> None:
    house, export, _ = restored
    lines = export.read_text().splitlines()
    entries = [line for line in lines if line.startswith('["entry"')]
    damaged = house.folder / "damaged"
    for text, why in (
        ("\n".join(line for line in lines if line != entries[-1]), "entries that the witness has seen"),
        ("not json", "what `ledger export` wrote"),
        ("[]", "what `ledger export` wrote"),
    ):
        damaged.write_text(text)
        with pytest.raises(InvalidValue, match=why):
            house.reconcile(bring_back, damaged)
        with pytest.raises(BehindWitness):
            house.open()
    other = House(tmp_path_factory.mktemp("other"))
    other.play(0, 400)
    with pytest.raises(Exception, match=r"signature|was changed|entries that the witness"):
        house.reconcile(bring_back, other.export())


@pytest.mark.slow
@pytest.mark.parametrize("how", ["erased", "archived"])
def test_whoever_was_erased_after_the_copy_is_charged_and_stays_erased(tmp_path, how) -> None:
    house = House(tmp_path)
    house.play(0, 150)
    kept = house.keep()
    house.play(150, 400)
    gone = [f"person {i}" for i in range(100, 250)]
    with house.open() as study:
        accounts, pseudonym = study._session.accounts, study._session.pseudonym
        before = [accounts.spent(pseudonym(unit), 0) for unit in gone]
        if how == "erased":
            for unit in gone:
                study.erase(unit)
        else:
            house.archive(study)
    export = house.export()
    house.restore(kept)
    house.reconcile(bring_back, export)
    with house.open() as study:
        assert study.state == ("running" if how == "erased" else "archived")
        accounts = study._session.accounts
        assert [accounts.spent(pseudonym(unit), 0) for unit in gone] == before
        assert len(set(before)) == 2
        for unit in gone:
            assert study.database.rows("SELECT * FROM place WHERE person = ?", pseudonym(unit)) == []
        if how == "erased":
            assert all(
                study.assign(unit).ticket is None for unit, loss in zip(gone, before, strict=True) if loss != ZERO
            )
    house.verify()


@pytest.mark.slow
def test_a_study_that_was_stopped_after_the_copy_is_stopped(tmp_path) -> None:
    house = House(tmp_path)
    house.play(0, 150)
    kept = house.keep()
    house.play(150, 400)
    with house.open() as study:
        study.stop()
    export = house.export()
    house.restore(kept)
    house.reconcile(bring_back, export)
    with house.open() as study:
        assert study.state == "stopped"
    house.verify()


def test_an_export_tells_nobody_a_reward(restored) -> None:
    _, export, _ = restored
    places = [row for row in map(json.loads, export.read_text().splitlines()) if row[0] == "place"]
    assert len(places) > 50
    for _, _, leaf, ticket, _, _, person, *_ in places:
        for said, reports in product((ticket, None), ([], [0.0], [1.0])):
            assert sha256(json.dumps([said, person, reports]).encode()).hexdigest() != leaf


@pytest.mark.slow
def test_an_export_tells_nobody_the_noise_of_a_tree(tmp_path) -> None:
    channel = {"name": "tree", "epsilon": 1, "length": 10_000}
    house = House(tmp_path, PROTOCOL.table | {"policy": "dpucb", "channel": channel})
    house.play(0, 150)
    kept = house.keep()
    house.play(150, 400)
    export = house.export()
    with house.open() as study:
        memory = study.database.rows("SELECT memory FROM release ORDER BY step")[-1][0]
        releases = study.releases()
    assert len(memory) > 100
    assert memory[1:-1].split("], [")[0] not in export.read_text()
    house.restore(kept)
    assert "were brought back" in house.reconcile(bring_back, export)
    with house.open() as study:
        assert study.releases() == releases
        assert study.database.rows("SELECT memory FROM release ORDER BY step")[-1][0] == memory
    house.verify()


@pytest.mark.slow
def test_a_copy_of_a_study_that_was_archived_since_keeps_no_noise_of_a_tree(tmp_path) -> None:
    channel = {"name": "tree", "epsilon": 1, "length": 10_000}
    house = House(tmp_path, PROTOCOL.table | {"policy": "dpucb", "channel": channel})
    house.play(0, 50)
    kept = house.keep()
    house.play(50, 100)
    with house.open() as study:
        house.archive(study)
    export = house.export()
    house.restore(kept)
    house.reconcile(bring_back, export)
    with house.open() as study:
        assert study.state == "archived"
        assert set(study.database.rows("SELECT memory FROM release")) == {("",)}
    house.verify()


def test_nothing_is_reconciled_that_is_whole(tmp_path) -> None:
    house = House(tmp_path)
    house.play(0, 100)
    with pytest.raises(InvalidValue, match="nothing is missing here"):
        house.reconcile(burn_missing)


@pytest.mark.parametrize("state", ["draft", "started, and then killed before the witness knew"])
def test_nothing_is_missing_in_a_study_whose_ledger_the_witness_has_not_seen(tmp_path: Path, state: str) -> None:
    address, folder = f"sqlite:///{tmp_path}/study.db", tmp_path / "witness"
    write_study(PROTOCOL, address, folder)
    database = open_database(address)
    witness = find_witness(database, folder)
    if state != "draft":
        heads = (witness.folder / "heads").read_text()
        with open_study(address, folder=folder) as study:
            study.start()
        (witness.folder / "heads").write_text(heads)
    for how in (burn_missing, partial(bring_back, file=tmp_path / "export")):
        (tmp_path / "export").write_text('["study", 0, 0]')
        with pytest.raises(InvalidValue, match="nothing is missing here"):
            how(database, witness, "s")
    database.close()


@pytest.mark.slow
def test_what_was_erased_after_the_copy_is_in_no_file(tmp_path: Path) -> None:
    """Nor is anybody whose place went back to it, as the export does not have the person's reports."""
    house = House(tmp_path)
    house.play(0, 150)
    kept = house.keep()
    with house.open() as study:
        find = "SELECT ticket FROM place JOIN reward USING (study, ticket) WHERE person = ?"
        ((ticket,),) = study.database.rows(find, study._session.pseudonym("person 7"))
        study.erase("person 7")
    house.play(150, 400)
    export = house.export()
    house.restore(kept)
    assert ticket.encode() in house.file.read_bytes()
    house.reconcile(bring_back, export)
    for file in house.file.parent.glob("study.db*"):
        assert ticket.encode() not in file.read_bytes()
    database = open_database(house.address)
    assert set(database.rows("SELECT salt FROM place WHERE erased IS NOT NULL")) == {(None,)}
    database.close()
    house.verify()


@pytest.mark.slow
def test_an_export_that_does_not_conceal_leaves_is_read(restored) -> None:
    """As older versions wrote them."""
    house, export, releases = restored
    database = open_database(house.address)
    witness = find_witness(database, house.folder / "witness")
    database.close()
    lines = [json.loads(line) for line in export.read_text().splitlines()]
    plainly = [
        [*line[:2], reveal_text(line[2], witness, export), *line[3:]] if line[0] == "place" else line for line in lines
    ]
    assert plainly != lines
    export.write_text("\n".join(map(json.dumps, plainly)))
    house.reconcile(bring_back, export)
    with house.open() as study:
        assert study.releases() == releases
    house.verify()
