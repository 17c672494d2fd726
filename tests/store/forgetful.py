"""Broken twins of operations, which do not refuse something."""

import ast
import inspect
from collections.abc import Callable
from textwrap import dedent
from typing import Any


def forget_refusal(function: Callable[..., Any], says: str) -> Callable[..., Any]:
    """The same function, which does nothing where it would raise an error with these words.

    >>> def halve(n):
    ...     if n % 2:
    ...         raise ValueError("n is odd")
    ...     return n // 2
    >>> forget_refusal(halve, "is odd")(7)
    3
    """
    tree, found = ast.parse(dedent(inspect.getsource(function))), []

    class Forgetful(ast.NodeTransformer):
        def visit_Raise(self, node: ast.Raise) -> ast.stmt:
            if says not in ast.unparse(node):
                return node
            found.append(node)
            return ast.copy_location(ast.Pass(), node)

    changed = Forgetful().visit(tree)
    if len(found) != 1:
        raise ValueError(f"{function.__qualname__} raises {len(found)} errors that say {says!r}")
    scope = dict(inspect.getmodule(function).__dict__)
    exec(compile(changed, "<forgetful>", "exec"), scope)
    made: Callable[..., Any] = scope[function.__name__]
    return made
