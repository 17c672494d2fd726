"""A service whose database is restored from a copy in the middle of a round tells devices no second list."""

from collections import defaultdict
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection

import apsw
import pytest

from maskedbandit.device import adding_up
from maskedbandit.device.booked_place import BookedPlace
from maskedbandit.secagg.kept_round import AGREEING, RoundDue
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.reconcile import burn_missing
from maskedbandit.store.studies import find_witness
from tests.service.adding_devices import WAIT, WINDOW, AddingDevices

Lists = dict[bytes, set[bytes]]  # by attempt: the lists of devices that were answered with key shares


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Lists:
    found: Lists = defaultdict(set)
    real = adding_up.answer_due

    def answer(connection: Connection, booked: BookedPlace, due: RoundDue, now: int) -> bytes:
        sent = real(connection, booked, due, now)
        if due.phase == AGREEING and sent:
            found[due.terms.ring].add(due.message)
        return sent

    monkeypatch.setattr(adding_up, "answer_due", answer)
    return found


def copy_database(source: Path, target: Path) -> None:
    """As an operator does, while the service runs."""
    with (
        apsw.Connection(str(target)) as to,
        apsw.Connection(str(source)) as of,
        to.backup("main", of, "main") as copied,
    ):
        copied.step()
    to.close()
    of.close()


def restart(scene: AddingDevices) -> None:
    """The service starts again."""
    scene.service.run(scene.service.host.hold("small")).study._session._stale = True


def play(folder: Path) -> AddingDevices:
    """All devices of a cohort are in a list, and some answer it; then a copy goes on, and one device is lost."""
    scene, live, copy = AddingDevices(folder), folder / "service.db", folder / "copy.db"
    scene.fill()
    scene.service.tick(WINDOW + 1)
    scene.contact(2)
    copy_database(live, copy)
    scene.contact()  # the last devices of each cohort are told the list
    copy_database(copy, live)
    restart(scene)
    lost = {scene.arms.index(arm) for arm in "ab"}
    scene.contact(lost=lost)
    scene.service.tick(WAIT + 1)
    scene.contact(5, lost=lost)
    return scene


@pytest.mark.slow
def test_of_an_attempt_devices_answer_one_list(tmp_path: Path, answered: Lists) -> None:
    scene = play(tmp_path)
    assert [len(lists) for lists in answered.values()] == [1, 1]
    assert scene.read_releases() == []
    scene.verify()
    scene.close()


@pytest.mark.slow
def test_a_service_that_remembers_no_list_is_found(
    tmp_path: Path, answered: Lists, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken twin, whose witness does not know what devices were told."""
    monkeypatch.setattr(Witness, "keep_list", lambda self, study, attempt, told: True)
    scene = play(tmp_path)
    assert [len(lists) for lists in answered.values()] == [2, 2]
    scene.close()


@pytest.mark.slow
def test_a_round_that_was_burned_is_not_that_of_others(tmp_path: Path) -> None:
    """Whoever gets a place of a cohort whose round was under way in the copy begins a round of its own."""
    scene, live, copy = AddingDevices(tmp_path, budget={"epsilon": 2}), tmp_path / "service.db", tmp_path / "copy.db"
    scene.fill()
    scene.service.tick(WINDOW + 1)
    scene.contact(2)
    copy_database(live, copy)
    scene.contact(3)
    assert len(scene.read_releases()) == 2
    copy_database(copy, live)
    with closing(open_database(scene.service.address)) as database:
        burn_missing(database, find_witness(database, scene.service.folder), "small")
    restart(scene)
    for device in scene.devices:
        device.contact()
    before = len(scene.devices)
    scene.fill()
    scene.service.tick(WINDOW + 1)
    scene.contact(5, lost=range(before))
    assert [each["n"] for each in scene.read_releases()] == [10, 10]
    scene.verify()
    scene.close()
