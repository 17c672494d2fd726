"""The routes of a site: a file for each subject, found by listing this folder."""

from importlib import import_module
from pkgutil import iter_modules

from maskedbandit.service.request.route import Route


def list_site_routes() -> list[Route]:
    """All routes of a site.

    >>> {each.path for each in list_site_routes() if not each.roles} >= {"/healthz", "/readyz"}
    True
    """
    found = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
    return [route for each in found for route in getattr(each, "ROUTES", [])]
