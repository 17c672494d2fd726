"""From kernels to a compiled loop, cached on disk and never stale.

A function compiled by Numba can be cached on disk only under the file it comes from, and the cache does not notice when
a function that it calls has changed. So the loop is written to a file of its own whose name is a digest of all
that it will run: the source of every kernel reached from it, the constants they name, and the versions of the tools.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from maskedbandit.core import OPTIONS, Kernel


def mentioned(code: CodeType) -> set[str]:
    """Names that a function's code, or the code of a function inside it, looks up."""
    names = set(code.co_names) | set(code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= mentioned(constant)
    return names


def text(function: Callable[..., Any]) -> str:
    """The source of a function, or its bytecode where the source is gone, as after `python -c`."""
    try:
        return inspect.getsource(function)
    except OSError:
        return f"{function.__code__.co_code.hex()} {function.__code__.co_consts}"


def ingredients(
    function: Callable[..., Any], bound: dict[str, Any], seen: dict[str, str] | None = None
) -> dict[str, str]:
    """Source of a function and of all kernels it reaches, and the constants among the names it looks up."""
    seen = {} if seen is None else seen
    name = f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}"
    if name not in seen:
        seen[name] = text(function)
        names, scope = mentioned(function.__code__), inspect.getclosurevars(function)
        known = {**function.__globals__, **scope.nonlocals, **bound}
        for module in [known[each] for each in names if isinstance(known.get(each), ModuleType)]:
            known = {**{each: vars(module).get(each) for each in names}, **known}
        for each in sorted(names):
            found = known.get(each)
            if isinstance(found, Kernel):
                seen[f"{name} {each}"] = found.function.__qualname__
                ingredients(found.function, {}, seen)
            elif isinstance(found, int | float | str | tuple):
                seen[f"{name} {each}"] = repr(found)
            elif inspect.isclass(found) and hasattr(found, "_fields"):
                seen[f"{name} {each}"] = repr(found._fields)
    return seen


def digest(function: Callable[..., Any], bound: dict[str, Any]) -> str:
    """A name for everything that a function runs when the names in `bound` stand for these kernels."""
    import numba
    import numpy

    parts = [repr(sorted(ingredients(function, bound).items()))]
    parts += [numba.__version__, numpy.__version__, platform.python_version(), platform.machine()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def folder() -> Path:
    """Where compiled loops are kept: $MASKEDBANDIT_CACHE, or the user's cache folder."""
    home = os.environ.get("MASKEDBANDIT_CACHE") or os.environ.get("XDG_CACHE_HOME", "~/.cache") + "/maskedbandit"
    return Path(home).expanduser()


@cache
def compiled(function: Callable[..., Any], **bound: Kernel[Any, Any]) -> Callable[..., Any]:
    """The function with the names in `bound` standing for these kernels, compiled; from disk if it was before."""
    import numba
    from numba.core import types
    from numba.extending import typeof_impl

    if Kernel not in typeof_impl.registry:  # a kernel that compiled code calls is compiled with it
        typeof_impl.register(Kernel)(lambda value, context: types.Dispatcher(value.compiled))
    # the bound kernels become part of the loop: a call with many arrays costs more than most of them do
    inner = {each: numba.njit(**OPTIONS, forceinline=True)(kernel.function) for each, kernel in bound.items()}
    source = inspect.getsource(function)
    name = f"maskedbandit_loop_{digest(function, bound)}"
    path, cached = write(f"{name}.py", source)
    module = sys.modules[name] = ModuleType(name)  # Numba asks for it by name when it loads the loop from disk
    module.__dict__.update(function.__globals__, **inner, __name__=name, __file__=str(path))
    exec(compile(source, str(path), "exec"), module.__dict__)
    answer: Callable[..., Any] = numba.njit(**OPTIONS, cache=cached)(module.__dict__[function.__name__])
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
