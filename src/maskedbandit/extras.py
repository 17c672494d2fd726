"""Packages that an installation may lack, and the extras of ours that bring them."""

from importlib import import_module
from typing import Any

from maskedbandit.errors import MaskedBanditError

# the modules that are imported, by the names under which `pip` finds what brings them
EXTRAS = {
    "maskedbandit[lab]": ("polars", "matplotlib", "tqdm"),
    "maskedbandit[client]": ("httpx", "openfeature"),
    "maskedbandit[service]": (
        "apsw",
        "starlette",
        "msgspec",
        "uvicorn",
        "uvloop",
        "httptools",
        "jinja2",
        "markupsafe",
        "prometheus_client",
    ),
    "maskedbandit[postgres]": ("psycopg",),
    "maskedbandit[cluster]": ("distributed",),
    "pandas": ("pandas",),
}


class NotInstalled(MaskedBanditError, ImportError):
    """A package that only some of us need is not installed.

    >>> raise NotInstalled("polars")
    Traceback (most recent call last):
    maskedbandit.extras.NotInstalled: polars is not installed, and this needs it: pip install 'maskedbandit[lab]'
    """

    def __init__(self, module: str) -> None:
        brings = next(name for name, modules in EXTRAS.items() if module in modules)
        super().__init__(f"{module} is not installed, and this needs it: pip install {brings!r}")


def explain_missing(missing: ModuleNotFoundError) -> NotInstalled | None:
    """What to say of a module that was not found; None if no extra brings it."""
    module = (missing.name or "").partition(".")[0]
    return NotInstalled(module) if any(module in modules for modules in EXTRAS.values()) else None


def import_extra(name: str) -> Any:
    """A module that an extra brings.

    >>> import_extra("polars").__name__
    'polars'
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        raise explain_missing(missing) or missing from None
