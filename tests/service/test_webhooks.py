"""Webhooks say what is published, signed, in order and at least once, and nothing of them stalls anything."""

import asyncio
import html
import json
import re
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest

from maskedbandit.cli import main
from maskedbandit.errors import InvalidValue
from maskedbandit.service.host import deliveries, posting
from maskedbandit.service.host.deliveries import GIVEN_UP, LONGEST_WAIT_TO_RETRY
from maskedbandit.service.study_messages import AttentionItem
from maskedbandit.service.views import attention
from maskedbandit.service.views.view import StudyView
from maskedbandit.service.webhooks import MOST_WEBHOOKS, check_webhook_url
from tests.for_each import for_each
from tests.service.inside import TABLE, Inside
from tests.service.live import LATE, Live
from tests.service.receivers import Receiver, is_signed, receiving
from tests.service.test_site import Eyes

WINDOW = 21  # seconds


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver."""
    with receiving() as found:
        yield found


def make_webhook(service: Inside | Live, url: str, **more: Any) -> dict[str, str]:
    """A webhook, with its secret."""
    made = service.ask("POST", "/v1/webhooks", {"url": url, **more}, "owner")
    assert made.status == 201, made
    return dict(made.json)


def go(service: Inside, seconds: float = 0) -> None:
    """Time passes, and what is due is sent."""
    service.tick(seconds)
    service.run(service.host.deliveries.rest())


def release(service: Inside, name: str = "small") -> None:
    """Two cohorts come, and are released."""
    for i in range(4):
        service.study(
            "report", {"ticket": service.seen(f"{name} {service.clock.now} {i}", name), "value": 1}, name=name
        )
    go(service, WINDOW)


def show_webhook(service: Inside, number: int = 0) -> dict[str, Any]:
    """A webhook, as it is listed."""
    return dict(service.ask("GET", "/v1/webhooks", None, "owner").json["webhooks"][number])


def test_what_is_published_is_sent_and_signed(service: Inside, receiver: Receiver) -> None:
    made = make_webhook(service, receiver.url)
    service.begin()
    go(service)
    release(service)
    service.study("arms/a/pause", key="owner")
    service.study("pause", key="owner")
    go(service)
    assert receiver.types == [
        *("study.started", "study.released", "study.released", "study.arm_paused", "study.paused")
    ]
    assert all(is_signed(made["secret"], each) for each in receiver.heard)
    assert not is_signed("whsec_" + "A" * 44, receiver.heard[0])
    released = service.ask("GET", "/v1/studies/small/releases", None, "owner").json["releases"]
    said = [each.says["data"] for each in receiver.heard[1:3]]
    assert [{name: each[name] for name in released[0]} for each in said] == released
    assert {each["study"] for each in said} == {"small"}
    assert receiver.heard[3].says["data"]["arm"] == "a"
    assert len({each.id for each in receiver.heard}) == 5
    assert receiver.heard[0].headers["webhook-timestamp"] == str(service.clock() // 1000 - WINDOW)
    listed = show_webhook(service)
    assert (listed["waiting"], listed["failing"], listed["lost"], listed["sent"]) == (0, None, 0, service.clock())
    assert made["secret"] not in json.dumps(listed)
    assert "salt" not in listed


def test_a_webhook_hears_of_its_study_and_kinds_and_of_what_comes_after_it(service: Inside, receiver: Receiver) -> None:
    service.begin()
    service.begin(name="other")
    make_webhook(service, receiver.url, study="small", kinds=["released"])
    release(service)
    release(service, "other")
    service.study("pause", key="owner")
    go(service)
    assert [(each.says["type"], each.says["data"]["study"]) for each in receiver.heard] == 2 * [
        ("study.released", "small")
    ]
    assert show_webhook(service)["waiting"] == 0, "what it does not hear of does not wait"


def test_a_receiver_that_refuses_hears_the_same_again_in_order(service: Inside, receiver: Receiver) -> None:
    make_webhook(service, receiver.url)
    service.begin()
    receiver.answer = 500
    go(service)
    first = receiver.heard[0]
    go(service, 1)
    assert len(receiver.heard) == 1, "not before the pause"
    assert (show_webhook(service)["error"], show_webhook(service)["waiting"]) == ("it answers 500", 1)
    service.study("pause", key="owner")
    go(service, 1)
    go(service, 3)
    assert len(receiver.heard) == 2
    receiver.answer = 200
    go(service, 10)
    assert receiver.types == 3 * ["study.started"] + ["study.paused"]
    assert {(each.id, each.body) for each in receiver.heard[:3]} == {(first.id, first.body)}
    assert (show_webhook(service)["error"], show_webhook(service)["failing"]) == ("", None)


@pytest.mark.slow
def test_what_nobody_takes_is_given_up_and_said(service: Inside, receiver: Receiver) -> None:
    make_webhook(service, receiver.url)
    service.begin()
    receiver.answer = 500
    go(service)
    service.study("pause", key="owner")
    for _ in range(12):
        go(service, LONGEST_WAIT_TO_RETRY / 1000)
    assert len(receiver.heard) < 14
    assert show_webhook(service)["lost"] == 0
    go(service, GIVEN_UP / 1000)
    assert (show_webhook(service)["lost"], show_webhook(service)["waiting"]) == (1, 1)
    receiver.answer = 200
    go(service, LONGEST_WAIT_TO_RETRY / 1000)
    assert (receiver.types[-1], show_webhook(service)["waiting"]) == ("study.paused", 0)


def hang(request: BaseHTTPRequestHandler) -> None:
    """Say nothing until whoever asks is gone."""
    request.rfile.read(1)


def redirect(request: BaseHTTPRequestHandler) -> None:
    """Send whoever asks elsewhere."""
    request.send_response(302)
    request.send_header("Location", "/elsewhere")
    request.send_header("Content-Length", "0")
    request.end_headers()


@pytest.mark.slow
def test_a_receiver_that_hangs_is_in_nobodys_way(
    service: Inside, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is waited for, another receiver hears, people get places, and cohorts are released."""
    with receiving() as other:
        make_webhook(service, receiver.url)
        service.clock.now += 1
        make_webhook(service, other.url)
        service.begin()
        receiver.answer = hang
        service.tick()
        heard = threading.Event()
        other.answer = lambda request: (heard.set(), request.send_response(200), request.end_headers())[1]
        for i in range(4):
            service.seen(f"person {i}")
        service.tick(WINDOW)
        while len(other.heard) < 3:
            service.tick()
        assert other.types == ["study.started", "study.released", "study.released"]
        assert len(receiver.heard) <= 1
        monkeypatch.setattr(posting, "PATIENCE", 0.01)
        service.run(service.host.deliveries.end())
        service.host.deliveries = deliveries.Deliveries(service.host)
        go(service, 10)
        assert show_webhook(service)["error"].startswith("it does not answer within")


def make_clients(service: Inside, monkeypatch: pytest.MonkeyPatch, at_once: int) -> list[bool]:
    """Of each client that is made to send to two receivers, whether it is closed in the end.

    Making one lasts until something is to be sent to both, and `at_once` may be made at the same time.
    """
    made, both, posting_to = list[httpx.AsyncClient](), threading.Event(), list[str]()
    make, post = deliveries.Deliveries._make_client, deliveries.Deliveries._post

    def make_late(found: Any) -> httpx.AsyncClient:
        assert both.wait(LATE)
        made.append(make(found))
        return made[-1]

    async def note(found: Any, webhook: Any, *given: Any) -> str:
        posting_to.append(webhook.url)
        if len(posting_to) == 2:
            both.set()
        return await post(found, webhook, *given)

    monkeypatch.setattr(deliveries.Deliveries, "_make_client", make_late)
    monkeypatch.setattr(deliveries.Deliveries, "_post", note)
    service.host.deliveries._connecting = asyncio.Semaphore(at_once)
    with receiving() as one, receiving() as other:
        for each in (one, other):
            make_webhook(service, each.url)
        service.begin()
        go(service)
        assert one.types == other.types == ["study.started"]
        service.run(service.host.deliveries.end())
    closed = [each.is_closed for each in made]
    for each in made:
        service.run(each.aclose())
    return closed


def test_receivers_that_are_sent_to_at_once_share_a_client(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_clients(service, monkeypatch, 1) == [True]


def test_a_client_that_is_never_closed_is_found(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorted(make_clients(service, monkeypatch, 2)) == [False, True]


def test_no_redirect_is_followed(service: Inside, receiver: Receiver) -> None:
    make_webhook(service, receiver.url)
    service.begin()
    receiver.answer = redirect
    go(service)
    assert len(receiver.heard) == 1
    assert show_webhook(service)["error"] == "it answers 302"


def test_nothing_is_read_of_an_answer(service: Inside, receiver: Receiver) -> None:
    """A gigabyte is not taken: what is in the buffers of the sockets was sent, and nothing more."""
    sent, done = [0], threading.Event()

    def pour(request: BaseHTTPRequestHandler) -> None:
        try:
            request.send_response(200)
            request.send_header("Content-Length", str(2**30))
            request.end_headers()
            for _ in range(2**10):
                request.wfile.write(bytes(2**20))
                sent[0] += 2**20
        finally:
            done.set()

    receiver.answer = pour
    make_webhook(service, receiver.url)
    service.begin()
    go(service)
    assert show_webhook(service)["waiting"] == 0
    service.run(service.host.deliveries.end())
    done.wait()
    assert sent[0] < 2**29


def test_no_cookie_is_kept(service: Inside, receiver: Receiver) -> None:
    """A receiver learns from what it is sent alone that two requests come from one service."""

    def set_cookie(request: BaseHTTPRequestHandler) -> None:
        request.send_response(204)
        request.send_header("Set-Cookie", "seen=before")
        request.end_headers()

    receiver.answer = set_cookie
    make_webhook(service, receiver.url)
    service.begin()
    go(service)
    service.study("pause", key="owner")
    go(service)
    assert receiver.types == ["study.started", "study.paused"]
    assert not any("cookie" in each.headers for each in receiver.heard)


def test_a_receiver_that_is_not_there_is_said(service: Inside) -> None:
    make_webhook(service, "http://127.0.0.1:9/hook")
    service.begin()
    go(service)
    assert show_webhook(service)["error"].startswith("it cannot be reached")


def test_a_study_that_has_finished_is_said_once(service: Inside, receiver: Receiver, tmp_path: Path) -> None:
    make_webhook(service, receiver.url, kinds=["finished"])
    service.begin(people=4)
    go(service)
    assert receiver.heard == []
    for i in range(4):
        service.seen(f"person {i}")
    for _ in range(4):
        go(service, WINDOW)
    assert receiver.types == ["study.finished"]
    finished = service.ask("GET", "/v1/studies/small", None, "owner").json["finished"]
    assert {name: receiver.heard[0].says["data"][name] for name in finished} == finished
    service.run(service.host.deliveries.end())
    service.host.deliveries = deliveries.Deliveries(service.host)  # as of a process that begins
    go(service, WINDOW)
    assert len(receiver.heard) == 1


def test_more_than_is_sent_at_once_is_all_sent_in_order(
    service: Inside, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "MOST_AT_ONCE", 3)
    make_webhook(service, receiver.url)
    service.begin()
    for _ in range(4):
        service.study("pause", key="owner")
        service.study("resume", key="owner")
    for _ in range(4):
        go(service)
    assert receiver.types == ["study.started", *4 * ["study.paused", "study.resumed"]]
    entries = [each.says["data"]["entry"] for each in receiver.heard]
    assert entries == sorted(entries)


def test_what_is_deleted_hears_nothing_more(service: Inside, receiver: Receiver) -> None:
    made = make_webhook(service, receiver.url)
    path = f"/v1/webhooks/{made['webhook']}"
    assert service.ask("DELETE", path, None, "owner").json == {"webhook": made["webhook"]}
    service.begin()
    go(service)
    assert receiver.heard == []
    assert service.ask("DELETE", path, None, "owner").code == "unknown_webhook"
    assert service.ask("GET", "/v1/webhooks", None, "owner").json == {"webhooks": []}


WRONG = [
    *("http://hooks.example", "ftp://hooks.example", "hooks.example", "https://", "https://ann:x@hooks.example"),
    *(
        "https://10.0.0.1/x",
        "https://192.168.1.1",
        "https://169.254.169.254/latest",
        "https://[fe80::1]",
        "https://[::]",
    ),
    *(
        "https://0.0.0.0",
        "https://a b",
        "https://hooks.example/#x",
        "https://hooks.example:99999",
        "javascript:alert(1)",
    ),
    *(
        "https://2130706433",
        "https://0x7f000001",
        "https://127.0.0.0x1",
        "https://[::ffff:10.0.0.1]",
        "http://localhost.evil.example",
    ),
]


@for_each("url", WRONG)
def test_an_address_that_may_not_be_asked_is_refused(url: str) -> None:
    with pytest.raises(InvalidValue, match="url"):
        check_webhook_url(url)


def test_what_is_no_webhook_is_refused(service: Inside) -> None:
    good = "https://hooks.example/bandit"
    for wrong, status in (
        ({"url": good, "study": "nobodys"}, 404),
        ({"url": good, "kinds": ["reports"]}, 422),
        ({"url": "http://hooks.example"}, 422),
        ({}, 422),
    ):
        assert service.ask("POST", "/v1/webhooks", wrong, "owner").status == status, wrong
    for i in range(MOST_WEBHOOKS):
        make_webhook(service, f"{good}/{i}")
    assert service.ask("POST", "/v1/webhooks", {"url": good}, "owner").status == 422


def test_secrets_are_in_no_file_of_the_database(service: Inside) -> None:
    made = make_webhook(service, "https://hooks.example")
    stored = b"".join(each.read_bytes() for each in service.folder.parent.glob("studies.db*"))
    assert made["webhook"].encode() in stored
    assert made["secret"][6:].encode() not in stored


@pytest.mark.slow
def test_a_process_that_is_killed_before_it_wrote_that_something_was_taken_says_it_again(
    server: Live, receiver: Receiver
) -> None:
    """The receiver has it, and the process ends at once: the next process sends the same, with the same id."""
    killed, again = threading.Event(), threading.Event()

    def kill(request: BaseHTTPRequestHandler) -> None:
        if not killed.is_set():
            server.end(signal.SIGKILL)
            killed.set()
            return
        request.send_response(200)
        request.send_header("Content-Length", "0")
        request.end_headers()
        if receiver.types[-1] == "study.paused":
            again.set()

    made = make_webhook(server, receiver.url)
    receiver.answer = kill
    server.start_study(TABLE)
    killed.wait()
    server.begin()
    assert server.study("pause", key="owner").status == 200
    again.wait()
    assert receiver.types == ["study.started", "study.started", "study.paused"]
    first, second = receiver.heard[:2]
    assert (first.id, first.body) == (second.id, second.body)
    assert all(is_signed(made["secret"], each) for each in receiver.heard)


def test_an_owner_adds_and_deletes_one_on_the_page(service: Inside, receiver: Receiver) -> None:
    service.begin()
    eyes = Eyes(service)
    eyes.sign_in("owner")
    assert 'href="/webhooks"' in eyes.get("/").body.decode()
    shown = eyes.post("/webhooks", csrf=eyes.token("/webhooks"), url=receiver.url, study="small", state="on")
    (secret,) = re.findall(r"whsec_[\w+/]{43}=", html.unescape(shown.body.decode()))
    assert secret not in html.unescape(eyes.get("/webhooks").body.decode())
    release(service)
    service.study("pause", key="owner")
    go(service)
    assert receiver.types == ["study.paused"]
    assert is_signed(secret, receiver.heard[0])
    wrong = eyes.post("/webhooks", csrf=eyes.token("/webhooks"), url="http://hooks.example", arm="on")
    assert (wrong.status, "http://hooks.example" in wrong.body.decode()) == (422, True)
    nothing = eyes.post("/webhooks", csrf=eyes.token("/webhooks"), url=receiver.url)
    assert (nothing.status, "what is said" in nothing.body.decode()) == (422, True)
    name = show_webhook(service)["webhook"]
    assert eyes.post("/webhooks", csrf=eyes.token("/webhooks"), delete=name).status == 303
    assert "no webhooks yet" in eyes.get("/webhooks").body.decode()
    eyes.sign_in("officer")
    assert eyes.get("/webhooks").status == 403


def test_a_command_adds_lists_and_deletes_them(service: Inside, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--database", service.address, "--witness", str(service.folder)]
    assert main(["webhook", "add", "https://hooks.example", "--kind", "released", *where]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["secret"].startswith("whsec_")
    assert main(["webhook", "list", *where]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed == show_webhook(service)
    assert main(["webhook", "delete", made["webhook"], *where]) == 0
    assert main(["webhook", "delete", made["webhook"], *where]) == 2
    assert main(["webhook", "add", "http://hooks.example", *where]) == 2
    assert "url is" in capsys.readouterr().err


def test_what_needs_a_look_is_said_when_it_begins_and_when_it_ends(service: Inside, receiver: Receiver) -> None:
    make_webhook(service, receiver.url, kinds=["attention"])
    service.begin()
    service.seen("ann")
    for _ in range(3):
        go(service, 11)
    assert receiver.types == []
    for _ in range(3):
        go(service, 3 * 86_400)
    assert receiver.types == ["study.attention_begins"]
    begins = receiver.heard[0].says["data"]
    (shown,) = service.ask("GET", "/v1/studies/small", None, "owner").json["attention"]
    assert all(begins[name] == shown[name] for name in ("kind", "arm", "since", "advice")), "and how long it was then"
    assert begins["kind"] == "nobody_comes"
    service.seen("bob")
    for _ in range(3):
        go(service, 11)
    assert receiver.types == ["study.attention_begins", "study.attention_ends"]
    assert receiver.heard[1].says["data"]["kind"] == "nobody_comes"
    assert len({each.id for each in receiver.heard}) == 2


def test_an_archived_study_needs_no_look_any_more(
    service: Inside, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing can be done for its people: receivers hear that it ended, and after that nobody looks at it again."""
    item = AttentionItem("wrong_places", "These are not as many people as places.", "Verify the ledger.")
    monkeypatch.setattr(attention, "find_wrong_places", lambda book, counts, now: iter([item]))
    make_webhook(service, receiver.url, kinds=["attention"])
    service.begin()
    go(service, 11)
    for verb in ("stop", "archive"):
        assert receiver.types == ["study.attention_begins"]
        assert service.study(verb, key="owner").status == 200
        go(service, 11)
    assert receiver.types == ["study.attention_begins", "study.attention_ends"]
    assert service.ask("GET", "/v1/studies/small", None, "owner").json["attention"] == []
    looks = list[str]()
    monkeypatch.setattr(service.host, "view", looks.append)
    go(service, 11)
    assert looks == []


def test_many_receivers_have_a_study_looked_at_once(
    service: Inside, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.begin()
    for _ in range(5):
        make_webhook(service, receiver.url, kinds=["attention"])
    view, looks = service.host.view, list[str]()

    async def look(name: str) -> StudyView:
        looks.append(name)
        return await view(name)

    monkeypatch.setattr(service.host, "view", look)
    go(service, 11)
    assert looks == ["small"]


def test_a_clock_that_is_set_back_stops_no_webhook(service: Inside, receiver: Receiver) -> None:
    """That the study's time is ahead is said now, and not when it no longer is; so is what waits to be sent again."""
    make_webhook(service, receiver.url, kinds=["attention", "state"])
    service.begin()
    service.seen("ann")
    receiver.answer = 503
    go(service, 86_400)
    service.seen("bob")
    go(service)
    receiver.answer = 204
    service.clock.now -= 86_400_000
    for _ in range(2):
        go(service)
    assert show_webhook(service)["waiting"] == 0
    assert "clock_ahead" in [each.says["data"].get("kind") for each in receiver.heard]
