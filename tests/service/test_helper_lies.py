"""A helper that says what is not so: it is named, nothing is released, and all else goes on."""

from base64 import urlsafe_b64encode
from os import urandom
from typing import Any

import httpx
import pytest

from maskedbandit.channels.offers import Offer
from maskedbandit.secagg.uploads import ReportTerms, seal_report
from maskedbandit.service.host.helper_link import HelperLink
from maskedbandit.service.host.helper_links import HELPER_REFUSES
from tests.service.two_operators_inside import GRACE, WINDOW, Both
from tests.store.test_settle import no_noise


def worse(name: str, value: Any) -> Any:
    """A lie about one thing that the helper states of a total."""

    def lie(what: str, said: Any) -> Any:
        return said | {name: value} if what.endswith("/total") else said

    return lie


LIES: dict[str, Any] = {
    "forged": worse("signature", "00" * 64),
    "another list": worse("digest", "00" * 32),
    "another size": worse("n", 3),
    "another offer": worse("offer", "00" * 32),
    "another total": worse("total", "7"),
    "no total": lambda what, said: {} if what.endswith("/total") else said,
    "other answers": lambda what, said: said | {"answers": []} if what.endswith("/reports") else said,
    "no proof": lambda what, said: {"answers": [{"ok": True, "verifier": "*"}]} if what.endswith("/reports") else said,
}


@pytest.mark.sparing(1)
@pytest.mark.parametrize("which", LIES)
def test_a_helper_that_disagrees_is_named_and_nothing_is_released(
    both: Both, which: str, caplog: pytest.LogCaptureFixture
) -> None:
    both.helper.lie = LIES[which]
    both.come(4)
    both.go(WINDOW + GRACE + 1)
    assert both.releases() == []
    assert both.state.refusal in ("forged", "disagreement", "malformed")
    assert both.warnings() == [HELPER_REFUSES]
    said = [each for each in caplog.records if each.getMessage() == "the helper does not agree"]
    assert [each.study for each in said] == ["small"]
    for _ in range(5):
        both.go(60)
    assert both.releases() == []
    assert both.service.assign("somebody")["arm"] in ("a", "b")  # people are served all the while
    both.helper.lie = None
    both.go(60)
    both.go(60)
    assert len(both.releases()) >= 2
    assert both.warnings() == []


def test_a_helper_that_refuses_is_named(both: Both) -> None:
    both.go()
    both.helper.leader = both.helper.keys  # it takes another for the leader
    both.come(4)
    both.go(WINDOW + GRACE + 61)
    assert both.releases() == []
    assert both.state.refusal == "disagreement"
    assert both.warnings() == [HELPER_REFUSES]


def upload_other(both: Both, person: int, draw: Any, change: Any = lambda helper: helper) -> Any:
    """What is answered to a report of turn 9 that says 1, which this person makes instead of the device."""
    place = both.people[person].place
    offer, named = Offer.from_text(place["offer"]), place["terms"]
    assert offer.position is not None
    terms = ReportTerms(bytes.fromhex(named["protocol"]), named["cohort"], offer.digest, offer.steps, offer.position)
    keys = tuple(bytes.fromhex(each["seals"]) for each in place["operators"])
    made = seal_report(terms, 1, keys, 9, draw)
    parts = ("leader", made.leader), ("helper", change(made.helper))
    shares = {name: urlsafe_b64encode(each).decode() for name, each in parts}
    body = {"ticket": place["ticket"], "report": made.report.hex(), "turn": 9, **shares}
    return both.service.study("upload", body, None).json


@pytest.mark.sparing(1)
@pytest.mark.parametrize("sealed", [True, False])
def test_people_who_give_their_reports_one_name_stop_nothing(
    both: Both, monkeypatch: pytest.MonkeyPatch, sealed: bool
) -> None:
    """Of the same cohort or of two: one of them counts, whatever is sealed for the helper."""
    no_noise(monkeypatch)
    both.come(4, lambda i: 0)
    for person in range(4):
        change = (lambda helper: helper) if sealed else (lambda helper: helper[::-1])
        assert upload_other(both, person, bytes, change) == {"status": "stored"}
    both.go(WINDOW + GRACE + 1)
    assert sum(each["n"] for each in both.releases()) == 4
    assert sum(each["total"] for each in both.releases()) == sealed
    assert both.warnings() == []


def test_a_report_that_only_one_operator_accepts_is_left_out(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """The helper cannot have a report in the sum whose proof does not hold, nor can the leader."""
    no_noise(monkeypatch)
    both.come(4, lambda i: 1)
    assert upload_other(both, 0, urandom, lambda helper: helper[:-1] + bytes([helper[-1] ^ 1])) == {"status": "stored"}

    def lie(what: str, said: Any) -> Any:
        if not what.endswith("/reports"):
            return said
        told = [each if each["ok"] else {"ok": True, "verifier": "A" * 32} for each in said["answers"]]
        return said | {"answers": told}

    both.helper.lie = lie
    both.go(WINDOW + GRACE + 1)
    assert sum(each["total"] for each in both.releases()) == 3
    assert sum(each["n"] for each in both.releases()) == 4


def test_a_link_that_accepts_what_the_helper_says_is_found(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maskedbandit.service.host.total_link.compare_proofs", lambda batch, verifiers: batch.reports)
    with pytest.raises(AssertionError):
        test_a_report_that_only_one_operator_accepts_is_left_out(both, monkeypatch)


def test_a_link_that_forgets_a_refusal_is_found(
    both: Both, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = HelperLink._put_off
    monkeypatch.setattr(HelperLink, "_put_off", lambda self, **state: real(self, **state | {"refusal": ""}))
    with pytest.raises(AssertionError):
        test_a_helper_that_disagrees_is_named_and_nothing_is_released(both, "forged", caplog)


@pytest.mark.sparing(3)
@pytest.mark.parametrize(
    ("status", "said", "away"),
    [
        (503, {"code": "behind_witness"}, True),
        (429, {"code": "too_many"}, True),
        (502, None, True),
        (404, None, True),  # a page of a proxy
        (200, [], True),
        (302, {}, True),
        (401, {"code": "unauthorized"}, False),
        (409, {"code": "disagreement"}, False),
        (422, {"code": "not a code <b>"}, True),
    ],
)
def test_what_is_no_answer_of_a_helper(
    both: Both, status: int, said: Any, away: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, json=said | {"detail": "a secret"} if isinstance(said, dict) else said)

    both.helper.handle_async_request = answer
    both.go()
    assert (both.state.away_since is not None) == away
    assert bool(both.state.refusal) != away
    said_in_log = " ".join(str(each.__dict__) for each in caplog.records)
    assert "secret" not in said_in_log
    assert "<b>" not in said_in_log


def test_a_long_answer_is_not_read(both: Both) -> None:
    async def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=b"{" + b" " * 2**21)

    both.helper.handle_async_request = answer
    both.go()
    assert both.state.away_since is not None


def test_a_helper_is_shown_one_point_of_each_proof(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof is a polynomial: at two points, by two keys, it would tell the helper what the report says."""
    shown, answer = dict[str, set[str]](), both.helper.answer

    def listen(method: str, path: list[str], body: Any) -> Any:
        for each in body.get("reports", []):
            shown.setdefault(each["report"], set()).add(each["verifier"])
        return answer(method, path, body)

    monkeypatch.setattr(both.helper, "answer", listen)
    both.helper.lie = lambda what, said: {"answers": [], "key": urandom(32).hex()}
    both.come(4)
    for seconds in (WINDOW + GRACE + 1, 60, 60):
        both.go(seconds)
    assert len([each for each in both.helper.asked if each.endswith("/reports")]) >= 3
    assert len(shown) >= 2
    assert all(len(each) == 1 for each in shown.values())
