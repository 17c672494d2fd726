"""What somebody is told who starts a server for the first time, and mistypes something."""

import socket
from pathlib import Path

import pytest

from maskedbandit.cli import main
from maskedbandit.service import server


@pytest.fixture
def taken() -> str:
    """A port on which somebody listens."""
    listener = socket.create_server(("127.0.0.1", 0))
    request = str(listener.getsockname()[1])
    listener.detach()  # until the end of the tests
    return request


@pytest.mark.sparing(4)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--rate", "-5"), "--rate is -5.0: it must be a number of requests above 0"),
        (("--rate", "nan"), "--rate is nan"),
        (("--proxy", "proxy"), "--proxy is 'proxy': it must be an address such as 10.0.0.7, or a network such as"),
        (("--proxy", "*"), "--proxy is '*'"),
        (("--url", "first:8000"), "--url is 'first:8000': it must be an address such as http://first:8000"),
        (("--url", "http://a b"), "--url is 'http://a b'"),
        (("--host", "no such name"), "--host is 'no such name': it must be an address of this machine"),
        (("--port", "99999"), "--port is 99999: it must be one that is free on 127.0.0.1"),
        (("--port", "PORT"), "it must be one that is free on 127.0.0.1 ([Errno 98] Address already in use)"),
        (("--metrics-port", "99999"), "--metrics-port is 99999: it must be one that is free on 127.0.0.1"),
        (("--metrics-port", "PORT"), "it must be one that is free on 127.0.0.1 ([Errno 98] Address already in use)"),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path,
    taken: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    given: tuple[str, str],
    said: str,
) -> None:
    monkeypatch.setattr(server, "serve_host", lambda *given, **more: None)
    option, value = given
    words = ["serve", "--data", str(tmp_path / "data"), "--port", "0", option, value.replace("PORT", taken)]
    assert main(words) == 2
    err = capsys.readouterr().err
    assert said in err
    assert option in err
    assert err.count("\n") == 1


def test_an_address_with_colons_is_one_that_can_be_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(host: object, listener: socket.socket, listening: object, *more: object) -> None:
        assert callable(listening)
        listening()
        listener.close()

    monkeypatch.setattr(server, "serve_host", serve)
    assert main(["serve", "--data", str(tmp_path / "data"), "--port", "0", "--host", "::1"]) == 0
    assert "page         http://[::1]:" in capsys.readouterr().out


@pytest.mark.parametrize("words", [("list",), ("rotate", "3f2a9c01"), ("revoke", "3f2a9c01")])
def test_a_mistyped_database_is_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    file = tmp_path / "studeis.db"
    assert main(["key", *words, "--database", f"sqlite:///{file}"]) == 2
    assert str(file) in capsys.readouterr().err
    assert not file.exists()
