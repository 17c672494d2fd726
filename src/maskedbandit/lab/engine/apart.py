"""Compiled kernels as bytes, and kernels that are compiled apart.

Numba links what a kernel calls into the kernel itself, optimizes it again there and makes its machine code anew; so a
large kernel that is called through three others would be compiled four times. One that is compiled apart is called by
its symbol instead. Whatever calls it needs the same code in the process, which a symbol of chance names: so the bytes
of a kernel hold those of all that it calls apart.

The types of a kernel's arguments hold the classes of named tuples, and two classes are two types, however alike. So
bytes hold no class, but its name and its fields, and a class is found again among those of the arguments at hand, or
else in its module. A class of a notebook, of a script or of a client of a cluster is another one in each process, and
after each time that its cell has run.
"""

import pickle
import sys
from collections.abc import Iterable, Iterator
from functools import reduce
from io import BytesIO
from typing import Any, cast

import llvmlite.binding as llvm
from numba.core.compiler import CompileResult
from numba.core.serialize import NumbaPickler

rebuild: Any = CompileResult._rebuild

SymbolKey = tuple[str, str, tuple[str, ...]]  # of a class of named tuples: its module, its own name, its fields

present: dict[str, Any] = {}  # what was compiled apart and is in this process, by its symbol


def name_of(kind: Any) -> SymbolKey:
    """The name by which a class of named tuples is found."""
    return kind.__module__, kind.__qualname__, kind._fields


class Pickler(NumbaPickler):
    """A pickler that writes the name of a class of named tuples in place of the class."""

    def persistent_id(self, value: Any) -> SymbolKey | None:
        return name_of(value) if isinstance(value, type) and hasattr(value, "_fields") else None


class Unpickler(pickle.Unpickler):
    """An unpickler that knows the classes of the arguments at hand, and those that have their name in a module."""

    def __init__(self, data: bytes, kinds: Iterable[Any]) -> None:
        super().__init__(BytesIO(data))
        self._known = {name_of(kind): kind for kind in classes(kinds)}

    def persistent_load(self, name: SymbolKey) -> Any:
        if name not in self._known:
            module, own, _ = name
            found = reduce(lambda at, part: getattr(at, part, None), own.split("."), sys.modules.get(module))
            if not hasattr(found, "_fields") or name_of(found) != name:
                raise pickle.UnpicklingError(f"there is no class {own} in {module}")
            self._known[name] = found
        return self._known[name]


def classes(kinds: Iterable[Any]) -> Iterator[Any]:
    """The classes of all named tuples in these types."""
    for kind in kinds:
        if hasattr(kind, "instance_class"):
            yield kind.instance_class
        yield from classes(getattr(kind, "types", ()))


def dumps(value: Any) -> bytes:
    """A value as bytes."""
    file, pickler = BytesIO(), cast("Any", Pickler)
    pickler(file, protocol=4).dump(value)
    return file.getvalue()


def pack_kernel(found: Any, apart: bool) -> bytes:
    """A kernel that was just compiled, as bytes; those that call it from now on do so by its symbol if it is apart."""
    library, symbol = found.library, found.fndesc.mangled_name
    library.needs = {
        name: code for each in library._linking_libraries for name, code in find_symbols_apart(each).items()
    }
    inner = library.needs
    if apart:
        library._shared_module = llvm.parse_assembly(str(library.codegen._create_empty_module(symbol)))
    own = dumps(found._reduce())
    if apart:
        present[symbol] = found._replace(metadata=None)  # with times that Numba adds once
        library.needs = inner | {symbol: own}
    return dumps((inner, symbol, own, apart))


def unpack_kernel(context: Any, data: bytes, kinds: Iterable[Any]) -> Any:
    """The kernel that these bytes hold, ready to be called with arguments of these types, and linked."""
    inner, symbol, own, apart = pickle.loads(data)
    for name, code in inner.items():
        if name not in present:
            present[name] = rebuild(context, *Unpickler(code, kinds).load())
    parts = Unpickler(own, kinds).load()
    if not apart:
        found = rebuild(context, *parts)
        found.library.needs = inner
        return found
    if symbol not in present:
        present[symbol] = rebuild(context, *parts)
    present[symbol].library.needs = inner | {symbol: own}
    return present[symbol]._replace(fndesc=parts[1], signature=parts[3])  # with the classes at hand


def find_symbols_apart(library: Any) -> dict[str, bytes]:
    """What a library calls apart, by symbol, what they need themselves first; it may be one of Numba's."""
    found: dict[str, bytes] = getattr(library, "needs", {})
    return found
