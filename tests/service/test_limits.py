"""How much and what may be sent: sizes, depths, numbers, texts that no database can read, and how often."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import ValidationError
from msgspec.json import decode, encode

from maskedbandit.errors import TooMany
from maskedbandit.service.app import make_application
from maskedbandit.service.host.elsewhere import CALLS_TOGETHER
from maskedbandit.service.messages import Assign, Report
from maskedbandit.service.request.limits import BATCH, BODY, Buckets
from tests.service.inside import TABLE, Inside, inside
from tests.service.live import Live, live

ASSIGN = "/v1/studies/small/assign"
NAMES = ["", "\x00", "a\x00b", "a\nb", "\x7f", "\u2028", "x" * 257, "\ufeff", "\u202e"]


def test_bodies_that_are_too_large(service: Inside) -> None:
    service.begin()
    body = json.dumps({"unit": "ann"}).encode()
    assert service.ask("POST", ASSIGN, body + b" " * (BODY - len(body))).status == 200
    found = service.ask("POST", ASSIGN, body + b" " * (BODY + 1 - len(body)))
    assert (found.status, found.code) == (413, "too_large")
    claimed = service.ask("POST", ASSIGN, body, headers=[("content-length", str(BODY + 1))])
    assert (claimed.status, claimed.code) == (413, "too_large")
    assert service.ask("POST", f"{ASSIGN}/batch", b" " * (BATCH + 1)).status == 413


def test_a_body_in_parts_is_counted_too(service: Inside) -> None:
    parts = [{"type": "http.request", "body": b" " * 1000, "more_body": True}] * (BODY // 1000 + 1)
    left, found = list(parts), list[Any]()

    async def receive() -> Any:
        return left.pop()

    async def send(message: Any) -> None:
        found.append(message)

    service.run(service.app(service.scope("POST", ASSIGN, "client", ()), receive, send))
    assert found[0]["status"] == 413
    assert not left


def test_depth_and_encoding(service: Inside) -> None:
    service.begin()
    deep = [b"[" * 30_000, b'{"unit":' * 7000, b'{"context":' + b'{"a":' * 9000 + b"1" + b"}" * 9001]
    other = [b"\xff\xfe", b'{"unit": "\xff"}', b'{"unit": "\\ud800"}', b"", b"{", b"null", b'{"unit": 7}']
    for raw in deep + other:
        assert service.ask("POST", ASSIGN, raw).code == "invalid_value", raw[:40]
        assert service.ask("POST", "/v1/studies/validate", raw, "owner").status == 422, raw[:40]
        assert service.ask("POST", "/ofrep/v1/evaluate/flags/small", raw).status in (400, 422), raw[:40]


def test_a_name_given_twice_is_refused(service: Inside) -> None:
    """Two readers of the same body could otherwise take it for different requests."""
    service.begin()
    ticket = service.seen("ann")
    twice = [
        (ASSIGN, '{"unit": "bob", "unit": "eve"}'),
        (ASSIGN, '{"unit": "bob", "\\u0075nit": "eve"}'),
        (f"{ASSIGN}/batch", '{"requests": [{"unit": "bob"}, {"unit": "cy", "unit": "eve"}]}'),
        ("/v1/studies/small/report", f'{{"ticket": "{ticket}", "value": 0, "value": 1}}'),
        ("/ofrep/v1/evaluate/flags/small", '{"context": {"targetingKey": "bob", "targetingKey": "eve"}}'),
    ]
    for path, raw in twice:
        assert service.ask("POST", path, raw.encode()).code == "invalid_value", raw
    protocol = '{"people": 10, "people": 20}'
    assert "twice" in service.ask("POST", "/v1/studies/validate", protocol.encode(), "owner").json["detail"]
    for fine in ('{"unit": "unit"}', '{"unit": "\\"unit\\": x"}', '{"unit": "a", "token": "unit"}'):
        assert service.ask("POST", ASSIGN, fine.encode()).status == 200, fine
    assert service.ask("POST", f"{ASSIGN}/batch", {"requests": [{"unit": "u"}, {"unit": "v"}]}).status == 200


@pytest.mark.sparing(2)
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_names_of_people_are_printable(service: Inside, name: str) -> None:
    service.begin()
    found = service.study("assign", {"unit": name})
    assert found.status == 422
    assert found.code in ("personal_value", "invalid_value")
    ticket = service.seen("ann")
    if name:  # without a name a report is the only one
        assert service.study("report", {"ticket": ticket, "value": 1, "event": name}).status == 422
    assert service.study("report", {"ticket": name, "value": 1}).status in (404, 422)
    assert service.study("erase", {"unit": name}, "officer").status == 422
    context = {"context": {"targetingKey": name}}
    found = service.ask("POST", "/ofrep/v1/evaluate/flags/small", context)
    assert (found.status, set(found.json)) == (400, {"key", "errorCode", "errorDetails"})
    assert service.ask("POST", "/ofrep/v1/evaluate/flags", context).status in (200, 400)


@pytest.mark.sparing(1)
@pytest.mark.parametrize(
    "path", ["a\x00b", "'", "x" * 5000, "..", "é", "a%2Fb", "*", "a b"], ids=lambda x: ascii(x)[:9]
)
def test_paths_that_name_no_study(address: str, tmp_path: Path, path: str) -> None:
    with inside(address, tmp_path / "witness") as service:
        for verb in ("", "/releases", "/ledger", "/ledger/head", "/events"):
            assert service.ask("GET", f"/v1/studies/{path}{verb}", key="officer").status == 404, verb
        for verb, body in (
            ("assign", {"unit": "a"}),
            ("report", {"ticket": "0", "value": 1}),
            ("budget", {"ticket": "0"}),
        ):
            assert service.study(verb, body, name=path).status == 404
        for verb, key in (("start", "owner"), ("verify", "officer")):
            assert service.study(verb, None, key, path).status == 404
        flag = service.ask("POST", f"/ofrep/v1/evaluate/flags/{path}", {"context": {"targetingKey": "a"}})
        assert (flag.status, flag.json["errorCode"]) == (404, "FLAG_NOT_FOUND")
        for verb in ("rotate", "revoke"):
            assert service.ask("POST", f"/v1/keys/{path}/{verb}", None, "owner").status == 404
        assert service.ask("POST", "/v1/keys", {"role": "client", "study": path}, "owner").status in (404, 422)


def test_numbers_of_entries(service: Inside) -> None:
    service.begin()
    for wrong in ("x", "-1", "1e3", "9" * 16, "٣", "1.5", "+1"):
        found = service.ask("GET", f"/v1/studies/small/ledger?after={wrong}".encode().decode("latin-1"), key="owner")
        assert (found.status, found.code) == (422, "invalid_value"), wrong
    for right, many in (("", 1), ("0", 0), ("9" * 15, 0)):
        found = service.ask("GET", f"/v1/studies/small/ledger?after={right}", key="owner")
        assert len(found.json["entries"]) == many


def test_the_longest_requests_fit_a_batch_that_is_sent_elsewhere() -> None:
    longest = [
        Assign("\U0001f600" * 256, "\U0001f600" * 256),
        Report("z" * 64, -1.7976931348623157e308, "\U0001f600" * 128),
    ]
    for each in longest:
        decode(encode(each), type=type(each))
        assert len(encode({"requests": [each] * CALLS_TOGETHER})) <= BATCH
    with pytest.raises(ValidationError):
        decode(encode(Assign("u", "x" * 257)), type=Assign)


def test_a_field_that_is_not_known_is_not_named(service: Inside) -> None:
    service.begin()
    for raw in (
        b'{"unit": "a", "secret`name": 1}',
        b'{"requests": [{"secret`name": {}}]}',
        b'{"secret`name` - at `$.x": 0}',
    ):
        for path in (ASSIGN, f"{ASSIGN}/batch"):
            found = service.ask("POST", path, raw)
            assert found.status == 422
            assert b"secret" not in found.body


def test_a_study_that_is_given_back_meanwhile_is_asked_again(service: Inside) -> None:
    service.begin()
    held = service.run(service.host.hold("small"))
    held.close()
    found = service.study("assign", {"unit": "ann"})
    assert (found.status, found.code, found.headers["retry-after"]) == (503, "storage_failed", "1")


def test_a_study_that_cannot_write_as_fast_as_it_is_asked_refuses_more(
    service: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.begin()
    monkeypatch.setattr("maskedbandit.service.request.holders.WAITING", -1)
    assert service.study("assign", {"unit": "ann"}).code == "too_many"
    assert service.study("pause", key="owner").code == "too_many"
    service.tick()  # the clock goes on
    assert service.ask("GET", "/readyz", key=None).status == 200


# --- how often -------------------------------------------------------------------------------------------------


def test_a_bucket_fills_again() -> None:
    now = [0.0]
    buckets = Buckets(2, 3, lambda: now[0])
    assert [refused(buckets, "a") for _ in range(5)] == [False] * 3 + [True] * 2
    assert not refused(buckets, "b")
    now[0] = 0.5
    assert [refused(buckets, "a") for _ in range(2)] == [False, True]
    buckets.take("c", 100)  # a batch is one request that counts as many
    now[0] = 48.0
    assert refused(buckets, "c")
    now[0] = 50.0
    assert not refused(buckets, "c")


def test_buckets_forget_whoever_has_a_full_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maskedbandit.service.request.limits.KNOWN_CALLERS", 4)
    now = [0.0]
    buckets = Buckets(1, 2, lambda: now[0])
    for _ in range(2):
        buckets.take("greedy")
    for each in "abc":
        buckets.take(each)
    now[0] = 1.0
    for each in "defghi":
        buckets.take(each)
        assert len(buckets._left) <= 4
        now[0] += 0.01
    buckets = Buckets(1, 2, lambda: now[0])
    for each in "abc":
        buckets.take(each)
    now[0] += 1
    for _ in range(2):
        buckets.take("greedy")
    buckets.take("new")
    assert refused(buckets, "greedy")  # which is not forgotten with the others


def flooded(buckets: Buckets) -> list[bool]:
    """Whether somebody who has no request left is refused, after others asked with many names, each of them often."""
    found = []
    for each in range(4):
        while not refused(buckets, "greedy"):
            pass
        for name in range(40):
            for _ in range(each + 1):
                refused(buckets, f"{each} {name}")
        found.append(refused(buckets, "greedy"))
    return found


class Forgetful(Buckets):
    """A twin that forgets everybody when there are too many."""

    def _forgot(self, now: float) -> bool:
        self._left.clear()
        return True


class Latest(Buckets):
    """A twin that forgets whoever has not asked for longest."""

    def _forgot(self, now: float) -> bool:
        del self._left[min(self._left, key=lambda who: self._left[who][1])]
        return True


def test_no_number_of_names_makes_the_service_forget_whoever_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maskedbandit.service.request.limits.KNOWN_CALLERS", 10)
    assert flooded(Buckets(1, 5, lambda: 0.0)) == [True] * 4
    assert not all(flooded(Forgetful(1, 5, lambda: 0.0)))
    assert not all(flooded(Latest(1, 5, lambda: 0.0)))


def test_where_all_are_refused_whoever_comes_anew_is_too_until_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maskedbandit.service.request.limits.KNOWN_CALLERS", 4)
    now = [0.0]
    buckets = Buckets(1, 1, lambda: now[0])
    assert [refused(buckets, each) for each in "abcdefabcd"] == [False] * 4 + [True] * 6
    assert len(buckets._left) == 4
    now[0] = 1.0
    assert not refused(buckets, "e")


def refused(buckets: Buckets, who: str) -> bool:
    """Whether there is no request left."""
    try:
        buckets.take(who)
    except TooMany:
        return True
    return False


def test_too_many_requests(service: Inside) -> None:
    service.begin()

    def slow(buckets: str) -> None:
        setattr(service.host, buckets, Buckets(1, 2, lambda: 0.0))

    slow("people")
    found = [service.study("assign", {"unit": "ann"}) for _ in range(3)]
    assert [each.status for each in found] == [200, 200, 429]
    assert (found[2].code, found[2].headers["retry-after"]) == ("too_many", "1")
    assert service.study("assign", {"unit": "bob"}).status == 200
    flags = [service.ask("POST", "/ofrep/v1/evaluate/flags/small", {"context": {"targetingKey": "ann"}})]
    assert (flags[0].status, flags[0].headers["retry-after"]) == (429, "1")
    slow("callers")
    batch = {"requests": [{"unit": f"u{i}"} for i in range(9)]}
    assert [service.study("assign/batch", batch).status for _ in range(2)] == [200, 429]
    assert service.ask("GET", "/v1/studies", key="owner").status == 200  # each key for itself
    slow("strangers")
    assert [service.study("assign", {"unit": "u"}, "mb_client_0_x").status for _ in range(3)] == [401, 401, 429]
    assert service.study("assign", {"unit": "u"}, None).status == 401  # who tries no key is not counted
    assert service.ask("GET", "/v1/studies", key="owner").status == 200  # from the same address


@pytest.mark.parametrize("path", [ASSIGN, "/v1/studies"])
@pytest.mark.parametrize(("proxies", "statuses"), [("127.0.0.1", [401, 429, 401]), ("10.0.0.9", [401, 429, 429])])
def test_strangers_behind_a_proxy_are_told_apart_if_it_is_believed(
    service: Inside, path: str, proxies: str, statuses: list[int]
) -> None:
    service.begin()
    service.app = make_application(service.host, proxies=[proxies])
    service.host.strangers = Buckets(1, 1, lambda: 0.0)
    found = [
        service.ask("POST", path, {"unit": "u"}, "mb_client_0_x", [("x-forwarded-for", address)]).status
        for address in ("10.0.0.1", "10.0.0.1", "10.0.0.2")
    ]
    assert found == statuses


# --- a socket --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "told_apart"), [(["--proxy", "127.0.0.1"], True), (["--proxy", "10.0.0.9"], False), ([], False)]
)
def test_a_running_service_believes_the_proxies_that_it_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], told_apart: bool
) -> None:
    """Each address may ask twenty times with a wrong key, and five times a second: not 200 times in half a minute."""
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # which the server below would believe
    with live(tmp_path / "data", more=more) as server:
        asked = (
            server.ask("GET", "/v1/studies", key="mb_client_0_x", **{"X-Forwarded-For": f"10.0.1.{i}"})
            for i in range(200)
        )
        assert {reply.status for reply in asked} == ({401} if told_apart else {401, 429})


@pytest.mark.slow
def test_bodies_that_never_end_hold_nobody_up(server: Live) -> None:
    server.start_study(TABLE)
    head = f"POST {ASSIGN} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.keys['client']}\r\n"
    stuck = [server.send(f"{head}Content-Length: 1000\r\n\r\n{{".encode()) for _ in range(20)]
    stuck += [server.send(f"{head}Transfer-Encoding: chunked\r\n\r\n5\r\n{{\r\n".encode()) for _ in range(20)]
    stuck += [server.send(b"POST / HT") for _ in range(20)]
    stranger = server.send(f"POST {ASSIGN} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n".encode())
    assert stranger.recv(100).startswith(b"HTTP/1.1 401")  # who is not heard out
    assert server.study("assign", {"unit": "ann"}).status == 200
    large = server.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
    for _ in range(70):
        large.sendall(b"400\r\n" + b" " * 1024 + b"\r\n")
    assert large.recv(100).startswith(b"HTTP/1.1 413")
    for garbage in (b"\x00" * 100, b"GET / HTTP/9.9\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n"):
        server.send(garbage).close()
    for each in (*stuck, stranger, large):
        each.close()
    assert server.study("assign", {"unit": "bob"}).status == 200
    assert server.end() == 0
    assert "Traceback" not in server.said()
