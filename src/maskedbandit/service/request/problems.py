"""Errors as answers over HTTP: problem bodies (RFC 9457), with the codes that errors have everywhere else."""

from maskedbandit import errors
from maskedbandit.errors import MaskedBanditError
from maskedbandit.service.host.elsewhere import Said
from maskedbandit.service.messages import Problem, WrongValue

# the nearest class decides
STATUS: dict[type[MaskedBanditError], int] = {
    errors.InvalidValue: 422,
    errors.Refused: 409,
    errors.UnknownStudy: 404,
    errors.UnknownTicket: 404,
    errors.UnknownArm: 404,
    errors.UnknownKey: 404,
    errors.UnknownWebhook: 404,
    errors.Late: 410,
    errors.Unauthorized: 401,
    errors.Forbidden: 403,
    errors.TooLarge: 413,
    errors.TooMany: 429,
    errors.ProtocolError: 409,
    errors.Malformed: 422,
    errors.StoreError: 503,
}
AGAIN = "the database cannot be used now, and nothing was acknowledged: send it again; the server's log has more"
LASTING: dict[type[MaskedBanditError], str] = {
    errors.BehindWitness: (
        "the ledger is not the one that its witness knows, as in a restored copy: use the newest copy and its own "
        "witness, or run `maskedbandit study reconcile`; the server's log has more"
    ),
    errors.Corrupted: "what is stored does not fit together, and nothing is done until it does: see the server's log",
}
TITLES = {
    400: "Bad request",
    401: "A key or a token is needed",
    403: "Not allowed",
    404: "Not found",
    405: "Not allowed here",
    408: "Too slow",
    409: "Refused",
    410: "Too late",
    413: "Too large",
    414: "Too long",
    422: "A value is not allowed",
    429: "Too many requests",
    431: "Too large",
    500: "The server failed",
    503: "The server cannot do it now",
}


def find_status(kind: type[BaseException]) -> int:
    """The status of an error of this class."""
    return next((STATUS[each] for each in kind.__mro__ if each in STATUS), 500)


def describe_problem(why: BaseException) -> Problem:
    """An error as a body; of what nobody expected nothing is said.

    >>> describe_problem(errors.Late("the window is over")).code
    'late'
    """
    if isinstance(why, Said):
        return why.problem
    status = find_status(type(why))
    if status == 500 or not isinstance(why, MaskedBanditError):
        return make_problem(500, "server_error", "this should not have happened: the server's log has more")
    if status == 503:  # what failed is for the log of the server
        return make_problem(503, why.code, LASTING.get(type(why), AGAIN))
    found = make_problem(status, why.code, str(why))
    if isinstance(why, errors.InvalidValue):
        found.faults = [WrongValue(place, detail) for place, detail in why.faults]
    return found


def make_problem(status: int, code: str, detail: str) -> Problem:
    """A problem by its status."""
    return Problem("about:blank", TITLES.get(status, "Refused"), status, code, detail)
