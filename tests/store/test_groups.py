"""Studies of one group whose parts overlap do not run at the same time, whoever starts them, and when."""

from collections.abc import Iterator
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import Conflict, NotRunning
from maskedbandit.store.requests import Assigned
from maskedbandit.store.studies import open_study, write_study
from maskedbandit.store.study import Study
from tests.store.databases import fresh_postgresql
from tests.store.racers import LATE, start_one
from tests.store.small_study import EXPOSURE, WINDOW, Clock, small_protocol

PROCESSES = get_context("spawn")


class Project:
    """A database, with the studies of one project."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address, self.folder, self.clock = address, folder, Clock()
        self.held = dict[str, Study]()

    def draft(self, name: str, least: Any = 0, below: Any = 1, group: str | None = "g", project: str = "shop") -> Study:
        rules = {} if group is None else {"enrolment": {"group": {"name": group, "least": least, "below": below}}}
        budget = {"epsilon": 100}
        write_study(small_protocol(name=name, project=project, budget=budget, **rules), self.address, self.folder)
        self.held[name] = open_study(self.address, name, self.folder, self.clock)
        return self.held[name]

    def close(self) -> None:
        for each in self.held.values():
            each.close()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with closing(Project(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness")) as found:
        yield found


def refused(study: Study, other: str) -> str:
    with pytest.raises(Conflict) as why:
        study.start()
    assert study.state == "draft"
    assert other in str(why.value)
    return str(why.value)


def test_a_study_whose_part_is_taken_is_not_started_until_the_other_is_stopped(project: Project) -> None:
    first, second = project.draft("first", 0, "1/2"), project.draft("second", "1/4", "3/4")
    first.start()
    assert "first is running: it must be stopped first" in refused(second, "first")
    first.pause()
    assert "first is paused" in refused(second, "first")
    first.resume()
    first.stop()
    second.start()
    assert second.state == "running"
    with pytest.raises(NotRunning):
        first.start()


def test_studies_without_a_part_in_common_run_together(project: Project) -> None:
    for study in (
        project.draft("first", 0, "1/2"),
        project.draft("second", "1/2", 1),
        project.draft("third", group="h"),
        project.draft("fourth", group=None),
        project.draft("fifth", project="other"),
    ):
        study.start()


def enrolled(study: Study) -> Assigned:
    """The first person who is in the study's part."""
    return next(each for each in (study.assign(f"person {i}") for i in range(100)) if each.ticket)


def test_a_part_is_taken_until_the_window_of_the_last_person_is_over(project: Project) -> None:
    first, second = project.draft("first", 0, "1/2"), project.draft("second")
    first.start()
    ticket = enrolled(first).ticket
    assert ticket is not None
    project.clock.now += EXPOSURE
    first.expose(ticket)
    first.stop()
    project.clock.now += WINDOW
    assert "first is stopped, with people whose windows are open until 1970-01-01 00:17 UTC" in refused(second, "first")
    project.clock.now += 1
    second.start()


def test_a_place_that_nobody_saw_takes_the_part_until_it_goes_back(project: Project) -> None:
    first, second = project.draft("first", 0, "1/2"), project.draft("second")
    first.start()
    assert enrolled(first)
    first.stop()
    project.clock.now += EXPOSURE
    refused(second, "first")
    project.clock.now += 1
    second.start()


def test_erased_people_and_archived_studies_keep_the_part_as_long(project: Project) -> None:
    first, second = project.draft("first", 0, "1/2"), project.draft("second")
    first.start()
    ticket = enrolled(first).ticket
    assert ticket is not None
    first.expose(ticket)
    first.stop()
    first.archive()
    refused(second, "first")
    project.clock.now += WINDOW + 1
    second.start()


def test_whoever_was_in_one_study_of_a_group_may_be_in_the_next(project: Project) -> None:
    first, second = project.draft("first", 0, "1/2"), project.draft("second", 0, "1/2")
    first.start()
    before = [first.assign(f"person {i}").why for i in range(40)]
    first.stop()
    project.clock.now += WINDOW + 1
    second.start()
    assert [second.assign(f"person {i}").why for i in range(40)] == before
    assert set(before) == {None, "other_study"}


def test_nobody_is_in_two_studies_of_a_group_that_run_together(project: Project) -> None:
    first, second = project.draft("first", 0, "1/3"), project.draft("second", "1/3", 1)
    first.start()
    second.start()
    for i in range(60):
        unit = f"person {i}"
        assert sorted(str(study.assign(unit).why) for study in (first, second)) == ["None", "other_study"]


def race(address: str, folder: Path, naive: bool = False) -> list[str]:
    """What comes of it when three studies that exclude each other are started at once, by three processes."""
    with closing(Project(address, folder)) as project:
        for i in range(3):
            project.draft(f"study{i}", 0, f"{i + 1}/3")
    barrier, told = PROCESSES.Barrier(3), PROCESSES.Queue()
    processes = [
        PROCESSES.Process(target=start_one, args=(address, folder, f"study{i}", barrier, told, naive)) for i in range(3)
    ]
    for each in processes:
        each.start()
    found = [told.get(timeout=LATE)[1] for _ in processes]
    for each in processes:
        each.join(LATE)
    return found


@pytest.mark.slow
def test_of_studies_that_start_at_once_one_is_started(address: str, tmp_path: Path) -> None:
    found = race(address, tmp_path / "witness")
    assert found.count("started") == 1
    assert all("is running: it must be stopped first" in each for each in found if each != "started")


@pytest.mark.slow
def test_studies_whose_starts_do_not_wait_for_each_other_all_start(tmp_path: Path) -> None:
    """The twin reads who runs without the lock, as the others do, before any of them has committed."""
    assert race(fresh_postgresql(), tmp_path / "witness", naive=True) == ["started"] * 3
