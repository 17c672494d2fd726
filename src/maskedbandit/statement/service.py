"""The statement as a running service makes it, compared with the ledger that the service publishes."""

from __future__ import annotations

from typing import Any

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from maskedbandit.errors import Contradicted, InvalidValue, StorageFailed
from maskedbandit.statement.content import Statement, decoded
from maskedbandit.store.chain import Entry, verified

PAGE = 10_000  # entries that the service sends at once


def fetched(url: str, key: str, study: str | None) -> Statement:
    """The statement of a study that is served, or `Contradicted` if the ledger that is served says otherwise."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=600, trust_env=False) as client:
        name = study if study is not None else only(client)
        said = decoded(asked(client, f"/v1/studies/{name}/statement"))
        check_ledger(said, ledger(client, name))
    return said


def asked(client: httpx.Client, path: str) -> bytes:
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


def only(client: httpx.Client) -> str:
    """The only study that is served."""
    import json

    names = [each["study"] for each in json.loads(asked(client, "/v1/studies"))["studies"]]
    if len(names) != 1:
        raise InvalidValue("--study", None, f"one of {', '.join(names) or 'none: no study is served'}")
    return str(names[0])


def ledger(client: httpx.Client, name: str) -> list[Entry]:
    """All entries that the service shows."""
    import json

    found: list[Entry] = []
    while True:
        after = f"?after={found[-1].number}" if found else ""
        page: dict[str, Any] = json.loads(asked(client, f"/v1/studies/{name}/ledger{after}"))
        found += [Entry(*(each[key] for key in ("number", "body", "hash", "signature"))) for each in page["entries"]]
        if len(page["entries"]) < PAGE:
            return found


def check_ledger(said: Statement, found: list[Entry]) -> None:
    """Raise `Contradicted` unless the entries, whose chain has to hold, say what the statement says of them."""
    if said.ledger is None:
        return
    upto = found[: said.ledger.entries]
    verified(said.name, upto, Ed25519PublicKey.from_public_bytes(bytes.fromhex(said.ledger.key)))
    true = {
        "entries": len(upto),
        "head": upto[-1].hash if upto else "",
        "releases": sum(each.says["kind"] == "released" for each in upto),
        "protocol": upto[0].says["protocol"] if upto else "",
        "simulated": bool(upto and upto[0].says.get("simulated", False)),
    }
    one = {"protocol": said.protocol, "simulated": said.simulated}
    one |= {name: getattr(said.ledger, name) for name in ("entries", "head", "releases")}
    for name, value in true.items():
        if one[name] != value:
            raise Contradicted(
                f"{name} of the statement is {one[name]!r}, and the ledger that is served says {value!r}"
            )
