"""The routes of a helper: a file for each subject, found by listing this folder."""

from importlib import import_module
from pkgutil import iter_modules

from maskedbandit.service.request.route import Route


def list_helper_routes() -> list[Route]:
    """All routes of a helper.

    >>> {each.path for each in list_helper_routes() if not each.roles} >= {"/v1/helper", "/healthz"}
    True
    """
    found = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
    return [route for each in found for route in getattr(each, "ROUTES", [])]
