"""A compiled loop comes from disk when nothing changed, and never when something did."""

import errno
import gc
import os
import pickle
import re
import sys
import threading
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from maskedbandit import law
from maskedbandit.core import OPTIONS, kernel, large_kernel
from maskedbandit.errors import InvalidValue, KernelError
from maskedbandit.lab import files
from maskedbandit.lab.engine import compiler, kernel_cache
from maskedbandit.lab.engine.digest import digest_kernels, list_ingredients
from maskedbandit.lab.streams import Streams
from tests.lab.processes import PROCESSES

SCALE = 2.0


@kernel
def inner(x):
    return SCALE * x


@kernel
def outer(x):
    return inner(x) + 1.0


step: Any = None  # stands for a kernel


def body(x):
    return step(x)


def test_a_kernel_reached_through_another_is_an_ingredient() -> None:
    found = list_ingredients(body, {"step": outer})
    assert "SCALE = float 2.0" in found


def test_a_changed_constant_changes_the_digest(monkeypatch) -> None:
    before = digest_kernels(body, {"step": outer})
    assert digest_kernels(body, {"step": outer}) == before
    monkeypatch.setitem(outer.function.__globals__, "SCALE", 3.0)
    assert digest_kernels(body, {"step": outer}) != before


def test_another_kernel_under_the_same_name_changes_the_digest() -> None:
    assert digest_kernels(body, {"step": outer}) != digest_kernels(body, {"step": inner})


SCRIPT = """
from changing import body, outer
from maskedbandit.lab.engine import compiler

loop = compiler.compile_loop(body, step=outer)
print(loop(1.0), int(loop.from_disk))
"""

MODULE = """
from maskedbandit import law
from maskedbandit.core import OPTIONS, kernel, large_kernel

@kernel
def inner(x):
    return {factor} * x

@kernel
def outer(x):
    return inner(x) + 1.0

def body(x):
    return step(x)
"""


OTHER = """
from changing import inner
from maskedbandit.core import kernel

@kernel
def another(x):
    return inner(x) - 1.0
"""


def runs(folder: Path, script: str, said: Any) -> None:
    """A script in a process of its own, whose kernels are kept in the folder."""
    os.environ["MASKEDBANDIT_CACHE"] = str(folder / "cache")
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    with redirect_stdout(StringIO()) as printed:
        exec(script, {})
    said.put(printed.getvalue())


def started(folder: Path, script: str) -> tuple[Any, Any]:
    """A process, and where it puts what it prints."""
    said = PROCESSES.SimpleQueue()
    process = PROCESSES.Process(target=runs, args=(folder, script, said))
    process.start()
    return process, said


def ended(process: Any, said: Any) -> str:
    process.join()
    assert process.exitcode == 0
    printed: str = said.get()
    return printed


def outcome(folder: Path, factor: float, before: str = "") -> tuple[float, int]:
    """What the loop gives in a new process, and how often it came from disk."""
    (folder / "changing.py").write_text(MODULE.format(factor=factor))
    value, hits = ended(*started(folder, before + SCRIPT)).split()
    return float(value), int(hits)


TABLE = np.array([1.0, 2.0])


class Pair(NamedTuple):
    """Two numbers of one type, distinguished by their position alone."""

    first: float
    second: float


@kernel
def with_table(x):
    return TABLE[0] * x


@kernel
def with_default(x, by=2.0):
    return by * x


def factory(by):
    @kernel
    def closed(x):
        return by * x

    return closed


def test_tables_defaults_and_closures_are_ingredients(monkeypatch) -> None:
    before = digest_kernels(body, {"step": with_table})
    monkeypatch.setitem(with_table.function.__globals__, "TABLE", np.array([1.0, 3.0]))
    assert digest_kernels(body, {"step": with_table}) != before
    before = digest_kernels(body, {"step": with_default})
    monkeypatch.setattr(with_default.function, "__defaults__", (3.0,))
    assert digest_kernels(body, {"step": with_default}) != before
    assert digest_kernels(body, {"step": factory(2.0)}) != digest_kernels(body, {"step": factory(3.0)})


def test_a_kernel_reached_through_a_module_is_an_ingredient(monkeypatch) -> None:
    @kernel
    def outside(x):
        return law.count_steps(x, 1)

    before = digest_kernels(body, {"step": outside})
    monkeypatch.setattr(law, "count_steps", law.count_draws)
    assert digest_kernels(body, {"step": outside}) != before


class Swapped(NamedTuple):
    """The same numbers in the other order."""

    second: float
    first: float


@kernel
def first(pair):
    return pair.first


def test_the_order_of_a_tuple_s_fields_is_part_of_the_name_on_disk() -> None:
    """Under one name and with fields of one type, only the order tells the tuples apart."""
    from numba import typeof

    Swapped.__qualname__ = "Pair"
    shapes = [kernel_cache.describe_numba_type(typeof(kind(1.0, 2.0))) for kind in (Pair, Swapped)]
    assert shapes == [
        f"{__name__}.Pair('first', 'second')(float64, float64)",
        f"{__name__}.Pair('second', 'first')(float64, float64)",
    ]
    assert [compiler.compile_loop(body, step=first)(kind(1.0, 2.0)) for kind in (Pair, Swapped)] == [1.0, 2.0]


def test_how_kernels_are_compiled_is_an_ingredient(monkeypatch) -> None:
    before = digest_kernels(body, {"step": inner})
    monkeypatch.setitem(OPTIONS, "fastmath", True)
    assert digest_kernels(body, {"step": inner}) != before


def test_a_changed_kernel_is_never_served_from_a_stale_cache(tmp_path: Path) -> None:
    assert outcome(tmp_path, 2.0) == (3.0, 0)
    assert outcome(tmp_path, 5.0) == (6.0, 0)  # the change is two calls away from the loop
    assert outcome(tmp_path, 2.0) == (3.0, 1)  # another process finds on disk what did not change


def test_a_name_that_ignores_the_kernels_would_serve_a_stale_loop(tmp_path: Path) -> None:
    """The control: with a digest of the loop's own text alone, the same check fails."""
    blind = (
        "from maskedbandit.lab.engine import compiler\ncompiler.digest_kernels = lambda *parts: 'the-same-for-all'\n"
    )
    assert outcome(tmp_path, 2.0, blind) == (3.0, 0)
    assert outcome(tmp_path, 5.0, blind) == (3.0, 1)  # stale


def test_a_new_policy_finds_the_kernels_of_others_on_disk(tmp_path: Path) -> None:
    """`inner` is compiled once, though two loops reach it by two ways."""
    assert outcome(tmp_path, 2.0) == (3.0, 0)
    before = set((tmp_path / "cache").iterdir())
    (tmp_path / "other.py").write_text(OTHER)
    script = "from changing import body, inner\nfrom maskedbandit.lab.engine import compiler\n"
    ended(
        *started(tmp_path, script + "from other import another\nprint(compiler.compile_loop(body, step=another)(1.0))")
    )
    added = set((tmp_path / "cache").iterdir()) - before
    assert len(added) == 2  # the loop and `another`, not `inner`


@kernel
def halved(x):
    return x / 2


@kernel
def halves_constants(x):
    return halved(1) + halved(2) + halved(int(x))


def test_a_kernel_that_a_class_has_stays_itself() -> None:
    """A `partial` becomes a method there, from Python 3.14 on, and is warned of in 3.13."""
    holder = type("Holder", (), {"halved": halved})
    assert holder().halved is holder.halved is halved
    assert halved.__get__(holder(), holder) is halved


def test_a_constant_makes_no_kernel_of_its_own(tmp_path: Path, monkeypatch) -> None:
    """To Numba 1, 2 and an integer that it does not know are three types: `halved` would be compiled for each."""
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(tmp_path))
    compiler.compiled_kernel.cache_clear()
    assert compiler.compiled_loop.__wrapped__(body, step=halves_constants)(6.0) == 4.5
    assert len(list(tmp_path.glob("*.kernel"))) == 3  # the loop and two kernels


@kernel
def drawn(generator):
    return generator.random()


def test_a_loop_is_compiled_once_for_the_lab_s_own_generators_too(tmp_path: Path, monkeypatch) -> None:
    """Numba asks for the type of an argument in two ways, and one of them takes these for generators of NumPy."""
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(tmp_path))
    loop = compiler.compiled_loop.__wrapped__(body, step=drawn)
    *_, generator = Streams(1, "").of(run=0)
    *_, again = Streams(1, "").of(run=0)
    assert loop(generator) == again.random()
    assert len(loop._run.overloads) == 1


@large_kernel
def quartered(x):
    return x / 4


@kernel
def quarters_and_halves(x):
    return quartered(x) + quartered(x + 4) + halved(x)


def test_a_large_kernel_is_called_by_its_symbol(tmp_path: Path, monkeypatch) -> None:
    """Its machine code is made once, and not in the loop that calls it through another one."""
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(tmp_path))
    compiler.compiled_kernel.cache_clear()
    loop = compiler.compiled_loop.__wrapped__(body, step=quarters_and_halves)
    assert loop(8.0) == 9.0
    code = next(iter(loop._run.overloads.values())).library.get_llvm_str()
    assert re.search("^declare .*quartered", code, re.MULTILINE)
    assert not re.search("^define .*quartered", code, re.MULTILINE)
    assert not re.search("^declare .*halved", code, re.MULTILINE)


@pytest.mark.slow
def test_a_large_kernel_that_was_compiled_here_is_loaded_as_well(tmp_path: Path, monkeypatch) -> None:
    """What calls it is not always the first to ask for it."""
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(tmp_path))
    for step in (quartered, quarters_and_halves, quartered):
        compiler.compiled_kernel.cache_clear()
        assert compiler.compiled_loop.__wrapped__(body, step=step)(8.0) in (2.0, 9.0)


@kernel
def quarters_twice(x):
    return quartered(quartered(x))


@pytest.mark.slow
def test_a_large_kernel_outlives_whoever_compiled_it_first(tmp_path: Path, monkeypatch) -> None:
    """Numba forgets what a kernel compiled once nobody has that kernel any more, though others have loaded the same."""
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(tmp_path))
    compiler.compiled_kernel.cache_clear()
    first = compiler.compiled_loop.__wrapped__(body, step=quartered)
    assert first(8.0) == 2.0
    compiler.compiled_kernel.cache_clear()
    assert compiler.compiled_loop.__wrapped__(body, step=quarters_and_halves)(8.0) == 9.0
    del first
    gc.collect()
    assert compiler.compiled_loop.__wrapped__(body, step=quarters_twice)(8.0) == 0.5


APART = """
from maskedbandit.core import kernel, large_kernel
from maskedbandit.lab.engine import apart, compiler

@large_kernel
def innermost(x):
    return 3.0 * x

@large_kernel
def large(x):
    return innermost(x) + 1.0

@kernel
def between(x):
    return large(x) + 1.0

def body(x):
    return step(x)
"""


@pytest.mark.slow
def test_whoever_calls_a_large_kernel_brings_its_code_along(tmp_path: Path) -> None:
    """Whichever file alone is left, and all others are compiled by another process."""
    (tmp_path / "apart_kernels.py").write_text(APART)
    script = "from apart_kernels import *\nprint(compiler.compile_loop(body, step=between)(1.0))"
    assert float(ended(*started(tmp_path, script))) == 5.0
    kept = {path: path.read_bytes() for path in (tmp_path / "cache").glob("*.kernel")}
    assert len(kept) == 4
    for left, data in kept.items():
        for path in (tmp_path / "cache").glob("*.kernel"):
            path.unlink()
        left.write_bytes(data)
        assert float(ended(*started(tmp_path, script))) == 5.0


def test_whoever_forgets_a_large_kernel_cannot_be_loaded(tmp_path: Path) -> None:
    """The control: code that is neither in the process nor in the file is not found."""
    (tmp_path / "apart_kernels.py").write_text(APART)
    script = "print(compiler.compile_loop(body, step=between)(1.0))"
    forgets = "from apart_kernels import *\napart.find_symbols_apart = lambda library: {}\n"
    assert float(ended(*started(tmp_path, forgets + script))) == 5.0
    process, _ = started(tmp_path, "from apart_kernels import *\n" + script)
    process.join()
    assert process.exitcode != 0


@pytest.mark.sparing(1)
@pytest.mark.parametrize("broken", ["a file", "full", "of others"])
def test_without_a_folder_of_its_own_the_loop_is_compiled_in_memory(tmp_path: Path, monkeypatch, broken) -> None:
    folder = tmp_path / "cache"
    if broken == "a file":
        folder.write_text("not a folder")
    else:
        folder.mkdir()
    if broken == "of others":
        folder.chmod(0o777)
    if broken == "full":

        def full(path: Path, data: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(Path, "write_bytes", full)
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(folder))
    factory_of = factory(float(len(broken)))  # compiled by nobody before
    assert compiler.compile_loop(body, step=factory_of)(2.0) == 2.0 * len(broken)
    assert folder.is_file() or {path.name for path in folder.iterdir()} <= {".lock"}


@pytest.mark.sparing(1)
@pytest.mark.parametrize("damage", ["empty", "cut off", "one bit", "other data"])
def test_a_damaged_file_is_compiled_anew(tmp_path: Path, monkeypatch, damage) -> None:
    """Not run: a changed bit may be in the machine code."""
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(tmp_path))
    own, anew = factory(float(len(damage))), compiler.compiled_loop.__wrapped__  # as another process would
    assert [loop(2.0) for loop in (anew(body, step=own), anew(body, step=own))] == [2.0 * len(damage)] * 2
    for path in tmp_path.glob("*.kernel"):
        whole = path.read_bytes()
        middle = len(whole) // 2
        one_bit = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        broken = {"empty": b"", "cut off": whole[:middle], "one bit": one_bit}
        path.write_bytes(broken.get(damage, kernel_cache.seal_with_digest(b"no kernel")[:-1]))
    for from_disk in (False, True):
        loop = anew(body, step=own)
        assert loop(2.0) == 2.0 * len(damage)
        assert loop.from_disk == from_disk


@pytest.mark.slow
def test_of_processes_that_need_the_same_kernels_at_once_one_compiles(tmp_path: Path) -> None:
    (tmp_path / "changing.py").write_text(MODULE.format(factor=7.0))
    four = [started(tmp_path, SCRIPT) for _ in range(4)]
    assert sorted(ended(*each).split() for each in four) == [["8.0", "0"], *[["8.0", "1"]] * 3]


def test_a_kernel_that_another_process_does_not_get_done_is_compiled_all_the_same(tmp_path: Path, monkeypatch) -> None:
    """As if the other one was stopped while it compiles."""
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(tmp_path))
    monkeypatch.setattr(kernel_cache, "COMPILE_PATIENCE", 0.0)
    monkeypatch.setattr(files, "take_lock", lambda *given: given[1] != "LOCK_EX")
    assert compiler.compile_loop(body, step=factory(11.0))(2.0) == 22.0


SAVED = """
from maskedbandit.lab.engine import compiler, kernel_cache

def save(self, kinds, data, usual=kernel_cache.KernelCache.save_overload):
    print(self._paths(kinds, data.codegen)[0].stem)
    usual(self, kinds, data)

kernel_cache.KernelCache.save_overload = save
from changing import body, outer
from other import another
"""


@pytest.mark.slow
def test_a_kernel_that_two_loops_share_is_compiled_by_one_of_their_processes(tmp_path: Path) -> None:
    (tmp_path / "changing.py").write_text(MODULE.format(factor=7.0))
    (tmp_path / "other.py").write_text(OTHER)
    four = [
        started(tmp_path, f"{SAVED}compiler.compile_loop(body, step={step})(1.0)") for step in ("outer", "another") * 2
    ]
    saved = [name for each in four for name in ended(*each).split()]
    assert len(saved) == len(set(saved)) == 5, "two loops, what each calls, and what both call"


@pytest.mark.slow
def test_processes_that_compile_the_same_kernels_at_once_do_no_harm(tmp_path: Path) -> None:
    """Where files have no locks."""
    (tmp_path / "changing.py").write_text(MODULE.format(factor=7.0))
    no_locks = "from maskedbandit.lab import files\nfiles.taken = lambda *lock: True\n"
    both = [started(tmp_path, no_locks + SCRIPT) for _ in range(2)]
    assert [ended(*each).split()[0] for each in both] == ["8.0", "8.0"]
    assert outcome(tmp_path, 7.0) == (8.0, 1)
    assert {path.suffix for path in (tmp_path / "cache").iterdir()} == {".kernel", ""}  # and the locks


def test_threads_that_compile_the_same_kernels_at_once_do_no_harm(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(tmp_path))
    own, anew, found = factory(11.0), compiler.compiled_loop.__wrapped__, list[float]()
    together = threading.Barrier(4)

    def work() -> None:
        loop = anew(body, step=own)
        together.wait(60)
        found.append(loop(3.0))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [33.0] * 4
    assert anew(body, step=own)(3.0) == 33.0
    assert {path.suffix for path in tmp_path.iterdir()} == {".kernel", ""}  # and the locks


def test_types_are_not_looked_up_while_another_thread_compiles(tmp_path: Path, monkeypatch) -> None:
    """It may add some, and whoever goes through them at that moment finds their number changed."""
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(tmp_path))
    locked, look = list[bool](), Dispatcher.typeof_pyval

    def seen(self: Dispatcher, value: object) -> object:
        locked.append(global_compiler_lock.is_locked())
        return look(self, value)

    monkeypatch.setattr(Dispatcher, "typeof_pyval", seen)
    assert compiler.compiled_loop.__wrapped__(body, step=factory(13.0))(3.0) == 39.0
    assert locked
    assert all(locked)


def test_a_file_that_others_could_have_planted_is_not_run(tmp_path: Path, monkeypatch) -> None:
    planted = pickle.dumps(Planted(str(tmp_path / "ran")))
    for mode, ran in ((0o777, False), (0o700, True)):  # the second is the control: what is in our own folder is run
        folder = tmp_path / f"cache{mode}"
        folder.mkdir()
        folder.chmod(mode)
        monkeypatch.setenv("MASKEDBANDIT_CACHE", str(folder))
        monkeypatch.setattr(kernel_cache.KernelCache, "_path", lambda self, where, *key: where / "planted.kernel")
        (folder / "planted.kernel").write_bytes(kernel_cache.seal_with_digest(planted))
        compiler.compile_loop(body, step=factory(float(mode)))(1.0)
        assert (tmp_path / "ran").exists() == ran


class Planted:
    """A pickle that writes a file when it is loaded."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return planted, (self.path,)


def planted(path: str) -> None:
    """What an attacker would run."""
    Path(path).write_text("ran")
    raise EOFError


def plain(x):
    return x + 1.0


@kernel
def calls_plain(x):
    return plain(x)


@kernel
def unknown_attribute(x):
    return x.no_such_thing


@kernel
def adds_text(x):
    return x + "a"


@kernel
def outside(x):
    return TABLE[int(x) + 5]


def line_of(function: Any, offset: int = 0) -> str:
    return f"test_compiler.py, line {function.__code__.co_firstlineno + offset}"


def test_a_missing_mark_is_named_with_file_and_line() -> None:
    step_: Any = plain
    with pytest.raises(KernelError, match=re.escape(f"{line_of(plain)}: plain is not a kernel: put @kernel above")):
        compiler.compile_loop(body, step=step_)
    with pytest.raises(
        KernelError, match="plain is called by a kernel and is not one: put @kernel above its definition"
    ):
        compiler.compile_loop(body, step=calls_plain)(1.0)


def test_a_kernel_that_does_not_compile_is_named_with_file_and_line() -> None:
    with pytest.raises(KernelError, match=re.escape(line_of(unknown_attribute.function, 2))) as found:
        compiler.compile_loop(body, step=unknown_attribute)(1.0)
    assert "no_such_thing" in str(found.value)
    assert len(str(found.value).splitlines()) == 1


def test_the_compiler_s_reason_is_said_whole() -> None:
    with pytest.raises(KernelError, match=re.escape(line_of(adds_text.function, 2))) as found:
        compiler.compile_loop(body, step=adds_text)(1.0)
    assert "found for signature: add(float64, Literal[str](a)) (" in str(found.value)
    told = "Failed in nopython mode pipeline\nInvalid use of f with (A)\nKnown signatures:\n * (B) -> C\nDuring: x"
    assert compiler.explained(told).startswith("Invalid use of f with (A) Known signatures: * (B) -> C (")


def test_as_python_an_index_out_of_bounds_is_named_with_file_and_line(monkeypatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    assert compiler.compile_loop(body, step=outer)(2.0) == 5.0
    with pytest.raises(KernelError, match=re.escape(line_of(outside.function, 2))) as found:
        compiler.compile_loop(body, step=outside)(1.0)
    assert "index 6 is out of bounds" in str(found.value)


def test_another_way_to_run_kernels_is_refused(monkeypatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "fast")
    with pytest.raises(InvalidValue, match="MASKEDBANDIT_KERNELS is 'fast': it must be 'compiled' or 'python'"):
        compiler.compile_loop(body, step=outer)
