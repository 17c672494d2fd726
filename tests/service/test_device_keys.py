"""Device keys: published, worth nothing without a person's token, and usable on pages of the sites that they name."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from maskedbandit.cli import main
from maskedbandit.errors import InvalidValue, UnknownStudy
from maskedbandit.service import keys
from maskedbandit.service.api import list_routes, people
from maskedbandit.service.host.elsewhere import Elsewhere
from maskedbandit.service.keys import Keys
from maskedbandit.service.origins import MOST_ORIGINS, check_origins
from maskedbandit.service.request import route
from maskedbandit.service.request.limits import Buckets
from maskedbandit.store.databases.connection import open_database
from tests.for_each import for_each
from tests.service.inside import Inside, Reply
from tests.service.test_people import PUBLIC, rows, sign

SHOP, APP = "https://shop.example", "http://localhost:5173"
VERBS = ("assign", "expose", "report", "budget", "upload", "pass", "round", "leave")


@pytest.fixture
def shop(service: Inside) -> Inside:
    """A service with a study whose people are signed, another one, and device keys of both."""
    service.begin(signed_by=PUBLIC[0])
    service.begin(name="other", signed_by=PUBLIC[0])
    for name, study, origins in (("device", "small", [SHOP, APP]), ("app", "small", []), ("there", "other", ["a://b"])):
        body = {"role": "device", "study": study, "origins": origins}
        service.keys[name] = service.ask("POST", "/v1/keys", body, "owner").json["key"]
    return service


def ask(shop: Inside, verb: str, body: Any, key: str | None = "device", origin: str | None = SHOP) -> Reply:
    """A request of a page."""
    headers = [] if origin is None else [("origin", origin)]
    return shop.ask("POST", f"/v1/studies/small/{verb}", body, key, headers)


def preflight(shop: Inside, path: str, origin: str = SHOP) -> Reply:
    """What a browser asks first."""
    asked = [("origin", origin), ("access-control-request-method", "POST")]
    return shop.ask("OPTIONS", path, None, None, [*asked, ("access-control-request-headers", "authorization")])


def list_cors(found: Reply) -> set[str]:
    """The headers by which browsers are allowed something."""
    return {name for name in found.headers if name.startswith("access-control-") or name == "vary"}


def test_a_page_of_another_site_takes_part(shop: Inside) -> None:
    for key, origin in (("device", SHOP), ("device", APP), ("device", None), ("app", None)):
        unit = f"{key} {origin}"
        given = ask(shop, "assign", {"unit": unit, "token": sign(shop, unit)}, key, origin)
        assert given.status == 200
        body = {"ticket": given.json["ticket"]}
        assert ask(shop, "expose", body, key, origin).json == {"status": "exposed"}
        assert ask(shop, "report", body | {"value": 1}, key, origin).json == {"status": "accepted"}
        assert ask(shop, "budget", body, key, origin).json["spent"] == "ε = 1"
        assert given.headers.get("access-control-allow-origin") == origin
        assert given.headers.get("vary") == ("Origin" if origin else None)


def test_whoever_reads_a_device_key_comes_as_nobody(shop: Inside) -> None:
    token = sign(shop)
    refused: dict[str | None, str] = {None: "missing", "ann": "malformed", sign(shop, "bob"): "forged"}
    refused |= {sign(shop, study="other"): "forged", sign(shop, signer=1): "unknown_key"}
    refused |= {sign(shop, seconds=0): "expired", sign(shop, seconds=31 * 86_400): "expires_too_late"}
    for wrong, why in refused.items():
        found = ask(shop, "assign", {"unit": "ann", "token": wrong})
        assert (found.status, found.code) == (401, f"token_{why}")
        assert found.headers["access-control-allow-origin"] == SHOP, "the page may read why"
    for origin in ("https://evil.example", "null", f"{SHOP}:444", "http://shop.example", f"{SHOP}.evil.example", ""):
        for verb, body in (("assign", {"unit": "ann", "token": token}), ("budget", {"ticket": "0"}), ("report", {})):
            found = ask(shop, verb, body, origin=origin)
            assert (found.status, found.code, list_cors(found)) == (403, "wrong_origin", set())
    assert ask(shop, "assign", {"unit": "ann", "token": token}, "app").code == "wrong_origin"
    assert ask(shop, "assign", {"unit": "ann", "token": token}, "there", None).code == "forbidden"
    assert [rows(shop, f"SELECT * FROM {table}") for table in ("place", "account")] == [[], []]


def let_everybody_in(patch: pytest.MonkeyPatch) -> None:
    """A service that asks for no token."""
    patch.setattr(people, "check_token", lambda *given: None)


def forget_origins(patch: pytest.MonkeyPatch) -> None:
    """A service that asks for no origin."""
    patch.setattr(route, "check_origin", lambda *given: None)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("twin", [let_everybody_in, forget_origins])
def test_a_service_that_lets_more_in_is_found(
    shop: Inside, monkeypatch: pytest.MonkeyPatch, twin: Callable[[pytest.MonkeyPatch], None]
) -> None:
    twin(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        test_whoever_reads_a_device_key_comes_as_nobody(shop)


def test_a_device_may_nothing_else(shop: Inside) -> None:
    may = {f"/v1/studies/{{study}}/{verb}" for verb in VERBS[:4]}
    assert {each.path for each in list_routes() if "device" in each.roles} >= may
    body = {"requests": [{"unit": "ann", "token": sign(shop)}]}
    assert ask(shop, "assign/batch", body).status == 403
    assert shop.ask("POST", "/ofrep/v1/evaluate/flags/small", {"context": {}}, "device").status == 403
    for path in ("/v1/studies", "/v1/studies/small", "/v1/studies/small/results", "/v1/keys"):
        assert shop.ask("GET", path, None, "device").status == 403


def test_a_study_whose_people_are_not_signed_has_no_device_key(shop: Inside) -> None:
    """And should there be one all the same, it needs a token that nobody can make."""
    shop.begin(name="open")
    made = shop.ask("POST", "/v1/keys", {"role": "device", "study": "open"}, "owner")
    assert (made.status, made.code) == (422, "invalid_value")
    assert "signed_by" in made.json["detail"]
    database = open_database(shop.address)
    with database.transaction():
        database.change("UPDATE api_key SET study = 'open' WHERE role = 'device'")
    database.close()
    shop.tick()
    for token, why in ((None, "missing"), (sign(shop, study="open"), "unknown_key")):
        found = shop.study("assign", {"unit": "ann", "token": token}, "device", "open")
        assert (found.status, found.code) == (401, f"token_{why}")


def check_preflight(shop: Inside, verb: str) -> None:
    """Pages of the study's device keys may ask, and no others."""
    path = f"/v1/studies/small/{verb}"
    found = preflight(shop, path)
    assert (found.status, found.body) == (204, b"")
    assert found.headers == {
        "access-control-allow-origin": SHOP,
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "authorization, content-type",
        "access-control-max-age": "600",
        "vary": "Origin",
    }
    for wrong in ("https://evil.example", "null", "*", "a://b", "", "\xff"):
        other = preflight(shop, path, wrong)
        assert (other.status, list_cors(other)) == (405, set())
    for other in (preflight(shop, f"/v1/studies/{name}/{verb}") for name in ("other", "nothing", "%73mall")):
        assert (other.status, list_cors(other)) == (405, set())
    assert shop.ask("OPTIONS", path, None, "device").status == 405


@for_each("verb", VERBS)
def test_browsers_are_told_which_pages_may_ask(shop: Inside, verb: str) -> None:
    check_preflight(shop, verb)


def test_no_other_path_says_anything_to_pages_of_other_sites(shop: Inside) -> None:
    shop.begin(name="assign", signed_by=PUBLIC[0])
    paths = {each.path.format(study="small", arm="a", key="0" * 8, webhook="0" * 8, cohort=0) for each in list_routes()}
    paths |= {"/", "/sign-in", "/studies/small", "/static/page.css", "/v1/studies/small/assign/", "/metrics"}
    for path in paths - {f"/v1/studies/small/{verb}" for verb in VERBS}:
        assert preflight(shop, path).status in (404, 405), path
        for method in ("OPTIONS", "GET", "POST"):
            if not path.endswith("/events"):
                found = shop.ask(method, path, b"{" if method == "POST" else None, "owner", [("origin", SHOP)])
                assert not any(name.startswith("access-control-") for name in found.headers), path


def test_a_preflight_that_asks_for_no_key_is_found(shop: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Keys, "names_origin", lambda *given: True)
    with pytest.raises(AssertionError):
        check_preflight(shop, "assign")


def test_a_revoked_key_names_no_site(shop: Inside) -> None:
    public = shop.keys["device"].split("_")[2]
    newer = shop.ask("POST", f"/v1/keys/{public}/rotate", None, "owner").json["key"]
    shop.clock.now += keys.ROTATION_OVERLAP
    body = {"unit": "ann", "token": sign(shop)}
    assert ask(shop, "assign", body).status == 401
    assert ask(shop, "assign", body, newer).status == 200
    listed = shop.ask("GET", "/v1/keys", None, "owner").json["keys"]
    assert [each["origins"] for each in listed if each["role"] == "device"] == [[SHOP, APP], [], ["a://b"], [SHOP, APP]]
    shop.ask("POST", f"/v1/keys/{newer.split('_')[2]}/revoke", None, "owner")
    assert preflight(shop, "/v1/studies/small/assign").status == 405
    assert list_cors(ask(shop, "upload", {}, None)) == set()


def test_tickets_and_addresses_of_devices_are_limited(shop: Inside) -> None:
    ticket = ask(shop, "assign", {"unit": "ann", "token": sign(shop)}).json["ticket"]
    now = [0.0]
    shop.host.tickets = Buckets(1, 3, lambda: now[0])
    bodies = {"expose": {"ticket": ticket}, "report": {"ticket": ticket, "value": 1}, "budget": {"ticket": ticket}}
    assert [ask(shop, verb, body).status for verb, body in bodies.items()] == [200, 200, 200]
    assert {ask(shop, verb, body).status for verb, body in bodies.items()} == {429}
    assert shop.study("expose", {"ticket": ticket}).status == 200  # an application may, for all its people
    shop.host.devices, shop.host.callers = Buckets(1, 2, lambda: now[0]), Buckets(0, 0)
    assert [ask(shop, "assign", {"unit": "bob"}).status for _ in range(3)] == [401, 401, 429]


def list_statuses(shop: Inside, patch: pytest.MonkeyPatch, reports: bool) -> list[int]:
    """What whoever has somebody's ticket is answered elsewhere, while the person's own page reports, or does not."""
    unit, now = f"ann {reports}", [0.0]
    ticket = ask(shop, "assign", {"unit": unit, "token": sign(shop, unit)}).json["ticket"]
    assert ask(shop, "expose", {"ticket": ticket}).status == 200
    shop.host.tickets, found, scope = Buckets(1, 3, lambda: now[0]), list[int](), shop.scope
    for second in range(8):
        if reports and second == 5:
            assert ask(shop, "report", {"ticket": ticket, "value": 1}).status == 200
        with patch.context() as elsewhere:
            elsewhere.setattr(shop, "scope", lambda *given: scope(*given) | {"client": ("192.0.2.7", 1)})
            found += [ask(shop, verb, {"ticket": ticket}).status for verb in ("budget", "expose")]
        now[0] += 1
    return found


def test_limits_of_a_ticket_tell_nobody_that_its_person_reports(shop: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = [list_statuses(shop, monkeypatch, reports) for reports in (False, True)]
    assert worlds[0] == worlds[1]
    assert set(worlds[0]) == {200, 429}


def test_a_limit_that_all_who_have_a_ticket_share_is_found(shop: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route.Call, "count_ticket", lambda call, ticket: call.host.tickets.take(ticket))
    with pytest.raises(AssertionError):
        test_limits_of_a_ticket_tell_nobody_that_its_person_reports(shop, monkeypatch)


def test_who_has_no_token_uses_nobodys_limit_up(shop: Inside) -> None:
    now = [0.0]
    shop.host.people = Buckets(1, 2, lambda: now[0])
    for _ in range(5):
        assert ask(shop, "assign", {"unit": "ann", "token": sign(shop, "bob")}).status == 401
    assert [ask(shop, "assign", {"unit": "ann", "token": sign(shop)}).status for _ in range(3)] == [200, 200, 429]


def test_what_devices_ask_is_relayed_to_the_process_that_holds_the_study(shop: Inside) -> None:
    host, writer, passed = shop.host, shop.host.held["small"], list[str]()

    class Holder:
        """The other process, which is this one as soon as it is asked."""

        async def request(self, method: str, url: str, headers: dict[str, str], content: bytes, **more: Any) -> Any:
            elsewhere, host.held["small"] = host.held["small"], writer
            passed.append(url.removeprefix("http://there"))
            given = [*host._client.headers.items(), *headers.items()]
            found = await shop.asked(method, passed[-1], content, None, given)
            host.held["small"] = elsewhere
            return httpx.Response(found.status, headers=found.headers, content=found.body)

    host.held["small"] = Elsewhere("small", "host 1 x", "http://there", Holder())
    given = ask(shop, "assign", {"unit": "ann", "token": sign(shop)})
    body = {"ticket": given.json["ticket"]}
    said = [given, *(ask(shop, verb, body) for verb in ("expose", "budget")), ask(shop, "assign", {"unit": "ann"})]
    assert [each.status for each in said] == [200, 200, 200, 401]
    assert said[-1].code == "token_missing"
    assert {each.headers["access-control-allow-origin"] for each in said} == {SHOP}
    assert passed == [f"/v1/studies/small/{verb}" for verb in ("assign", "expose", "budget", "assign")]
    host.held["small"] = writer


def test_what_no_browser_says_is_no_origin() -> None:
    good = [SHOP, APP, "http://127.0.0.1", "https://[::1]:8443", "capacitor://localhost", "https://a-b.c_d.example"]
    assert check_origins([*good, SHOP]) == tuple(good)
    wrong = [
        "*",
        "null",
        "",
        "shop.example",
        f"{SHOP}/",
        f"{SHOP}:443",
        "http://a:80",
        f"{SHOP}/a",
        "https://",
        SHOP * 20,
    ]
    wrong += ["https://Shop.example", "https://*.example", "https://a b", "https://a:", "https://a:012", "https://u@a"]
    wrong += ["https://a?b", f"{SHOP}\n", "https://ü.example", "https://-a", "https://a.", "//a", "file://"]
    for each in wrong:
        with pytest.raises(InvalidValue, match="origin"):
            check_origins([each])
    with pytest.raises(InvalidValue, match="number of origins"):
        check_origins(f"https://a{i}" for i in range(MOST_ORIGINS + 1))


def test_what_is_no_device_key_is_not_made(shop: Inside) -> None:
    database = open_database(shop.address)
    for study, origins, name in ((None, [], "study"), ("small", ["null"], "origin")):
        with pytest.raises(InvalidValue, match=name):
            keys.write_key(database, "device", study, 0, origins)
        made = shop.ask("POST", "/v1/keys", {"role": "device", "study": study, "origins": origins}, "owner")
        assert made.status == 422
    with pytest.raises(UnknownStudy):
        keys.write_key(database, "device", "nobodys", 0)
    for role in keys.SECRET_ROLES:
        with pytest.raises(InvalidValue, match="origins"):
            keys.write_key(database, role, None, 0, [SHOP])
    database.close()


def test_a_command_makes_one(shop: Inside, capsys: pytest.CaptureFixture[str]) -> None:
    new = ["key", "new", "device", "--database", shop.address, "--study", "small"]
    assert main([*new, "--origin", SHOP, "--origin", APP]) == 0
    made = json.loads(capsys.readouterr().out)["key"]
    assert made.startswith("mb_device_")
    assert ask(shop, "assign", {"unit": "ann", "token": sign(shop)}, made, APP).status == 200
    assert main(["key", "list", "--database", shop.address]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["origins"] == [SHOP, APP]
    for wrong, said in (("null", "origin is 'null'"), (f"{SHOP}/", "origin is")):
        assert main([*new, "--origin", wrong]) == 2
        assert said in capsys.readouterr().err
    assert main(new[:-2]) == 2
    assert "study is None: it must be the study that the device key is for" in capsys.readouterr().err
