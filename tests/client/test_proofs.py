"""Each report has a proof that this folder alone can make: by it the service tells a retry, and others nothing."""

import json
import re
import secrets
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from maskedbandit.client import Client
from maskedbandit.client.outbox import Message, Outbox
from tests.client.conftest import only
from tests.client.fake_service import KEY, STUDY, URL, FakeService, Network


def proofs(network: Network) -> list[str]:
    """Those of all reports that were sent, in their order."""
    bodies = [json.loads(body) for path, body in network.sent if path.endswith("/report/batch")]
    return [report["proof"] for body in bodies for report in body["requests"]]


def test_a_report_has_the_same_proof_whenever_and_by_whichever_process_it_is_sent(client, network) -> None:
    one = client()
    ticket = one.assign("ann").ticket
    one.expose(ticket)
    assert one.flush()
    faults = iter(["drop response", "unavailable", None])
    network.fault = lambda path: next(faults, None)
    one.report(ticket, 1)
    assert one.flush()
    one.close()
    another = client()
    another.report(ticket, 1)
    assert another.flush()
    assert len(proofs(network)) == 4
    assert len(set(proofs(network))) == 1
    assert re.fullmatch("[0-9a-f]{32}", proofs(network)[0])


def test_what_is_another_report_has_another_proof(tmp_path) -> None:
    """Also where two names would be one if they were put together without care, and in another folder."""
    named = [("s", "ab", ""), ("sa", "b", ""), ("s", "a", "b"), ("s", "ab", "m\n"), ("s", "ab", "m"), ("s", "abm", "")]
    made = set()
    for folder in ("one", "other"):
        outbox = Outbox(tmp_path / folder / "small.outbox")
        for study, ticket, event in named:
            outbox.put(study, ticket, "report", event, 1.0)
            (message,) = outbox.next(study, 10)
            outbox.settle([message])
            made.add(message.proof)
        outbox.close()
    assert len(made) == 2 * len(named)


def told(client: Callable, network: Network) -> dict[str, int]:
    """What an application hears that reports another value after it was started again."""
    one = client()
    ticket = one.assign("ann").ticket
    one.expose(ticket)
    one.report(ticket, 1)
    assert one.flush()
    one.close()
    another = client()
    another.report(ticket, 0)
    assert another.flush()
    return dict(another.refused)


def test_an_application_that_was_started_again_hears_of_a_conflict(client, network) -> None:
    assert told(client, network) == {"conflict": 1}


def test_a_secret_that_is_not_kept_is_found(client, network, monkeypatch) -> None:
    real = Outbox.__init__

    def forgetful(self: Outbox, path: Path) -> None:
        real(self, path)
        self._secret = secrets.token_bytes(32)

    monkeypatch.setattr(Outbox, "__init__", forgetful)
    assert told(client, network) == {}


def heard(folder: Path, outcome: float | None) -> tuple[dict[str, int], list[float]]:
    """What somebody with the ticket hears from another folder, and what the service has then, if this was reported."""
    service = FakeService()
    network = Network(service)
    one, another = (
        Client(URL, KEY, STUDY, fallback="plain", folder=folder / name, transport=lambda: network, deadline=30)
        for name in ("one", "another")
    )
    with one, another:
        ticket = one.assign("ann").ticket
        one.expose(ticket)
        if outcome is not None:
            one.report(ticket, outcome)
        assert one.flush()
        for value in (0, 1, 0):
            another.report(ticket, value)
        assert another.flush()
    return dict(another.refused), list(service.reports.values())


def differ(folder: Path) -> bool:
    """Whether somebody hears in any way whether, and what, another folder reported."""
    worlds = [heard(folder / str(outcome), outcome) for outcome in (0, 1, None)]
    assert [values for _, values in worlds] == [[0], [1], [0]]  # the first one stands
    return any(said != worlds[0][0] for said, _ in worlds)


def test_another_folder_hears_nothing_of_what_was_reported(tmp_path) -> None:
    assert not differ(tmp_path)


@pytest.mark.parametrize("mutant", ["no secret", "a proof of the ticket alone"])
def test_a_proof_that_others_can_make_is_found(tmp_path, monkeypatch, mutant) -> None:
    if mutant == "no secret":
        monkeypatch.setattr(secrets, "token_bytes", bytes)
    else:
        monkeypatch.setattr(Message, "proof", property(lambda self: self.ticket), raising=False)
    assert differ(tmp_path)


def test_two_clients_that_make_the_file_together_have_one_secret(tmp_path) -> None:
    one, two = (Outbox(tmp_path / "small.outbox") for _ in range(2))
    one.put("small", "abc", "report", value=1.0)
    assert one.next("small", 1) == two.next("small", 1)
    for outbox in (one, two):
        outbox.close()


def test_a_file_that_had_none_gets_a_secret_when_it_is_opened(tmp_path) -> None:
    path = tmp_path / "small.outbox"
    old = Outbox(path)
    old.put("small", "abc", "report", value=1.0)
    old.close()
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE secret")
    connection.close()
    made = set()
    for _ in range(2):
        outbox = Outbox(path)
        made |= {message.proof for message in outbox.next("small", 1)}
        outbox.close()
    assert len(made) == 1


def test_the_secret_is_not_sent_and_not_logged(client, network, caplog) -> None:
    caplog.set_level("DEBUG")
    one = client()
    ticket = one.assign("ann").ticket
    network.fault = only("unavailable")
    one.report(ticket, 1)
    assert not one.flush(timeout=0.01)
    network.fault = only(None)
    assert one.flush()
    secret = one._engine._running.outbox._secret
    assert len(secret) == 32
    assert secret.hex() not in caplog.text + "".join(body.decode() for _, body in network.sent)
    assert proofs(network)[0] not in caplog.text
