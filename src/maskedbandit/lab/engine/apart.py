"""Compiled kernels as bytes, and kernels that are compiled apart.

Numba links what a kernel calls into the kernel itself, optimizes it again there and makes its machine code anew; so a
large kernel that is called through three others would be compiled four times. One that is compiled apart is called by
its symbol instead. Whatever calls it needs the same code in the process, which a symbol of chance names: so the bytes
of a kernel hold those of all that it calls apart.
"""

from __future__ import annotations

import pickle
from typing import Any

import llvmlite.binding as llvm
from numba.core import serialize
from numba.core.compiler import CompileResult

dumps: Any = serialize.dumps
rebuild: Any = CompileResult._rebuild

present: dict[str, Any] = {}  # what was compiled apart and is in this process, by its symbol


def packed(found: Any, apart: bool) -> bytes:
    """A kernel that was just compiled, as bytes; those that call it from now on do so by its symbol if it is apart."""
    library, symbol = found.library, found.fndesc.mangled_name
    library.needs = {name: code for each in library._linking_libraries for name, code in needs(each).items()}
    inner = library.needs
    if apart:
        library._shared_module = llvm.parse_assembly(str(library.codegen._create_empty_module(symbol)))
    own = dumps(found._reduce())
    if apart:
        present[symbol] = found._replace(metadata=None)  # with times that Numba adds once
        library.needs = inner | {symbol: own}
    return bytes(dumps((inner, symbol, own, apart)))


def unpacked(context: Any, data: bytes) -> Any:
    """The kernel that these bytes hold, ready to be called and linked."""
    inner, symbol, own, apart = pickle.loads(data)
    for name, code in inner.items():
        if name not in present:
            present[name] = rebuild(context, *pickle.loads(code))
    if not apart:
        found = rebuild(context, *pickle.loads(own))
        found.library.needs = inner
        return found
    if symbol not in present:
        present[symbol] = rebuild(context, *pickle.loads(own))
    present[symbol].library.needs = inner | {symbol: own}
    return present[symbol]


def needs(library: Any) -> dict[str, bytes]:
    """What a library calls apart, by symbol, what they need themselves first; it may be one of Numba's."""
    found: dict[str, bytes] = getattr(library, "needs", {})
    return found
