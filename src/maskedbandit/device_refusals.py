"""Why the service refuses a person's device, or the token that an application's backend gave it; each has a code.

Unauthorized
├── TokenMissing            the study asks for people whom the application has signed
├── TokenMalformed          the text is not a token of a person
├── TokenUnknownKey         it names a key that the study's protocol does not
├── TokenForged             the signature does not hold: of another study or person, of another time, or of nothing
├── TokenExpired            its time is over
└── TokenExpiresTooLate     it would hold for longer than any token may
Forbidden
└── WrongOrigin             the page is of a site that the device key does not name
"""

from maskedbandit.errors import Forbidden, Unauthorized


class TokenMissing(Unauthorized):
    """The study asks for people whom the application has signed, and there is no token."""


class TokenMalformed(Unauthorized):
    """The text is not a token of a person."""


class TokenUnknownKey(Unauthorized):
    """The token names a key that the protocol of the study does not."""


class TokenForged(Unauthorized):
    """The signature of the token does not hold: it is of another study, person or time, or of nothing."""


class TokenExpired(Unauthorized):
    """The time of the token is over."""


class TokenExpiresTooLate(Unauthorized):
    """The token would hold for longer than any may."""


class WrongOrigin(Forbidden):
    """A page asks that is of a site which the device key does not name."""
