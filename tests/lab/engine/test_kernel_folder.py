"""The folder of kernels stays small: what was not used for longest goes first, whoever removes it."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.core import kernel
from maskedbandit.lab.engine import compiler, kernel_cache, kernel_folder
from maskedbandit.lab.engine.kernel_folder import SECONDS_A_DAY, SpaceLeft, list_kernel_files, mark_as_used, prune

LONG_AGO = 1_500_000_000.0


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """Ten files of 100 bytes, "0" the oldest, and one that is none of ours."""
    for i in range(10):
        path = tmp_path / f"{i}.{'draft' if i == 3 else 'kernel'}"
        path.write_bytes(bytes(100))
        os.utime(path, (LONG_AGO + i * SECONDS_A_DAY,) * 2)
    (tmp_path / "notes.txt").write_bytes(bytes(5000))
    return tmp_path


def left(folder: Path) -> str:
    return "".join(sorted(path.stem for path in folder.iterdir() if path.stem != "notes"))


def test_what_fits_stays(filled) -> None:
    assert prune(filled, 1000) == 1000
    assert left(filled) == "0123456789"
    assert prune(filled / "absent", 1000) == 0


def test_what_was_not_used_for_longest_goes_first(filled) -> None:
    mark_as_used(filled / "0.kernel")
    assert prune(filled, 800) == 600
    assert left(filled) == "056789"
    assert (filled / "notes.txt").exists()


def test_without_marks_what_is_in_use_would_go(filled) -> None:
    """The mutant: the oldest written goes first, in use or not."""
    prune(filled, 800)
    assert left(filled) == "456789"


def test_a_file_is_marked_once_a_day(filled) -> None:
    path = filled / "0.kernel"
    mark_as_used(path)
    first = path.stat().st_mtime_ns
    mark_as_used(path)
    assert path.stat().st_mtime_ns == first
    mark_as_used(filled / "absent.kernel")


def test_processes_that_prune_at_once_do_no_harm(filled, monkeypatch) -> None:
    """The other one removes each file just before this one does."""
    unlink = os.unlink

    def late(path: str) -> None:
        unlink(path)
        unlink(path)

    monkeypatch.setattr(os, "unlink", late)
    assert prune(filled, 800) == 600
    assert left(filled) == "456789"


def test_a_process_looks_when_it_first_writes_and_when_the_room_is_taken(filled, monkeypatch) -> None:
    monkeypatch.setattr(kernel_folder, "MOST_BYTES_KEPT", 1400)
    looked = []
    monkeypatch.setattr(kernel_folder, "prune", lambda *given: looked.append(given) or prune(*given))
    room = SpaceLeft()
    for i in range(10, 18):
        (filled / f"{i}.kernel").write_bytes(bytes(100))
        room.take(filled, 100)
    assert len(looked) == 2
    assert sum(each.size for each in list_kernel_files(filled)) <= 1400


@kernel
def scaled(x):
    return 13.0 * x


@kernel
def other(x):
    return 17.0 * x


step: Any = None  # stands for a kernel


def body(x):
    return step(x)


def test_kernels_of_a_full_folder_are_removed_and_those_in_use_are_marked(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(tmp_path))
    monkeypatch.setattr(kernel_cache, "ROOM", SpaceLeft())
    anew = compiler.compiled_loop.__wrapped__  # as another process would
    assert anew(body, step=scaled)(2.0) == 26.0
    for path in tmp_path.glob("*.kernel"):
        os.utime(path, (LONG_AGO,) * 2)
    again = anew(body, step=scaled)
    assert (again(2.0), again.from_disk) == (26.0, True)
    assert (
        max(path.stat().st_mtime for path in tmp_path.glob("*.kernel")) > LONG_AGO + SECONDS_A_DAY
    )  # the kernel is part of the loop
    monkeypatch.setattr(kernel_cache, "ROOM", SpaceLeft())
    monkeypatch.setattr(kernel_folder, "MOST_BYTES_KEPT", 1)
    assert anew(body, step=other)(2.0) == 34.0
    assert list(tmp_path.glob("*.kernel")) == []


def test_threads_prune_while_others_write(tmp_path) -> None:
    together = threading.Barrier(4)
    wrong = list[BaseException]()

    def work(name: int) -> None:
        room = SpaceLeft()
        together.wait(60)
        try:
            for i in range(50):
                (tmp_path / f"{name}-{i}.kernel").write_bytes(bytes(10))
                room.take(tmp_path, 10)
                prune(tmp_path, 200)
        except OSError as failed:
            wrong.append(failed)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sum(each.size for each in list_kernel_files(tmp_path)) <= 200
