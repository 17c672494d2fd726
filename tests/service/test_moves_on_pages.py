"""What cannot be undone is asked on a page of its own, with its numbers, and works without scripts."""

import asyncio
import html
import json
import re
import tomllib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from maskedbandit.service.page import moves
from maskedbandit.service.views.moves import Question, ask_move
from maskedbandit.service.views.view import StudyView
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import write_study
from maskedbandit.study.protocol import Protocol
from tests.service.inside import TABLE, Inside, inside
from tests.service.test_page import Page
from tests.service.test_site import Eyes, field

Patch = Callable[[str], None]


@pytest.fixture
def eyes(service: Inside) -> Eyes:
    """An owner who looks at a draft."""
    service.ask("POST", "/v1/studies", TABLE, "owner")
    found = Eyes(service)
    found.sign_in("owner")
    return found


def words(eyes: Eyes, path: str) -> str:
    """What a page says."""
    found = eyes.get(f"/studies/small{path}")
    assert found.status == 200, found
    return " ".join(Page(found.body.decode()).text.replace("\N{NARROW NO-BREAK SPACE}", " ").split())


def state(eyes: Eyes) -> str:
    """That of the study."""
    return str(eyes.service.ask("GET", "/v1/studies/small", key="owner").json["state"])


def do(eyes: Eyes, verb: str) -> int:
    """Press the button of the page that asks: the status."""
    text = eyes.get(f"/studies/small/{verb}").body.decode()
    assert f'action="/studies/small/{verb}"' in text
    return eyes.post(f"/studies/small/{verb}", csrf=field(text, "csrf"), looked_at=field(text, "looked_at")).status


def officer_of(eyes: Eyes) -> Eyes:
    """An officer who looks at the same service."""
    found = Eyes(eyes.service)
    found.sign_in("officer")
    return found


def check_whole_life(eyes: Eyes) -> None:
    """From the draft to the archive, each move after its question."""
    officer, public = officer_of(eyes), eyes.service.keys["officer"].split("_")[2]
    digest = eyes.service.ask("GET", "/v1/studies/small", key="owner").json["protocol"]
    asked = words(eyes, "/start")
    assert f"An officer of privacy is to approve this protocol first. Ask one with the key {public} to sign in" in asked
    assert 'action="/studies/small/start"' not in eyes.get("/studies/small/start").body.decode()
    for part in (digest, 'name = "small"', "people = 1000", "1 000 people", "ε = 1"):
        assert part in words(officer, "/approve")
    assert digest in words(officer, "")
    assert do(officer, "approve") == 303
    assert f"An officer of privacy has approved the protocol (key {public})." in words(eyes, "")
    asked = words(eyes, "/start")
    for part in ("1 000 people", "2 arms", "20 seconds", "10 seconds", "ε = 1", digest, "people = 1000", public):
        assert part in asked, part
    assert "This cannot be undone." in asked
    assert state(eyes) == "draft"
    assert do(eyes, "start") == 303
    assert state(eyes) == "running"
    for unit in ("ann", "bob", "eve"):
        eyes.service.seen(unit)
    for part in ("3 people of 1 000 who were planned have a place", "nobody is ever given a place again", "20 seconds"):
        assert part in words(eyes, "/stop"), part
    assert "small is running: stop it first." in words(eyes, "/archive")
    assert state(eyes) == "running"
    assert do(officer, "stop") == 303
    assert state(eyes) == "stopped"
    assert "this cannot be done any more" in words(eyes, "/stop")
    assert "1 full cohort waits for the release: archive the study after that." in words(eyes, "/archive")
    eyes.service.tick(60)
    for part in ("The data of 3 people is erased for ever", "What was released stays", "This cannot be undone."):
        assert part in words(eyes, "/archive"), part
    assert do(eyes, "archive") == 303
    assert state(eyes) == "archived"
    ledger = html.unescape(eyes.get("/studies/small/ledger").body.decode())
    owner = eyes.service.keys["owner"].split("_")[2]
    for part in (f"by key {owner}, approved by key {public}", f"by key {public}", f"by key {owner}"):
        assert part in ledger


def test_each_move_is_asked_with_its_numbers(eyes: Eyes) -> None:
    check_whole_life(eyes)


def test_a_page_that_starts_another_protocol_is_refused(eyes: Eyes) -> None:
    """The form has the hash of what it has shown."""
    assert do(officer_of(eyes), "approve") == 303
    shown = eyes.get("/studies/small/start").body.decode()
    digest = field(shown, "looked_at")
    changed = eyes.service.ask("PUT", "/v1/studies/small", TABLE | {"people": 9}, "owner", [("if-match", digest)])
    assert changed.status == 200
    assert eyes.service.run(eyes.service.approved("small")).status == 200  # the other one
    assert eyes.post("/studies/small/start", csrf=field(shown, "csrf"), looked_at=digest).status == 409
    assert state(eyes) == "draft"


def test_the_hash_is_that_of_the_protocol_that_is_shown(eyes: Eyes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the draft is changed while the page is made: who approves it has seen what is approved."""
    view = eyes.service.host.view

    async def look(name: str) -> StudyView:
        found = await view(name)
        protocol = Protocol.from_table(TABLE | {"people": 9})
        where = eyes.service.address, eyes.service.host.folder
        await asyncio.to_thread(write_study, protocol, *where, found.protocol.digest)
        return found

    monkeypatch.setattr(eyes.service.host, "view", look)
    page = officer_of(eyes).get("/studies/small/approve").body.decode()
    (shown,) = re.findall('<pre class="protocol"><code>(.*?)</code></pre>', page, re.DOTALL)
    assert Protocol.from_table(tomllib.loads(html.unescape(shown))).digest == field(page, "looked_at")


def test_a_protocol_that_toml_cannot_say_is_shown_as_json(eyes: Eyes) -> None:
    table = TABLE | {"name": "null", "arms": [{"name": "a", "payload": {"price": None}}, {"name": "b"}]}
    assert eyes.service.ask("POST", "/v1/studies", table, "owner").status == 201
    page = officer_of(eyes).get("/studies/null/approve").body.decode()
    (shown,) = re.findall('<pre class="protocol"><code>(.*?)</code></pre>', page, re.DOTALL)
    assert Protocol.from_table(json.loads(html.unescape(shown))).digest == field(page, "looked_at")


def test_a_question_changes_nothing(eyes: Eyes) -> None:
    for who in (eyes, officer_of(eyes)):
        for verb in ("start", "approve", "stop", "archive"):
            who.get(f"/studies/small/{verb}")
    assert state(eyes) == "draft"
    assert eyes.service.ask("GET", "/v1/studies/small", key="owner").json["approved_by"] == []


def test_a_page_that_does_not_ask_is_caught(eyes: Eyes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "ask_move", lambda view, verb: ("", (), "", "", ""))
    with pytest.raises(AssertionError):
        check_whole_life(eyes)


def questions(folder: Path, reports: int, patch: Patch | None = None) -> list[str]:
    """What is asked before each move, of a study one of whose people has reported so often, and nothing is released."""
    folder.mkdir()
    with inside(f"sqlite:///{folder}/studies.db", folder / "witness") as service:
        service.begin()
        owner = Eyes(service)
        owner.sign_in("owner")
        tickets = [service.seen(unit) for unit in ("ann", "bob", "eve")]
        for event in range(reports):
            body = {"ticket": tickets[0], "value": 1, "event": str(event)}
            assert service.study("report", body).status == 200
        if patch is not None:
            patch(service.address)
        said = [words(owner, "/stop"), words(owner, "/archive")]
        assert do(owner, "stop") == 303
        return [*said, words(owner, "/archive")]


def compare_questions(folder: Path, patch: Patch | None = None) -> None:
    """They do not depend on what was reported."""
    assert questions(folder / "none", 0, patch) == questions(folder / "three", 3, patch)


def test_nobody_learns_from_a_question_what_was_reported(tmp_path: Path) -> None:
    compare_questions(tmp_path)


def test_a_question_that_counts_the_reports_which_it_erases_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def patch(address: str) -> None:
        def telling(view: StudyView, verb: str) -> Question:
            with closing(open_database(address)) as database:
                ((many,),) = database.rows("SELECT COUNT(*) FROM reward")
            asked = ask_move(view, verb)
            return asked._replace(does=(*asked.does, f"{many} reports are erased."))

        monkeypatch.setattr(moves, "ask_move", telling)

    with pytest.raises(AssertionError):
        compare_questions(tmp_path, patch)
