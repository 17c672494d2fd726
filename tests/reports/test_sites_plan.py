"""The plan of a study of sites: what it costs in people and in privacy, from Python and as a command."""

import json
from pathlib import Path

import pytest

from maskedbandit.channels.central import Central
from maskedbandit.channels.distributed import Distributed
from maskedbandit.cli import main
from maskedbandit.errors import InvalidValue
from maskedbandit.reports.plan.sites import count_people, plan_sites
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.toml_text import write_toml
from tests.service.inside import TABLE
from tests.study.test_coalitions import make_protocol


def test_a_plan_of_sites() -> None:
    found = plan_sites(make_protocol("2/5"), 0.05)
    people = {row.way: row.people for row in found.rows}
    assert people["one pooled trial"] == count_people(Central(epsilon=1), 0.05)
    assert people["the sites of this protocol"] == count_people(Distributed(epsilon=1, honest="2/5"), 0.05)
    assert people["a trial at each site alone"] == 5 * people["one pooled trial"]
    assert [row.people for row in found.rows] == sorted(people.values())
    assert (found.spare, found.any_lost) == (612, 1)
    assert str(found.coalitions[0].loss) == "ε = 1"
    for said in ("one pooled trial", "site 0, site 1", "612 people together may collude or be lost", "any 1 site"):
        assert said in str(found)


def test_a_price_for_more_arms_is_of_all_of_them() -> None:
    table = make_protocol().table
    more = Protocol.from_table(table | {"arms": [*table["arms"], {"name": "third"}]})
    assert plan_sites(more).rows[0].people == 3 * plan_sites(make_protocol()).rows[0].people / 2


def test_all_attempts_are_in_the_price() -> None:
    """A pooled trial that costs a person as much has less noise, so that sites need more people beside it."""
    table = make_protocol().table
    channel = table["channel"] | {"epsilon": 0.1, "backend": {"name": "sites", "attempts": 3}}
    once = Protocol.from_table(table | {"channel": table["channel"] | {"epsilon": 0.1}})
    assert plan_sites(Protocol.from_table(table | {"channel": channel})).rows[1].times > plan_sites(once).rows[1].times


def test_what_has_no_plan_of_sites() -> None:
    with pytest.raises(InvalidValue, match="with \\[sites\\]"):
        plan_sites(Protocol.from_table(TABLE))
    with pytest.raises(InvalidValue, match="difference is 2"):
        plan_sites(make_protocol(), 2)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trial.toml"
    file.write_text(write_toml(make_protocol().table))
    ask = ["plan", "--protocol", str(file)]
    main([*ask, "--difference", "0.05"])
    assert "one pooled trial" in capsys.readouterr().out
    main([*ask, "--difference", "0.05", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert (said["names"][0], said["coalitions"][1]["sites"]) == ("site 0", ["site 0"])
    for more, why in ((["--people", "10"], "--people is 10"), ([], "--difference is None")):
        assert main([*ask, *more]) == 2
        assert why in capsys.readouterr().err
