"""What the entries of ledgers say of sites: of their lists, and of their rounds."""

from maskedbandit.store.book.entry import Entry, Keys, Requested, StageChange, Whole
from maskedbandit.study.mix_statement import MixStatement
from maskedbandit.study.site_stages import ListedSite

Listed = tuple[ListedSite, ...]


class SitesChanged(StageChange, Requested, kind="sites_changed"):
    """The study has another list of sites, from its cohort `first` on."""

    first: int
    sites: Listed


class SitesConfirmed(Entry, kind="sites_confirmed"):
    """A site has agreed to a list of sites."""

    site: int  # its number
    name: str  # of the list
    signed: str  # by the site: `write_confirmation`


class SiteBegan(Entry, kind="site_began", state="running"):
    """A site takes part in a study with this protocol: how the site's ledger begins."""

    protocol: str  # its digest
    coordinator: str  # the fingerprint of its keys
    sites: Keys  # the public keys of all sites, by number


class SumAttempt(Entry):
    """Of an attempt of sites at the sum of a cohort."""

    cohort: int
    attempt: int


class Discarded(SumAttempt, kind="discarded"):
    """The last attempt failed: the cohort is never released, and its people are charged for all of them."""

    mixed: MixStatement | None = None  # what the shuffler states of it, if there is one


class SiteJoined(SumAttempt, kind="site_joined"):
    """It joined the attempt, of a cohort of n, and drew its noise for it."""

    n: int
    weights: Whole  # how many of the n are of each site, as the coordinator said
    offer: str  # the digest of what was offered to the cohort: which noise


class SiteMasked(SumAttempt, kind="site_masked"):
    """It sent its masked value."""


class SiteAgreed(SumAttempt, kind="site_agreed"):
    """It agreed that the sum of these sites may be opened."""

    sites: Whole


class SiteEnded(Entry, kind="site_ended", state="stopped"):
    """The study ended, and no round is joined any more."""


class SiteAdmitted(Entry, kind="site_admitted"):
    """This site agreed to another list of sites, which holds from the cohort `first` on."""

    first: int
    sites: Listed
