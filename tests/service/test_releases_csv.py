"""Releases for spreadsheets and data frames: what the interface says of them, and nothing that a spreadsheet runs."""

import csv
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.service.views.answers import Released, Releases
from maskedbandit.service.views.releases_csv import COLUMNS, write_csv
from maskedbandit.study.protocol import Protocol
from tests.service.inside import TABLE, Inside

FORMULAS = ("=", "+", "@", "\t", "\r", "|", "%")  # how spreadsheets know one; a minus sign may begin a number


def read_rows(text: str) -> list[dict[str, str]]:
    """The rows, by the names of the columns."""
    return list(csv.DictReader(StringIO(text)))


FURTHER = {"guardrail": {"name": "harm", "harm": {"above": 0.9}}, "metrics": [{"name": "spent", "share": "1/4"}]}


@pytest.mark.parametrize("further", [{}, FURTHER])
def test_a_row_says_what_the_interface_says(service: Inside, further: dict[str, Any]) -> None:
    more = further and {**further, "budget": {"epsilon": 2}}
    service.begin(**more, reward={**TABLE["reward"], "most": 5})
    for i in range(4):
        given = service.assign(f"u{i}")
        service.study("expose", {"ticket": given["ticket"]})
        service.study("report", {"ticket": given["ticket"], "value": 5})
    service.tick(21)
    path = "/v1/studies/small/releases"
    said = service.ask("GET", path, key="officer").json["releases"]
    found = service.ask("GET", f"{path}.csv", key="officer")
    assert found.headers["content-type"] == "text/csv; charset=utf-8"
    rows = read_rows(found.body.decode("ascii"))
    assert len(rows) == len(said) >= 1
    for row, each in zip(rows, said, strict=True):
        assert tuple(row) == (*COLUMNS, *(f"total of {name}" for name in each["further"]))
        assert (row["arm"], int(row["cohort"]), int(row["n"])) == (each["arm"], each["cohort"], each["n"])
        assert (float(row["total"]), float(row["mean"])) == (each["total"], each["mean"])
        assert each["mean"] == pytest.approx(5 * each["total"] / each["n"])
        assert {name: float(row[f"total of {name}"]) for name in each["further"]} == each["further"]
        assert list(each["further"]) == ["harm", "spent"] * bool(further)
        assert datetime.fromisoformat(row["at"]) == datetime.fromtimestamp(each["at"] / 1000, UTC)
        assert (row["loss"], int(row["entry"])) == (each["loss"].replace("ε", "epsilon"), each["entry"])


def test_nothing_begins_a_formula() -> None:
    releases = [
        Released(i, "a-.=1", 40, total, total / 40, "ε = 1 at δ = 1e-06", 0, 3) for i, total in ((0, -2.5), (1, 9))
    ]
    text = write_csv(Releases("example", False, releases))
    for row in csv.reader(StringIO(text)):
        for cell in row:
            assert not cell.startswith(FORMULAS)
            assert not cell.startswith("-") or float(cell) < 0
    assert text.isascii()
    for name in ("=1+1", "+1", "-1", "@x", "\tx", "a,b", 'a"b', "a\nb"):
        with pytest.raises(InvalidValue):
            Protocol.from_table({**TABLE, "arms": [{"name": name}, {"name": "b"}]})
