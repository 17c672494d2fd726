"""What was reported arrives once, whatever the network and the processes do; and then nothing of it is left on disk."""

import random
import sqlite3
import stat
import struct
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from maskedbandit.client import Client, delivery, outbox
from maskedbandit.client.delivery import Delivery
from maskedbandit.client.outbox import Message, Outbox
from maskedbandit.errors import PersonalValue, StorageFailed
from maskedbandit.private_files import PrivateFile
from tests.client.conftest import only
from tests.client.fake_service import FAULTS, GARBAGE, KEY, STUDY, URL, FakeService, Network

PEOPLE, EVENTS = 12, 3


def faulty(seed: int) -> Callable[[str], str | bytes | None]:
    """Three of four requests have a fault, for a while: then the network is as it should be."""
    rng = random.Random(seed)
    left = 60

    def fault(path: str) -> str | bytes | None:
        nonlocal left
        left -= 1
        return rng.choice([*FAULTS, *FAULTS, rng.choice(GARBAGE), None, None]) if left > 0 else None

    return fault


def play(folder: Path, seed: int) -> tuple[int, int, int]:
    """How many reports were lost, how many counted twice, and how many were refused, on a network with faults.

    Every person reports some events, of which the last one counts: so their order matters too.
    """
    service = FakeService()
    network = Network(service)
    sent = {}
    with Client(URL, KEY, STUDY, fallback="plain", folder=folder, transport=lambda: network, deadline=30) as client:
        tickets = [client.assign(f"unit {i}").ticket for i in range(PEOPLE)]
        network.fault = faulty(seed)
        for event in range(EVENTS):
            for i, ticket in enumerate(tickets):
                if event == 0:
                    client.expose(ticket)
                value = 1.0 + i + event / 8
                client.report(ticket, value, f"event {event}")
                sent[ticket, f"event {event}"] = value
        assert client.flush(timeout=60)
        refused = sum(client.refused.values())
    lost = len(sent.items() - service.reports.items())
    order: dict[str, list[str]] = {}
    for ticket, event in service.reports:  # as they came first
        order.setdefault(ticket, []).append(event)
    swapped = sum(events != sorted(events) for events in order.values())
    return lost, len(service.reports.items() - sent.items()) + swapped, refused


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_lost_or_doubled(tmp_path, seed) -> None:
    assert play(tmp_path, seed) == (0, 0, 0)


def forgetful(self: Outbox, study: str, most: int, real: Callable[..., list[Message]] = Outbox.next) -> list[Message]:
    """The mutant that forgets a message when it sends it."""
    found = real(self, study, most)
    if most > 1:
        self.settle(found)
    return found


def anew(self: Message) -> dict[str, object]:
    """The mutant that makes up another event at each attempt."""
    if self.kind == "expose":
        return {"ticket": self.ticket}
    return {"ticket": self.ticket, "value": self.value, "event": uuid.uuid4().hex, "proof": self.proof}


def everything(self: Outbox, study: str, most: int) -> list[Message]:
    """The mutant that sends all messages of a ticket at once, each kind by itself."""
    find = "SELECT id, study, ticket, kind, event, value FROM message WHERE study = ? ORDER BY id DESC LIMIT ?"
    return [self._message(*row) for row in self._file.rows(find, study, most)]


def trusting(reply: object, count: int, good: frozenset[str]) -> list[str]:
    """The mutant that takes anything for an answer."""
    return [""] * count


@pytest.mark.parametrize(
    ("where", "name", "mutant"),
    [
        (Outbox, "next", forgetful),
        (Message, "body", property(anew)),
        (Outbox, "next", everything),
        (delivery, "read_verdicts", trusting),
    ],
    ids=["forgetful", "anew", "everything", "trusting"],
)
def test_the_mutants_lose_or_double(tmp_path, monkeypatch, where, name, mutant) -> None:
    monkeypatch.setattr(where, name, mutant)
    assert any(play(tmp_path / str(seed), seed) != (0, 0, 0) for seed in range(5))


def test_what_an_earlier_process_left_is_sent(client, network, service) -> None:
    one = client()
    ann = one.assign("ann")
    network.fault = only("drop request")
    one.expose(ann.ticket)
    one.report(ann.ticket, 0.5)
    assert not one.flush(timeout=0.01)
    one.close(timeout=0)
    assert service.reports == {}
    network.fault = only(None)
    assert client().flush()  # nobody writes anything
    assert service.reports == {("ticket0", ""): 0.5}


def test_two_clients_of_a_folder_send_everything_once(client, network, service) -> None:
    """As several processes of an application do: each sends what it finds, one at a time."""
    clients = [client() for _ in range(3)]
    tickets = [clients[0].assign(f"unit {i}").ticket for i in range(30)]
    for i, ticket in enumerate(tickets):
        clients[i % 3].expose(ticket)
        clients[(i + 1) % 3].report(ticket, i)
    assert all(each.flush() for each in clients)
    assert service.reports == {(ticket, ""): float(i) for i, ticket in enumerate(tickets)}
    bodies = [body for path, body in network.sent if path.endswith("/report/batch")]
    assert sum(body.count(b'"ticket"') for body in bodies) == 30


REFUSED = {"conflict": (1.0, 2.0), "late": (1.0,), "unknown_ticket": (1.0,), "reward_out_of_range": (5000.0,)}


@pytest.mark.parametrize("code", REFUSED)
def test_final_refusals_are_dropped_and_counted(client, service, code) -> None:
    found = []
    one = client(on_refused=found.append)
    ticket = one.assign("ann").ticket
    one.expose(ticket)
    if code == "late":
        service.late.add(ticket)
    if code == "unknown_ticket":
        ticket = "another"
    for value in REFUSED[code]:
        one.report(ticket, value)
    assert one.flush()
    assert one.refused == {code: 1}
    assert [tuple(refusal) for refusal in found] == [(STUDY, ticket, "report", "", code)]


def test_a_report_without_an_exposure_is_refused_and_not_raised(client, caplog) -> None:
    def failing(refusal: object) -> None:
        raise RuntimeError

    one = client(on_refused=failing)
    one.report(one.assign("ann").ticket, 0.123456)
    assert one.flush()
    assert one.refused == {"not_exposed": 1}
    assert "0.123456" not in caplog.text


@pytest.mark.sparing(4)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 408, 413, 429, 500, 502, 503])
def test_no_other_answer_ends_the_retries(client, service, network, status) -> None:
    one = client()
    ticket = one.assign("ann").ticket
    service.state["/batch"] = status
    one.expose(ticket)
    one.report(ticket, 1)
    assert not one.flush(timeout=0.02)
    service.state.clear()
    assert one.flush()
    assert service.reports == {(ticket, ""): 1.0}
    assert not one.refused


@pytest.mark.parametrize("status", [413, 422])
def test_a_batch_that_is_refused_as_a_whole_is_sent_in_parts(client, service, status) -> None:
    """One message that the service cannot read stops no others."""
    real = service.handle

    def strict(path: str, body: dict[str, object]) -> tuple[int, object]:
        if "report/batch" in path:
            requests = body["requests"]
            if any(request["value"] == 666 for request in requests) and (status == 422 or len(requests) > 1):
                return status, {"code": "invalid_value"}
        return real(path, body)

    service.handle = strict
    one = client()
    tickets = [one.assign(f"unit {i}").ticket for i in range(20)]
    for i, ticket in enumerate(tickets):
        one.expose(ticket)
        one.report(ticket, 666 if i == 7 else i)
    assert one.flush()
    assert len(service.reports) == (19 if status == 422 else 20)
    assert one.refused == ({"invalid_value": 1} if status == 422 else {})


def test_what_cannot_be_a_report_is_refused_at_once(client, network) -> None:
    one = client()
    for value in (float("nan"), float("inf"), "1", None):
        with pytest.raises(PersonalValue):
            one.report("abc", value)
    for ticket in ("", "A", "a b", "a" * 65, 3):
        with pytest.raises(PersonalValue):
            one.report(ticket, 1)
        with pytest.raises(PersonalValue):
            one.expose(ticket)
    for event in ("a" * 129, "two\nlines", 3):
        with pytest.raises(PersonalValue):
            one.report("abc", 1, event)
    one.expose(None)
    one.report(None, 1)  # a fallback: nothing to say
    assert one.flush()
    assert network.sent == []


# --- the files ----------------------------------------------------------------------------------------------


def test_the_files_are_for_this_user_alone(client, tmp_path) -> None:
    one = client()
    one.report(one.assign("ann").ticket, 1)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".outbox", ".known", ".turn"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def leftovers(folder: Path, network: Network) -> set[str]:
    """What of a person's report can be read in the files, by whoever reads bytes, before it was sent and after."""
    value, event = 0.123456789, "a private event"
    with Client(URL, KEY, STUDY, fallback="plain", folder=folder, transport=lambda: network, deadline=30) as client:
        ticket = client.assign("ann@example.org").ticket
        network.fault = only("unavailable")
        for _ in range(3):
            client.expose(ticket)
        client.report(ticket, value, event)
        assert found(folder, value, event) == {"value", "event"}
        network.fault = only(None)
        assert client.flush()
        return found(folder, value, event)


def found(folder: Path, value: float, event: str) -> set[str]:
    canaries = {"value": struct.pack(">d", value), "event": event.encode(), "unit": b"ann@example.org"}
    content = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return {name for name, canary in canaries.items() if canary in content}


def test_nothing_is_left_of_what_was_sent(tmp_path, network) -> None:
    assert leftovers(tmp_path, network) == set()


@pytest.mark.parametrize("mutant", ["PRAGMA secure_delete = ON", "PRAGMA journal_mode = TRUNCATE"])
def test_a_file_that_only_forgets_is_found(tmp_path, network, monkeypatch, mutant) -> None:
    """Deleted rows are left in the file, or in its write-ahead log."""
    weaker = {"PRAGMA secure_delete = ON": "PRAGMA secure_delete = OFF", outbox._SETTINGS: "PRAGMA journal_mode = WAL;"}

    class Weak(PrivateFile):
        def __init__(self, path: Path, settings: str, tables: str) -> None:
            changed = weaker.get(settings, settings) if "journal" in mutant else settings
            off = "PRAGMA secure_delete = OFF;" if "secure" in mutant else ""
            super().__init__(path, changed + off, tables)

    monkeypatch.setattr(outbox, "PrivateFile", Weak)
    assert leftovers(tmp_path, network) >= {"value"}


def test_a_full_disk_is_said_before_the_report_counts_as_written(client, service, monkeypatch) -> None:
    one = client()
    ticket = one.assign("ann").ticket

    class Full:
        in_transaction = False

        def execute(self, *given: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

    real = one._engine._running.outbox._file._connection
    one._engine._running.outbox._file._connection = Full()
    with pytest.raises(StorageFailed, match="full"):
        one.report(ticket, 0.123456)
    one._engine._running.outbox._file._connection = real
    one.expose(ticket)
    one.report(ticket, 1)
    assert one.flush()
    assert service.reports == {(ticket, ""): 1.0}


def test_people_are_served_although_the_disk_is_full(client, caplog) -> None:
    one = client()

    class Full:
        def execute(self, *given: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        def close(self) -> None:
            pass

    one._engine._running.known._file._connection = Full()
    assert one.assign("ann").ticket == "ticket0"
    assert "full" in caplog.text


def test_a_mistake_of_ours_does_not_end_the_sending(client, service, monkeypatch, caplog) -> None:
    """The thread goes on after any error, and shows nothing of it but its name."""
    one = client()
    ticket = one.assign("ann").ticket
    failures = iter([ValueError("0.123456")] * 3)

    async def failing(self: Delivery, study: str, real: Callable = Delivery._empty) -> float | None:
        for failure in failures:
            raise failure
        return await real(self, study)

    monkeypatch.setattr(Delivery, "_empty", failing)
    one.expose(ticket)
    one.report(ticket, 1)
    assert one.flush()
    assert service.reports == {(ticket, ""): 1.0}
    assert "ValueError" in caplog.text
    assert "0.123456" not in caplog.text


def test_a_service_is_never_sent_what_waits_for_another(client, network, tmp_path) -> None:
    one = client()
    ticket = one.assign("ann").ticket
    network.fault = only("drop request")
    one.report(ticket, 1)
    one.close(timeout=0)
    elsewhere = Network(FakeService())
    with Client(
        "http://another.test", KEY, STUDY, fallback="plain", folder=tmp_path, transport=lambda: elsewhere
    ) as other:
        assert other.flush()
    with Client(URL, KEY, "another-study", fallback="plain", folder=tmp_path, transport=lambda: elsewhere) as other:
        assert other.flush()  # with a key of another study
    assert elsewhere.sent == []
