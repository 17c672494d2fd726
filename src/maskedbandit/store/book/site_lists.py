"""The lists of sites that a coordinator's ledger has, and which sites agreed to each.

A site agrees to a list by its signature, and to all lists before it, which the name of the list follows from. To the
first one every site agrees as it enters the study. Of the cohorts of a later one nobody else is in a sum.
"""

from collections.abc import Iterable
from typing import NamedTuple

from maskedbandit.errors import Corrupted, InvalidValue, ProtocolError
from maskedbandit.secagg.signing import check_signature
from maskedbandit.store.book.entries import Release, Started
from maskedbandit.store.book.entry import Entry, Keys
from maskedbandit.store.book.site_entries import SitesChanged, SitesConfirmed
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.site_stages import SiteStage, Stages, add_stage, begin_stages, find_stage, write_confirmation


class SiteLists(NamedTuple):
    """All lists of a study, oldest first; none, if it has no sites, or was not started."""

    stages: Stages = ()
    confirmed: tuple[frozenset[int], ...] = ()  # the numbers of the sites that agreed to each

    @property
    def missing(self) -> frozenset[int]:
        """The sites that have not agreed to the newest list."""
        return frozenset(self.stages[-1].keys) - self.confirmed[-1] if self.stages else frozenset()

    def also(self, stages: Stages) -> "SiteLists":
        """These and one more, to which nobody agreed yet."""
        return SiteLists(stages, (*self.confirmed, frozenset()))

    def after(self, site: int) -> "SiteLists":
        """A site has agreed to the newest one."""
        agreed = zip(self.stages, self.confirmed, strict=True)
        return SiteLists(self.stages, tuple(of | ({site} & stage.keys.keys()) for stage, of in agreed))

    def agreed_to(self, stage: SiteStage) -> frozenset[int]:
        """The sites that agreed to one of the lists."""
        return self.confirmed[self.stages.index(stage)]

    def has_agreed(self, site: int, cohort: int) -> bool:
        """Whether a site agreed to the list of a cohort, as far as it is known, or is in none with it."""
        stage = find_stage(self.stages, cohort)
        return site not in stage.keys or site in self.agreed_to(stage)


def begin_lists(protocol: Protocol, keys: Keys) -> SiteLists:
    """The list of the protocol, to which all agree as they enter the study."""
    if protocol.sites is None:
        return SiteLists()
    stages = begin_stages(protocol.digest, protocol.sites, keys)
    return SiteLists(stages, (frozenset(stages[0].keys),))


def check_confirmation(lists: SiteLists, site: int, name: str, signed: str) -> None:
    """Raise `ProtocolError` unless a site agrees to the newest list so."""
    newest = lists.stages[-1]
    if name != newest.name or site not in lists.missing:
        raise InvalidValue(
            "a list of sites", name, "the newest one, with the site in it, to which it did not agree yet"
        )
    why = f"site {site} did not sign that it agrees to this list of sites"
    check_signature(newest.keys[site].signs, write_confirmation(name), signed, why)


def follow_lists(study: str, protocol: Protocol, entries: Iterable[Entry]) -> SiteLists:
    """The lists that a ledger has, or raise `Corrupted` if one does not follow from what is before it.

    Nor may a sum be of a site that did not agree to the list of its cohort.
    """
    now = SiteLists()
    for each in entries:
        where = f"entry {each.number} of the ledger of {study}"
        try:
            match each:
                case Started(sites=keys):
                    now = begin_lists(protocol, keys)
                case SitesChanged(first=first, sites=listed):
                    now = now.also(add_stage(now.stages, first, listed))
                    _ = protocol.among(now.stages[-1]).channel
                case SitesConfirmed(site=site, name=name, signed=signed):
                    check_confirmation(now, site, name, signed)
                    now = now.after(site)
                case Release(cohort=cohort, sites=sites) if now.stages:
                    if not now.agreed_to(find_stage(now.stages, cohort)).issuperset(sites):
                        raise Corrupted(f"{where} is of a site that did not agree to the list of its cohort")
        except (ProtocolError, InvalidValue, IndexError) as why:
            raise Corrupted(f"{where} says of sites what its earlier entries do not allow: {why}") from why
    return now
