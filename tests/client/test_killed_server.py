"""The server is killed again and again while applications use it: nothing that they reported is lost or doubled."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from maskedbandit.client import Client
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from tests.client.live_service import LiveService
from tests.client.test_live import ROOMY, WINDOW
from tests.store.small_study import small_protocol

APPLICATIONS, PEOPLE, KILLS = 3, 40, 4


@contextmanager
def server(live: LiveService) -> Iterator[None]:
    """The command that serves, until it is killed."""
    command = [
        sys.executable,
        "-m",
        "maskedbandit",
        "serve",
        "--database",
        live.address,
        "--witness",
        str(live.witness),
    ]
    with subprocess.Popen([*command, "--port", str(live.port)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("page")
        yield
        process.send_signal(signal.SIGKILL)


@pytest.mark.slow
def test_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    live = LiveService(tmp_path, small_protocol(reward=WINDOW, policy=ROOMY | {"least": 100}))
    sent: dict[tuple[str, str], float] = {}
    progress = threading.Semaphore(0)

    def application(number: int) -> None:
        """Its people come until they get a place, see their arm and report twice."""
        with Client(live.url, live.key, live.study, fallback="a", folder=tmp_path / str(number), deadline=5) as client:
            for i in range(PEOPLE):
                while (ticket := client.assign(f"unit {number} {i}").ticket) is None:
                    pass
                client.expose(ticket)
                for event in ("one", "two"):
                    client.report(ticket, i / 8, event)
                    sent[ticket, event] = i / 8
                progress.release()
            assert client.flush(timeout=120)
            assert not client.refused

    threads = [threading.Thread(target=application, args=(number,)) for number in range(APPLICATIONS)]
    for thread in threads:
        thread.start()
    for _ in range(KILLS):
        with server(live):
            for _ in range(APPLICATIONS * PEOPLE // (KILLS + 1)):
                assert progress.acquire(timeout=120)
    with live.running():
        for thread in threads:
            thread.join()
    assert len(sent) == 2 * APPLICATIONS * PEOPLE
    assert live.reports() == sent
    assert len(live.rows("SELECT person FROM place")) == APPLICATIONS * PEOPLE
    database = open_database(live.address)
    verify_study(database, find_witness(database, live.witness), live.study)
    database.close()
