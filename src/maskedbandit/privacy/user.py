"""The name of a person: a pseudonym, the same wherever that person's losses or cohorts are kept."""

import re

from maskedbandit.errors import PersonalValue

User = str  # 1 to 128 visible ASCII characters: the same text is the same bytes in a file, so one name is one person
_ALLOWED = re.compile(r"[!-~]{1,128}")


def checked_user(user: User) -> User:
    """The user, or `PersonalValue` if it is not a valid name.

    >>> checked_user("ann"), checked_user("7f3a:2")
    ('ann', '7f3a:2')
    >>> checked_user(float("nan"))
    Traceback (most recent call last):
    maskedbandit.errors.PersonalValue: user must be a str of 1 to 128 visible ASCII characters, without spaces \
(the value given is personal and not shown)
    """
    if type(user) is not str or not _ALLOWED.fullmatch(user):
        raise PersonalValue("user", "a str of 1 to 128 visible ASCII characters, without spaces")
    return user
