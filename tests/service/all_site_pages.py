"""All pages of a site, at all stages of a study."""

from typing import Any

from msgspec.structs import replace

from maskedbandit.privacy.loss import Loss
from maskedbandit.service.page.visit import render_page
from maskedbandit.service.views.link import LinkState
from maskedbandit.service.views.site_view import SiteCohort, SiteRound, SiteView
from maskedbandit.service.views.sums_of_sites import DueSum
from maskedbandit.service.views.view import StudyView
from maskedbandit.store.book.entry import Entry
from maskedbandit.store.book.site_entries import SiteAgreed, SiteBegan, SiteJoined, SiteMasked
from maskedbandit.store.book.site_lists import begin_lists
from maskedbandit.store.pairing import Pairing
from maskedbandit.store.study_rows import StudyRow
from maskedbandit.study.operators import OperatorKeys
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.site_stages import Stages, begin_stages
from tests.service.inside import TABLE
from tests.service.played import MINUTE, START

NAMES = ("North", "South", "West", "East")


def make_tables(names: tuple[str, ...]) -> dict[str, Any]:
    """The tables of a protocol with sites of these names."""
    keys = make_keys(names)
    listed = [{"name": name, "key": key.fingerprint, "share": "1/2"} for name, key in zip(names, keys, strict=True)]
    backend = {"name": "sites", "attempts": 2, "lost": 1}
    return {
        "channel": {"name": "distributed", "epsilon": 1, "honest": "1/2", "backend": backend},
        "policy": {"name": "successive_elimination", "least": 100},
        "sites": {"list": listed},
        "budget": {"epsilon": 2},
    }


def make_keys(names: tuple[str, ...]) -> list[OperatorKeys]:
    """The public keys of sites."""
    return [OperatorKeys(bytes([number]) * 32, bytes(32)) for number in range(len(names))]


def with_sites(view: StudyView) -> StudyView:
    """A study as its coordinator's page shows it if its people come to sites."""
    protocol = Protocol.from_table(view.protocol.table | make_tables(NAMES))
    due = (
        DueSum(7, 2, 0, view.now, (1, 3), 300, 1),
        DueSum(8, 1, 3, view.now, (0, 1, 2, 3)),
        DueSum(9, spare=600, spare_sites=1),
    )
    contacts = ((0, view.now), (2, view.now - MINUTE))
    lists = begin_lists(protocol, tuple(make_keys(NAMES)))
    return replace(view, protocol=protocol, contacts=contacts, due_sums=due, site_lists=lists)


def list_stages(protocol: Protocol, names: tuple[str, ...]) -> Stages:
    """The list of the sites of a protocol."""
    assert protocol.sites is not None
    return begin_stages(protocol.digest, protocol.sites, make_keys(names))


def make_site_view(names: tuple[str, ...] = NAMES, entries: int = 2, link: LinkState | None = None) -> SiteView:
    """A site's part of a study in whose ledger are so many entries, with sites of these names."""
    keys, table = make_keys(names), TABLE | make_tables(names) | {"about": f"which text helps most: {names[0]}"}
    said: list[tuple[Any, dict[str, Any]]] = [
        (SiteBegan, {"protocol": "0" * 64, "coordinator": "c0ffee" * 10 + "0000", "sites": tuple(keys)})
    ]
    for cohort in range(entries):
        of = {"cohort": cohort, "attempt": 1 + cohort % 2}
        said += [
            (SiteJoined, of | {"n": 1200, "weights": (400, 300, 0, 500), "offer": "0" * 64}),
            (SiteMasked, of),
            (SiteAgreed, of | {"sites": (0, 1, 3)}),
        ]
    ledger: list[Entry] = [
        kind(number=number, hash=f"{number:064x}", at=START + number * MINUTE, **more)
        for number, (kind, more) in enumerate(said)
    ]
    joined = [each for each in ledger if isinstance(each, SiteJoined)]
    rounds = tuple(
        SiteRound(each, 400, phase, left, (0, 1, 3) if phase == 4 else None)
        for each, (phase, left) in zip(joined, [(4, False), (1, False), (2, True)] * len(joined), strict=False)
    )
    began = ledger[0]
    assert isinstance(began, SiteBegan)
    protocol = Protocol.from_table(table)
    return SiteView(
        protocol=protocol,
        now=START + entries * MINUTE,
        state="running",
        number=0,
        stages=list_stages(protocol, names),
        began=began,
        coordinator=Pairing("0" * 64, "coordinator", names[0], "https://trial.example", "", "", "", START),
        cohorts=tuple(
            SiteCohort(number, names[number % 2], 1200, 1100 + number, found)
            for number, found in enumerate((*rounds, None))
        ),
        rounds=rounds,
        ledger=tuple(ledger),
        loss=Loss.pure(1),
        link=link,
    )


def site_pages(hostile: str) -> dict[str, str]:
    """By the name of the page; in some, names are hostile."""
    usual, away = LinkState(START), LinkState(START, START + MINUTE)
    worst = make_site_view((hostile, *NAMES[1:]), 1, LinkState(START, refusal="forbidden"))
    long = make_site_view(entries=60, link=usual)
    shown = {
        "begun": (make_site_view(entries=0), "owner", ""),
        "running": (make_site_view(link=usual), "officer", "Everything fits: 7 entries."),
        "away": (make_site_view(link=away), "owner", ""),
        "long": (long, "officer", ""),
        "unconfirmed": (make_site_view(link=LinkState(START, unconfirmed=True)), "owner", ""),
        "unlisted": (make_site_view(link=LinkState(START, unlisted=True)), "owner", ""),
        "hostile": (worst, "officer", hostile),
    }
    found = {
        f"site, {name}": render_page("site_study", role, "token", view=view, notice=notice)
        for name, (view, role, notice) in shown.items()
    }
    listed = [StudyRow("trial", "trial", state, "", 0, START) for state in ("running", "stopped")]
    for name, studies in (("list", listed), ("empty", [])):
        found[f"site, {name}"] = render_page("site_studies", "officer", "token", studies=studies, own="0" * 64)
    return found
