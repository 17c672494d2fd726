"""Compiled kernels on disk, one file for each kernel and each kind of arguments.

A file is named by a digest of all that the kernel runs (digest.py) and of the types of its arguments, with the names
and the order of the fields of every tuple in them: compiled code knows fields only by their position. Numba's own cache
looks at the age of one source file instead and would serve stale code.

A file begins with the digest of what follows; one that was cut off or changed on the disk is compiled anew. Of the
processes that need a kernel at once, one compiles it, and the others wait. Where files have no locks, each
compiles it and writes a file of its own, and the last to be renamed stays.

What is in a file is run when it is loaded, so a folder that another user owns, or may write, is not used. A folder that
cannot be written (it is read-only, or the disk is full) costs time and nothing else: kernels are compiled in memory.
The folder has at most a gibibyte, see kernel_folder.py.
"""

import hashlib
import itertools
import logging
import os
import pickle
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import types
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import _Cache

from maskedbandit.lab.engine.apart import pack_kernel, unpack_kernel
from maskedbandit.lab.engine.kernel_folder import ROOM, find_kernel_folder, is_usable_folder, mark_as_used
from maskedbandit.lab.files import Locks

cache_log = logging.getLogger("maskedbandit")
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

    def _path(self, arguments: Any, codegen: Any) -> Path:
        key = f"{self._name} {[describe_numba_type(kind) for kind in arguments]} {codegen.magic_tuple()}"
        return find_kernel_folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.kernel"

    @contextmanager
    def turn(self, arguments: Any, codegen: Any) -> Iterator[None]:
        """If the file is not there, one process at a time is inside: the others wait, and find what it compiled.

        They wait for a minute at most, and compile then what another process does not get done.
        """
        path = self._path(arguments, codegen)
        with ExitStack() as inside:
            if is_usable_folder(find_kernel_folder()) and not path.exists():
                with suppress(OSError):
                    inside.enter_context(locks(find_kernel_folder()).waited(path.stem, COMPILE_PATIENCE))
            yield

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        found = None
        if is_usable_folder(find_kernel_folder()):
            with suppress(OSError, EOFError, ImportError, pickle.UnpicklingError):
                path = self._path(sig, target_context.codegen())
                if data := intact(path.read_bytes()):
                    found = unpack_kernel(target_context, data, sig)
                    mark_as_used(path)
        self.hits += found is not None
        if found is None and self._announce:
            cache_log.info("compiling %s, for the first time on this machine", self._announce)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        if data.library.has_dynamic_globals:
            return
        code = pack_kernel(data, self._apart)
        if not is_usable_folder(find_kernel_folder()):
            return
        path = self._path(sig, data.codegen)
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
