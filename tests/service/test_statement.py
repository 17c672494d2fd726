"""What a study promises its people."""

from __future__ import annotations

from tests.service.inside import TABLE, Inside


def test_with_local_trust_it_is_said_that_every_device_has_to_report(service: Inside) -> None:
    for trust, said in (("response", True), ("central", False)):
        table = TABLE | {"name": trust, "channel": {"name": trust, "epsilon": 1}, "reward": {"rule": "first"}}
        assert service.ask("POST", "/v1/studies", table, "owner").status == 201
        found = service.ask("GET", f"/v1/studies/{trust}/statement", None, "owner").json["assumptions"]
        assert any("reports whatever the outcome is" in each for each in found) is said
