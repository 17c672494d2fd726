"""What is shown to programmers of Node, as it is run: the example of a server, and the programs of the documents."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest

from maskedbandit.client import Client
from tests.client.built_package import SDK, build_package
from tests.client.live_service import LiveService
from tests.document_code import FENCED
from tests.service.live import LATE, ROOT
from tests.store.small_study import small_protocol

EXAMPLE = SDK / "examples" / "node-server" / "server.mjs"
SHOP = {
    "name": "shop",
    "arms": [{"name": "plain"}, {"name": "gift"}],
    "reward": {"window": "1 hour", "exposure": "1 hour"},
    "policy": {"name": "successive_elimination", "least": 20},
}


NEWSLETTER = SHOP | {
    "name": "newsletter",
    "arms": [{"name": name, "payload": {"subject": name}} for name in ("short", "question", "numbers")],
}
STUDIES = {"README.md": SHOP | {"name": "demo"}, "docs/client.md": NEWSLETTER, "docs/protocol.md": NEWSLETTER}


@pytest.fixture(scope="module")
def built() -> None:
    """The package is there."""
    build_package()


@contextmanager
def shop(live: LiveService, folder: Path, end: signal.Signals) -> Iterator[int]:
    """The port at which the example listens, until it is ended."""
    given = {"MASKEDBANDIT_URL": live.url, "MASKEDBANDIT_KEY": live.key, "MASKEDBANDIT_FOLDER": str(folder)}
    with subprocess.Popen(
        ["node", str(EXAMPLE)], env=os.environ | given | {"PORT": "0"}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline().rpartition(":")[2])
        finally:
            process.send_signal(end)
        assert process.wait(LATE) == (0 if end == signal.SIGTERM else -end)


def ask(port: int, method: str, path: str, cookie: str = "") -> tuple[int, str, str]:
    """What a browser is answered: status, cookie and page."""
    connection = HTTPConnection("127.0.0.1", port, timeout=LATE)
    connection.request(method, path, headers={"Cookie": cookie} if cookie else {})
    answer = connection.getresponse()
    page = answer.read().decode()
    connection.close()
    return answer.status, (answer.getheader("Set-Cookie") or "").partition(";")[0], page


def visit(port: int, person: str) -> tuple[str, str]:
    """The cookie of a person, and the page that the person sees."""
    status, cookie, page = ask(port, "GET", "/?" + urlencode({"person": person}))
    assert status == 200
    return cookie, page


def enrol(port: int, person: str) -> tuple[str, str]:
    """The same of a person who comes until there is a place: a busy machine may miss the deadline."""
    while not (found := visit(port, person))[0]:
        pass
    return found


@pytest.mark.slow
def test_people_see_offers_and_buy_also_while_the_service_is_away_and_the_shop_is_killed(tmp_path, built) -> None:
    live = LiveService(tmp_path, small_protocol(**SHOP))
    with shop(live, tmp_path / "shop", signal.SIGKILL) as port:
        with live.running():
            people = {person: enrol(port, person) for person in ("ann", "bob", "cyd", "dan")}
            assert ask(port, "GET", "/")[0] == 400  # nobody
            assert ask(port, "POST", "/buy", people["ann"][0])[0] == 303
        pages = {person: page for person, (_, page) in people.items()}
        assert {person: visit(port, person)[1] for person in people} == pages  # the service is away
        assert ask(port, "POST", "/buy", people["bob"][0])[0] == 303
        cookie, page = visit(port, "eve")
        assert cookie == ""
        assert "Tea, 5 €</h1>" in page
    with live.running(), shop(live, tmp_path / "shop", signal.SIGTERM) as port:
        assert enrol(port, "ann") == people["ann"]
    tickets = {person: cookie.partition("=")[2] for person, (cookie, _) in people.items()}
    assert live.reports() == {(tickets["ann"], ""): 1.0, (tickets["bob"], ""): 1.0}
    assert live.rows("SELECT COUNT(*) FROM place WHERE exposed IS NOT NULL") == [(4,)]


def write_program(document: str, folder: Path) -> str:
    """Write the JavaScript of a document as a program that has this package: what it says that it prints."""
    (folder / "node_modules").mkdir(parents=True)
    for name, place in (("maskedbandit", SDK), ("@openfeature", SDK / "node_modules" / "@openfeature")):
        (folder / "node_modules" / name).symlink_to(place)
    text = "".join(code for kind, code in FENCED.findall((ROOT / document).read_text()) if kind == "js")
    (folder / "program.mjs").write_text(text)
    return "".join(line.removeprefix("// → ") + "\n" for line in text.splitlines() if line.startswith("// → "))


@pytest.mark.slow
@pytest.mark.parametrize("document", STUDIES)
def test_programs_of_the_documents_do_what_they_say(tmp_path, built, document) -> None:
    promised = write_program(document, tmp_path / "program")
    live = LiveService(tmp_path, small_protocol(**STUDIES[document]))
    with (
        live.running(),
        Client(live.url, live.key, live.study, fallback="a", folder=tmp_path / "x", deadline=60) as one,
    ):
        for unit in ("ann", "bob"):
            assert one.assign(unit).ticket
        given = {"MASKEDBANDIT_URL": live.url, "MASKEDBANDIT_KEY": live.key, "SIGNING_KEY": "11" * 32}
        given["XDG_STATE_HOME"] = str(tmp_path / "state")
        for _ in range(5):  # a busy machine may miss the deadline of an arm
            found = subprocess.run(
                ["node", str(tmp_path / "program" / "program.mjs")],
                env=os.environ | given,
                capture_output=True,
                text=True,
                timeout=LATE,
            )
            assert found.returncode == 0, found.stderr
            if found.stdout == promised:
                break
        assert found.stdout == promised
    assert set(live.reports().values()) == (set() if document == "docs/protocol.md" else {1.0})
