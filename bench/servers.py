"""The servers that are compared: `python -m bench.servers KIND FOLDER` prints its port and, if it has one, a key.

`echo` is an application of ASGI that answers what it was sent; `service` is the service, over a file in the folder; in
`alone` each of its requests has a commit of its own; in `rounds of 100` the devices of cohorts of 100 add up.
"""

import sys
from pathlib import Path
from typing import Any

import uvicorn

from bench.studies import PROTOCOL
from maskedbandit.service import keys
from maskedbandit.service.host.host import Host
from maskedbandit.service.server import bind_socket, serve_host
from maskedbandit.store import writer
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import open_study, write_study
from maskedbandit.study.protocol import Protocol

LARGE: dict[str, Any] = PROTOCOL | {"policy": {"name": "successive_elimination", "least": 10**6}}


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the body."""
    if scope["type"] == "http":
        body = (await receive())["body"]
        length = b"content-length", str(len(body)).encode()
        headers = [(b"content-type", b"application/json"), length]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def make_rounds(n: int) -> dict[str, Any]:
    """A study whose devices add up."""
    backend = {"name": "secagg", "corrupted": "1/10"}
    return PROTOCOL | {
        "people": 2 * n,
        "policy": {"name": "successive_elimination", "least": n},
        "arms": [{"name": name} for name in "ab"],
        "channel": {"name": "distributed", "epsilon": 1, "honest": "4/5", "backend": backend},
        "reward": {"window": "0 seconds", "exposure": "1 day"},
        "rounds": {"wait": "1 hour"},
    }


def service(folder: Path, table: dict[str, Any]) -> None:
    """The service, with this study."""
    address, witness = f"sqlite:///{folder}/studies.db", folder / "witness"
    write_study(Protocol.from_table(table), address, witness)
    with open_study(address, folder=witness) as study:
        study.start()
    database = open_database(address)
    key = keys.write_key(database, "client", None, 0)
    database.close()
    host, listener = Host(address, witness, rate=1e9), bind_socket("127.0.0.1", 0)
    for each in (host.devices, host.tickets):
        each.rate = each.burst = 1e9  # all devices are at one address
    serve_host(host, listener, lambda: print(listener.getsockname()[1], key, flush=True))


def main(kind: str, folder: Path) -> None:
    """Serve until the process is told to end."""
    if kind == "echo":
        listener = bind_socket("127.0.0.1", 0)
        listener.listen(100)
        print(listener.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(echo, log_level="error", lifespan="off", access_log=False)).run([listener])
    else:
        if kind == "alone":
            writer.MOST_OPERATIONS = 1
        rounds = kind.startswith("rounds of ")
        service(folder, make_rounds(int(kind.removeprefix("rounds of "))) if rounds else LARGE)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
