"""From kernels to a compiled loop.

The loop and every kernel that it reaches are compiled, and cached on disk, each by itself (kernel_cache.py). So a new
policy on a channel and a world that were compiled before costs the compilation of its own kernels, and of the loop.

With the environment variable MASKEDBANDIT_KERNELS=python nothing is compiled: loops and kernels run as Python, with
bounds checks, and give the same numbers. With MASKEDBANDIT_KERNELS=compiled everything is compiled. Without either, a
loop with little to do runs as Python (python_first.py).
"""

import gc
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from threading import Lock
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from maskedbandit.core import OPTIONS, Kernel
from maskedbandit.errors import InvalidValue, KernelError
from maskedbandit.lab.engine.digest import digest_kernels, list_code_objects

R = TypeVar("R")
HOOK: Any = None  # what a name stands for that a function is bound to before it runs

INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # of what only compiled code calls


def runs_interpreted() -> bool:
    """Whether all kernels run as Python."""
    return read_way() == "python" or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def read_way() -> str:
    """How the environment wants kernels to run; an empty text if it leaves that open."""
    way = os.environ.get("MASKEDBANDIT_KERNELS", "")
    if way not in ("", "compiled", "python"):
        raise InvalidValue("MASKEDBANDIT_KERNELS", way, "'compiled' or 'python', or not set")
    return way


def bind_hooks(function: Callable[..., R], hooks: Mapping[str, Any]) -> Callable[..., R]:
    """The same function, in which these names stand for other functions.

    A loop is written over hooks, which the kernels of a policy, of a channel and of a world are bound to. An audit
    binds functions of its own, to record the arguments of calls, or to break the loop.

    >>> def greet() -> str:
    ...     return hook()
    >>> bind_hooks(greet, {"hook": lambda: "hello"})()
    'hello'
    """
    own: Any = FunctionType(function.__code__, {**function.__globals__, **hooks}, function.__name__)
    return own


ONE_COMPILES = Lock()
KEPT_LOOPS: list[Any] = []  # kernels apart share what was compiled: the first of them to go would take it from all


class Loop:
    """A function with its kernels."""

    def __init__(self, run: Callable[..., Any], prepare: Callable[[tuple[Any, ...]], None] | None = None) -> None:
        self._run, self._prepare = run, prepare

    def __call__(self, *arguments: Any) -> Any:
        try:
            if self._prepare is None and getattr(self._run, "overloads", True):
                return self._run(*arguments)
            with uncollected():
                if prepare := self._prepare:
                    prepare(arguments)
                    self._prepare = None
                return self._run(*arguments)
        except IndexError as wrong:
            raise KernelError(f"{locate_error(wrong)}: {wrong}") from wrong
        except Exception as wrong:
            if type(wrong).__module__ != "numba.core.errors":
                raise
            raise KernelError(explained(str(wrong))) from wrong

    def fitted(self) -> Callable[..., Any]:
        """After a call: the same for other arguments of the same types, at which it does not look again.

        That takes longer than anything else in a run of a thousand users.
        """
        found = list(getattr(self._run, "overloads", {}).values())
        return found[0].entry_point if len(found) == 1 else self

    @property
    def from_disk(self) -> bool:
        """Whether it was compiled before."""
        return bool(getattr(getattr(self._run, "_cache", None), "hits", 0))


@contextmanager
def uncollected() -> Iterator[None]:
    """A compiler makes so many objects that looking for garbage among them takes a tenth of its time."""
    looks = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looks:
            gc.enable()


def locate_error(wrong: BaseException) -> str:
    """File, line and function in which an error was raised."""
    last = traceback.extract_tb(wrong.__traceback__)[-1]
    return f"{last.filename}, line {last.lineno}, in {last.name}"


def explained(said: str) -> str:
    """The message of the compiler, in one line that names file and line."""
    found = re.findall(r'File "([^"]+)", line (\d+)', said)
    lines = [line.strip() for line in said.splitlines()]
    reasons = [line for line in lines if line and not line.startswith(("Failed in nopython", "During:", "File ", "-"))]
    reason, *more = reasons or ["it does not compile"]
    for line in more:
        if not reason.endswith(":") and line != "Known signatures:":
            break
        reason = f"{reason} {line.removeprefix('>>> ')}"
    untyped = re.search(r"name '(\w+)': .*Cannot determine Numba type of <class 'function'>", said)
    if untyped:
        reason = f"{untyped[1]} is called by a kernel and is not one: put @kernel above its definition"
    at = f"{found[0][0]}, line {found[0][1]}: " if found else ""
    return f"{at}{reason} (MASKEDBANDIT_KERNELS=python runs kernels as Python)"


def compile_in_turn(found: Any, kept: Any) -> None:
    """Give a dispatcher its files. One process compiles what is in none of them, while the others wait for it.

    Nobody waits in a circle: whoever has its turn waits only for kernels that are called by the one that it compiles.
    """
    found._cache, alone = kept, found.compile

    def compile_or_wait(kinds: tuple[Any, ...]) -> Any:
        if kinds in found.overloads:
            return alone(kinds)
        with kept.turn(kinds, found.targetctx.codegen()):
            return alone(kinds)

    found.compile = compile_or_wait


@cache
def compiled_kernel(function: FunctionType, options: tuple[tuple[str, Any], ...]) -> Any:
    """The dispatcher of a kernel that compiled code calls; the kernels that it calls inherit its options."""
    import numba
    from numba.core import types

    from maskedbandit.lab.engine.kernel_cache import KernelCache

    inherited = dict(options)
    apart = inherited.pop("apart", False)
    reached = {
        name: function.__globals__.get(name) for code in list_code_objects(function.__code__) for name in code.co_names
    }
    called = {
        name: Kernel(value.function, **(inherited | value.options))
        for name, value in reached.items()
        if isinstance(value, Kernel)
    }
    name = digest_kernels(function, called, dict(options))
    own = FunctionType(
        function.__code__, function.__globals__ | called, function.__name__, function.__defaults__, function.__closure__
    )
    own.__qualname__ = f"{function.__qualname__}_{name}"  # kernels that share a name must not share linked symbols
    njit: Any = numba.njit
    # part of whatever calls it: a call with many arrays costs more than most kernels do
    found = njit(**OPTIONS, **INNER, **inherited, forceinline=not apart)(own)
    compile_in_turn(found, KernelCache(name, apart=apart))
    KEPT_LOOPS.append(found)
    # a constant has a type of its own in Numba; the kernel is compiled as for a variable, once
    template: Any = found.get_call_template
    variable: Any = types.unliteral
    found.get_call_template = lambda kinds, named: template(
        [variable(kind) for kind in kinds], {name: variable(kind) for name, kind in named.items()}
    )
    return found


def check_kernel(name: str, kernel: Any) -> Kernel[Any, Any]:
    """The kernel, if it is one."""
    if isinstance(kernel, Kernel):
        return kernel
    code = getattr(kernel, "__code__", None)
    at = f"{code.co_filename}, line {code.co_firstlineno}: " if code else ""
    raise KernelError(f"{at}{getattr(kernel, '__qualname__', name)} is not a kernel: put @kernel above its definition")


def compile_loop(function: Callable[..., Any], **bound: Kernel[Any, Any]) -> Loop:
    """The function with the names in `bound` standing for these kernels, compiled; from disk if it was before."""
    for name, kernel in bound.items():
        check_kernel(name, kernel)
    if runs_interpreted():
        return Loop(
            np.errstate(over="ignore")(bind_hooks(function, bound))
        )  # whole numbers count modulo 2^64, as in compiled code
    with ONE_COMPILES:  # threads that ask for one loop get one
        return compiled_loop(function, **bound)


@cache
def compiled_loop(function: Callable[..., Any], **bound: Kernel[Any, Any]) -> Loop:
    """The function, compiled with these kernels once in a process."""
    import numba
    from numba.core import types
    from numba.core.compiler_lock import global_compiler_lock
    from numba.extending import typeof_impl

    from maskedbandit.lab.engine.kernel_cache import KernelCache

    if Kernel not in typeof_impl.registry:  # a kernel that compiled code calls is compiled with it
        typeof_impl.register(Kernel)(
            lambda value, context: types.Dispatcher(compiled_kernel(value.function, tuple(value.options.items())))
        )
    name = f"maskedbandit_loop_{digest_kernels(function, bound)}"
    module = sys.modules[name] = ModuleType(name)  # Numba asks for it by name when it loads the loop from disk
    module.__dict__.update(function.__globals__, **bound, __name__=name, __file__=__file__)
    loop = FunctionType(function.__code__, module.__dict__, function.__name__)
    loop.__qualname__ = name
    njit: Any = numba.njit
    found = njit(**OPTIONS, no_cfunc_wrapper=True)(loop)
    main = bound["ask"].function if "ask" in bound else function  # the policy's name says more than the loop's
    compile_in_turn(found, KernelCache(name, announce=main.__qualname__))

    def prepare(arguments: tuple[Any, ...]) -> None:
        # in the order in which a call asks: otherwise the loop is compiled for types with which nobody calls it; and
        # not while another thread compiles, as that may add to the types that there are
        with global_compiler_lock:
            kinds = tuple(getattr(each, "_numba_type_", None) or found.typeof_pyval(each) for each in arguments)
        found.compile(kinds)

    return Loop(found, prepare)
