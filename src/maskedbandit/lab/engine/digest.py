"""A name for all that a function runs: the code of every kernel reached from it, and the values they look up.

The code is taken as it is in memory, with the versions of the tools, so that a file in the cache that bears the name
is never stale.
"""

import hashlib
import platform
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

import maskedbandit
from maskedbandit.core import OPTIONS, Kernel

COMPILER = "".join(  # how kernels are put together, compiled and written
    Path(__file__).with_name(name).read_text() for name in ("compiler.py", "apart.py")
)


@cache
def digest_package() -> str:
    """A name for all code of the package, as it was when it was first asked for."""
    files = sorted(Path(maskedbandit.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:16]


def list_code_objects(code: CodeType) -> list[CodeType]:
    """A code object and those inside it."""
    inner = [
        each for constant in code.co_consts if isinstance(constant, CodeType) for each in list_code_objects(constant)
    ]
    return [code, *inner]


def describe_value(value: Any) -> str:
    """A value as text that differs if compiled code would; what compiled code cannot hold is its type alone."""
    if isinstance(value, tuple):
        return f"{type(value).__qualname__}{getattr(value, '_fields', '')} {[describe_value(each) for each in value]}"
    if isinstance(value, int | float | complex | str | None | np.generic):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    return f"{type(value).__name__} {getattr(value, '_fields', '')}"


def list_ingredients(function: Callable[..., Any], bound: dict[str, Any]) -> list[str]:
    """Everything that a function and the kernels it reaches do and look up."""
    found: list[str] = []
    seen: set[int] = set()

    def add(function: Any, bound: dict[str, Any]) -> None:
        if id(function) in seen:
            return
        seen.add(id(function))
        found.append(f"{function.__module__} {function.__defaults__!r}")  # what is on disk imports modules by name
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        scope = {**function.__globals__, **dict(zip(function.__code__.co_freevars, cells, strict=True)), **bound}
        names: set[str] = set()
        for code in list_code_objects(function.__code__):
            plain = [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]
            found.append(f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars} {plain}")
            names |= {*code.co_names, *code.co_freevars}
        reached = {name: scope[name] for name in names if name in scope}
        for module in [value for value in reached.values() if isinstance(value, ModuleType)]:
            reached |= {f"{module.__name__}.{name}": vars(module)[name] for name in names if name in vars(module)}
        for name, value in sorted(reached.items()):
            found.append(f"{name} = {describe_value(value)}")
            inner = value.function if isinstance(value, Kernel) else getattr(value, "py_func", None)
            found.append(repr(getattr(value, "options", "")))
            if inner is not None:
                add(inner, {})

    add(function, bound)
    return found


def digest_kernels(function: Callable[..., Any], bound: dict[str, Any], options: dict[str, Any] | None = None) -> str:
    """The name of a function when the names in `bound` stand for these kernels."""
    import numba  # not at the top: what never compiles need not wait for it

    parts = [
        *list_ingredients(function, bound),
        repr(OPTIONS),
        repr(options),
        COMPILER,
        np.__version__,
        numba.__version__,
    ]
    parts += [platform.python_version(), platform.machine()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]
