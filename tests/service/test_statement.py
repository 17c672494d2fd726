"""What a study promises its people."""

from __future__ import annotations

from maskedbandit.study.protocol import Protocol
from tests.service.inside import TABLE, Inside


def test_with_local_trust_it_is_said_that_every_device_has_to_report(service: Inside) -> None:
    for trust, said in (("response", True), ("central", False)):
        table = TABLE | {"name": trust, "channel": {"name": trust, "epsilon": 1}, "reward": {"rule": "first"}}
        assert service.ask("POST", "/v1/studies", table, "owner").status == 201
        found = service.ask("GET", f"/v1/studies/{trust}/statement", None, "owner").json["assumptions"]
        assert any("reports whatever the outcome is" in each for each in found) is said


def loss(service: Inside) -> str:
    return str(service.ask("GET", "/v1/studies/small/statement", None, "owner").json["person"][1]["loss"])


def test_a_later_cohort_costs_no_more_than_what_was_stated(service: Inside) -> None:
    fine = {"name": "central", "epsilon": 1, "noise": "skellam", "grid": {"fixed": 1, "fineness": 1}}
    table = TABLE | {"channel": fine, "budget": {"epsilon": 8, "delta": 1e-5}}
    small, large = (str(Protocol.from_table(table).price(n)) for n in (2, 1000))
    assert small != large  # what is lost depends on the size of a cohort
    assert service.ask("POST", "/v1/studies", table, "owner").status == 201
    stated = loss(service)
    assert service.study("start", key="owner").status == 200
    service.assign("ann")
    assert loss(service) == stated == str(Protocol.from_table(table).budget)
    assert service.study("stop", key="owner").status == 200
    assert loss(service) == small  # all cohorts are known now
