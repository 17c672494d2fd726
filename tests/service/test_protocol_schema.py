"""The schema of a protocol in the OpenAPI document: what fits it, and a client that is generated from it."""

import json
import os
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments.examples import find_packaged_folder
from maskedbandit.service.api import list_routes
from maskedbandit.service.request.openapi import write_openapi
from maskedbandit.service.request.protocol_schema import LIVE_CHANNELS
from maskedbandit.study.enrolment import ENROLMENT_PARTS
from maskedbandit.study.metrics import METRIC_KEYS
from maskedbandit.study.naming import STUDY_PARTS
from maskedbandit.study.outcomes import FURTHER_KEYS
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.protocol_checks import PROTOCOL_KEYS
from maskedbandit.study.reward import REWARD_KEYS
from tests.client.built_package import SDK, build_package
from tests.for_each import for_each
from tests.service.live import LATE, Live

STUDIES = sorted((find_packaged_folder() / "studies").glob("*.toml"))
PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"
RIGHT: dict[str, Any] = {
    "name": "right",
    "people": 1000,
    "channel": {"name": "central", "epsilon": 1},
    "arms": [{"name": "a", "payload": [1, None]}, {"name": "b"}],
    "budget": {"epsilon": 1},
}
OPERATORS = {
    "leader": {"name": "A", "key": "a0" * 32},
    "helper": {"name": "B", "key": "b0" * 32, "address": "https://b"},
}
SEALED = {"name": "two_servers", "epsilon": 1, "backend": "prio3"}


@cache
def find_schemas() -> dict[str, Any]:
    found: dict[str, Any] = write_openapi(list_routes())["components"]["schemas"]
    return found


def fits(table: dict[str, Any]) -> bool:
    whole = {"$ref": "#/components/schemas/Protocol", "components": {"schemas": find_schemas()}}
    return jsonschema_rs.is_valid(whole, table)


def is_taken(table: dict[str, Any]) -> bool:
    try:
        Protocol.from_table(table)
    except InvalidValue:
        return False
    return True


def test_the_schema_has_the_keys_that_are_read() -> None:
    schemas = find_schemas()
    assert set(schemas["Protocol"]["properties"]) == set(PROTOCOL_KEYS)
    assert set(schemas["ProtocolReward"]["properties"]) == set(REWARD_KEYS)
    assert set(schemas["ProtocolMetric"]["properties"]) == set(METRIC_KEYS)
    assert set(schemas["ProtocolGuardrail"]["properties"]) == {"name", "harm", "share", "alpha", *FURTHER_KEYS}
    assert set(schemas["ProtocolEnrolment"]["properties"]) == {"default", *ENROLMENT_PARTS}
    assert set(schemas["ProtocolBudget"]["properties"]) == {"epsilon", "delta", "rho", "period"}


def test_the_schema_has_the_keys_of_the_page() -> None:
    rows = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith(("| `", "| `[["))]
    said = {key.strip("`[] ") for row in rows for key in row.split(",")} - {"token_missing", "token_malformed"}
    known = {key for name, each in find_schemas().items() if name.startswith("Protocol") for key in properties(each)}
    assert {key for key in said if not key.startswith("token_")} <= known


def properties(schema: dict[str, Any]) -> set[str]:
    return set(schema.get("properties", ()))


@for_each("name", sorted(LIVE_CHANNELS))
def test_each_live_channel_is_typed_with_its_parameters(name: str) -> None:
    tables = find_schemas()["ProtocolChannel"]["anyOf"]
    (mine,) = [each for each in tables if each.get("properties", {}).get("name", {}).get("const") == name]
    assert properties(mine) - {"name"} == set(STUDY_PARTS.parameters("channel", name)) - {"statistics"}


@for_each(
    "change",
    [
        {},
        {"policy": "ucb1"},
        {"arms": [{"name": "a", "share": "1/10"}, {"name": "b"}, {"name": "c"}]},
        {"policy": {"name": "successive_elimination", "least": 20, "failure": 0.1}},
        {"policy": {"name": "top_arms", "m": 1}, "people": None, "delta": 0.1},
        {
            "channel": {"name": "central", "epsilon": "1/3", "noise": "skellam", "grid": {"fineness": 10}},
            "budget": {"epsilon": 9, "delta": 1e-6},
        },
        {"channel": "response", "reward": {"rule": "first", "grace": "1 day"}},
        {"channel": SEALED, "operators": OPERATORS},
        {"reward": {"rule": "sum", "cap": 3, "most": 2.5, "window": "1.5 days", "evaluating": "enrols"}},
        {"guardrail": {"name": "left", "harm": {"below": 0.9}, "share": "1/4", "alpha": 0.01}},
        {"metrics": [{"name": "spent", "share": "1/4", "most": 9, "cap": 2}, {"name": "left", "share": 0.25}]},
        {"budget": {"rho": "1/2", "period": "90 days"}},
        {
            "enrolment": {
                "default": "b",
                "ramp": {"shares": ["1/20", 0.25], "every": "1 day"},
                "group": {"name": "checkout", "least": 0, "below": "1/2"},
                "eligible": {"country": ["DE", "AT"], "plan": "pro", "beta": True, "age": {"least": 18}},
            }
        },
        {"signed_by": ["9f" * 32, "8e" * 32], "about": "why", "project": "p"},
    ],
)
def test_what_is_taken_fits(change: dict[str, Any]) -> None:
    table = {key: value for key, value in (RIGHT | change).items() if value is not None}
    assert is_taken(table)
    assert fits(table)


@for_each("path", STUDIES)
def test_the_studies_of_the_package_fit(path: Path) -> None:
    assert fits(tomllib.loads(path.read_text()))


@for_each(
    "change",
    [
        {"names": "x"},
        {"name": "no spaces"},
        {"people": "1000"},
        {"people": 1},
        {"arms": [{"name": "a"}]},
        {"arms": [{"name": "a"}, {"name": "b", "share": 1}]},
        {"policy": "ucb2"},
        {"policy": {"name": "contemporaneous_klucb", "m": 2}},
        {"policy": "lin_ucb"},
        {"channel": {"name": "central", "epsilon": "1"}},
        {"channel": {"name": "shuffled", "epsilon": 1}},
        {"channel": {"epsilon": 1}},
        {"channel": SEALED, "operators": OPERATORS | {"helper": OPERATORS["leader"]}},
        {"reward": {"rule": "mean"}},
        {"reward": {"window": "6 years"}},
        {"guardrail": {"name": "left", "harm": {"above": 0.1, "below": 0.9}}},
        {"guardrail": {"name": "left", "harm": {"above": 0.1}, "share": 2}},
        {"metrics": [{"name": "spent"}]},
        {"metrics": [{"name": f"m{i}", "share": "1/9"} for i in range(4)]},
        {"metrics": [{"name": "spent", "share": "1/4", "window": "1 hour"}]},
        {"budget": {"epsilon": 10**7}},
        {"budget": {"epsilon": 1, "days": 1}},
        {"enrolment": {"default": "b"}},
        {"enrolment": {"ramp": {"shares": [0], "every": "1 day"}}},
        {"enrolment": {"group": {"below": "1/2"}}},
        {"enrolment": {"eligible": {"age": {}}}},
        {"enrolment": {"eligible": {"age group": True}}},
        {"signed_by": "ab"},
        {"simulation": 5},
    ],
)
def test_what_does_not_fit_is_not_taken(change: dict[str, Any]) -> None:
    assert not fits(RIGHT | change)
    assert not is_taken(RIGHT | change)


def lint(document: Any, folder: Path) -> list[str]:
    """The rules of the linter that a document breaks; warnings count."""
    build_package()
    (folder / "openapi.json").write_text(json.dumps(document))
    command = [SDK / "node_modules" / ".bin" / "redocly", "lint", "openapi.json", "--format=json"]
    quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    done = subprocess.run(command, cwd=folder, env=os.environ | quiet, capture_output=True, text=True, timeout=LATE)
    return [each["ruleId"] for each in json.loads(done.stdout)["problems"]]


@pytest.mark.slow
def test_a_public_linter_finds_nothing_in_the_document(tmp_path: Path) -> None:
    document = write_openapi(list_routes())
    assert lint(document, tmp_path) == []
    del document["paths"]["/v1/studies"]["post"]["security"]
    del document["components"]["schemas"]["ProtocolBudget"]
    assert set(lint(document, tmp_path)) == {"security-defined", "no-unresolved-refs"}


@pytest.mark.slow
def test_a_generated_client_makes_a_study_and_what_does_not_compile_is_refused(server: Live, tmp_path: Path) -> None:
    build_package()
    tools, program = SDK / "node_modules" / ".bin", "test/server/creating.ts"
    subprocess.run([tools / "tsc", "-p", "tsconfig.json"], cwd=SDK, check=True, timeout=LATE)
    to = f"--outfile={tmp_path}/creating.mjs"
    bundle = [tools / "esbuild", program, "--bundle", "--platform=node", "--format=esm", "--log-level=error", to]
    subprocess.run(bundle, cwd=SDK, check=True, timeout=LATE)
    command = ["node", tmp_path / "creating.mjs", server.url, server.keys["owner"]]
    found = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=LATE).stdout)
    assert found["status"] == 201, found
    assert found["study"]["study"] == "generated"
    assert found["study"]["state"] == "draft"
    assert found["refused"] == [422] * 6
