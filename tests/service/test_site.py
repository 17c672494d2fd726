"""The page over HTTP: sessions, forms of other sites, and who sees what."""

import html
import json
import re
import tomllib
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from maskedbandit.service.app import make_application
from maskedbandit.service.host.elsewhere import Elsewhere
from maskedbandit.service.host.host import Host
from maskedbandit.service.keys import SignedOut
from maskedbandit.service.page import visit
from maskedbandit.service.request import events
from maskedbandit.service.request import sessions as session
from maskedbandit.service.request.sessions import BEFORE, COOKIE_NAME, SESSION_LENGTH
from maskedbandit.service.views import summaries
from maskedbandit.service.views.counts import StudyCounts, count_places
from maskedbandit.store.book.book import Book
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.service.inside import TABLE, Inside, Reply

FORM = {"content-type": "application/x-www-form-urlencoded"}


class Eyes:
    """A browser with cookies and without scripts."""

    def __init__(self, service: Inside) -> None:
        self.service, self.cookie, self.before = service, "", ""

    @property
    def cookies(self) -> str:
        return "; ".join(filter(None, (self.cookie, self.before)))

    def get(self, path: str) -> Reply:
        found = self.service.ask("GET", path, None, None, [("cookie", self.cookies)])
        if "set-cookie" in found.headers:
            self.before = kept(found, BEFORE)
        return found

    def token(self, path: str = "/sign-in") -> str:
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', self.get(path).body.decode())
        assert found
        return found[1]

    def post(self, path: str, headers: dict[str, str] | None = None, **values: str) -> Reply:
        given = {**FORM, "host": "bandit", "cookie": self.cookies, **(headers or {})}
        return self.service.ask("POST", path, urlencode(values).encode(), None, given.items())

    def sign_in(self, role: str) -> Reply:
        found = self.post("/sign-in", csrf=self.token(), key=self.service.keys.get(role, role))
        if "set-cookie" in found.headers:
            self.cookie = kept(found, COOKIE_NAME)
        return found


def kept(found: Reply, name: str) -> str:
    """A cookie that a browser shows to no other site and to no script."""
    morsel = SimpleCookie(found.headers["set-cookie"])[name]
    assert morsel["httponly"]
    assert morsel["samesite"] == "strict"
    return f"{name}={morsel.value}"


@pytest.fixture
def eyes(service: Inside) -> Eyes:
    service.begin()
    return Eyes(service)


PAGES = (
    "",
    "/ledger",
    "/statement",
    "/statement.html",
    "/statement.json",
    "/releases.json",
    "/ledger.json",
    "/protocol.toml",
)


def test_without_a_session_nothing_of_a_real_study_is_seen(eyes: Eyes) -> None:
    for path in ("/", *(f"/studies/small{page}" for page in (*PAGES, "/events"))):
        found = eyes.get(path)
        assert (found.status, found.headers["location"]) == (303, "/sign-in"), path
    assert b"studies/small" not in eyes.get("/studies").body


@pytest.mark.parametrize("role", ["owner", "officer"])
def test_staff_see_all_pages(eyes: Eyes, role: str) -> None:
    assert eyes.sign_in(role).status == 303
    for path in ("/", "/studies", *(f"/studies/small{page}" for page in PAGES)):
        found = eyes.get(path)
        assert found.status == 200, path
        assert "default-src 'none'" in found.headers["content-security-policy"]
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["cache-control"] == "no-store"
    assert eyes.get("/studies/nothing").status == 404


@pytest.mark.parametrize(("proxies", "secure"), [(["127.0.0.1"], True), (["10.0.0.9"], False), ([], False)])
def test_a_cookie_is_one_of_tls_if_a_proxy_says_so_that_is_believed(
    eyes: Eyes, proxies: list[str], secure: bool
) -> None:
    eyes.service.app = make_application(eyes.service.host, proxies=proxies)
    given = {"x-forwarded-proto": "https", "x-forwarded-for": "10.0.0.1"}
    found = eyes.post("/sign-in", given, csrf=eyes.token(), key=eyes.service.keys["owner"])
    assert found.status == 303
    assert ("secure" in found.headers["set-cookie"].lower()) is secure


@for_each("key", ["client", "mb_owner_00000000_x", "", "x" * 5000])
def test_other_keys_begin_no_session(eyes: Eyes, key: str) -> None:
    assert eyes.sign_in(key).status == 401
    assert eyes.cookie == ""


def test_a_session_ends_with_its_key_and_with_time(eyes: Eyes) -> None:
    eyes.sign_in("officer")
    assert eyes.get("/studies/small").status == 200
    eyes.service.clock.now += SESSION_LENGTH + 1
    assert eyes.get("/studies/small").status == 303
    eyes.sign_in("officer")
    public = eyes.service.keys["officer"].split("_")[2]
    assert eyes.service.ask("POST", f"/v1/keys/{public}/revoke", None, "owner").status == 200
    assert eyes.get("/studies/small").status == 303


def forged(cookie: str) -> list[str]:
    """Sessions that nobody was given."""
    key, until, drawn, seal = cookie.partition("=")[2].split(".")
    return [
        f"{COOKIE_NAME}={key}.{int(until) + 1}.{drawn}.{seal}",
        f"{COOKIE_NAME}={key}.{until}.{drawn}0.{seal}",
        f"{COOKIE_NAME}={key}.{until}.{drawn}.{'0' * len(seal)}",
        f"{COOKIE_NAME}={key}.{until}.{drawn}.",
        f"{COOKIE_NAME}=...",
        f"{COOKIE_NAME}={key}.x.{drawn}.{seal}",
        f"{COOKIE_NAME}=\x00",
    ]


def test_a_forged_session_is_none(eyes: Eyes, monkeypatch: pytest.MonkeyPatch) -> None:
    eyes.sign_in("owner")
    for cookie in forged(eyes.cookie):
        eyes.cookie, kept = cookie, eyes.cookie
        assert eyes.get("/studies/small").status == 303, cookie
        eyes.cookie = kept
    # the control: a service that does not look at the seal
    monkeypatch.setattr(session.hmac, "compare_digest", lambda *_: True)
    eyes.cookie = forged(eyes.cookie)[0]
    assert eyes.get("/studies/small").status == 200


MOVES = ("pause", "resume", "stop", "archive")


def test_a_form_needs_the_token_of_its_session(eyes: Eyes) -> None:
    eyes.sign_in("owner")
    token = eyes.token("/studies/small")
    other = Eyes(eyes.service)
    other.sign_in("officer")
    for wrong in ("", "0" * 64, other.token("/studies/small"), Eyes(eyes.service).token()):
        assert eyes.post("/studies/small/pause", csrf=wrong).status == 403
    assert eyes.post("/studies/small/pause", {"origin": "https://evil.example"}, csrf=token).status == 403
    assert eyes.service.ask("GET", "/v1/studies/small", None, "owner").json["state"] == "running"
    assert eyes.post("/studies/small/pause", csrf=token).status == 303
    assert eyes.service.ask("GET", "/v1/studies/small", None, "owner").json["state"] == "paused"


def test_a_page_that_does_not_ask_for_the_token_is_caught(eyes: Eyes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit, "is_form_token", lambda *_: True)
    with pytest.raises(AssertionError):
        test_a_form_needs_the_token_of_its_session(eyes)


def test_only_an_owner_makes_studies(eyes: Eyes) -> None:
    eyes.sign_in("officer")
    assert eyes.get("/new").status == 403
    assert eyes.post("/studies", csrf=eyes.token("/studies/small"), do="create").status == 403
    owner = Eyes(eyes.service)
    owner.sign_in("owner")
    form = {"name": "fresh", "more_arms": "a\nb", "people": "1000", "channel.epsilon": "1", "channel.name": "central"}
    form["do"] = "create"
    wrong = owner.post("/studies", csrf=owner.token("/new"), **{**form, "people": "-1"})
    assert wrong.status == 422
    assert "people is -1" in wrong.body.decode()
    assert owner.post("/studies", csrf=owner.token("/new"), **form).headers["location"] == "/studies/fresh"


@pytest.mark.slow
def test_an_owner_changes_copies_and_deletes_the_draft_that_the_form_has_shown(eyes: Eyes) -> None:
    owner, ask = eyes, eyes.service.ask
    owner.sign_in("owner")
    ask("POST", "/v1/studies", TABLE | {"name": "fresh"}, "owner")
    path = "/studies/fresh/draft"

    def send(do: str, found: str, protocol: str = "") -> Reply:
        return owner.post(path, csrf=owner.token(path), looked_at=found, protocol=protocol, do=do)

    shown = html.unescape(owner.get(path).body.decode())
    text, looked_at = shown.partition('hint">')[2].partition("</textarea>")[0], field(shown, "looked_at")
    assert looked_at == Protocol.from_table(tomllib.loads(text)).digest
    text = text.replace("people = 1000", "people = 500")
    said = send("check", looked_at, text)
    assert (said.status, field(said.body.decode(), "looked_at")) == (200, looked_at)
    assert ask("GET", "/v1/studies/fresh", key="owner").json["of"] == 1000  # nothing was written
    assert send("change", looked_at, text).headers["location"] == "/studies/fresh"
    assert ask("GET", "/v1/studies/fresh", key="owner").json["of"] == 500
    for do in ("change", "delete"):  # which somebody has changed since the form was shown
        refused = send(do, looked_at, text)
        assert (refused.status, "look at it again" in refused.body.decode()) == (409, True)
    renamed = send("change", field(owner.get(path).body.decode(), "looked_at"), text.replace("fresh", "other"))
    assert (renamed.status, "a draft keeps its name" in renamed.body.decode()) == (422, True)
    assert 'name = "small-copy"' in html.unescape(owner.get("/studies/small/copy").body.decode())
    token, start = owner.token("/studies/fresh"), "/studies/fresh/start"
    for wrong in ({}, {"looked_at": looked_at}):  # which is not what is there now
        assert owner.post(start, csrf=token, **wrong).status == 409
    assert ask("GET", "/v1/studies/fresh", key="owner").json["state"] == "draft"
    assert send("delete", field(owner.get(path).body.decode(), "looked_at")).headers["location"] == "/studies"
    assert owner.get("/studies/fresh").status == 404


def field(page: str, name: str) -> str:
    """What a hidden field of a page says."""
    return page.partition(f'name="{name}" value="')[2].partition('"')[0]


def test_a_key_of_one_study_sees_no_other(eyes: Eyes) -> None:
    eyes.service.begin(name="other")
    assert eyes.sign_in(eyes.service.scoped("officer", "other")).status == 303
    assert eyes.get("/studies/other").status == 200
    for path in ("", "/ledger", "/releases.json", "/events"):
        assert eyes.get(f"/studies/small{path}").status == 403
    assert b"studies/small" not in eyes.get("/studies").body
    assert eyes.post("/studies/small/pause", csrf=eyes.token("/studies/other")).status == 403


def test_whoever_signs_out_is_out(eyes: Eyes) -> None:
    """With every copy of the cookie, in every process on the database; other sessions of the same key go on."""
    eyes.sign_in("owner")
    other = Eyes(eyes.service)
    other.sign_in("owner")
    elsewhere = Host(eyes.service.address, eyes.service.folder, clock=eyes.service.clock)
    token = eyes.token("/studies")
    found = eyes.post("/sign-out", csrf=token)
    assert found.status == 303
    assert SimpleCookie(found.headers["set-cookie"])[COOKIE_NAME].value == ""
    assert eyes.get("/studies/small").status == 303, "the cookie is still there"
    assert eyes.post("/studies/small/pause", csrf=token).headers["location"] == "/sign-in"
    assert other.get("/studies/small").status == 200
    now = eyes.service.clock()
    assert session.find_session(elsewhere, eyes.cookie, now) is not None
    elsewhere.questions.ask(elsewhere.signed_out.read)  # as the clock does each second
    assert session.find_session(elsewhere, eyes.cookie, now) is None
    assert session.find_session(elsewhere, other.cookie, now) is not None
    elsewhere.questions.close()
    stored = rows(eyes, "SELECT session, ends FROM signed_out")
    assert [ends for _, ends in stored] == [now + SESSION_LENGTH]
    assert stored[0][0] not in eyes.cookie


def rows(eyes: Eyes, question: str) -> list[tuple[Any, ...]]:
    """What the database answers."""
    database = open_database(eyes.service.address)
    try:
        return database.rows(question)
    finally:
        database.close()


def test_the_clock_hears_who_signed_out(eyes: Eyes) -> None:
    eyes.sign_in("owner")
    found = session.find_session(eyes.service.host, eyes.cookie, eyes.service.clock())
    assert found
    database = open_database(eyes.service.address)
    SignedOut().add(database, found.text, found.ends, eyes.service.clock())
    database.close()
    assert eyes.get("/studies/small").status == 200
    eyes.service.tick()
    assert eyes.get("/studies/small").status == 303


def test_sessions_that_would_be_over_are_forgotten(eyes: Eyes) -> None:
    for _ in range(2):
        eyes.sign_in("owner")
        token = eyes.token("/studies")
        for _ in range(2):  # as from another tab
            assert eyes.post("/sign-out", csrf=token).status == 303
        assert len(rows(eyes, "SELECT session FROM signed_out")) == 1
        eyes.service.clock.now += SESSION_LENGTH


# --- forms of other sites --------------------------------------------------------------------------------------

ELSEWHERE = (
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://bandit.evil.example"},
    {"origin": "http://bandit:8001"},
    {"origin": "ftp://bandit"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site", "origin": "http://bandit"},
)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("said", ELSEWHERE, ids=str)
def test_nobody_is_signed_in_or_out_from_elsewhere(eyes: Eyes, said: dict[str, str]) -> None:
    token = eyes.token()
    found = eyes.post("/sign-in", said, csrf=token, key=eyes.service.keys["owner"])
    assert (found.status, "set-cookie" in found.headers) == (403, False)
    eyes.sign_in("owner")
    assert eyes.post("/sign-out", said, csrf=eyes.token("/studies")).status == 403
    assert eyes.get("/studies/small").status == 200


@for_each(
    "said",
    [
        {"origin": "http://bandit", "sec-fetch-site": "same-origin"},
        {"origin": "https://bandit"},
        {"sec-fetch-site": "none"},
        {},
    ],
    ids=str,
)
def test_forms_of_this_site_are_taken(eyes: Eyes, said: dict[str, str]) -> None:
    token = eyes.token()
    assert eyes.post("/sign-in", said, csrf=token, key=eyes.service.keys["owner"]).status == 303


def test_over_tls_a_form_that_came_without_is_of_another_site(eyes: Eyes) -> None:
    eyes.service.app = make_application(eyes.service.host, proxies=["127.0.0.1"])
    tls = {"x-forwarded-proto": "https", "origin": "http://bandit"}
    assert eyes.post("/sign-in", tls, csrf=eyes.token(), key=eyes.service.keys["owner"]).status == 403


def test_the_form_of_one_browser_signs_no_other_in(eyes: Eyes) -> None:
    """An attacker's form, with the token of a page that the attacker was shown, and the attacker's key."""
    attacker, victim = Eyes(eyes.service), Eyes(eyes.service)
    token, key = attacker.token(), eyes.service.keys["officer"]
    assert victim.post("/sign-in", csrf=token, key=key).status == 403, "a browser without a cookie"
    of_nobody = session.form_token(eyes.service.host, "")
    assert victim.post("/sign-in", csrf=of_nobody, key=key).status == 403, "which is the same for all of those"
    victim.token()
    assert victim.post("/sign-in", csrf=token, key=key).status == 403, "one that has another"
    assert attacker.post("/sign-in", csrf=token, key=key).status == 303
    assert victim.token() == victim.token() != token


def test_the_ledger_is_verified_and_what_does_not_fit_is_said(eyes: Eyes) -> None:
    eyes.sign_in("officer")
    found = eyes.post("/studies/small/verify", csrf=eyes.token("/studies/small"))
    assert found.status == 200
    assert "Everything fits: 1 entries" in found.body.decode()
    database = open_database(eyes.service.address)
    database.rows("UPDATE entry SET body = ? WHERE number = 0", '{"at":1,"kind":"started","simulated":true}')
    database.close()
    found = eyes.post("/studies/small/verify", csrf=eyes.token("/studies"))
    assert found.status == 409
    assert "does not fit" in found.body.decode()


def many_keys(eyes: Eyes) -> set[int]:
    return {eyes.post("/sign-in", csrf=eyes.token(), key=f"mb_owner_0000000{n % 10}_x").status for n in range(40)}


def test_keys_cannot_be_guessed_fast(eyes: Eyes) -> None:
    eyes.service.host.strangers.rate, eyes.service.host.strangers.burst = 1, 20
    assert many_keys(eyes) == {401, 429}


def test_a_form_for_a_study_whose_holder_does_not_answer_is_refused_on_a_page(eyes: Eyes) -> None:
    eyes.sign_in("owner")
    token, service = eyes.token("/studies/small"), eyes.service
    service.run(service.host.drop("small"))
    service.host._client = httpx.AsyncClient(trust_env=False)
    service.host.held["small"] = Elsewhere("small", "gone 1 x", "http://127.0.0.1:1", service.host._client)
    found = eyes.post("/studies/small/pause", csrf=token)
    assert found.status == service.study("pause", key="owner").status == 503
    assert b"send it again" in found.body
    assert "content-security-policy" in found.headers


ANYWHERE = [
    ("GET", "/static/page.css", 200),
    ("GET", "/static/statement.css", 200),
    ("GET", "/static/none.css", 404),
    ("GET", "/static", 404),
    ("GET", "/studies/", 404),
    ("GET", "/none", 404),
    ("GET", "//evil.example/", 404),
    ("PUT", "/v1/studies", 405),
    ("POST", "/static/page.css", 405),
    ("GET", "/", 303),
    ("GET", "/studies", 200),
    ("POST", "/studies", 403),
]


@for_each(("method", "path", "status"), ANYWHERE)
def test_every_answer_has_the_headers_of_pages(eyes: Eyes, method: str, path: str, status: int) -> None:
    found = eyes.service.ask(method, path, None, None, [("host", "evil.example")])
    assert found.status == status
    assert {name: found.headers.get(name.lower()) for name in visit.PAGE_HEADERS} == visit.PAGE_HEADERS
    assert "evil" not in found.headers.get("location", "")


def test_a_file_that_has_not_changed_has_them_too(eyes: Eyes) -> None:
    tag = eyes.get("/static/page.css").headers["etag"]
    found = eyes.service.ask("GET", "/static/page.css", None, None, [("if-none-match", tag)])
    assert (found.status, found.headers["content-security-policy"]) == (304, visit.SECURITY_POLICY)


def test_the_ledger_is_downloaded_whole(eyes: Eyes, monkeypatch: pytest.MonkeyPatch) -> None:
    for verb in ("pause", "resume", "pause", "resume"):
        assert eyes.service.study(verb, key="owner").status == 200
    monkeypatch.setattr(events, "MOST_ENTRIES", 2)
    eyes.sign_in("owner")
    found = eyes.get("/studies/small/ledger.json").json["entries"]
    assert [json.loads(each["body"])["kind"] for each in found] == ["started", *2 * ["paused", "resumed"]]
    assert [each["number"] for each in found] == [0, 1, 2, 3, 4]


def test_nothing_is_counted_of_studies_that_are_not_shown(eyes: Eyes, monkeypatch: pytest.MonkeyPatch) -> None:
    """So whoever has no key, or one of a single study, does not keep the server at work on all others."""
    service, counted = eyes.service, list[str]()
    service.begin(name="other")
    service.ask("POST", "/v1/studies", TABLE | {"name": "played"}, "owner")
    service.start("played", "?simulated=1")

    def note(database: Database, book: Book, *given: Any) -> StudyCounts:
        counted.append(book.study)
        return count_places(database, book, *given)

    monkeypatch.setattr(summaries, "count_places", note)
    assert eyes.get("/").headers["location"] == "/studies/played"
    assert counted == ["played"]
    eyes.sign_in("owner")
    counted.clear()
    assert eyes.get("/studies").status == 200
    assert set(counted) == {"small", "other", "played"}
