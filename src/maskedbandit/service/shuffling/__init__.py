"""The routes of a shuffler: those of every second operator, and a file for each further subject in this folder."""

from maskedbandit.service.helping import operators, studies
from maskedbandit.service.request.route import Route
from maskedbandit.service.shuffling import bundles, mixes


def list_shuffler_routes() -> list[Route]:
    """All routes of a shuffler.

    >>> {each.path for each in list_shuffler_routes() if not each.roles} >= {"/v1/studies/{study}/bundle"}
    True
    """
    return [*operators.ROUTES, *studies.ROUTES, *bundles.ROUTES, *mixes.ROUTES]
