"""The OpenAPI document says what the service does: schemathesis, with all its checks."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.service.api import list_routes
from tests.service.inside import TABLE, Inside
from tests.service.live import Live
from tests.service.test_people import PUBLIC

# what no schema says: all that a protocol must be, which study may have a device key, that names of people are
# printable, and who is meant by a context
CONFIG = """
continue-on-failure = true

[[operations]]
include-path-regex = "/studies(/.study.)?$|/validate$|/assign|/report|/erase$|/person|/keys$|^/ofrep"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "410", "422", "429"]

[[operations]]
include-path = "/v1/studies/validate"
phases.coverage.enabled = false

[[operations]]
include-path = "/v1/studies/{study}"
include-method = "PUT"
phases.coverage.enabled = false
"""


def test_the_document_has_every_route(service: Inside) -> None:
    found = service.ask("GET", "/openapi.json", key=None).json
    assert found["openapi"] == "3.1.0"
    said = {(method.upper(), path) for path, methods in found["paths"].items() for method in methods}
    assert said == {(route.method, route.path) for route in list_routes()}
    for methods in found["paths"].values():
        for operation in methods.values():
            assert operation["summary"].endswith(".")
    assert found["servers"][0]["url"] == "/"


def test_protocols_have_one_schema(service: Inside) -> None:
    """So of the three routes that read one, it is enough that one is asked with all thousands of cases of it."""
    paths = service.ask("GET", "/openapi.json", key=None).json["paths"]
    routes = paths["/v1/studies"]["post"], paths["/v1/studies/validate"]["post"], paths["/v1/studies/{study}"]["put"]
    first, *others = [route["requestBody"]["content"] for route in routes]
    assert others == [first, first]


def test_the_document_says_which_routes_need_a_key(service: Inside) -> None:
    paths = service.ask("GET", "/openapi.json", key=None).json["paths"]
    said = {path: each["security"] for path, methods in paths.items() for each in methods.values()}
    devices = {f"/v1/studies/{{study}}/{verb}" for verb in ("upload", "pass", "round", "leave")}  # by their tickets
    others = {"/healthz", "/readyz", "/openapi.json", "/v1/sites/pair"}  # an invitation says who pairs
    assert {path for path, keys in said.items() if keys == []} == others | devices
    assert said["/v1/studies"] == [{"key": []}]


def test_methods_that_a_path_does_not_have(service: Inside) -> None:
    for path, allowed in (
        ("/v1/studies", "GET, HEAD, POST"),
        ("/v1/studies/small/assign", "POST"),
        ("/healthz", "GET, HEAD"),
        ("/v1/keys", "GET, HEAD, POST"),
    ):
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "LOCK"):
            found = service.ask(method, path, None, "owner")
            assert (found.code, found.headers["allow"]) == ("method_not_allowed", allowed)


def schemathesis(server: Live, folder: Path, role: str, *more: str) -> None:
    """All checks, with the key of a role."""
    (folder / "schemathesis.toml").write_text(CONFIG)
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{server.port}/openapi.json"]
    command += ["--header", f"Authorization: Bearer {server.keys[role]}", "--checks", "all", "--seed", "15", *more]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ | {"COLUMNS": "200"})
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "paths"),
    [
        ("client", "assign|expose|report|budget|ofrep|openapi|healthz|readyz"),
        ("device", "/(assign|expose|report|budget|person|person/leave)$"),
        ("owner", "^/v1/(studies(/validate|/.study.|/.*(ledger|head|releases|verify|erase|pause|stop))?|keys)$"),
        ("owner", "start|resume|archive|rotate|revoke"),
    ],
)
def test_schemathesis(server: Live, tmp_path: Path, role: str, paths: str) -> None:
    server.start_study(TABLE | {"signed_by": PUBLIC[0]})
    page = {"role": "device", "study": "small"}
    server.keys["device"] = server.ask("POST", "/v1/keys", page, "owner").json["key"]
    schemathesis(server, tmp_path, role, "--include-path-regex", paths, "--max-examples", "30")
    ended: Any = server.end()
    assert ended == 0
    assert "Traceback" not in server.said()
    assert "server_error" not in server.said()
