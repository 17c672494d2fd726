"""The leader is paired with its helper by an invitation, over a way on which nobody hears it."""

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from maskedbandit.cli import main
from maskedbandit.errors import InvalidValue, NotRunning, StorageFailed, Unauthorized
from maskedbandit.service.host import helper_pairing
from maskedbandit.service.host.helper_pairing import check_partner_url, pair_with_operator
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.pairing import accept_pairing, find_leader, read_pairings, write_invitation
from maskedbandit.store.studies import open_study, prepare_witness, write_study
from maskedbandit.study.operators import OperatorKeys
from tests.for_each import for_each
from tests.store.small_study import small_protocol
from tests.store.two_operators import CHANNEL, REWARD, name_operators

URL = "http://127.0.0.1:8001"


class Inviting(httpx.AsyncBaseTransport):
    """A helper that takes leaders who have an invitation."""

    def __init__(self, folder: Path) -> None:
        self.address = f"sqlite:///{folder}/helper.db"
        with closing(open_database(self.address)) as database:
            self.keys = read_own_keys(prepare_witness(database, folder / "helper"))
            with database.transaction():
                self.invitation = write_invitation(database, 0)
        self.changes: dict[str, Any] = {}
        self.away = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer."""
        if self.away:
            raise httpx.ConnectError("away")
        assert (request.method, request.url.path) == ("POST", "/v1/helper/pair")
        body = json.loads(await request.aread())
        with closing(open_database(self.address)) as database, database.transaction():
            keys = OperatorKeys.from_text(body["seals"], body["signs"])
            try:
                credential = accept_pairing(database, body["token"], keys, body["name"], 0)
            except Unauthorized as why:
                return httpx.Response(401, json={"code": why.code})
        said = {"credential": credential, "name": "University"}
        said |= {"seals": self.keys.seals.hex(), "signs": self.keys.signs.hex()}
        return httpx.Response(200, json=said | self.changes)


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inviting:
    """A helper that every command reaches."""
    made = Inviting(tmp_path)
    real = helper_pairing.PartnerCalls
    monkeypatch.setattr(
        helper_pairing, "PartnerCalls", lambda url, credential, transport, role: real(url, credential, made, role)
    )
    return made


def pair(folder: Path, invitation: str, url: str = URL) -> int:
    """What the command returns."""
    return main(["helper", "pair", url, invitation, "--name", "Clinic", "--data", str(folder / "lead")])


def test_the_command_pairs_and_shows_both_fingerprints(
    helper: Inviting, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pair(tmp_path, helper.invitation) == 0
    said, sentence = capsys.readouterr().out.splitlines()
    with closing(open_database(f"sqlite:///{tmp_path}/lead/studies.db")) as database:
        own = read_own_keys(prepare_witness(database, tmp_path / "lead" / "witness"))
        (found,) = read_pairings(database)
    assert json.loads(said) == {"leader": own.fingerprint, "helper": helper.keys.fingerprint, "name": "University"}
    assert "Compare both fingerprints" in sentence
    assert (found.role, found.address, found.keys) == ("helper", URL, helper.keys)
    with closing(open_database(helper.address)) as database:
        assert find_leader(database, found.credential).keys == own
    assert found.credential not in said + sentence
    assert helper.invitation not in said + sentence
    assert pair(tmp_path, helper.invitation) == 2  # it holds once
    assert "invitation" in capsys.readouterr().err


def test_what_a_helper_must_say(helper: Inviting, tmp_path: Path) -> None:
    address, folder = f"sqlite:///{tmp_path}/lead.db", tmp_path / "witness"
    with closing(open_database(address)) as database:
        own = read_own_keys(prepare_witness(database, folder))
    same = {"seals": own.seals.hex(), "signs": own.signs.hex()}
    for changes in ({"seals": "x"}, {"name": ""}, {"name": "a\n"}, {"credential": "a b"}, {"credential": 1}, same):
        helper.changes = changes
        with closing(open_database(helper.address)) as database, database.transaction():
            invitation = write_invitation(database, 0)
        with pytest.raises(InvalidValue):
            asyncio.run(pair_with_operator(address, folder, URL, invitation, "Clinic"))
    helper.away = True
    with pytest.raises(StorageFailed, match="nothing was stored"):
        asyncio.run(pair_with_operator(address, folder, URL, helper.invitation, "Clinic"))
    with pytest.raises(InvalidValue, match="name"):
        asyncio.run(pair_with_operator(address, folder, URL, helper.invitation, ""))
    with closing(open_database(address)) as database:
        assert read_pairings(database) == []


@for_each(
    "url",
    [
        "http://helper.example",
        "http://127.0.0.1.example",
        "http://localhost@helper.example",
        "ftp://localhost",
        "helper",
    ],
)
def test_an_invitation_goes_over_no_open_way(url: str) -> None:
    with pytest.raises(InvalidValue, match="https"):
        check_partner_url(url)


@for_each("url", ["https://helper.example/", "http://localhost:8001", "http://[::1]:8001", "http://127.0.0.1"])
def test_ways_that_nobody_hears(url: str) -> None:
    assert check_partner_url(url) == url.rstrip("/")


def test_no_study_starts_without_a_pairing(tmp_path: Path, helper: Inviting) -> None:
    address, folder = f"sqlite:///{tmp_path}/lead.db", tmp_path / "witness"
    with closing(open_database(address)) as database:
        own = read_own_keys(prepare_witness(database, folder))
    protocol = small_protocol(channel=CHANNEL, reward=REWARD, operators=name_operators(own, helper.keys))
    write_study(protocol, address, folder)
    with open_study(address, folder=folder) as study, pytest.raises(NotRunning, match="not paired with University"):
        study.start()


def test_a_study_ends_without_its_helper(tmp_path: Path, helper: Inviting, capsys: pytest.CaptureFixture[str]) -> None:
    assert pair(tmp_path, helper.invitation) == 0
    place = ["--data", str(tmp_path / "lead")]
    address, folder = f"sqlite:///{tmp_path}/lead/studies.db", tmp_path / "lead" / "witness"
    with closing(open_database(address)) as database:
        own = read_own_keys(prepare_witness(database, folder))
    write_study(
        small_protocol(channel=CHANNEL, reward=REWARD, operators=name_operators(own, helper.keys)), address, folder
    )
    assert main(["study", "start", "--yes", *place]) == 0
    capsys.readouterr()
    assert main(["study", "stop", "--yes", "--without-helper", *place]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "stopped"
    assert main(["study", "stop", "--yes", "--without-helper", *place]) == 2
