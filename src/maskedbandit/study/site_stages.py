"""The lists of sites of a study that runs: each holds from a cohort on, until the next one does.

    the sites of the protocol -> a list in which one more has joined -> a list without one that left -> ...

A site has a number, in the order in which sites joined the study, and it stays with it for ever. A list is named by a
hash of itself and of the name of the list before it, so whoever knows one name knows all lists, back to the protocol.
Every round is bound to the name of the list that its cohort has: sites that were shown different lists, or that do not
know of each other's, add nothing up together.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, NamedTuple, Self

from maskedbandit.errors import Disagreement, InvalidValue
from maskedbandit.study.cohort_numbers import find_cohort
from maskedbandit.study.operators import OperatorKeys
from maskedbandit.study.sites import Site, SitesOfStudy, read_site

LIST_USE, CONFIRM_USE = b"maskedbandit sites list 1 ", b"maskedbandit sites confirm 1 "


class ListedSite(NamedTuple):
    """A site as a list says it, with its public keys."""

    name: str
    share: str
    keys: OperatorKeys

    def to_text(self) -> list[str]:
        """As ledgers and messages say it."""
        return [self.name, self.share, self.keys.seals.hex(), self.keys.signs.hex()]

    @classmethod
    def from_text(cls, name: Any, share: Any, seals: Any, signs: Any) -> Self:
        """What `to_text` wrote, or raise `InvalidValue`."""
        keys = OperatorKeys.from_text(seals, signs)
        found = read_site(1, {"name": name, "key": keys.fingerprint, "share": share})
        if share != str(found.share):
            raise InvalidValue("share of a site", share, f"written as {found.share}")
        return cls(name, share, keys)


@dataclass(frozen=True)
class SiteStage:
    """A list of sites, and the cohorts that it is for."""

    first: int  # the number of the first cohort
    sites: SitesOfStudy
    keys: Mapping[int, OperatorKeys] = field(hash=False)  # by the number of the site
    name: str  # the hash

    @property
    def listed(self) -> tuple[ListedSite, ...]:
        """The sites as the list says them."""
        return tuple(ListedSite(each.name, str(each.share), self.keys[each.number]) for each in self.sites.sites)


Stages = tuple[SiteStage, ...]  # the first one is that of the protocol


def begin_stages(protocol: str, sites: SitesOfStudy, keys: Sequence[OperatorKeys]) -> Stages:
    """The list of a protocol with this hash, or raise `Disagreement` if the keys are not those of its sites."""
    if [each.key for each in sites.sites] != [each.fingerprint for each in keys]:
        raise Disagreement("the keys of the sites are not those that the protocol names")
    return (SiteStage(0, sites, dict(enumerate(keys)), protocol),)


def add_stage(stages: Stages, first: int, listed: Sequence[ListedSite]) -> Stages:
    """These lists and one more, from a cohort on, or raise `InvalidValue`.

    Whoever was in a list before has the same number in this one, and new ones have the next.

    >>> keys = [OperatorKeys(bytes([number]) * 32, bytes(32)) for number in range(5)]
    >>> listed = [ListedSite(f"site {number}", "1/2", each) for number, each in enumerate(keys)]
    >>> table = {"list": [{"name": each.name, "key": each.keys.fingerprint} for each in listed[:3]]}
    >>> stages = begin_stages("5b" * 32, SitesOfStudy.from_table(table), keys[:3])
    >>> stages = add_stage(add_stage(stages, 2, [*listed[1:4]]), 5, [listed[4], *listed[:3]])
    >>> [[each.number for each in stage.sites.sites] for stage in stages], find_stage(stages, 4).first
    ([[0, 1, 2], [1, 2, 3], [0, 1, 2, 4]], 2)
    """
    before, numbers = stages[-1], find_numbers(stages)
    if not before.first <= first:
        raise InvalidValue(
            "the first cohort of a list of sites", first, f"at least {before.first}, as of the one before"
        )
    table = [{"name": each.name, "key": each.keys.fingerprint, "share": each.share} for each in listed]
    named = SitesOfStudy.from_table({"list": table}).sites
    for each in named:
        numbers.setdefault(each.key, len(numbers))
    sites = sorted((each._replace(number=numbers[each.key]) for each in named), key=lambda each: each.number)
    of = {each.keys.fingerprint: each.keys for each in listed}
    keys = {each.number: of[each.key] for each in sites}
    made = SiteStage(first, replace(before.sites, sites=tuple(sites)), keys, "")
    text = json.dumps([before.name, first, [each.to_text() for each in made.listed]])
    return (*stages, replace(made, name=sha256(LIST_USE + text.encode()).hexdigest()))


def find_numbers(stages: Stages) -> dict[str, int]:
    """The numbers of all sites that ever were in the study, by their fingerprints."""
    return {each.key: each.number for stage in stages for each in stage.sites.sites}


def find_stage(stages: Stages, cohort: int) -> SiteStage:
    """The list that holds for a cohort, by its number in the study or the one under which sites know it."""
    return next((each for each in reversed(stages) if each.first <= find_cohort(cohort)), stages[0])


def find_sites_ever(stages: Stages) -> dict[int, Site]:
    """All sites that ever were in the study, by number, as they stand in the newest list that has them."""
    return {each.number: each for stage in stages for each in stage.sites.sites}


def write_confirmation(name: str) -> bytes:
    """What a site signs that agrees to the list of this name, and to all before it."""
    return CONFIRM_USE + name.encode()
