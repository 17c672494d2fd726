"""What a helper answers, writes to its log and measures is the same in two worlds with other outcomes."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.service.helping import totals
from maskedbandit.service.helping.totals import LONGEST_LIST
from maskedbandit.service.request.limits import BATCH
from maskedbandit.store.helping import reports
from tests.for_each import for_each
from tests.service.helper_inside import PATH, PlayedLeader, helped_leader
from tests.service.inside import Reply

WORLDS = dict.fromkeys(range(4), 0), dict.fromkeys(range(4), 3)


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[PlayedLeader]:
    with helped_leader(f"sqlite:///{tmp_path}/helper.db", tmp_path) as made:
        yield made


def seen_of(found: Reply) -> tuple[Any, ...]:
    """What of an answer does not depend on random shares: they have one size, but for the digits of a total."""
    return found.status, found.headers | {"content-length": ""}, sorted(found.json)


def watch(folder: Path, values: dict[int, int], caplog: pytest.LogCaptureFixture) -> list[Any]:
    """All that can be seen of a cohort with these values, without the numbers that are uniform."""
    caplog.clear()
    folder.mkdir()
    with helped_leader(f"sqlite:///{folder}/helper.db", folder) as leader, caplog.at_level(logging.DEBUG):
        offered, _ = leader.send_all(0, values)
        first, again = leader.offer(0, offered), leader.offer(0, offered)
        refused = leader.offer(1, offered)
        told = leader.ask("POST", "/cohorts/0/total", leader.write_request(0, offered))
        ended = leader.ask("POST", "/end")
        leader.helper.tick(1)
        found: list[Any] = [seen_of(each) for each in (first, again, refused, told, ended)]
        found += [
            len(first.body),
            first.body == again.body,
            told.json["reports"],
            leader.ask("GET", "").json["cohorts"],
        ]
        found += [[(each.levelname, each.getMessage()) for each in caplog.records if each.name.startswith("masked")]]
        samples = [each for family in leader.helper.host.metrics.registry.collect() for each in family.samples]
        return [*found, sorted((each.name, sorted(each.labels.items()), counted(each)) for each in samples)]


def counted(sample: Any) -> float:
    """What a sample counts; how many seconds something took is not the same twice, in one world either."""
    return 0.0 if "_seconds" in sample.name else float(sample.value)


def test_nothing_tells_the_worlds_apart(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    zeros, threes = (watch(tmp_path / str(i), values, caplog) for i, values in enumerate(WORLDS))
    assert zeros == threes


@pytest.mark.parametrize("twin", ["logs", "answers"])
def test_a_helper_that_tells_is_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, twin: str
) -> None:
    """One that has the leader's share too: an outcome reaches its log, or the size of its answer."""
    known, send = list[int](), PlayedLeader.send

    def note(self: PlayedLeader, cohort: int, place: int, value: int, n: int = 4) -> Any:
        known.append(value)
        return send(self, cohort, place, value, n)

    monkeypatch.setattr(PlayedLeader, "send", note)
    if twin == "logs":
        take = reports.examine_report

        def tell(*given: Any) -> Any:
            logging.getLogger("maskedbandit").info("a report of %s", known[-1])
            return take(*given)

        monkeypatch.setattr(reports, "examine_report", tell)
    else:
        encode = totals.urlsafe_b64encode
        monkeypatch.setattr(totals, "urlsafe_b64encode", lambda given: encode(given + bytes(known[-1])))
    zeros, threes = (watch(tmp_path / str(i), values, caplog) for i, values in enumerate(WORLDS))
    assert zeros != threes


LIMITS = [("PUT", "", BATCH), ("POST", "/cohorts/0/reports", BATCH), ("POST", "/cohorts/0/total", LONGEST_LIST)]


@for_each(("method", "path", "limit"), LIMITS)
def test_a_large_body_is_refused(leader: PlayedLeader, method: str, path: str, limit: int) -> None:
    large = b" " * (limit + 1)
    assert leader.helper.ask(method, PATH + path, large, leader.credential).code == "too_large"
    assert leader.helper.ask(method, PATH + path, large, "x").code == "unauthorized", "nothing was read"
