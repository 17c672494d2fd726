"""Origins: the sites from whose pages a device key may be used, as browsers name them.

https://shop.example   http://localhost:5173   capacitor://localhost
"""

import re
from collections.abc import Iterable

from maskedbandit.errors import InvalidValue

MOST_ORIGINS, LONGEST_ORIGIN = 32, 255
PATTERN = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?")
LEFT_OUT = {("http", ":80"), ("https", ":443")}  # ports that browsers do not say


def check_origins(given: Iterable[str]) -> tuple[str, ...]:
    """These origins, or raise `InvalidValue` if a browser would never name a site so.

    >>> check_origins(["https://shop.example", "http://localhost:5173"])
    ('https://shop.example', 'http://localhost:5173')
    """
    found = tuple(dict.fromkeys(given))
    if len(found) > MOST_ORIGINS:
        raise InvalidValue("the number of origins", len(found), f"at most {MOST_ORIGINS}")
    for origin in found:
        parts = PATTERN.fullmatch(origin)
        if parts is None or len(origin) > LONGEST_ORIGIN or (parts[1], parts[4]) in LEFT_OUT:
            allowed = (
                "scheme://host or scheme://host:port, in lower case, without a path or a usual port, and not * or null"
            )
            raise InvalidValue("origin", origin, allowed)
    return found
