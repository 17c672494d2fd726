"""The device in Ruby on the network: consent, one draw for ever, and no message that depends on an outcome."""

import fcntl
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.sdk.noting_service import EXPOSED, HOUR, noting_service
from tests.sdk.ruby_device import RUBY, break_device, call_device, command_device
from tests.service.live import LATE

pytestmark = pytest.mark.slow

JOIN = [
    [EXPOSED, "consent", True],
    [EXPOSED, "assign", "newsletter", "ann", "token"],
    [EXPOSED, "expose", "newsletter"],
]


WORLDS: list[list[list[Any]]] = [[], [[0]], [[1], [0.5], [1]], [[1], [1, "sick"]]]  # what is recorded in each


def list_requests(code: Path, folder: Path, records: list[list[Any]]) -> list[tuple[int, str, dict[str, str], str]]:
    """All that is sent of a person with these outcomes, whose application is started now and then: when, and what."""
    record = [[EXPOSED + 1, "record", "newsletter", *outcome] for outcome in records]
    sent = list[tuple[int, str, dict[str, str], str]]()
    with noting_service() as service:
        for minutes, calls in ((0, [*JOIN, *record]), (59, []), (61, []), (62, []), (63, [])):
            contact = [EXPOSED + 60_000 * minutes, "contact"]
            call_device(code, folder, service.url, "mb_device_1", *calls, contact)
            sent += [(minutes, *request) for request in service.came[len(sent) :]]
    return sent


NUMBER_OR_PROOF = r"""(?<="value":)[ \d-]{17}(?=,)|(?<="proof":")[0-9a-f]{32}(?=")"""


def check_two_worlds(code: Path, folder: Path) -> None:
    """Whoever sees the network sees no outcome but in two numbers, which are sent with the same bytes for ever."""
    worlds = []
    for i, records in enumerate(WORLDS):
        came = list_requests(code, folder / f"device{i}", records)
        reports = {body for *_, path, _, body in came if path.endswith("/report")}
        assert len(reports) == len({body.partition('"metric"')[2][:7] for body in reports}), "it is drawn anew"
        worlds.append([(*seen, re.sub(NUMBER_OR_PROOF, "", body)) for *seen, body in came])
    assert all(world == worlds[0] for world in worlds), "an outcome is seen"
    verbs = [(minutes, path.rpartition("/")[2]) for minutes, path, *_ in worlds[0]]
    assert verbs == [(0, "assign"), (0, "expose"), (0, "expose"), (61, "report"), (61, "report"), (62, "report")]


def test_worlds_that_differ_in_an_outcome_look_alike(tmp_path: Path) -> None:
    check_two_worlds(RUBY, tmp_path)


TELLING = [
    ('entry["reports"] ||= draw', 'entry["reports"] = draw'),  # draws anew for each attempt
    ('entry["told"] && late', 'entry["held"].any? && late'),  # whoever recorded nothing is silent
    ("late(entry) >= 0", '(late(entry) >= 0 || entry["held"].any?)'),  # an outcome is told at once
]


@pytest.mark.parametrize(("sound", "broken"), TELLING)
def test_a_device_that_tells_is_found(tmp_path: Path, sound: str, broken: str) -> None:
    with pytest.raises(AssertionError, match="drawn anew" if "reports" in sound else "is seen"):
        check_two_worlds(break_device(tmp_path, sound, broken), tmp_path)


def wait_for_device(code: Path, folder: Path, patience: float) -> int:
    """How a device ends that is to draw while another process has the book."""
    with noting_service() as service:
        call_device(code, folder, service.url, "mb_device_1", *JOIN, [EXPOSED + 1, "contact"])
        contact = command_device(code, folder, service.url, "mb_device_1", [EXPOSED + HOUR, "contact"])
        with (folder / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = subprocess.Popen(contact, stdout=subprocess.DEVNULL)
            try:
                return process.wait(patience)
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)
                process.wait(LATE)


def test_two_processes_do_not_draw_at_once(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        wait_for_device(RUBY, tmp_path / "device", 1)
    assert wait_for_device(break_device(tmp_path, "lock.flock(File::LOCK_EX)", ""), tmp_path / "other", LATE) == 0


def test_consent_comes_first_and_nothing_is_kept_of_a_study_that_was_left(tmp_path: Path) -> None:
    folder = tmp_path / "device"
    with noting_service() as service:
        given = (RUBY, folder, service.url, "mb_device_1")
        assert call_device(*given, *JOIN[1:], [0, "contact"], [0, "show"]) == ["consent", "consent", None, []]
        assert (folder.exists(), service.came) == (False, [])
        call_device(*given, *JOIN, [EXPOSED + 1, "record", "newsletter", 1], [EXPOSED + 2, "leave", "newsletter"])
        modes = {each.name: each.stat().st_mode & 0o777 for each in (folder, *folder.iterdir())}
        assert modes == {"device": 0o700, "lock": 0o600, "book.json": 0o600}
        again = [*JOIN[1:2], [EXPOSED + 2 * HOUR, "contact"], [0, "show"]]
        left = {"study": "newsletter", "protocol": "9f" * 32, "epsilon": "3/2", "state": "left"}
        assert call_device(*given, *again) == ["study", None, [left]]
    verbs = [path.rpartition("/")[2] for path, _, _ in service.came]
    assert verbs == ["assign", "expose", "leave", "leave"]
    assert ["Authorization" in headers for _, headers, _ in service.came] == [True, True, False, False]


LOUD = (
    "maskedbandit-offer-1 channel=Local n=20 steps=255 modulus=0 noise=DiscreteLaplace:1:1 terms=epsilon:255 position=7"
)
SMALL = "maskedbandit-offer-1 channel=Response n=19 steps=1 modulus=0 noise= terms=epsilon:1 position=7"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("epsilon", {"offer": LOUD, "cap": 1, "further": []}),
        ("n of an offer", {"offer": SMALL, "cap": 1, "further": []}),
        ("offer of a place", {"further": []}),
        ("operators of a place", {"operators": []}),
        ("grace of a place", {"grace": 0}),
        ("exposed of a place", {"exposed": EXPOSED - 3 * HOUR}),
        ("exposed of a place", {"exposed": EXPOSED + 25 * HOUR}),
        ("default of a place", {"default": 2}),
        ("cap of a place", {"least": -1}),
    ],
)
def test_a_place_that_is_not_as_agreed_is_refused_and_not_kept(
    tmp_path: Path, name: str, changes: dict[str, Any]
) -> None:
    with noting_service(**changes) as service:
        calls = [*JOIN[:2], [EXPOSED + HOUR, "contact"], [0, "show"]]
        said = call_device(RUBY, tmp_path / "device", service.url, "mb_device_1", *calls)
        assert said[1:] == [name, None, []]
        assert len(service.came) == 1


def test_a_place_that_another_book_had_is_shown_and_never_reported(tmp_path: Path) -> None:
    with noting_service(again=True, exposed=EXPOSED) as service:
        calls = [*JOIN, [EXPOSED + 1, "record", "newsletter", 1], [EXPOSED + HOUR, "contact"]]
        said = call_device(RUBY, tmp_path / "device", service.url, "k", *calls)
        assert said[1:] == [{"arm": "bold", "payload": None}, None, False, None]
        assert len(service.came) == 1
