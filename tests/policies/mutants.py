"""Mutants of kernels: the same source with one change, so that a test can be seen to reject it."""

import inspect
from textwrap import dedent
from types import FunctionType
from typing import Any

from maskedbandit.core import Kernel


def mutant(kernel: Kernel[Any, Any], old: str = "", new: str = "", **names: Any) -> Kernel[Any, Any]:
    """A kernel in whose source `old` became `new`, and for which `names` stand for something else.

    >>> from maskedbandit.law import Law, draws_of_one
    >>> mutant(draws_of_one, "law.per_release * whole", "0.0")(Law(0, per_release=1.0), 10)
    0.0
    """
    scope, code = {**kernel.function.__globals__, **names}, kernel.function.__code__
    unused = [name for name in names if name not in (*code.co_names, *code.co_freevars) and name not in new]
    if unused:
        raise ValueError(f"{kernel.function.__qualname__} does not use {', '.join(unused)}")
    if not old:
        return Kernel(FunctionType(code, scope), **kernel.options)
    source = dedent(inspect.getsource(kernel.function))
    if old not in source:
        raise ValueError(f"{kernel.function.__qualname__} does not hold {old!r}")
    exec(source[source.index("def ") :].replace(old, new), scope)
    return Kernel(scope[kernel.function.__name__], **kernel.options)
