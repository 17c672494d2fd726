"""Which lines of a source text could bring a float, or a seeded generator, into exact arithmetic."""

import ast
from textwrap import dedent

EXACT = {"comb", "factorial", "gcd", "isqrt", "lcm", "perm"}  # of `math`: integers in, integers out
INEXACT = {"cmath", "math", "np", "numba", "numpy", "random", "scipy", "statistics"}


def offences(source: str) -> list[tuple[int, str]]:
    """(line, what) for each float or complex literal, true division, power that may be negative, use of
    `float` or `complex`, and import or use of a module of floats or of seeded randomness.

    Works on a module or on the source of one function, where a name imported elsewhere goes unseen.

    >>> offences("half = 1 / 2")
    [(1, '/')]
    """
    return sorted(
        (getattr(node, "lineno", 0), what) for node in ast.walk(ast.parse(dedent(source))) for what in _wrong(node)
    )


def _wrong(node: ast.AST) -> list[str]:
    match node:
        case ast.Constant(value=float() | complex()):
            return [f"literal {node.value!r}"]
        case ast.BinOp(op=ast.Div()) | ast.AugAssign(op=ast.Div()):
            return ["/"]
        case ast.BinOp(op=ast.Pow(), right=power) | ast.AugAssign(op=ast.Pow(), value=power):
            whole = isinstance(power, ast.Constant) and isinstance(power.value, int)
            return [] if whole else ["**"]
        case ast.Import(names=names):
            return [f"import {name.name}" for name in names if name.name.split(".")[0] in INEXACT]
        case ast.ImportFrom(module=str(module), names=names) if module.split(".")[0] in INEXACT:
            return [f"from {module} import {name.name}" for name in names if module != "math" or name.name not in EXACT]
        case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in EXACT:
            return []
        case ast.Name(id=("float" | "complex") as name):
            return [name]
        case ast.Attribute(value=ast.Name(id=name)) if name in INEXACT:
            return [f"{name}.{node.attr}"]
    return []
