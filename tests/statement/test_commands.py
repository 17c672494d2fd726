"""`maskedbandit statement`: of a study, an experiment and a running service, and its check."""

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

from maskedbandit.cli import main
from maskedbandit.errors import Contradicted
from maskedbandit.statement import service as served
from maskedbandit.statement.content import decode_statement, make_statement_schema
from maskedbandit.store.book.chain import Link
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.service.inside import TABLE
from tests.service.live import Live, live
from tests.service.played import Played
from tests.statement.stage import as_file, finished


def said(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    """What a command prints that does what it is asked."""
    capsys.readouterr()
    assert main(["statement", *command]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    """The line of a command that does not."""
    capsys.readouterr()
    assert main(["statement", *command]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    return line


@pytest.fixture
def where(tmp_path: Path) -> tuple[Played, list[str]]:
    """A study, and what commands are given to find it."""
    played = finished(tmp_path / "study", 60)
    text = as_file(played)
    played.study.close()
    (tmp_path / "true.json").write_bytes(text)
    return played, ["--database", played.address, "--witness", str(played.folder / "witness")]


@pytest.mark.slow
def test_a_statement_is_written_checked_and_refused(
    where: tuple[Played, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, place = where
    written = said(capsys, *place, "--out", str(tmp_path / "signed.2026")).split()
    file, page = (Path(each) for each in written)
    assert (file.name, page.name) == ("signed.2026.json", "signed.2026.html")
    assert file.read_bytes() == (tmp_path / "true.json").read_bytes()
    assert sha256(file.read_bytes()).hexdigest() in page.read_text()
    assert "it is what the ledger says, up to entry" in said(capsys, "check", str(file), *place)
    assert said(capsys, *place, "--json") == file.read_text()
    words = said(capsys, *place)
    assert "they could be right at most 73.2 times" in words.replace("\n", " ")
    assert "Timing and side channels: Not protected" in words
    found = json.loads(file.read_text())
    found["person"][1]["epsilon"] = 0.01
    file.write_text(json.dumps(found))
    assert "person.1.epsilon of the statement is 0.01" in refused(capsys, "check", str(file), *place)
    del found["odds"]
    file.write_text(json.dumps(found))
    assert "missing required field `odds`" in refused(capsys, "check", str(file), *place)
    assert "No such file" in refused(capsys, "check", str(tmp_path / "gone.json"), *place)
    assert "1: a file of JSON" in refused(capsys, "check", *place)


def test_a_signature_is_of_one_statement_and_one_key(
    where: tuple[Played, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, check = tmp_path / "true.json", ("check", str(tmp_path / "true.json"), *where[1])
    assert main(["key", "signer"]) == 0
    pair = json.loads(capsys.readouterr().out)
    monkeypatch.delenv("MASKEDBANDIT_SIGNER", raising=False)
    assert "private key" in refused(capsys, "sign", str(file))
    assert "No such file" in refused(capsys, *check, "--signed-by", pair["signed_by"])
    monkeypatch.setenv("MASKEDBANDIT_SIGNER", pair["private"])
    assert said(capsys, "sign", str(file)).strip() == f"{file}.sig"
    assert "it is what the ledger says" in said(capsys, *check, "--signed-by", pair["signed_by"])
    signature = Path(f"{file}.sig").read_text()
    assert pair["private"] not in signature
    for key in ("ab" * 32, "", "x"):
        assert "the signature is not one of this statement" in refused(capsys, *check, "--signed-by", key)
    file.write_bytes(file.read_bytes() + b" ")  # the same statement, and another file
    assert "the signature is not one of this statement" in refused(capsys, *check, "--signed-by", pair["signed_by"])
    for wrong in ("{}", signature.replace('"signature":"', '"signature":"00')):
        Path(f"{file}.sig").write_text(wrong)
        assert "the signature is not one of this statement" in refused(capsys, *check, "--signed-by", pair["signed_by"])
    file.write_text("{}")
    assert "missing required field" in refused(capsys, "sign", str(file))


def test_an_audit_stands_in_the_statement(
    where: tuple[Played, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played, place = where
    audit = {
        "format": "maskedbandit audit 1",
        "version": "0.1.0",
        "target": "study newsletter",
        "date": "2026-11-22",
        "protocol": played.protocol.digest,
        "promised": {"epsilon": 1.0, "delta": 0.0},
        "method": "exact",
        "samples": 0,
        "confidence": 1,
        "lower_bound": 1.0,
        "violation": False,
        "parts": [],
        "control": {"twin": "noise of half the scale", "lower_bound": 2.0, "caught": True},
    }
    file = tmp_path / "audit.json"
    file.write_text(json.dumps(audit))
    said(capsys, *place, "--audit", str(file), "--out", str(tmp_path / "with"))
    text = (tmp_path / "with.json").read_bytes()
    (found,) = decode_statement(text).evidence.audits
    assert (found.digest, found.lower_bound) == (sha256(file.read_bytes()).hexdigest(), "ε = 1")
    assert "Audit of study newsletter on 2026-11-22" in (tmp_path / "with.html").read_text()
    assert "it is what the ledger says" in said(capsys, "check", str(tmp_path / "with.json"), *place)
    other = tmp_path / "other.json"
    other.write_bytes(text.replace(found.protocol.encode() if found.protocol else b"", b"0" * 64))
    assert "of the statement is" in refused(capsys, "check", str(other), *place)
    file.write_text(json.dumps(audit | {"violation": True}))
    assert "the promise is broken" in refused(capsys, *place, "--audit", str(file))


def test_an_experiment_and_the_schema(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = said(capsys, "quickstart")
    assert re.search(r"no privacy +NoiseAwareKLUCB +no privacy +without bound", words)
    assert re.search(r"local, one noisy bit +NoiseAwareKLUCB +local +ε = 0.5", words)
    assert json.loads(said(capsys, "schema")) == make_statement_schema()
    assert "one experiment" in refused(capsys, "quickstart", "drift")
    assert "quickstart" in refused(capsys, "quickstrat")
    said(capsys, "quickstart", "--out", str(tmp_path / "q"))
    assert "has no ledger" in refused(
        capsys, "check", str(tmp_path / "q.json"), "--database", f"sqlite:///{made(tmp_path)}"
    )


def made(folder: Path) -> Path:
    """An empty database."""
    from maskedbandit.store.databases.connection import open_database

    open_database(f"sqlite:///{folder}/empty.db").close()
    return folder / "empty.db"


@pytest.mark.slow
def test_a_running_service_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with live(tmp_path) as server:
        server.start_study(TABLE)
        monkeypatch.delenv("MASKEDBANDIT_KEY", raising=False)
        assert "MASKEDBANDIT_KEY" in refused(capsys, "--url", server.url)
        monkeypatch.setenv("MASKEDBANDIT_KEY", server.keys["officer"])
        text = said(capsys, "--url", server.url, "--json")
        assert decode_statement(text.encode()).ledger is not None
        assert text == said(capsys, "--url", server.url, "--study", "small", "--json")
        assert "there is no study 'large'" in refused(capsys, "--url", server.url, "--study", "large")
        monkeypatch.setenv("MASKEDBANDIT_KEY", server.keys["client"])
        assert "a key of role client may not do this" in refused(capsys, "--url", server.url)
        place = ["--database", server.address, "--witness", str(server.witness)]
        (tmp_path / "served.json").write_text(text)
        assert "it is what the ledger says" in said(capsys, "check", str(tmp_path / "served.json"), *place)
        monkeypatch.setenv("MASKEDBANDIT_KEY", server.keys["officer"])
        served_by = ("check", str(tmp_path / "served.json"), "--url", server.url)
        assert "it is what the ledger says" in said(capsys, *served_by)
        lie = text.replace('"state": "running"', '"state": "stopped"')
        assert lie != text
        (tmp_path / "served.json").write_text(lie)
        assert "the ledger of small gives 'running'" in refused(capsys, *served_by)
        check_lies(server, text.encode())
    assert "does not answer" in refused(capsys, "--url", server.url, "--study", "small")


def check_lies(server: Live, text: bytes) -> None:
    """A service that states what its own ledger does not say is found out."""
    true = decode_statement(text)
    page = server.ask("GET", "/v1/studies/small/ledger", None, "officer").json
    protocol = Protocol.from_table(server.ask("GET", "/v1/studies/small/protocol", None, "officer").json)
    found = [Link(**each) for each in page["entries"]]
    served.check_ledger(true, "small", found, protocol)
    for old, new in (
        (b'"releases": 0', b'"releases": 3'),
        (b'"entries": 1', b'"entries": 2'),
        (true.protocol.encode(), b"0" * 64),
        (b'"simulated": false', b'"simulated": true'),
        (b'"name": "small"', b'"name": "large"'),
        (b'"kind": "study"', b'"kind": "experiment"'),
    ):
        lie = decode_statement(text.replace(old, new))
        assert lie != true
        with pytest.raises(Contradicted):
            served.check_ledger(lie, "small", found, protocol)
    with pytest.raises(Contradicted):
        served.check_ledger(true, "large", found, protocol)


def test_where_a_statement_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken.json").mkdir()
    for wrong in ("", ".", "..", "/", f"{tmp_path}/..", f"{tmp_path}/gone/s", f"{tmp_path}/taken", "x" * 300):
        line = refused(capsys, "quickstart", "--out", wrong)
        assert "--out is " in line
        assert "it must be the name of two files" in line
        assert "draft" not in line
    assert [each.name for each in tmp_path.iterdir()] == ["taken.json"]


TAKEN: list[tuple[str, ...]] = [
    ("check", "FILE", "--json"),
    ("check", "FILE", "--out", "x"),
    ("check", "FILE", "--audit", "x"),
    ("check", "FILE", "--study", "x"),
    ("check", "FILE", "--url", "http://127.0.0.1:1", "--data", "x"),
    ("check", "FILE", "--url", "http://127.0.0.1:1", "--database", "x"),
    ("sign", "FILE", "--out", "x"),
    ("sign", "FILE", "--signed-by", "x"),
    ("schema", "--json"),
    ("quickstart", "--study", "x"),
    ("quickstart", "--url", "x"),
    ("quickstart", "--data", "x"),
    ("--signed-by", "x"),
    ("--url", "x", "--audit", "x"),
    ("--url", "x", "--witness", "x"),
]


@for_each("command", TAKEN, ids=" ".join)
def test_an_option_that_would_be_passed_over_is_refused(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    option = [each for each in command if each.startswith("--") and (each, "check") != ("--url", command[0])][-1]
    line = refused(capsys, *command)
    assert f"{option} is " in line
    assert "it must be left out: `maskedbandit statement" in line
