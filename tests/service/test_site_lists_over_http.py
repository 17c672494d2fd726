"""Sites that join or leave a study that runs, over HTTP: the coordinator changes the list, and each site agrees."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from maskedbandit.errors import Conflict, MaskedBanditError
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.service.host.enter_study import confirm_list, enter_study
from maskedbandit.service.host.partner_calls import PartnerRefuses
from maskedbandit.service.host.site import LIST_WAITS
from maskedbandit.service.page.own_site import say_contact
from maskedbandit.service.page.sites import name_undecided, tabulate_sites
from maskedbandit.service.page.visit import render_page
from maskedbandit.service.views.view import read_view
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from tests.service.sites_inside import SitesInside

PATH = "/v1/studies/small/sites"


@pytest.fixture
def sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SitesInside]:
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    made = SitesInside(tmp_path)
    yield made
    made.close()


def confirm(sites: SitesInside, number: int) -> None:
    """Somebody at a site looks at the list, and agrees to it, while its server runs."""
    given = sites.addresses[number], sites.folders[number], "small"
    seen = asyncio.run(enter_study(*given, sites.wires[number]))
    assert not seen.agreed
    with pytest.raises(Conflict, match="look at it again"):
        asyncio.run(confirm_list(*given, "5b" * 32, sites.wires[number]))
    asyncio.run(confirm_list(*given, seen.newest.name, sites.wires[number]))


def say_standing(sites: SitesInside, number: int) -> str:
    """What a site's own page says of it and the coordinator."""
    site = sites.sites[number]
    return say_contact(site.run(site.host.view("small")))


@pytest.mark.slow
def test_a_site_joins(sites: SitesInside) -> None:
    sites.add()
    changed = sites.coordinator.ask("PUT", PATH, {"list": sites.named}, "officer")
    assert changed.status == 200
    sites.sites.append(sites.enter(3))
    sites.go_round(rounds=2)
    assert LIST_WAITS in sites.sites[0].host.attention.sentences
    assert "maskedbandit site enter small" in say_standing(sites, 0)
    assert sites.sites[0].assign("too early")["ticket"] is None
    for number in range(3):
        confirm(sites, number)
    sites.go_round(rounds=3)
    assert LIST_WAITS not in sites.sites[0].host.attention.sentences
    sums = sites.fill()
    sites.clock.now += 21_000
    sites.go_round()
    assert {each["arm"]: each["total"] for each in sites.releases()} == sums
    entries = sites.coordinator.ask("GET", "/v1/studies/small/ledger", None, "owner").json["entries"]
    kinds = [json.loads(each["body"])["kind"] for each in entries]
    assert kinds[:6] == ["started", "sites_changed", *["sites_confirmed"] * 4]
    shown = sites.coordinator.ask("GET", "/v1/studies/small/statement", None, "owner").body.decode()
    assert "There was 1 change of the list of sites since" in shown
    assert "site3" in shown
    assert sites.coordinator.ask("POST", "/v1/studies/small/verify", None, "owner").status == 200


@pytest.mark.slow
def test_a_list_waits_though_the_coordinator_refuses(sites: SitesInside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with its answers, somebody has to look at the list."""
    sites.add()
    assert sites.coordinator.ask("PUT", PATH, {"list": sites.named}, "officer").status == 200
    sites.sites.append(sites.enter(3))
    sites.go_round(rounds=2)

    async def refuse(said: object) -> dict[str, object]:
        raise PartnerRefuses("forbidden")

    monkeypatch.setattr(sites.sites[0].host.links["small"], "_ask", refuse)
    sites.go_round(rounds=2)
    assert "It refuses what this site asks: forbidden." in say_standing(sites, 0)
    assert LIST_WAITS in sites.sites[0].host.attention.sentences


def test_who_may_change_the_list(sites: SitesInside) -> None:
    """Neither an application nor a site; what is wrong is named, with what is allowed."""
    assert sites.coordinator.ask("PUT", PATH, {"list": sites.named}, "client").status == 403
    same = sites.coordinator.ask("PUT", PATH, {"list": sites.named}, "owner")
    assert (same.status, same.json["code"]) == (409, "conflict")
    few = sites.coordinator.ask("PUT", PATH, {"list": sites.named[:2]}, "owner")
    assert few.status == 422
    assert "the number of sites" in few.json["detail"]
    assert "from 3 to 100" in few.json["detail"]


@pytest.mark.slow
def test_a_site_that_left(sites: SitesInside) -> None:
    """It is told so, and its people keep their arms; nothing waits for it."""
    sites.add()
    kept = sites.come(0, "ann", None)
    assert sites.coordinator.ask("PUT", PATH, {"list": sites.named[1:]}, "owner").status == 200
    sites.sites.append(sites.enter(3))
    confirm(sites, 1)
    confirm(sites, 2)
    sites.go_round(rounds=2)
    assert LIST_WAITS not in sites.sites[0].host.attention.sentences
    assert "This site left the study" in say_standing(sites, 0)
    assert "left" not in say_standing(sites, 1)
    again = sites.sites[0].assign("ann")
    assert (again["arm"], again["ticket"], again["again"]) == (kept["arm"], kept["ticket"], True)
    assert sites.sites[0].assign("bob")["ticket"] is None
    assert sites.sites[1].assign("bob")["ticket"] is not None
    other = sites.addresses[0], sites.folders[0], "small"
    newest = asyncio.run(enter_study(*other, sites.wires[0])).newest
    assert newest.sites.number_of(sites.named[0]["key"]) is None


def test_a_site_that_is_in_no_list(sites: SitesInside) -> None:
    sites.add()
    with pytest.raises(MaskedBanditError, match="forbidden"):
        sites.enter(3)


@pytest.mark.slow
def test_the_page_says_who_has_not_agreed(sites: SitesInside) -> None:
    """A site that joined later was missing in no sum before."""
    sites.fill()
    sites.clock.now += 21_000
    sites.go_round()
    sites.add()
    assert sites.coordinator.ask("PUT", PATH, {"list": sites.named}, "owner").status == 200
    sites.sites.append(sites.enter(3))
    confirm(sites, 1)
    sites.go_round(rounds=3)
    with closing(open_database(sites.coordinator.address)) as database:
        witness = find_witness(database, sites.coordinator.folder)
        view = read_view(database, witness, "small", sites.clock.now)
    assert name_undecided(view) == "site0, site2"
    assert [row[3] for row in tabulate_sites(view)] == ["0 of 2", "0 of 2", "0 of 2", "0 of 0"]
    page = render_page("study", "owner", "token", view=view)
    assert "These have not agreed yet, and rounds wait for them: site0, site2." in page
