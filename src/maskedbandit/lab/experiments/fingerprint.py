"""Names for settings and the code that they may run, by which results are found again."""

import hashlib
import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

from maskedbandit.backends.backend import Backend
from maskedbandit.channels.channel import Channel
from maskedbandit.core import Kernel
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine.digest import ingredients, package
from maskedbandit.lab.goals.setting import PublishedPoint, Setting, TheoryCurve
from maskedbandit.lab.logs.log import Log
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.noises.noise import Noise
from maskedbandit.policies.policy import Policy

PARTS = Policy | Channel | Noise | Backend | Instance | Contexts | Log | Delay


def fingerprint(setting: Setting | TheoryCurve | PublishedPoint) -> str:
    """A name for a setting and all code that it may run: that of the package, and of the setting's own classes.

    How many runs it has does not matter: a run is the same beside any number of others.
    """
    own = {f"{kind.__module__}.{kind.__qualname__}": code(kind) for each in parts(setting) for kind in type(each).mro()}
    found = [repr(replace(setting, runs=0)).encode(), package().encode(), *(own[name] for name in sorted(own))]
    return hashlib.sha256(b"\0".join(found)).hexdigest()[:16]


def parts(whole: Any) -> Iterator[Any]:
    """What a setting is made of, and what that is made of: a channel's noise, its backend."""
    for each in getattr(whole, "__dict__", {}).values():
        if isinstance(each, PARTS):
            yield each
            yield from parts(each)


def code(kind: type) -> bytes:
    """The file of a class from elsewhere, or what its functions do if it has none, as in a notebook."""
    if kind.__module__.partition(".")[0] in ("maskedbandit", "builtins", "abc", "typing"):
        return b""
    try:
        source = inspect.getsourcefile(kind)
        if source is not None and Path(source).is_file():
            return Path(source).read_bytes()
    except (TypeError, OSError):  # no file
        pass
    functions = [getattr(each, "__func__", each) for each in vars(kind).values()]
    functions = [each.function if isinstance(each, Kernel) else each for each in functions]
    functions += [each.fget for each in functions if isinstance(each, property)]
    found = [ingredients(each, {}) for each in functions if isinstance(each, FunctionType)]
    return repr(found).encode()
