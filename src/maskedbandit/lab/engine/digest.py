"""A name for all that a function runs: the code of every kernel reached from it, and the values they look up.

The code is taken as it is in memory, with the versions of the tools, so that a file in the cache that bears the name
is never stale.
"""

import hashlib
import platform
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

import maskedbandit
from maskedbandit.core import OPTIONS, Kernel

COMPILER = "".join(  # how kernels are put together, compiled and written
    Path(__file__).with_name(name).read_text() for name in ("compiler.py", "apart.py")
)

PLATFORM = (  # what compiled code depends on, but for the processor: the layouts of objects, which no patch changes
    f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')} {sys.platform} {platform.machine()} {sys.maxsize}",
    ".".join(np.__version__.split(".")[:2]),
    version("numba"),  # without loading it: what never compiles need not wait for it
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


def walk_functions(
    function: Callable[..., Any], bound: dict[str, Any]
) -> Iterator[tuple[Callable[..., Any], dict[str, Any]]]:
    """A function and all kernels it reaches, each once and with the values it looks up, if `bound` stands for names."""
    seen: set[int] = set()
    left = [(function, bound)]
    while left:
        at, own = left.pop()
        if id(at) in seen:
            continue
        seen.add(id(at))
        cells = [cell.cell_contents for cell in at.__closure__ or ()]
        scope = {**at.__globals__, **dict(zip(at.__code__.co_freevars, cells, strict=True)), **own}
        names = {name for code in list_code_objects(at.__code__) for name in (*code.co_names, *code.co_freevars)}
        reached = {name: scope[name] for name in names if name in scope}
        for module in [value for value in reached.values() if isinstance(value, ModuleType)]:
            reached |= {f"{module.__name__}.{name}": vars(module)[name] for name in names if name in vars(module)}
        yield at, dict(sorted(reached.items()))
        for _, value in sorted(reached.items(), reverse=True):
            inner = value.function if isinstance(value, Kernel) else getattr(value, "py_func", None)
            if inner is not None:
                left.append((inner, {}))


def list_ingredients(function: Callable[..., Any], bound: dict[str, Any]) -> list[str]:
    """Everything that a function and the kernels it reaches do and look up."""
    found: list[str] = []
    for each, reached in walk_functions(function, bound):
        found.append(f"{each.__module__} {each.__defaults__!r}")  # what is on disk imports modules by name
        for code in list_code_objects(each.__code__):
            plain = [repr(part) for part in code.co_consts if not isinstance(part, CodeType)]
            found.append(f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars} {plain}")
        for name, value in reached.items():
            found += [f"{name} = {describe_value(value)}", repr(getattr(value, "options", ""))]
    return found


def digest_kernels(function: Callable[..., Any], bound: dict[str, Any], options: dict[str, Any] | None = None) -> str:
    """The name of a function when the names in `bound` stand for these kernels."""
    parts = [*list_ingredients(function, bound), repr(OPTIONS), repr(options), COMPILER, *PLATFORM]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]
