"""A service or a shuffler that ends between any two steps: each cohort is mixed once, and released once."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.errors import BehindWitness, Corrupted, Malformed
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.helping.reconcile import bring_back_help, end_help, export_help
from maskedbandit.store.reconcile import bring_back, burn_missing, export_ledger
from maskedbandit.store.shuffling.session import ShufflerSession
from maskedbandit.store.shuffling.verify import verify_shuffling
from maskedbandit.store.studies import find_witness
from tests.for_each import for_each
from tests.service.inside import Inside, end_after
from tests.service.shuffler_inside import GRACE, ShuffledStudy, ShufflerInside, even_coins, shuffled_study


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ShuffledStudy]:
    """A study with eight people who have reported, and coins that show heads half of the time."""
    monkeypatch.setattr(Shuffled, "randomize", even_coins)
    with shuffled_study(tmp_path) as made:
        made.come_all([1] * 8)
        made.report()
        yield made


def restart(study: ShuffledStudy) -> None:
    """Other processes go on with both."""
    study.shuffler.close()
    study.shuffler = study.wire.shuffler = ShufflerInside(study.shuffler.address, study.shuffler.folder, study.clock)
    study.service.run(study.service.host.drop("small"))
    study.service.host.links.links.clear()


def read_totals(study: ShuffledStudy) -> list[float]:
    """The released totals, with what coins of an odd number add: the same in each run."""
    return [each["total"] for each in study.release()]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """What is released if nothing happens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Shuffled, "randomize", even_coins)
        with shuffled_study(tmp_path_factory.mktemp("undisturbed")) as made:
            made.come_all([1] * 8)
            made.report()
            return read_totals(made)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["PUT /v1/helping/small", "POST /v1/helping/small/cohorts/0/mix", "/mix"])
def test_an_answer_that_is_lost_is_asked_for_again(study: ShuffledStudy, step: str, undisturbed: list[float]) -> None:
    study.clock.now += 1000 * GRACE + 1
    for _ in range(2):
        study.wire.cut_at = step
        study.go(61)
        restart(study)
    study.wire.cut_at = None
    study.go(61)
    assert read_totals(study) == undisturbed
    assert len(study.entries(study.shuffler, "mixed")) == len(study.entries(study.service, "released")) == 2
    study.verify()
    study.shuffler.verify()


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["due", "ask_mix", "settle_mix"])
def test_the_service_may_end_at_any_step(
    study: ShuffledStudy, verb: str, undisturbed: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    study.clock.now += 1000 * GRACE + 1
    end_after(study.service, verb, monkeypatch)
    study.go()
    restart(study)
    study.go(61)
    assert read_totals(study) == undisturbed
    assert len(study.entries(study.shuffler, "mixed")) == 2


@pytest.mark.slow
def test_the_shuffler_may_end_within_a_mix(
    study: ShuffledStudy, undisturbed: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of a mix is there before all of it is: its order is drawn again, and nobody has seen the first one."""
    with monkeypatch.context() as patch:

        def fail(self: ShufflerSession, *given: Any, **says: Any) -> Any:
            raise OSError("the process has ended")

        patch.setattr(ShufflerSession, "enter", fail)
        study.go(GRACE + 0.001)
    assert study.entries(study.shuffler, "mixed") == []
    restart(study)
    study.go(61)
    assert read_totals(study) == undisturbed


@pytest.mark.slow
def test_an_older_copy_of_the_shuffler_mixes_nothing_again(study: ShuffledStudy, tmp_path: Path) -> None:
    study.shuffler.close()
    kept = (tmp_path / "shuffler.db").read_bytes()
    study.shuffler = study.wire.shuffler = ShufflerInside(study.shuffler.address, study.shuffler.folder, study.clock)
    assert len(study.release()) == 2
    study.shuffler.close()
    (tmp_path / "shuffler.db").write_bytes(kept)
    for more in tmp_path.glob("shuffler.db-*"):
        more.unlink()
    study.shuffler = study.wire.shuffler = ShufflerInside(study.shuffler.address, study.shuffler.folder, study.clock)
    with pytest.raises(BehindWitness):
        study.shuffler.verify()
    assert study.shuffler.ask("GET", "/readyz", key=None).status == 503
    said = study.shuffler.ask("POST", "/v1/studies/small/bundle", {"cohort": 0}, None)
    assert said.status >= 400


@pytest.mark.slow
def test_an_older_copy_of_the_shuffler_is_brought_back_with_an_export(study: ShuffledStudy, tmp_path: Path) -> None:
    study.shuffler.close()
    kept = (tmp_path / "shuffler.db").read_bytes()
    study.shuffler = study.wire.shuffler = ShufflerInside(study.shuffler.address, study.shuffler.folder, study.clock)
    released = study.release()
    assert len(released) == 2
    study.shuffler.close()
    exported = tmp_path / "exported"
    with closing(open_database(study.shuffler.address)) as database:
        witness = find_witness(database, study.shuffler.folder)
        exported.write_text("".join(f"{line}\n" for line in export_help(database, witness, "small")))
    for more in tmp_path.glob("shuffler.db*"):
        more.unlink()
    (tmp_path / "shuffler.db").write_bytes(kept)
    with closing(open_database(study.shuffler.address)) as database:
        assert verify_fails(database, witness)
        bring_back_help(database, witness, "small", exported)
        assert verify_shuffling(database, witness, "small")[2:] == (2, 0)
    study.shuffler = study.wire.shuffler = ShufflerInside(study.shuffler.address, study.shuffler.folder, study.clock)
    study.come_all([1] * 8, start=20)
    study.report(*[f"person{number}" for number in range(20, 28)])
    assert len(study.release()) == 4


def restore_service(study: ShuffledStudy, kept: bytes, file: Path | None = None) -> str:
    """An older copy of the service's database is put in its place, and reconciled, with an export or without."""
    put_back(study, kept)
    with closing(open_database(study.service.address)) as database:
        given = database, find_witness(database, study.service.folder), "small"
        said = burn_missing(*given) if file is None else bring_back(*given, file)
    start_service(study)
    return said


def put_back(study: ShuffledStudy, kept: bytes) -> None:
    """An older copy of the service's database takes its place."""
    study.service.close()
    for more in study.folder.glob("leader.db-*"):
        more.unlink()
    (study.folder / "leader.db").write_bytes(kept)


def start_service(study: ShuffledStudy) -> None:
    """Another process of the service."""
    study.service = Inside(study.service.address, study.service.folder, study.clock)
    study.service.host.links.links.clear()
    study.service.host.links.transport = study.wire


def copy_service(study: ShuffledStudy) -> bytes:
    """A copy of the service's database as it is now."""
    study.service.close()
    kept = (study.folder / "leader.db").read_bytes()
    start_service(study)
    study.go(61)
    return kept


@pytest.mark.slow
def test_a_service_restored_without_an_export_releases_no_mix_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People who come to its cohorts later are in a mix of their own, under a number that nobody had before."""
    monkeypatch.setattr(Shuffled, "randomize", even_coins)
    with shuffled_study(tmp_path, budget={"epsilon": 3, "delta": "3/1000"}) as study:
        study.come_all([1] * 8)
        study.report()
        kept = copy_service(study)
        first = {each["cohort"]: each["total"] for each in study.release()}
        assert {cohort: round(total) for cohort, total in first.items()} == {0: 4, 1: 4}
        restore_service(study, kept)
        units = study.come_all([0] * 8, start=20)
        assert not {study.places[unit]["terms"]["cohort"] for unit in units} & {0, 1}
        study.report(*units)
        assert {unit: study.answers(unit) for unit in units} == {unit: ["stored"] for unit in units}
        study.go(61)
        assert [round(each["total"]) for each in study.release()] == [0, 0]
        assert len(study.entries(study.shuffler, "mixed")) == 4
        study.verify()
        study.shuffler.verify()


@pytest.mark.slow
def test_a_service_brought_back_releases_nobody_whom_it_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their reports are with the shuffler, and what they were charged was lost with the newer database."""
    monkeypatch.setattr(Shuffled, "randomize", even_coins)
    with shuffled_study(tmp_path, budget={"epsilon": 3, "delta": "3/1000"}) as study:
        kept = copy_service(study)
        study.come_all([1] * 8)
        study.report()
        assert [round(each["total"]) for each in study.release()] == [4, 4]
        lost = study.come_all([1] * 3, start=10)
        study.report(*lost)
        with closing(open_database(study.service.address)) as database:
            witness = find_witness(database, study.service.folder)
            exported = [f"{line}\n" for line in export_ledger(database, witness, "small")]
        (tmp_path / "exported").write_text("".join(exported))
        restore_service(study, kept, tmp_path / "exported")
        units = study.come_all([0] * 8, start=20)
        study.report(*units)
        assert {unit: study.answers(unit) for unit in units} == {unit: ["stored"] for unit in units}
        study.go(61)
        assert [round(each["total"]) for each in study.release()] == [4, 4, 0, 0]
        study.verify()
        study.shuffler.verify()


@pytest.mark.slow
def test_a_copy_of_the_service_that_nobody_can_tell_releases_nobody_whom_it_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No entry of the ledger is missing, so it goes on as it is, and its places go to others."""
    monkeypatch.setattr(Shuffled, "randomize", even_coins)
    with shuffled_study(tmp_path) as study:
        kept = copy_service(study)
        study.report(*study.come_all([1] * 2))
        put_back(study, kept)
        start_service(study)
        study.go(61)
        study.report(*study.come_all([0] * 8, start=20))
        released = study.release()
        mixed = {each["cohort"]: each["reports"] for each in study.entries(study.shuffler, "mixed")}
        assert sum(mixed.values()) == 6  # without the two, and those two who have their places
        assert [round(each["total"]) for each in released] == [0, 0]
        study.verify()
        study.shuffler.verify()


@pytest.mark.slow
def test_a_service_that_deals_the_old_numbers_after_a_restore_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where in ("store.session", "store.book.mixes"):
        monkeypatch.setattr(f"maskedbandit.{where}.find_turn", lambda burned, discards: discards)
    with pytest.raises(AssertionError):
        test_a_service_restored_without_an_export_releases_no_mix_twice(tmp_path, monkeypatch)


@pytest.mark.slow
def test_a_mix_that_was_delivered_and_discarded_is_burned_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service has read it, although nothing was released."""
    with monkeypatch.context() as patch, shuffled_study(tmp_path, budget={"epsilon": 3, "delta": "3/1000"}) as study:
        patch.setattr("maskedbandit.store.mixes.decode_mix", refuse)
        study.come_all([1] * 8)
        study.report()
        kept = copy_service(study)
        assert study.release() == []
        assert len(study.entries(study.service, "discarded")) == 2
        assert "was charged ε = 1 at δ = 0.001" in restore_service(study, kept)


def refuse(*given: Any) -> float:
    """No sum."""
    raise Malformed("a sum to which noise alone does not lead")


@pytest.mark.slow
def test_without_an_export_an_older_copy_of_the_shuffler_ends_its_part(study: ShuffledStudy, tmp_path: Path) -> None:
    study.shuffler.close()
    kept = (tmp_path / "shuffler.db").read_bytes()
    study.shuffler = study.wire.shuffler = ShufflerInside(study.shuffler.address, study.shuffler.folder, study.clock)
    assert len(study.release()) == 2
    study.shuffler.close()
    for more in tmp_path.glob("shuffler.db*"):
        more.unlink()
    (tmp_path / "shuffler.db").write_bytes(kept)
    with closing(open_database(study.shuffler.address)) as database:
        witness = find_witness(database, study.shuffler.folder)
        end_help(database, witness, "small")
        assert verify_shuffling(database, witness, "small")[2:] == (0, 0)  # no bundle is left
    study.shuffler = study.wire.shuffler = ShufflerInside(study.shuffler.address, study.shuffler.folder, study.clock)
    study.come_all([1] * 8, start=20)
    study.report(*[f"person{number}" for number in range(20, 28)])
    assert len(study.release()) == 2


def verify_fails(database: Database, witness: Witness) -> bool:
    """Whether the copy is found to be one."""
    try:
        verify_shuffling(database, witness, "small")
    except BehindWitness:
        return True
    return False


CHANGED = {
    "UPDATE mixed SET message = '00' WHERE number = 0 AND cohort = 0": "a message of cohort 0",
    "DELETE FROM mixed WHERE number = 0": "a message of cohort",
    "UPDATE mixed SET number = 10000 - number": "a message of cohort",
    "UPDATE mixed SET cohort = 7 WHERE cohort = 1": "a message of cohort 1",
    "INSERT INTO bundle (study, cohort, place, n, item, messages) VALUES ('small', 0, 0, 4, '', '')": "was mixed",
    "INSERT INTO bundle (study, cohort, place, n, item, messages) VALUES ('small', 7, 9, 4, '', '')": "none of",
    "DELETE FROM entry WHERE number = 2": "has 2 entries",
    "UPDATE study SET state = 'stopped'": "state",
}


@pytest.mark.slow
@for_each(("statement", "says"), CHANGED.items())
def test_a_change_of_what_a_shuffler_stores_is_found(released: Path, statement: str, says: str) -> None:
    with TemporaryDirectory() as folder:
        copytree(released, Path(folder) / "copy")
        address = f"sqlite:///{folder}/copy/shuffler.db"
        with closing(open_database(address)) as database:
            witness = find_witness(database, Path(folder) / "copy" / "shuffler")
            assert verify_shuffling(database, witness, "small").mixes == 2
            with database.transaction():
                assert database.change(statement)
            with pytest.raises((Corrupted, BehindWitness), match=says):
                verify_shuffling(database, witness, "small")


WAITS = " WHERE cohort = 0 AND place = 1"
BEFORE_THE_MIX = {  # of a bundle that waits: what `ledger verify` finds, if anything; and what is released
    "n": (f"UPDATE bundle SET n = 5{WAITS}", "cohorts of different sizes", set()),  # no mix is made
    "place": (f"UPDATE bundle SET place = 4{WAITS}", "in none of its places", {0, 1}),
    "cohort": (f"UPDATE bundle SET cohort = 7{WAITS}", "", {0, 1}),
    "item": (f"UPDATE bundle SET item = '{'00' * 40}'{WAITS}", "", {0, 1}),
    "messages": (f"UPDATE bundle SET messages = '00' || SUBSTR(messages, 3){WAITS}", "", {1}),  # nobody can read it
    "messages removed": (f"UPDATE bundle SET messages = ''{WAITS}", "", {0, 1}),
}


def test_what_notices_a_change_is_said_of_each_column() -> None:
    """Of the tables of a shuffler; `study` is in no statement, as there is one."""
    with closing(open_database("sqlite:///:memory:")) as database:
        columns = {
            table: {name for (name,) in database.rows("SELECT name FROM pragma_table_info(?)", table)} - {"study"}
            for table in ("bundle", "mixed")
        }
    assert columns == {
        "bundle": {what.partition(" ")[0] for what in BEFORE_THE_MIX},
        "mixed": {"cohort", "number", "message"},  # see CHANGED
    }


@pytest.mark.slow
@for_each("what", list(BEFORE_THE_MIX))
def test_a_bundle_that_was_changed_before_the_mix_is_in_no_release(what: str) -> None:
    statement, says, cohorts = BEFORE_THE_MIX[what]
    with TemporaryDirectory() as folder, shuffled_study(Path(folder)) as study:
        study.come_all([1] * 8)
        study.report()
        with closing(open_database(study.shuffler.address)) as database, database.transaction():
            assert database.change(statement) == 1
        if says:
            with pytest.raises(Corrupted, match=says):
                study.shuffler.verify()
        assert {each["cohort"] for each in study.release()} == cohorts
        released = {each["cohort"]: json.loads(each["mixed"]) for each in study.entries(study.service, "released")}
        assert {cohort: said["reports"] for cohort, said in released.items()} == {
            cohort: 3 if cohort == 0 else 4 for cohort in cohorts
        }
        study.verify()


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study after its releases."""
    folder = tmp_path_factory.mktemp("released")
    with shuffled_study(folder) as made:
        made.come_all([1] * 8)
        made.report()
        assert len(made.release()) == 2
    return folder
