"""The pages of a site: what is on them, who may see them, and that nothing there is of an outcome."""

import asyncio
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace

from maskedbandit.cli.serve import welcome
from maskedbandit.service.host import site as site_host
from maskedbandit.service.host.site import SiteHost
from maskedbandit.service.keys import STAFF
from maskedbandit.service.page.visit import Visit
from maskedbandit.service.request.sessions import BEFORE, COOKIE_NAME, form_token, new_session
from maskedbandit.service.sites import list_site_routes
from maskedbandit.service.sites.pages import list_site_pages
from maskedbandit.service.views.site_view import SiteView, read_site_view
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from tests.service.inside import Inside, Reply
from tests.service.sites_inside import SiteInside, SitesInside
from tests.service.test_page import KIND, Page, check_only_text, find_unsaid
from tests.service.test_roles import ALL, written

STUDY = "/studies/small"
DOCUMENT = (Path(__file__).parents[2] / "docs" / "sites.md").read_text()
EXPECTED, EXPECTED_PAGES = written(1, DOCUMENT), written(2, DOCUMENT)


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[SitesInside]:
    made = SitesInside(tmp_path)
    yield made
    made.close()


def sign_in(site: Inside, role: str) -> str:
    """The cookie of a session with a key of this role, also of one that can begin none."""
    key = site.host.keys._known[site.keys[role].split("_")[2]]
    return f"{COOKIE_NAME}={new_session(site.host, key)}"


def look(site: Inside, cookie: str, path: str = STUDY) -> Reply:
    """A page."""
    return site.ask("GET", path, None, None, [("cookie", cookie)])


def send(site: SiteInside, cookie: str, path: str, **values: str) -> Reply:
    """What a form is answered."""
    form = {"csrf": form_token(site.host, cookie.partition("=")[2])} | values
    headers = [("cookie", cookie), ("content-type", "application/x-www-form-urlencoded")]
    return site.ask("POST", path, urlencode(form).encode(), None, headers)


def text_of(reply: Reply) -> str:
    """The words of a page."""
    assert reply.status == 200, reply
    return Page(reply.body.decode()).text


@pytest.mark.slow
def test_a_site_from_its_first_person_to_a_sum(sites: SitesInside) -> None:
    site = sites.sites[0]
    cookie = sign_in(site, "officer")
    assert "small Running" in text_of(look(site, cookie, "/"))
    assert "Nobody has come yet." in text_of(look(site, cookie))
    sites.fill()
    said = text_of(look(site, cookie))
    assert "6 people of this site have a place" in said
    assert "No round was joined yet." in said
    sites.clock.now += 21_000
    sites.go_round(rounds=2)
    assert re.search("being added up.* sent, [1-4] of 5", text_of(look(site, cookie)))
    sites.go_round()
    said = text_of(look(site, cookie))
    assert said.count("over: 3 sites added up") == 2
    assert "it agreed that the sum be opened" in said
    assert "The coordinator last answered at" in said
    for each in sites.sites:
        fingerprint = each.host.own.fingerprint
        assert " ".join(fingerprint[i : i + 4] for i in range(0, 64, 4)) in said
    assert "site0 (this site)" in said


@pytest.mark.slow
def test_a_coordinator_that_is_away(sites: SitesInside) -> None:
    site = sites.sites[0]
    sites.wires[0].cut = True
    sites.go_round(rounds=3)
    assert "It does not answer since" in text_of(look(site, sign_in(site, "owner")))
    sites.wires[0].cut = False
    sites.go_round(rounds=1)
    assert "It does not answer" not in text_of(look(site, sign_in(site, "owner")))


def test_an_officer_erases_a_person(sites: SitesInside) -> None:
    site, given = sites.sites[0], sites.come(0, "ann", 1)
    for role in ("owner", "client"):
        assert send(site, sign_in(site, role), f"{STUDY}/erase", unit="ann").status != 200
        assert 'action="/studies/small/erase"' not in look(site, sign_in(site, role)).body.decode()
    assert "Erased: 1 place" in text_of(send(site, sign_in(site, "officer"), f"{STUDY}/erase", unit=" ann "))
    assert site.study("report", {"ticket": given["ticket"], "value": 1}).status == 404
    assert send(site, sign_in(site, "officer"), f"{STUDY}/erase", unit="").status == 422


@pytest.mark.slow
def test_all_that_is_stored_is_verified(sites: SitesInside) -> None:
    site = sites.sites[0]
    sites.fill()
    cookie = sign_in(site, "owner")
    assert "Everything fits: 1 entries" in text_of(send(site, cookie, f"{STUDY}/verify"))


def test_a_ledger_that_was_changed_is_not_shown(sites: SitesInside) -> None:
    site = sites.sites[0]
    cookie = sign_in(site, "owner")
    with closing(open_database(site.address)) as database, database.transaction():
        database.change("UPDATE entry SET body = body || ' '")
    assert look(site, cookie).status == 503
    found = send(site, cookie, f"{STUDY}/verify")
    assert (found.status, b"This does not fit" in found.body) == (409, True)


def test_a_new_site_says_where_its_page_is(tmp_path: Path) -> None:
    async def begin() -> list[str]:
        host = SiteHost(f"sqlite:///{tmp_path}/new.db", tmp_path / "new")
        said = welcome(host, "http://localhost:8001")
        host.questions.close()
        return said

    said = asyncio.run(begin())
    assert said[0] == "page         http://localhost:8001/"
    (link,) = [line for line in said if line.startswith("sign in ")]
    assert "http://localhost:8001/sign-in#mb_officer_" in link


def check_drawn(reply: Reply) -> None:
    """It is a page as all others: text alone, and each number says of which kind it is, of which none is released."""
    text = reply.body.decode()
    check_only_text(text)
    page = Page(text)
    assert page.wrong == []
    assert find_unsaid(text) == []
    assert f'data-kind="{KIND[0]}"' not in text
    ids = [str(each["id"]) for _, each in page.elements if "id" in each]
    assert len(ids) == len(set(ids))


@pytest.mark.slow
def test_pages_are_drawn_as_all_others(sites: SitesInside) -> None:
    site = sites.sites[0]
    cookie = sign_in(site, "officer")
    for path in ("/", STUDY, "/glossary", "/sign-in"):
        found = look(site, cookie, path)
        assert "default-src 'none'" in found.headers["content-security-policy"]
        if path != "/glossary":
            check_drawn(found)
    sites.fill()
    sites.clock.now += 21_000
    sites.go_round()
    check_drawn(look(site, cookie))


def test_who_may_is_in_the_document() -> None:
    routes = {f"{each.method} {each.path}": ", ".join(sorted(each.roles)) or ALL for each in list_site_routes()}
    assert routes == EXPECTED
    pages = {
        f"{method} {getattr(page, 'path', '')}"
        for page in list_site_pages()
        for method in (getattr(page, "methods", None) or {"GET"}) - {"HEAD"}
    }
    assert set(EXPECTED_PAGES) == pages


def check_who_may(site: SiteInside, which: str) -> None:
    """Whoever may not is led to signing in, or refused."""
    expected, (method, path) = EXPECTED_PAGES[which], which.split(" ")
    path = path.format(study="small") + "/page.css" * (path == "/static")

    def ask(cookie: str, key: str | None = None) -> str:
        if method == "POST":
            found = send(site, cookie, path, unit="ann", key=site.keys["owner"])
        else:
            found = site.ask("GET", path, None, key, [("cookie", cookie)])
        if found.headers.get("location") == "/sign-in":
            return "sign in"
        return "refused" if found.status == 403 else "done"

    for nobody in (f"{BEFORE}=x", sign_in(site, "client"), sign_in(site, "owner")[:-1] + "x"):
        for key in (None, "client", "owner"):
            assert ask(nobody, key) == ("done" if expected == ALL and path != "/sign-out" else "sign in"), nobody
    for role in STAFF:
        led_away = "sign in" if path == "/sign-out" else "done"
        assert ask(sign_in(site, role)) == (led_away if role in expected or expected == ALL else "refused"), role


def test_who_may_see_pages_of_a_site(sites: SitesInside) -> None:
    for which in EXPECTED_PAGES:
        check_who_may(sites.sites[0], which)


def test_a_key_of_another_study_sees_nothing(sites: SitesInside) -> None:
    site = sites.sites[0]
    public = site.keys["officer"].split("_")[2]
    site.host.keys._known[public] = site.host.keys._known[public]._replace(study="other")
    cookie = sign_in(site, "officer")
    assert "small" not in text_of(look(site, cookie, "/"))
    assert look(site, cookie).status == 403
    for verb in ("verify", "erase"):
        assert send(site, cookie, f"{STUDY}/{verb}", unit="ann").status == 403


def test_a_page_that_forgets_to_ask_who_looks_is_caught(sites: SitesInside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Visit, "allow", lambda *given: None)
    with pytest.raises(AssertionError):
        check_who_may(sites.sites[0], f"GET {STUDY.replace('small', '{study}')}")


WORLDS = ("another outcome", "no report", "more reports")


def play_world(folder: Path, now: int, tickets: dict[str, tuple[int, str]], world: str, cookie: str) -> list[bytes]:
    """The pages of a site after everybody's outcome, and after each turn of the round that adds them up."""
    sites = SitesInside.reopen(folder, now)
    site, found = sites.sites[0], list[bytes]()
    for unit, (number, ticket) in tickets.items():
        sent = [{"ticket": ticket, "value": 1}]
        if unit == "person 0":
            sent = {
                "as it was": sent,
                "another outcome": [{"ticket": ticket, "value": 0}],
                "no report": [],
                "more reports": [*sent, {"ticket": ticket, "value": 1, "event": "again"}],
            }[world]
        for each in sent:
            assert sites.sites[number].study("report", each).status == 200
        found.append(look(site, cookie).body)
    sites.clock.now += 21_000
    for _ in range(12):
        sites.go_round(rounds=1)
        found += [look(site, cookie, path).body for path in ("/", STUDY)]
    assert len(sites.releases()) == 2
    found.append(send(site, cookie, f"{STUDY}/verify").body)
    assert b"Everything fits" in found[-1]
    sites.close()
    return found


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, dict[str, tuple[int, str]], str]:
    """A study whose people have all seen their arms, and have had no outcome yet."""
    folder = tmp_path_factory.mktemp("begun")
    sites, tickets = SitesInside(folder), dict[str, tuple[int, str]]()
    for i in range(60):
        given = sites.come(i % 3, f"person {i}", None)
        if given["ticket"] is not None:
            tickets[f"person {i}"] = i % 3, given["ticket"]
    assert tickets["person 0"][0] == 0
    cookie = sign_in(sites.sites[0], "officer")
    sites.close()
    return folder, sites.clock.now, tickets, cookie


def differ(begun: tuple[Path, int, dict[str, tuple[int, str]], str], tmp_path: Path, world: str) -> bool:
    """Whether any page says that a world is another one than it was."""
    folder, now, tickets, cookie = begun
    played = []
    for each in ("as it was", world):
        shutil.copytree(folder, tmp_path / each)
        played.append(play_world(tmp_path / each, now, tickets, each, cookie))
    return played[0] != played[1]


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_worlds_that_differ_in_an_outcome_have_the_same_pages(begun: Any, tmp_path: Path, world: str) -> None:
    """Byte by byte, before the release, at each step of the round, and after it."""
    assert not differ(begun, tmp_path, world)


def count_reports(found: SiteView, database: Database) -> SiteView:
    """A view that counts who has an outcome."""
    ((many,),) = database.rows("SELECT COUNT(*) FROM site_report")
    return replace(found, cohorts=tuple(replace(each, seen=int(many)) for each in found.cohorts))


def show_sums(found: SiteView, database: Database) -> SiteView:
    """A view that shows what the site would add, before its noise."""
    ((total,),) = database.rows("SELECT COALESCE(SUM(value), 0) FROM site_report")
    return replace(found, cohorts=tuple(replace(each, arm=str(total)) for each in found.cohorts))


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "world"), [(count_reports, "no report"), (show_sums, "another outcome")])
def test_a_page_that_shows_outcomes_is_caught(
    begun: Any, tmp_path: Path, broken: Any, world: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(database: Database, witness: Witness, name: str, now: int) -> SiteView:
        found: SiteView = broken(read_site_view(database, witness, name, now), database)
        return found

    monkeypatch.setattr(site_host, "read_site_view", read)
    assert differ(begun, tmp_path, world)
