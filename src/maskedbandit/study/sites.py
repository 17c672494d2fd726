"""The sites of a study whose outcomes stay where people are treated, as they stand in its protocol.

    [sites]
    wait = "1 hour"                  # for a site, in each phase of a round, if the study goes on without `lost` sites
    list = [
      { name = "North", key = "5b1f...", share = "1/2" },
      { name = "South", key = "c09e...", share = "1/2" },
      { name = "West", key = "77ab...", share = "1/4" },
    ]

    [channel]
    name = "distributed"
    backend = { name = "sites", colluding = 1 }

A key is the fingerprint of a site's two public keys, as of an operator. A share is the largest part of a cohort that
the people of a site may be, so that no site is most of a sum that is to hide it.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Self

from maskedbandit.backends.sites import MOST_SITES
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import to_fraction
from maskedbandit.study.naming import refuse_unknown
from maskedbandit.study.operators import FINGERPRINT, LONGEST_NAME
from maskedbandit.study.reward import parse_duration

SITES_KEYS = ("wait", "list")
SITE_KEYS = ("name", "key", "share")


class Site(NamedTuple):
    """A site."""

    name: str  # for people
    key: str  # its fingerprint
    share: Fraction  # of the places of a cohort, at most
    number: int  # by which the study knows it, whatever list it is in


@dataclass(frozen=True)
class SitesOfStudy:
    """The sites of a list, in the order of their numbers.

    >>> table = {"list": [{"name": name, "key": name * 64, "share": "1/2"} for name in "abc"]}
    >>> found = SitesOfStudy.from_table(table)
    >>> found.number_of("b" * 64), found.wait
    (1, 3600000)
    """

    sites: tuple[Site, ...]
    wait: int = 3_600_000  # milliseconds for which a phase of a round waits for a site that may be lost

    @classmethod
    def from_table(cls, given: Any) -> Self:
        """The [sites] table of a protocol."""
        if not isinstance(given, dict) or not isinstance(given.get("list"), list):
            raise InvalidValue("sites", given, "a [sites] table with a list of sites")
        refuse_unknown("key of [sites]", given, SITES_KEYS)
        if not 3 <= len(given["list"]) <= MOST_SITES:
            allowed = f"from 3 to {MOST_SITES}; for two, use two_servers, with the sites as operators"
            raise InvalidValue("the number of sites", len(given["list"]), allowed)
        sites = tuple(read_site(row, each) for row, each in enumerate(given["list"], 1))
        for part in ("name", "key"):
            found = [getattr(each, part) for each in sites]
            if len(set(found)) < len(found):
                raise InvalidValue(f"{part} of the sites", found, "different from one another")
        return cls(sites, parse_duration("wait of the sites", given.get("wait", "1 hour"), 1))

    def number_of(self, key: str) -> int | None:
        """The number of the site with this fingerprint."""
        return next((each.number for each in self.sites if each.key == key), None)


def read_site(row: int, given: Any) -> Site:
    """One site of the list, which errors call by its row, from 1 on."""
    if not isinstance(given, dict):
        raise InvalidValue(f"site {row}", given, f"a table with {', '.join(SITE_KEYS)}")
    refuse_unknown(f"key of site {row}", given, SITE_KEYS)
    name, key = given.get("name"), given.get("key")
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise InvalidValue(f"name of site {row}", name, f"a text of 1 to {LONGEST_NAME} printable characters")
    if not isinstance(key, str) or not re.fullmatch(FINGERPRINT, key):
        raise InvalidValue(f"key of site {row}", key, "a fingerprint: 64 hexadecimal digits")
    share = Fraction(to_fraction(f"share of site {row}", given.get("share", 1)))
    if share > 1:
        raise InvalidValue(f"share of site {row}", given.get("share"), "a fraction of a cohort, at most 1")
    return Site(name, key, share, row - 1)
