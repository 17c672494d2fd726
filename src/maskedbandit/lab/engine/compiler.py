"""From kernels to a compiled loop, cached on disk and never stale.

A function compiled by Numba can be cached on disk only under the file it comes from, and the cache does not notice when
a function that it calls has changed. So every loop gets a file of its own, named by a digest of all that it will run:
the code of every kernel reached from it, as it is in memory, the values they look up, the fields of the tuples that it
is given, and the versions of the tools.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from maskedbandit.core import OPTIONS, Kernel


def nested(code: CodeType) -> list[CodeType]:
    """A code object and those inside it."""
    inner = [each for constant in code.co_consts if isinstance(constant, CodeType) for each in nested(constant)]
    return [code, *inner]


def described(value: Any) -> str:
    """A value as text that differs if compiled code would; what compiled code cannot hold is its type alone."""
    if isinstance(value, tuple):
        return f"{layout(value)} {[described(each) for each in value]}"
    if isinstance(value, int | float | complex | str | None | np.generic):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    return f"{type(value).__name__} {getattr(value, '_fields', '')}"


def layout(value: Any) -> str:
    """The names and order of the fields of a tuple, and of the tuples in it: compiled code knows only their places."""
    if not hasattr(value, "_fields"):
        return ""
    inner = ", ".join(name + layout(getattr(value, name)) for name in value._fields)
    return f"{type(value).__module__}.{type(value).__qualname__}({inner})"


def ingredients(function: Callable[..., Any], bound: dict[str, Any]) -> list[str]:
    """Everything that a function and the kernels it reaches do and look up."""
    found: list[str] = []
    seen: set[int] = set()

    def add(function: Any, bound: dict[str, Any]) -> None:
        if id(function) in seen:
            return
        seen.add(id(function))
        found.append(repr(function.__defaults__))
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        scope = {**function.__globals__, **dict(zip(function.__code__.co_freevars, cells, strict=True)), **bound}
        names: set[str] = set()
        for code in nested(function.__code__):
            plain = [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]
            found.append(f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars} {plain}")
            names |= {*code.co_names, *code.co_freevars}
        reached = {name: scope[name] for name in names if name in scope}
        for module in [value for value in reached.values() if isinstance(value, ModuleType)]:
            reached |= {f"{module.__name__}.{name}": vars(module)[name] for name in names if name in vars(module)}
        for name, value in sorted(reached.items()):
            found.append(f"{name} = {described(value)}")
            inner = value.function if isinstance(value, Kernel) else getattr(value, "py_func", None)
            found.append(repr(getattr(value, "options", "")))
            if inner is not None:
                add(inner, {})

    add(function, bound)
    return found


def digest(function: Callable[..., Any], bound: dict[str, Any], shape: str = "") -> str:
    """A name for all that a function runs when the names in `bound` stand for these kernels."""
    import numba

    parts = [*ingredients(function, bound), shape, repr(OPTIONS), np.__version__, numba.__version__]
    parts += [platform.python_version(), platform.machine()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def folder() -> Path:
    """Where compiled loops are kept: $MASKEDBANDIT_CACHE, or the user's cache folder."""
    home = os.environ.get("MASKEDBANDIT_CACHE") or f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/maskedbandit"
    return Path(home).expanduser()


@cache
def compiled(function: Callable[..., Any], shape: str = "", **bound: Kernel[Any, Any]) -> Callable[..., Any]:
    """The function with the names in `bound` standing for these kernels, compiled; from disk if it was before.

    `shape` is the `layout` of the tuples that it will be given.
    """
    import numba
    from numba.core import types
    from numba.extending import typeof_impl

    if Kernel not in typeof_impl.registry:  # a kernel that compiled code calls is compiled with it
        typeof_impl.register(Kernel)(lambda value, context: types.Dispatcher(value.compiled))
    # the bound kernels become part of the loop: a call with many arrays costs more than most of them do
    own = {"forceinline": True}
    inner = {
        each: numba.njit(**{**OPTIONS, **own, **kernel.options})(kernel.function) for each, kernel in bound.items()
    }
    name = f"maskedbandit_loop_{digest(function, bound, shape)}"
    path, cached = write(f"{name}.py", f"# {function.__module__}.{function.__qualname__}\n")
    module = sys.modules[name] = ModuleType(name)  # Numba asks for it by name when it loads the loop from disk
    module.__dict__.update(function.__globals__, **inner, __name__=name, __file__=str(path))
    loop = FunctionType(function.__code__.replace(co_filename=str(path)), module.__dict__, function.__name__)
    answer: Callable[..., Any] = numba.njit(**OPTIONS, cache=cached)(loop)
    return answer


def write(name: str, source: str) -> tuple[Path, bool]:
    """The source in the cache folder, whole or not at all; in memory alone where no folder can be written."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        path = folder() / name
        if not path.exists():
            with tempfile.NamedTemporaryFile("w", dir=folder(), delete=False) as draft:
                draft.write(source)
            os.replace(draft.name, path)
        return path, True
    except OSError:
        return Path(name), False
