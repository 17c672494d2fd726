"""The ledger names the key that acted, by its public part, and nobody for what a study does by itself."""

import json
from typing import Any

import pytest

from maskedbandit.cli import main
from maskedbandit.service.request.route import Call
from tests.service.inside import TABLE, Inside
from tests.service.test_finished import GUARDED, come

MOVES = (  # the verb, whose key asks, and what the ledger calls it
    ("arms/b/pause", "officer", "arm_paused"),
    ("arms/b/resume", "owner", "arm_resumed"),
    ("pause", "officer", "paused"),
    ("resume", "owner", "resumed"),
    ("stop", "second", "stopped"),
    ("archive", "owner", "archived"),
)


def entries(service: Inside) -> list[dict[str, Any]]:
    """What the entries of the ledger say."""
    found = service.ask("GET", "/v1/studies/small/ledger", key="owner").json["entries"]
    return [json.loads(each["body"]) for each in found]


def public(service: Inside, key: str) -> str:
    """The public part of a key."""
    return service.keys[key].split("_")[2]


def check_moves(service: Inside) -> None:
    """Each move by another key, and a release between them."""
    service.keys["second"] = service.ask("POST", "/v1/keys", {"role": "owner"}, "owner").json["key"]
    service.begin()
    expected = [("started", public(service, "owner"))]
    for i in range(4):
        service.seen(f"person {i}")
    service.tick(21)
    expected += [("released", None)] * 2
    assert service.study("arms", {"name": "c"}, "second").status == 200
    expected.append(("arm_added", public(service, "second")))
    for verb, key, kind in MOVES:
        assert service.study(verb, None, key).status == 200, verb
        expected.append((kind, public(service, key)))
    assert [(says["kind"], says.get("by")) for says in entries(service)] == expected
    ledger = service.ask("GET", "/v1/studies/small/ledger", key="owner").body
    assert not any(key.split("_", 3)[3].encode() in ledger for key in service.keys.values())


def test_each_move_names_its_key(service: Inside, capsys: pytest.CaptureFixture[str]) -> None:
    check_moves(service)
    assert main(["ledger", "show", "--database", service.address, "--witness", str(service.folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for _, key, kind in MOVES:
        assert [line for line in lines if kind in line and line.endswith(f"by key {public(service, key)}")]
    assert not [line for line in lines if "released" in line and "by key" in line]


def test_a_route_that_forgets_the_key_is_caught(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    async def forgetful(call: Call, verb: str, *given: Any) -> Any:
        return await call.do(verb, "", *given)

    monkeypatch.setattr(Call, "change", forgetful)
    with pytest.raises(AssertionError):
        check_moves(service)


def test_harm_that_was_found_is_nobodys(service: Inside) -> None:
    service.begin(**GUARDED)
    for i in range(0, 400, 40):
        come(service, range(i, i + 40), lambda given: [{"value": 0}, {"value": 1, "metric": "harm"}])
        if entries(service)[-1]["kind"] == "paused":
            break
    found = entries(service)
    assert [says["kind"] for says in found if says["kind"] != "released"] == [
        *("started", "arm_harmful", "arm_harmful", "paused")
    ]
    assert not [says for says in found[1:] if "by" in says]


def test_commands_need_no_key(service: Inside) -> None:
    service.ask("POST", "/v1/studies", TABLE, "owner")
    service.run(service.approved("small"))
    service.run(service.host.drop("small"))
    place = ["--database", service.address, "--witness", str(service.folder)]
    for verb in ("start", "stop"):
        assert main(["study", verb, "--yes", *place]) == 0
    assert [("by" in says, "approved_by" in says) for says in entries(service)] == [(False, True), (False, False)]
