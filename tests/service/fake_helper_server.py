"""The helper of the tests as a process, with the commands by which one is started and invites a leader."""

import argparse
import asyncio
import json
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx

from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.lease import read_clock
from maskedbandit.store.pairing import accept_leader, write_invitation
from maskedbandit.study.operators import OperatorKeys
from tests.service.fake_helper import CREDENTIAL, FakeHelper


def invite(folder: Path) -> None:
    """Print an invitation."""
    with closing(open_database(f"sqlite:///{folder}/helper.db")) as database, database.transaction():
        print(json.dumps({"invitation": write_invitation(database, read_clock())}), flush=True)


def serve(folder: Path, port: int) -> None:
    """Answer until the process is ended."""
    helper = FakeHelper(folder, read_clock)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.say(200, b"{}")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/v1/helper/pair":
                given = json.loads(body)
                leader = OperatorKeys.from_text(given["seals"], given["signs"])
                with closing(open_database(helper.address)) as database, database.transaction():
                    accept_leader(database, given["token"], leader, given["name"], read_clock())
                helper.pair(leader)
                keys = {"seals": helper.keys.seals.hex(), "signs": helper.keys.signs.hex()}
                self.say(200, json.dumps({"credential": CREDENTIAL, "name": "University"} | keys).encode())
                return
            headers = {"authorization": self.headers["authorization"]}
            asked = httpx.Request(self.command, f"http://helper.test{self.path}", headers=headers, content=body)
            found = asyncio.run(helper.handle_async_request(asked))
            self.say(found.status_code, found.content)

        do_PUT = do_POST

        def say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *given: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", port), Handler) as server:
        server.serve_forever()


def main() -> None:
    """What the words say; options that it does not know are those of the helper's server."""
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    options, _ = parser.parse_known_args()
    if options.words[0] == "serve":
        serve(options.data, options.port)
    else:
        invite(options.data)


if __name__ == "__main__":
    main()
