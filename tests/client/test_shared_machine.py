"""Who shares the machine reads no file of the client, and no size or time of one; and the log names nobody."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from maskedbandit import private_files as files
from maskedbandit.client import delivery
from maskedbandit.client.outbox import Message, Outbox
from maskedbandit.errors import StorageFailed
from tests.client.conftest import Made, only
from tests.client.fake_service import STUDY, URL, FakeService, Network


@pytest.fixture(params=[0o022, 0o000], ids=["usual umask", "no umask"])
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def seen(folder: Path) -> list[tuple[str, int, int]]:
    """What somebody with another name can list, and stat: with a mode of the folder that says no to others, nothing."""
    if not stat.S_IMODE(folder.stat().st_mode) & 0o005:
        return []
    return sorted((each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in folder.iterdir())


def differs(client: Made, network: Network, folder: Path, existing: int | None) -> bool:
    """Whether others see that somebody reported while the service was away."""
    if existing is not None:
        folder.mkdir()
        folder.chmod(existing)
    one = client(folder=folder)
    ticket = one.assign("ann").ticket
    one.expose(ticket)
    network.fault = only("unavailable")
    before = seen(folder)
    for i in range(100):
        one.report(ticket, 1, f"event {i}")
    after = seen(folder)
    one.close(timeout=0)
    return before != after


@pytest.mark.usefixtures("_umask")
def test_a_folder_of_the_client_says_nothing_to_others(client, network, tmp_path) -> None:
    folder = tmp_path / "of" / "the" / "client"
    assert not differs(client, network, folder, None)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}


OPEN = [0o755, 0o705, 0o750, 0o711, 0o770, 0o777, 0o1777]


@pytest.mark.parametrize("mode", OPEN)
def test_a_folder_that_others_may_look_into_is_refused(client, network, tmp_path, mode) -> None:
    with pytest.raises(StorageFailed, match=f"has mode {mode & 0o777:o} of the user .* it must have mode 700"):
        differs(client, network, tmp_path / "shared", mode)
    assert list((tmp_path / "shared").iterdir()) == []
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == mode  # it may be everybody's: it is left as it is


def test_a_client_that_takes_any_folder_is_found(client, network, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(files, "check_private", lambda folder: None)
    assert differs(client, network, tmp_path / "shared", 0o755)


def test_a_folder_of_another_user_is_refused(client, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(StorageFailed, match="the user who runs this"):
        client()


def test_a_link_leads_nowhere_that_others_see(client, tmp_path) -> None:
    """Neither a folder that is a link, nor a file."""
    shared, private = tmp_path / "shared", tmp_path / "private"
    for folder, mode in ((shared, 0o755), (private, 0o700)):
        folder.mkdir()
        folder.chmod(mode)
        (tmp_path / f"link to {folder.name}").symlink_to(folder)
    with pytest.raises(StorageFailed, match="shared has mode 755"):
        client(folder=tmp_path / "link to shared")
    client(folder=tmp_path / "link to private").close(timeout=0)
    (private / f"{files.name_service_files(URL)}.outbox").unlink()
    (private / f"{files.name_service_files(URL)}.outbox").symlink_to(shared / "file")
    with pytest.raises(StorageFailed, match="shared has mode 755"):
        client(folder=private)
    assert list(shared.iterdir()) == []


PUT = "INSERT INTO message (study, ticket, kind, event, value) VALUES (?, ?, 'report', ?, 1)"


def opened_elsewhere(client: Made, network: Network, folder: Path, most: int) -> set[str]:
    """The files that SQLite opens outside the folder, also those without a name, while much waits and some is sent."""
    found: set[str] = set()

    def look() -> int:
        paths = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        found.update(path for path in paths if "etilqs" in path)
        return 0

    one = client(folder=folder)
    one.expose(one.assign("ann").ticket)
    assert one.flush()
    network.fault = only("unavailable")
    outbox = one._engine._running.outbox
    outbox._file._connection.set_progress_handler(look, 50_000)
    with outbox._file.transaction() as connection:
        connection.executemany(PUT, ((STUDY, f"ticket{i}", "event" * 200) for i in range(5_000)))
    outbox.settle(outbox.next(STUDY, most))
    one.close(timeout=0)
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the open files of a process are listed on Linux alone")
def test_no_value_is_written_outside_the_folder(client, network, tmp_path) -> None:
    """What was sent is overwritten in the outbox; a file in which SQLite sorts is not. With the control: one sort."""
    assert opened_elsewhere(client, network, tmp_path / "own", delivery.MESSAGES_TOGETHER) == set()
    network.fault = only(None)
    assert opened_elsewhere(client, network, tmp_path / "control", 5_000) != set()


# --- the log


def logged(client: Made, service: FakeService, folder: Path, caplog: pytest.LogCaptureFixture, value: float) -> str:
    """What the log says of people who report this and are refused in all ways, on a network that is away at times."""
    caplog.clear()
    caplog.set_level("DEBUG")
    network = Network(service)
    one = client(folder=folder, transport=lambda: network)
    ann, bob, cyd = (one.assign(unit).ticket for unit in ("ann@example.org", "bob", "cyd"))
    service.late.add(cyd)
    network.fault = only("unavailable")
    for ticket in (ann, cyd):
        one.expose(ticket)
    for ticket in (ann, bob, cyd, "unknown"):
        one.report(ticket, value, "a private event")
    one.report(ann, 1 - value, "a private event")
    assert not one.flush(timeout=0.02)
    assert one.assign("dan").source == "fallback"
    network.fault = only(None)
    assert one.flush()
    one.close()
    assert one.refused == {"conflict": 1, "not_exposed": 1, "late": 1, "unknown_ticket": 1}
    return caplog.text


SECRETS = ["ticket0", "ticket1", "ticket2", "@example.org", "a private event", "0.123456", "0.876544"]


def test_the_log_says_nothing_of_a_person(client, tmp_path, caplog) -> None:
    said = logged(client, FakeService(), tmp_path / "one", caplog, 0.123456)
    assert "will never take 1 messages of newsletter: conflict" in said
    assert [secret for secret in SECRETS if secret in said] == []
    assert re.findall("[0-9a-f]{32}", said) == []
    assert logged(client, FakeService(), tmp_path / "two", caplog, 0.876544) == said


def test_a_log_that_names_what_was_refused_is_found(client, tmp_path, caplog, monkeypatch) -> None:
    real = Outbox.settle

    def talkative(self: Outbox, messages: list[Message]) -> None:
        delivery.log.info("done: %s", messages)
        real(self, messages)

    monkeypatch.setattr(Outbox, "settle", talkative)
    said = logged(client, FakeService(), tmp_path / "one", caplog, 0.123456)
    assert {"ticket0", "a private event", "0.123456"} <= {secret for secret in SECRETS if secret in said}
