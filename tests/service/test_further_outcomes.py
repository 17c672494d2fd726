"""Metrics over HTTP, on the page, in text and in the statement."""

from typing import Any

import pytest

from maskedbandit.service.page.metrics import head_metric, say_many_intervals, tabulate_metric
from maskedbandit.service.page.sentences import say_preview
from maskedbandit.service.page.visit import render_page
from maskedbandit.service.views.status import write_status
from maskedbandit.store.databases.connection import open_database
from maskedbandit.study.protocol import Protocol
from tests.service.inside import TABLE, Inside
from tests.service.test_arms import seen

METRICS = [{"name": "spent", "most": 10, "rule": "sum", "cap": 2, "share": "1/4"}, {"name": "left", "share": "1/8"}]
MEASURED: dict[str, Any] = {
    "metrics": METRICS,
    "policy": {"name": "successive_elimination", "least": 20},
    "channel": {"name": "central", "epsilon": 80_000},  # as good as no noise
    "budget": {"epsilon": 80_000},
}


@pytest.fixture
def measured(service: Inside) -> Inside:
    """A study in which people of b spend 20 each, cut there, and half of all leave."""
    service.begin(**MEASURED)
    for i in range(40):
        given = service.assign(f"person {i}")
        ticket = given["ticket"]
        service.study("expose", {"ticket": ticket})
        for event, value in (("x", 10), ("y", 10), ("z", 5)) if given["arm"] == "b" else ():
            assert (
                service.study("report", {"ticket": ticket, "value": value, "event": event, "metric": "spent"}).status
                == 200
            )
        service.study("report", {"ticket": ticket, "value": i % 2, "metric": "left"})
    refused = service.study("report", {"ticket": ticket, "value": 1, "metric": "other"})
    assert refused.code == "personal_value"
    service.tick(21)
    return service


def test_results_and_releases_have_each_metric(measured: Inside) -> None:
    found = measured.ask("GET", "/v1/studies/small/results", None, "owner").json
    a, b = ({each["metric"]: each for each in arm["metrics"]} for arm in found["arms"])
    assert list(a) == list(b) == ["spent", "left"]
    assert (a["spent"]["n"], a["spent"]["mean"], b["spent"]["mean"]) == (20, 0, 20)
    assert a["left"]["mean"] + b["left"]["mean"] == pytest.approx(1)
    for each in (*a.values(), *b.values()):
        assert each["low"] - 1e-9 <= each["mean"] <= each["high"] + 1e-9
    assert a["spent"]["compared"] is None
    compared = b["spent"]["compared"]
    assert (compared["minus"], compared["difference"]) == ("a", 20)
    assert 0 < compared["low"] < 20 <= compared["high"]
    released = measured.ask("GET", "/v1/studies/small/releases", None, "owner").json["releases"]
    sums = {each["arm"]: each["further"] for each in released}
    assert (sums["a"]["spent"], sums["b"]["spent"]) == (0, 20)
    assert sums["a"]["left"] + sums["b"]["left"] == 20
    assert {each["loss"] for each in released} == {"ε = 8e+04"}
    assert measured.study("verify", key="owner").status == 200


def test_the_page_the_status_and_the_statement_say_each_metric(measured: Inside) -> None:
    view = seen(measured)
    assert head_metric(view) == [
        "Arm",
        "People",
        "Mean, with noise",
        "At least",
        "At most",
        "More than a",
        "At least",
        "At most",
    ]
    assert [row[:3] for row in tabulate_metric(view, "spent", (1, 0))] == [["b", "20", "20"], ["a", "20", "0"]]
    assert "have 6 intervals" in say_many_intervals(view)
    page = render_page("study", "owner", "token", view=view)
    assert page.count("table-metric-") == 2
    assert "so its noise is 1.6 times as wide" in page
    database = open_database(measured.address)
    status = write_status(database, measured.host.witness, "small", measured.clock())
    database.close()
    assert status.splitlines()[1].endswith(" spent left")
    assert status.splitlines()[3].split()[-2] == "20"
    said = measured.ask("GET", "/v1/studies/small/statement", None, "owner").json
    assert "A release has three sums, of the outcome and of spent and left" in said["points"]["composition"]
    assert "its cost, which is charged once, is that of all" in said["points"]["composition"]
    assert "the reward has 5e+04, and spent 2e+04, and left 1e+04" in said["points"]["mechanism"]
    assert "all outcomes of one person together, the reward, spent and left" in said["points"]["unit"]


def test_before_a_release_nothing_is_said_of_metrics(service: Inside) -> None:
    service.begin(**MEASURED)
    found = service.ask("GET", "/v1/studies/small/results", None, "owner").json
    assert [arm["metrics"] for arm in found["arms"]] == [[], []]
    assert "table-metric" not in render_page("study", "owner", "token", view=seen(service))
    assert "Further outcomes of the same people" in dict(say_preview(Protocol.from_table(TABLE | MEASURED)))["Metrics"]
