"""What a study promises its people."""

from hashlib import sha256

import msgspec

from maskedbandit.statement.check import check_statement, make_statement
from maskedbandit.statement.content import encode_statement
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from maskedbandit.study.protocol import Protocol
from tests.service.inside import TABLE, Inside
from tests.service.test_site import Eyes


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
    assert service.start().status == 200
    service.assign("ann")
    assert loss(service) == stated == str(Protocol.from_table(table).budget)
    assert service.study("stop", key="owner").status == 200
    assert loss(service) == small  # all cohorts are known now


PAGES = ("/statement", "/statement.html", "/statement.json")


def test_the_service_states_what_the_command_does(service: Inside) -> None:
    """The same bytes, whoever is asked."""
    service.begin()
    tickets = [service.seen(f"person {i}") for i in range(4)]
    for ticket in tickets:
        assert service.study("report", {"ticket": ticket, "value": 1}).status == 200
    service.tick(40)
    assert service.study("stop", key="owner").status == 200
    eyes = Eyes(service)
    eyes.sign_in("owner")
    file = eyes.get("/studies/small/statement.json")
    assert file.headers["content-disposition"] == 'attachment; filename="small-statement.json"'
    database = open_database(service.address)
    try:
        said = check_statement(file.body, database, find_witness(database, service.folder))
        assert encode_statement(make_statement(database, find_witness(database, service.folder), "small")) == file.body
    finally:
        database.close()
    assert said.ledger is not None
    assert said.ledger.releases > 0
    assert service.ask("GET", "/v1/studies/small/statement", None, "officer").json == msgspec.to_builtins(said)
    page = eyes.get("/studies/small/statement").body.decode()
    alone = eyes.get("/studies/small/statement.html").body.decode()
    for text in (page, alone):
        assert sha256(file.body).hexdigest() in text
        assert said.ledger.head in text
    assert "/static/statement.css" in page
    assert eyes.get("/static/statement.css").status == 200


def test_the_service_states_nothing_that_the_ledger_contradicts(service: Inside) -> None:
    """A draft that nobody touched is stated, and then the same with another release, and another protocol."""
    service.begin()
    eyes = Eyes(service)
    eyes.sign_in("officer")
    assert {eyes.get(f"/studies/small{page}").status for page in PAGES} == {200}
    database = open_database(service.address)
    with database.transaction():
        database.change("UPDATE study SET protocol = replace(protocol, '\"epsilon\":1', '\"epsilon\":9')")
    database.close()
    for page in PAGES:
        found = eyes.get(f"/studies/small{page}")
        assert found.status == 409
        assert "the protocol of small was changed" in found.body.decode()
    found = service.ask("GET", "/v1/studies/small/statement", None, "owner")
    assert (found.status, found.code) == (409, "corrupted")
