"""The audit of a study on its page."""

import pytest

from maskedbandit.cli.parts.own_audit import main
from maskedbandit.errors import StorageFailed
from maskedbandit.study.protocol import Protocol
from tests.service.inside import TABLE, Inside
from tests.service.test_site import Eyes


def test_both_outcomes_are_audited_and_twins_are_caught() -> None:
    (part,) = main({"protocol": Protocol.from_table(TABLE).text})
    assert (part["method"], part["violation"]) == ("exact", False)
    assert all(each["caught"] for each in part["controls"])
    guarded = TABLE | {"guardrail": {"name": "harm", "harm": {"above": 0.2}, "share": "1/4"}}
    found = main({"protocol": Protocol.from_table(guarded).text})
    assert [each["promised"]["epsilon"] for each in found[:2]] == [0.75, 0.25]
    assert [each["part"].rpartition(": ")[2] for each in found[:2]] == ["the reward", "harm"]
    assert found[2]["left_out"].endswith("adds up to ε = 1")
    measured = guarded | {"metrics": [{"name": "spent", "most": 9, "share": "1/4"}, {"name": "left", "share": "1/8"}]}
    found = main({"protocol": Protocol.from_table(measured).text})
    assert [each["promised"]["epsilon"] for each in found[:4]] == [0.375, 0.25, 0.25, 0.125]
    assert not any(each["violation"] for each in found[:4])


@pytest.mark.slow
def test_the_page_of_the_audit(service: Inside) -> None:
    service.begin()
    eyes = Eyes(service)
    assert eyes.get("/studies/small/audit").headers["location"] == "/sign-in"
    eyes.sign_in("officer")

    async def found(protocol: Protocol) -> list[dict[str, object]]:
        return [*main({"protocol": protocol.text}), {"left_out": "vectors"}]

    service.host.own_audit = found
    page = eyes.get("/studies/small/audit").body.decode()
    assert "the promise is kept" in page
    assert "half of the noise" in page
    assert "Not audited: vectors" in page
    assert page.count("<svg") == 2
    assert "/studies/small/audit" in eyes.get("/studies/small").body.decode()

    async def fails(protocol: Protocol) -> list[dict[str, object]]:
        raise StorageFailed("the computation failed")

    service.host.own_audit = fails
    assert eyes.get("/studies/small/audit").status == 503
