"""Compiled kernels on disk, one file for each kernel and each kind of arguments.

A file is named by a digest of all that the kernel runs (digest.py), of the types of its arguments, with the names and
the order of the fields of every tuple in them, as compiled code knows fields only by their position, and of the
processor for which it was compiled, which may be any of its kind. Numba's own cache looks at the age of one source file
instead and would serve stale code.

A file begins with the digest of what follows; one that was cut off or changed on the disk is compiled anew. Of the
processes that need a kernel at once, one compiles it, and the others wait. Where files have no locks, each
compiles it and writes a file of its own, and the last to be renamed stays.

What is in a file is run when it is loaded. So files are taken from the user's folder, unless another user owns it or
may write there, and from a folder of the package itself (kernel_folder.py), and from nowhere else. A folder that cannot
be written (it is read-only, or the disk is full) costs time and nothing else: kernels are compiled in memory. The
folder has at most a gibibyte.
"""

import hashlib
import itertools
import logging
import os
import pickle
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import types
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import _Cache

from maskedbandit.lab.engine.apart import pack_kernel, unpack_kernel
from maskedbandit.lab.engine.kernel_folder import PACKAGED, ROOM, find_kernel_folder, is_usable_folder, mark_as_used
from maskedbandit.lab.files import Locks

cache_log = logging.getLogger("maskedbandit")
ANY_PROCESSOR = ("generic", "")  # its name and its features, to the compiler
COMPILE_PATIENCE = 60.0  # seconds: whoever compiles for longer is stopped, or on a machine that hangs

# Numba numbers what it compiles, from 1 in every process, and the numbers become part of linked symbols: two kernels
# of two processes must not meet under one symbol in a third.
FunctionIdentity._unique_ids = itertools.count(secrets.randbits(60))


@cache
def locks(where: Path) -> Locks:
    """The locks of a folder: one object for a process, which would lose all of them if it closed one."""
    return Locks(where / ".lock")


def describe_numba_type(kind: Any) -> str:
    """A type of Numba as text, with the fields of tuples."""
    if isinstance(kind, types.BaseTuple):
        inner = ", ".join(describe_numba_type(each) for each in getattr(kind, "types", ()))
        own = getattr(kind, "instance_class", None)
        return f"({inner})" if own is None else f"{own.__module__}.{own.__qualname__}{own._fields}({inner})"
    return str(kind)


def seal_with_digest(data: bytes) -> bytes:
    """The data after their digest."""
    return hashlib.sha256(data).digest() + data


def intact(file: bytes) -> bytes:
    """The data of a file; none if it does not hold what was written."""
    return file[32:] if seal_with_digest(file[32:]) == file else b""


class KernelCache(_Cache):
    """The files of one kernel."""

    def __init__(self, name: str, announce: str = "", apart: bool = False) -> None:
        self._name, self._announce, self._apart = name, announce, apart
        self.hits = 0

    @property
    def cache_path(self) -> str:
        return str(find_kernel_folder())

    def _path(self, folder: Path, arguments: Any, processor: Sequence[str]) -> Path:
        key = f"{self._name} {[describe_numba_type(kind) for kind in arguments]} {'/'.join(processor)}"
        loop = "loop-" if self._announce else ""
        return folder / f"{loop}{hashlib.sha256(key.encode()).hexdigest()[:32]}.kernel"

    def _paths(self, arguments: Any, codegen: Any) -> list[Path]:
        """The files that may be loaded, the best first."""
        folders = [each for each in (find_kernel_folder(), PACKAGED) if each == PACKAGED or is_usable_folder(each)]
        _, *own = codegen.magic_tuple()
        return [self._path(folder, arguments, each) for each in (own, ANY_PROCESSOR) for folder in folders]

    @contextmanager
    def turn(self, arguments: Any, codegen: Any) -> Iterator[None]:
        """If the file is not there, one process at a time is inside: the others wait, and find what it compiled.

        They wait for a minute at most, and compile then what another process does not get done.
        """
        paths = self._paths(arguments, codegen)
        with ExitStack() as inside:
            if is_usable_folder(find_kernel_folder()) and not any(path.exists() for path in paths):
                with suppress(OSError):
                    inside.enter_context(locks(find_kernel_folder()).waited(paths[0].stem, COMPILE_PATIENCE))
            yield

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        paths = self._paths(sig, target_context.codegen())
        found = next((found for path in paths if (found := self._load(path, sig, target_context))), None)
        self.hits += found is not None
        if found is None and self._announce:
            cache_log.info("compiling %s, for the first time on this machine", self._announce)
        return found

    def _load(self, path: Path, arguments: Any, context: Any) -> Any:
        """What a file holds; nothing if it is not there, or damaged."""
        with suppress(OSError, EOFError, ImportError, pickle.UnpicklingError):
            if data := intact(path.read_bytes()):
                found = unpack_kernel(context, data, arguments)
                if path.parent != PACKAGED:
                    mark_as_used(path)
                return found
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if data.library.has_dynamic_globals:
            return
        code = pack_kernel(data, self._apart)
        if not is_usable_folder(find_kernel_folder()):
            return
        path = self._paths(sig, data.codegen)[0]
        draft = path.with_name(f"{path.stem}.{secrets.token_hex(8)}.draft")
        try:  # whole or not at all
            content = seal_with_digest(code)
            draft.write_bytes(content)
            os.replace(draft, path)
            ROOM.take(find_kernel_folder(), len(content))
        except OSError as wrong:
            cache_log.warning("compiled code is not kept: %s", wrong)
            draft.unlink(missing_ok=True)

    def enable(self) -> None:
        """There is nothing to enable."""

    def disable(self) -> None:
        """There is nothing to disable."""

    def flush(self) -> None:
        """Files are never stale."""
