"""Applications have several processes, which are killed and forked: nothing that `report` took is lost."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from maskedbandit import private_files as files
from maskedbandit.client import Client
from maskedbandit.private_files import Turn
from tests.client.fake_service import KEY, STUDY, URL, FakeService, Network

ROOT = Path(__file__).parent.parent.parent

APPLICATION = """
import sys
from maskedbandit.client import Client
from tests.client.fake_service import KEY, STUDY, URL, FakeService, Network

service = FakeService()
network = Network(service)
client = Client(URL, KEY, STUDY, fallback="plain", folder=sys.argv[1], transport=lambda: network, deadline=60)
network.fault = lambda path: "hang" if path.endswith("/batch") else None
for i in range(20):
    ticket = client.assign(f"unit {i}").ticket
    client.expose(ticket)
    client.report(ticket, i)
    print(ticket, flush=True)
sys.stdin.read()
"""


def killed(folder: Path, application: str) -> list[str]:
    """The tickets whose reports were taken by an application that was killed while it was sending them."""
    command = [sys.executable, "-c", application, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        tickets = [process.stdout.readline().strip() for _ in range(20)]
        process.send_signal(signal.SIGKILL)
    return tickets


def arrived(folder: Path) -> dict[tuple[str, str], float]:
    """What the next process sends."""
    service = FakeService()
    for i in range(20):
        service.assign(STUDY, f"unit {i}")
    with Client(URL, KEY, STUDY, fallback="plain", folder=folder, transport=lambda: Network(service)) as client:
        assert client.flush(timeout=60)
        assert not client.refused
    return service.reports


@pytest.mark.slow
def test_what_a_killed_application_reported_is_sent_at_the_next_start(tmp_path) -> None:
    tickets = killed(tmp_path, APPLICATION)
    assert arrived(tmp_path) == {(ticket, ""): float(i) for i, ticket in enumerate(tickets)}


def test_an_outbox_in_memory_is_found(tmp_path) -> None:
    """The mutant that writes nothing."""
    mutant = "import sqlite3\nreal = sqlite3.connect\n"
    mutant += (
        "sqlite3.connect = lambda path, *a, **k: real(':memory:' if str(path).endswith('.outbox') else path, *a, **k)"
    )
    assert "ticket3" in killed(tmp_path, mutant + APPLICATION)
    assert arrived(tmp_path) == {}


TURN = "import sys; from pathlib import Path; from maskedbandit.private_files import Turn; "
TURN += "turn = Turn(Path(sys.argv[1])); print(turn.take(), flush=True); sys.stdin.read()"


def test_one_process_sends_at_a_time(tmp_path) -> None:
    (one, two), command = (
        (Turn(tmp_path / "turn") for _ in range(2)),
        [sys.executable, "-c", TURN, str(tmp_path / "turn")],
    )
    assert one.take()
    assert not two.take()
    one.give()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        assert not one.take()
        process.kill()
    assert one.take()  # the dead one's
    for turn in (one, two):
        turn.close()


HOLDER = "import sys, sqlite3; connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None); "
HOLDER += "connection.execute('BEGIN IMMEDIATE')"


@pytest.mark.parametrize("mutant", [False, True])
def test_another_client_of_the_process_leaves_the_locks_alone(tmp_path, mutant, monkeypatch) -> None:
    """The mutant opens and closes the file, and so ends all locks of the process: another one gets in between."""
    path = tmp_path / "file"
    table = "CREATE TABLE IF NOT EXISTS t (x);"
    one = files.PrivateFile(path, "", table)
    if mutant:
        monkeypatch.setattr(files, "prepare_file", lambda path: [path, path.read_bytes()][0])
    with one.transaction():
        two = files.PrivateFile(path, "", "")
        other = subprocess.run([sys.executable, "-c", HOLDER, str(path)], capture_output=True, text=True, check=False)
    assert ("database is locked" in other.stderr) != mutant
    for file in (one, two):
        file.close()


@pytest.mark.slow
def test_a_client_that_was_made_before_a_fork_serves_both_processes(tmp_path) -> None:
    """As in a web server that makes it before its workers; one that was used before is refused in the worker."""
    script = """
import os, sys
from maskedbandit.client import Client
from maskedbandit.errors import InvalidValue
from tests.client.fake_service import KEY, STUDY, URL, FakeService, Network

service = FakeService(exposure=False)  # of which each process has a copy
for unit in ("ann", "bob"):
    service.assign(STUDY, unit)
options = dict(fallback="plain", folder=sys.argv[1], transport=lambda: Network(service), deadline=60)
client, used = (Client(URL, KEY, STUDY, **options) for _ in range(2))
used.assign("ann")
child = os.fork()
ticket = client.assign("ann" if child else "bob").ticket
assert ticket
client.expose(ticket)
client.report(ticket, 1)
assert client.flush(timeout=60)
assert not client.refused
if child == 0:
    try:
        used.assign("ann")
    except InvalidValue as why:
        assert "fork" in str(why)
        client.close()
        used.close()
        os._exit(0)
assert used.assign("ann").again
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
client.close()
used.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")


FORK = """
import os, sqlite3, sys
from pathlib import Path

seen = []  # hooks that are registered first run last


def closed():
    try:
        file._connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return True
    return False


os.register_at_fork(before=lambda: seen.append((file._lock.locked(), closed())))
from maskedbandit import private_files as files

if sys.argv[2] == "mutant":
    files._files.add = files._turns.add = lambda file: None
folder = Path(sys.argv[1])
file = files.PrivateFile(folder / "file", "", "CREATE TABLE IF NOT EXISTS t (x);")
turn = files.Turn(folder / "turn")
assert turn.take()
(hear_begun, say_begun), (hear_end, say_end) = os.pipe(), os.pipe()
if (child := os.fork()) == 0:
    os.write(say_begun, b".")
    os.read(hear_end, 1)
    os._exit(0)
os.read(hear_begun, 1)
after = file._lock.locked(), closed()
os.close(turn._file)  # as when this process is killed
print(seen, after, files.Turn(folder / "turn").take())
os.write(say_end, b".")
os.waitpid(child, 0)
"""


@pytest.mark.parametrize(
    ("which", "said"),
    [("as it is", "[(True, True)] (False, False) True\n"), ("mutant", "[(False, False)] (False, False) False\n")],
)
def test_a_fork_takes_no_file_along(tmp_path, which, said) -> None:
    """Otherwise the copy would undo half of a transaction, or keep a lock for ever."""
    command = [sys.executable, "-c", FORK, str(tmp_path), which]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout == said


@pytest.mark.slow
def test_an_application_that_just_ends_says_nothing(tmp_path) -> None:
    """Without `close`, and with a report that cannot be sent."""
    script = """
import sys
from maskedbandit.client import Client

client = Client("http://127.0.0.1:9", "key", "newsletter", fallback="plain", folder=sys.argv[1])
client.report("ticket0", 1)
"""
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0
    assert "Error" not in done.stderr
