"""Why a person's device is refused what it asks: by the service, or by itself; each has a code.

Unauthorized
├── TokenMissing            the study asks for people whom the application has signed
├── TokenMalformed          the text is not a token of a person
├── TokenUnknownKey         it names a key that the study's protocol does not
├── TokenForged             the signature is wrong: of another study or person, of another time, or of nothing
├── TokenExpired            its time is over
└── TokenExpiresTooLate     it would be valid for longer than any token may
Forbidden
└── WrongOrigin             the page is of a site that the device key does not name
Refused
├── WrongClock              the clock of the device cannot be right
├── Unreachable             the service did not answer
└── OutcomeStaysOnDevice    an application reports what a person's device seals for two operators
"""

from maskedbandit.errors import Forbidden, MaskedBanditError, Refused, Unauthorized, restore_error


class TokenMissing(Unauthorized):
    """The study asks for people whom the application has signed, and there is no token."""


class TokenMalformed(Unauthorized):
    """The text is not a token of a person."""


class TokenUnknownKey(Unauthorized):
    """The token names a key that the protocol of the study does not."""


class TokenForged(Unauthorized):
    """The signature of the token is wrong: it is of another study, person or time, or of nothing."""


class TokenExpired(Unauthorized):
    """The time of the token is over."""


class TokenExpiresTooLate(Unauthorized):
    """The token would be valid for longer than any token may."""


class WrongOrigin(Forbidden):
    """The page that asks is of a site that the device key does not name."""


class WrongClock(Refused):
    """The clock of a device cannot be right, as the place that it is handed is of another day. It takes no place."""


class Unreachable(Refused):
    """The service did not answer, or somebody else did in its place."""


class OutcomeStaysOnDevice(Refused):
    """An application's backend would report an outcome that only the person's device may, sealed for two operators."""


def find_refusal(code: str) -> type[MaskedBanditError]:
    """The error of this code, as the service says it; `Refused` if there is none.

    >>> find_refusal("token_expired").__name__, find_refusal("unknown_study").__name__, find_refusal("x").__name__
    ('TokenExpired', 'UnknownStudy', 'Refused')
    """
    kinds: list[type[MaskedBanditError]] = [MaskedBanditError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return next((kind for kind in kinds if restore_error(kind).code == code), Refused)
