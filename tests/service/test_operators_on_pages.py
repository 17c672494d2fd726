"""What is shown of a study of two operators: its releases and its ledger, as of every other one."""

from pathlib import Path

from maskedbandit.service.request.sessions import COOKIE_NAME, new_session
from tests.service.inside import inside
from tests.store.small_study import WINDOW, Clock
from tests.store.two_operators import GRACE, Leading

PAGES = ("", "/ledger", "/statement", "/statement.html", "/releases.json", "/ledger.json", "/plan")


def test_pages_and_answers_of_a_study_of_two_operators(tmp_path: Path) -> None:
    clock = Clock()
    leading = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock)
    for i in range(4):
        given = leading.come(f"person {i}")
        leading.upload(given, leading.seal(given, 1))
    clock.now += WINDOW + GRACE + 1
    assert len(leading.settle()) == 2
    for i in range(4, 12):
        leading.come(f"person {i}")
    clock.now += WINDOW + GRACE + 1
    leading.study.close()
    with inside(leading.address, leading.folder, clock=clock) as service:
        service.tick(1)
        for path in ("", "/results", "/releases", "/ledger", "/ledger/head", "/statement", "/protocol"):
            reply = service.ask("GET", f"/v1/studies/small{path}", key="owner")
            assert reply.status == 200, (path, reply)
        owner = service.host.keys.of(service.keys["owner"], service.clock())
        cookie = [("cookie", f"{COOKIE_NAME}={new_session(service.host, owner)}")]
        pages = {path: service.ask("GET", f"/studies/small{path}", None, None, cookie) for path in PAGES}
        assert {reply.status for reply in pages.values()} == {200}
        assert "reports are taken for 5 seconds more" in pages[""].body.decode()
        assert "windows of 2 full cohorts are over: both operators add up" in pages[""].body.decode()
        given = service.ask("POST", "/v1/studies/small/assign", {"unit": "person 5"}).json
        assert given["device"]["offer"].startswith("maskedbandit-offer-1 channel=TwoServers ")
        told = service.ask("POST", "/v1/studies/small/report", {"ticket": given["ticket"], "value": 1})
        assert (told.status, "sealed by the person's device" in told.json["detail"]) == (422, True)
