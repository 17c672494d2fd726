"""A study with a shuffler over HTTP, from its devices to its releases."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.errors import InvalidValue
from maskedbandit.store.helping.study import register_study
from tests.service.shuffler_inside import SHUFFLER, SPLIT, ShuffledStudy, even_coins, shuffled_study
from tests.service.test_connect import read_programs, shown
from tests.service.test_people import PUBLIC


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ShuffledStudy]:
    """A study whose coins show heads half of the time."""
    monkeypatch.setattr(Shuffled, "randomize", even_coins)
    with shuffled_study(tmp_path) as made:
        yield made


def sums(study: ShuffledStudy, units: list[str], values: list[float | None]) -> dict[int, float]:
    """The true sum of each cohort, with the noise of the coins of those who are named: some are more than half ones."""
    channel: Any = study.service.host.held["small"].study.protocol.channel
    found = dict[int, float]()
    for unit, value in zip(units, values, strict=True):
        place = study.places[unit]
        offer = place["offer"]
        n, position = int(offer.partition(" n=")[2].split()[0]), int(offer.rpartition("position=")[2])
        tossed = channel.tossed(position, n)
        noise = tossed // 2 + (tossed % 2) * (position % 2) - tossed / 2
        cohort = place["terms"]["cohort"]
        found[cohort] = found.get(cohort, 0.0) + (value or 0) + noise
    return found


@pytest.mark.slow
def test_cohorts_are_released_over_http(study: ShuffledStudy) -> None:
    values: list[float | None] = [1, 0, 1, 1, 0, None, 1, 0]
    units = study.come_all(values)
    study.go()
    assert study.wire.asked[-1].startswith("PUT")  # nothing is asked for while a window is not over
    study.report()
    assert {unit: study.answers(unit) for unit in units} == {unit: ["stored"] for unit in units}
    released = study.release()
    assert {each["cohort"]: each["total"] for each in released} == sums(study, units, values)
    assert study.verify().releases == 2
    assert study.shuffler.verify().mixes == 2
    ours, theirs = study.entries(study.service, "released"), study.entries(study.shuffler, "mixed")
    for mine, made in zip(ours, theirs, strict=True):
        said = json.loads(mine["mixed"])
        assert {name: said[name] for name in made if name in said} == {
            name: value for name, value in made.items() if name in said
        }
        assert (said["reports"], said["n"]) == (4, 4)


def test_who_is_missing_counts_as_the_default_without_coins(study: ShuffledStudy) -> None:
    values: list[float | None] = [1] * 8
    units = study.come_all(values)
    by_cohort: dict[int, list[str]] = {}
    for unit in units:
        by_cohort.setdefault(study.places[unit]["terms"]["cohort"], []).append(unit)
    here = [unit for cohort in by_cohort.values() for unit in cohort[1:]]  # of each cohort one never comes back
    study.report(*here)
    released = {each["cohort"]: each["total"] for each in study.release()}
    assert released == sums(study, here, [1] * len(here))
    assert [json.loads(each["mixed"])["reports"] for each in study.entries(study.service, "released")] == [3, 3]


@pytest.mark.slow
def test_a_cohort_with_too_few_reports_is_discarded_in_both_ledgers(study: ShuffledStudy) -> None:
    units = study.come_all([1] * 8)
    first = [unit for unit in units if study.places[unit]["terms"]["cohort"] == 0]
    study.report(first[0], *[unit for unit in units if unit not in first])  # one of four: too few coins
    assert [each["cohort"] for each in study.release()] == [1]
    (discarded,) = study.entries(study.service, "discarded")
    said = json.loads(discarded["mixed"])
    assert (said["cohort"], said["reports"], said["messages"]) == (0, 1, 0)
    assert sorted(each["messages"] > 0 for each in study.entries(study.shuffler, "mixed")) == [False, True]
    assert study.answers(first[0]) == ["stored"]
    study.devices[first[1]].contact()
    assert study.answers(first[1]) in ([], ["late"])
    # the places go to others, under a number of their own
    again = study.come_all([1] * 4, start=20)
    assert {study.places[unit]["terms"]["cohort"] for unit in again} == {2**32}
    study.report(*again)
    assert sorted(each["cohort"] for each in study.release()) == [0, 1]
    study.verify()
    study.shuffler.verify()


@pytest.mark.slow
def test_split_and_mix_is_released_too(tmp_path: Path) -> None:
    with shuffled_study(tmp_path, channel=SPLIT) as study:
        units = study.come_all([0.4] * 8)
        study.report(*units[:-1])
        released = study.release()
        assert len(released) == 2
        assert all(abs(each["total"] - 1.6) < 30 for each in released)  # noise of scale 1 is beyond it once in e^28
        study.verify()
        study.shuffler.verify()


def test_the_devices_know_the_shuffler_by_its_key(study: ShuffledStudy) -> None:
    study.come("person", 1)
    operators = study.places["person"]["operators"]
    assert [each["address"] for each in operators] == ["", SHUFFLER]


@pytest.mark.slow
def test_the_page_names_the_shuffler_and_its_last_mix(study: ShuffledStudy) -> None:
    page = shown(study.service)
    programs = read_programs(page)
    leader, shuffler = study.operators
    assert f'Agreed(1, operators=("{leader}", "{shuffler}"), delta=0.001)' in programs["python"]
    assert "A page may send what it seals" in page
    study.come_all([1] * 8)
    study.report()
    study.release()
    text = " ".join(re.sub("<[^>]+>", " ", shown(study.service)).split())
    digest = json.loads(study.entries(study.service, "released")[-1]["mixed"])["digest"]
    assert f"Messages of its last mix {digest[:10]}…" in text
    assert "Reports in it 4 of 4" in text
    assert "Shuffler University" in text


def test_pages_of_signed_people_are_told_what_they_agree_to(tmp_path: Path) -> None:
    with shuffled_study(tmp_path, signed_by=PUBLIC[0]) as study:
        leader, shuffler = study.operators
        programs = read_programs(shown(study.service))
        assert f'new Agreed(1, {{ operators: ["{leader}", "{shuffler}"], delta: 0.001 }})' in programs["web"]


def test_pages_of_all_sites_may_send_to_a_shuffler(study: ShuffledStudy) -> None:
    """What a browser asks first, and the answers that it reads: there is no key whose sites they could be."""
    for verb in ("bundle", "withdraw"):
        asked = [("origin", "https://shop.example"), ("access-control-request-method", "POST")]
        first = study.shuffler.ask("OPTIONS", f"/v1/studies/small/{verb}", None, None, asked)
        assert (first.status, first.headers["access-control-allow-origin"]) == (204, "https://shop.example")
        found = study.shuffler.ask("POST", f"/v1/studies/small/{verb}", {}, None, asked)
        assert (found.status, found.headers["access-control-allow-origin"]) == (422, "https://shop.example")
    for path in ("/v1/studies/small", "/v1/helping/small", "/v1/pair", "/readyz"):
        for method in ("OPTIONS", "GET", "POST"):
            found = study.shuffler.ask(method, path, None, None, [("origin", "https://shop.example")])
            assert not any(name.startswith("access-control-") for name in found.headers), path


@pytest.mark.slow
def test_the_end_of_a_study_erases_what_the_shuffler_has(study: ShuffledStudy) -> None:
    study.come_all([1] * 8)
    study.report()
    assert len(study.release()) == 2
    assert study.service.study("stop", key="owner").status == 200
    study.go(61)
    assert study.entries(study.shuffler, "help_closed")
    assert study.shuffler.verify()[2:] == (2, 0)
    study.verify()


@pytest.mark.slow
def test_a_study_whose_shuffler_is_away_for_ever_ends_without_it(study: ShuffledStudy) -> None:
    units = study.come_all([1] * 8)
    study.report()
    study.wire.away = True
    assert study.release() == []
    assert study.service.study("stop?without_helper=1", key="owner").status == 200
    (lost,) = study.entries(study.service, "helper_lost")
    assert lost["cohorts"] == [0, 1]
    assert study.service.study("pass", {"ticket": study.places[units[0]]["ticket"]}, None).status == 410
    study.go(120)
    assert study.service.host.links.show("small") is None
    assert study.service.ask("GET", "/readyz", key=None).json["warnings"] == []
    assert study.shuffler.verify().bundles == 8
    study.wire.away = False
    study.go(120)
    assert study.release() == []
    study.verify()
    assert study.shuffler.verify()[2:] == (0, 0)  # it was told, and has nothing of anybody


def test_no_sealed_share_and_no_outcome_is_taken_by_the_service(study: ShuffledStudy) -> None:
    place = study.come("person", 1)
    said = study.service.study("report", {"ticket": place["ticket"], "value": 1})
    assert (said.status, said.code) == (422, "personal_value")
    shares = {"report": "00" * 16, "turn": 0, "leader": "AAAA", "helper": "AAAA"}
    said = study.service.study("upload", {"ticket": place["ticket"], **shares}, None)
    assert (said.status, said.code) == (422, "invalid_value")


def test_a_helper_that_adds_up_takes_no_study_with_a_shuffler(study: ShuffledStudy) -> None:
    text = study.service.host.held["small"].study.protocol.text
    with pytest.raises(InvalidValue, match="two_servers, as this is a helper"):
        register_study(study.shuffler.host, study.shuffler.host.witness, text, study.operators[0])


def test_the_document_of_a_shuffler_has_its_routes(study: ShuffledStudy) -> None:
    paths = study.shuffler.ask("GET", "/openapi.json", key=None).json["paths"]
    assert "/v1/studies/{study}/bundle" in paths
    assert "/v1/helping/{study}/cohorts/{cohort}/total" not in paths
