"""The routes of the service: a file for each subject, found by listing this folder."""

from importlib import import_module
from pkgutil import iter_modules

from maskedbandit.service.request.route import Route


def list_routes() -> list[Route]:
    """All routes, those of `people` first: they are asked most.

    >>> list_routes()[0].path
    '/v1/studies/{study}/assign'
    """
    names = sorted((each.name for each in iter_modules(__path__)), key=lambda name: (name != "people", name))
    return [route for name in names for route in import_module(f"{__name__}.{name}").ROUTES]
