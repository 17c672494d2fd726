"""The statement as a running service makes it, compared with the ledger that the service publishes."""

import json
from typing import Any

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from maskedbandit.errors import Contradicted, InvalidValue, StorageFailed
from maskedbandit.privacy.odds import best_guess
from maskedbandit.statement.check import check_agreement, check_bytes, refuse_experiment
from maskedbandit.statement.content import Statement, decode_statement
from maskedbandit.statement.facts import Facts
from maskedbandit.statement.study import study_statement
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.chain import Link, check_chain
from maskedbandit.store.book.entries import parse_entries
from maskedbandit.study.protocol import Protocol

PAGE = 10_000  # entries that the service sends at once
ENDED = ("stopped", "archived")
# what rests on the sizes of cohorts that were not released, if their price depends on them: no entry says these sizes
OF_SIZES = (
    *("odds", "person.1", "promises.0.variant", "promises.0.loss", "points.definition", "points.parameters"),
    *("registry.record.deployment.dp_variant.variant_name", "registry.record.deployment.privacy_loss.privacy_param"),
)


def fetch_statement(url: str, key: str, study: str | None) -> Statement:
    """The statement of a study that is served, or `Contradicted` if the ledger that is served says otherwise."""
    with connect_client(url, key) as client:
        name = study if study is not None else find_only_study(client)
        said = decode_statement(ask_service(client, f"/v1/studies/{name}/statement"))
        check_ledger(said, name, fetch_ledger(client, name), fetch_protocol(client, name))
    return said


def check_served(text: bytes, url: str, key: str) -> Statement:
    """The statement in a file, or `Contradicted` if the ledger that is served says otherwise."""
    said = decode_statement(text)
    refuse_experiment(said)
    with connect_client(url, key) as client:
        check_ledger(said, said.name, fetch_ledger(client, said.name), fetch_protocol(client, said.name))
    check_bytes(text, said)
    return said


def connect_client(url: str, key: str) -> httpx.Client:
    """A client of the service."""
    try:
        return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=600, trust_env=False)
    except httpx.InvalidURL as wrong:
        raise InvalidValue("--url", url, f"the address of a service, such as http://127.0.0.1:8000 ({wrong})") from None


def ask_service(client: httpx.Client, path: str) -> bytes:
    """What the service answers, or its refusal."""
    try:
        found = client.get(path)
    except httpx.HTTPError as why:
        raise StorageFailed(f"{client.base_url} does not answer: {why}") from None
    if found.status_code != 200:
        is_problem = found.headers.get("content-type", "").startswith("application/problem+json")
        reason = found.json()["detail"] if is_problem else f"status {found.status_code}"
        raise InvalidValue("the request", path, f"one that the service answers ({reason})")
    return found.content


def find_only_study(client: httpx.Client) -> str:
    """The only study that is served."""
    names = [each["study"] for each in json.loads(ask_service(client, "/v1/studies"))["studies"]]
    if len(names) != 1:
        raise InvalidValue("--study", None, f"one of {', '.join(names) or 'none: no study is served'}")
    return str(names[0])


def fetch_protocol(client: httpx.Client, name: str) -> Protocol:
    """The protocol that the service shows."""
    return Protocol.from_table(json.loads(ask_service(client, f"/v1/studies/{name}/protocol")))


def fetch_ledger(client: httpx.Client, name: str) -> list[Link]:
    """All entries that the service shows."""
    found: list[Link] = []
    while True:
        after = f"?after={found[-1].number}" if found else ""
        page: dict[str, Any] = json.loads(ask_service(client, f"/v1/studies/{name}/ledger{after}"))
        found += [Link(*(each[key] for key in ("number", "body", "hash", "signature"))) for each in page["entries"]]
        if len(page["entries"]) < PAGE:
            return found


def check_ledger(said: Statement, name: str, found: list[Link], protocol: Protocol) -> None:
    """Raise `Contradicted` unless this is the statement of the study that these entries and this protocol give."""
    if (said.kind, said.name) != ("study", name):
        raise Contradicted(f"what is served as the statement of study {name!r} is of the {said.kind} {said.name!r}")
    if said.ledger is None and found:
        raise Contradicted(f"ledger of the statement is None, and the ledger that is served has {len(found)} entries")
    key, upto = "", found
    if said.ledger is not None:
        key, upto = said.ledger.key, found[: said.ledger.entries]
        check_chain(name, upto, Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)))
    book = Book(name, protocol, parse_entries(name, upto))
    stated = book.started.protocol if book.started else protocol.digest
    if (protocol.name, protocol.digest) != (name, stated):
        raise Contradicted(f"the protocol that is served is not the one with which the ledger of {name} begins")
    facts = Facts.of(book)
    unknown: tuple[str, ...] = ()
    if facts.state in ENDED and protocol.price(1) != protocol.price(1_000_000):
        unknown = OF_SIZES
        if said.person[1].right < best_guess(facts.at_most):
            raise Contradicted(
                f"person.1.right of the statement is {said.person[1].right}, less than its releases cost"
            )
    check_agreement(said, study_statement(book.listed, facts, key, "a database"), unknown)
