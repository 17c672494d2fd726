"""Loops that were compiled for any processor, and came with the package: they are read, and nothing else is done."""

from pathlib import Path

import pytest

from maskedbandit.lab.engine import kernel_folder
from tests.lab.engine.test_compiler import outcome

FOR_ANY = "from numba.core import config\nconfig.CPU_NAME, config.CPU_FEATURES = 'generic', ''\n"
IN_THE_PACKAGE = """
from pathlib import Path
from maskedbandit.lab.engine import kernel_cache
kernel_cache.PACKAGED = Path({!r})
"""
ANOTHER_NUMBA = """
from maskedbandit.lab.engine import digest
digest.PLATFORM = *digest.PLATFORM[:-1], "0.1"
"""


def list_kernels(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("cache/*.kernel")]


@pytest.fixture
def packaged(tmp_path: Path) -> str:
    """A process that finds a loop in its package; what the loop calls is in no file."""
    assert outcome(tmp_path, 2.0, FOR_ANY) == (3.0, 0)
    package = tmp_path / "package"
    package.mkdir()
    for path in tmp_path.glob("cache/loop-*.kernel"):
        path.rename(package / path.name)
    for path in tmp_path.glob("cache/*.kernel"):
        path.unlink()
    return IN_THE_PACKAGE.format(str(package))


def test_a_loop_of_the_package_is_run_and_nothing_is_written(tmp_path: Path, packaged: str) -> None:
    (loop,) = (tmp_path / "package").iterdir()
    before = loop.stat()
    assert outcome(tmp_path, 2.0, packaged) == (3.0, 1)
    assert list_kernels(tmp_path) == []
    (same,) = (tmp_path / "package").iterdir()
    assert (same, same.stat().st_mtime_ns) == (loop, before.st_mtime_ns)


def test_nobody_waits_to_compile_what_came_with_the_package(tmp_path: Path, packaged: str) -> None:
    """Nor needs a folder of its own that can be used."""
    (tmp_path / "cache").chmod(0o777)
    assert outcome(tmp_path, 2.0, packaged) == (3.0, 1)


@pytest.mark.parametrize("other", ["", ANOTHER_NUMBA])
def test_elsewhere_and_with_another_numba_it_is_compiled(tmp_path: Path, packaged: str, other: str) -> None:
    """The controls: a process whose package has no such folder, and one in which files have other names."""
    assert outcome(tmp_path, 2.0, other and packaged + other) == (3.0, 0)
    assert len(list_kernels(tmp_path)) == 3


def test_a_damaged_loop_of_the_package_is_compiled_anew(tmp_path: Path, packaged: str) -> None:
    (loop,) = (tmp_path / "package").iterdir()
    loop.write_bytes(loop.read_bytes()[:-1])
    assert outcome(tmp_path, 2.0, packaged) == (3.0, 0)
    assert loop.exists()


@pytest.mark.slow
def test_what_was_compiled_for_any_processor_serves_this_one(tmp_path: Path) -> None:
    """And not the other way round."""
    assert outcome(tmp_path, 2.0, FOR_ANY) == (3.0, 0)
    assert outcome(tmp_path, 2.0) == (3.0, 1)
    assert outcome(tmp_path, 5.0) == (6.0, 0)
    assert outcome(tmp_path, 5.0, FOR_ANY) == (6.0, 0)


def test_the_folder_is_one_of_the_package() -> None:
    """Where nobody can write who cannot change the package itself."""
    assert kernel_folder.PACKAGED.parent == Path(kernel_folder.__file__).parent
