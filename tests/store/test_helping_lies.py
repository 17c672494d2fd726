"""What a leader that lies asks of the helper: each lie is refused by name, or left out, and changes nothing.

Each has a broken helper beside it, which does not refuse it, so that the same check rejects it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import Forged, Malformed, MaskedBanditError
from maskedbandit.secagg.prio3 import LEADER
from maskedbandit.secagg.uploads import ReportTerms, ShareReader, find_range, seal_report
from maskedbandit.store.helping import reports, totals
from maskedbandit.store.helping.reports import OfferedReport, ReportAnswer, TakenReport
from maskedbandit.store.helping.session import HelperSession
from maskedbandit.store.helping.study import HelperStudy
from maskedbandit.store.own_keys import read_seal_key
from tests.for_each import for_each
from tests.store.helper_scene import Operators, Sent, ask_total, digest_sent, take

N = 5
VALUES = {0: 3, 1: 0, 2: 1, 4: 2}
Patch = pytest.MonkeyPatch
LEFT_OUT, LEFT_OUT_ANSWER = "a report that does not hold", ReportAnswer(False, b"")


class Scene:
    """A helper with one cohort that has its total, and one whose reports it has."""

    def __init__(self, folder: Path) -> None:
        self.operators = Operators(folder, f"sqlite:///{folder}/study.db")
        self.operators.register()
        self.study = self.operators.open()
        self.done, self.open = (self.operators.send_all(cohort, VALUES, N) for cohort in (0, 1))
        take(self.study, 0, N, self.done)
        take(self.study, 1, N, self.open)
        self.said = ask_total(self.study, 0, N, [], digest_sent(self.done))

    def stored(self) -> list[Any]:
        """All that the helper has stored."""
        tables = "SELECT * FROM helped_report ORDER BY report", "SELECT * FROM entry ORDER BY number"
        return [self.study.database.rows(find) for find in tables]

    def refuses(self, ask: Callable[[HelperStudy], Any], says: str) -> None:
        """It is refused with these words, and nothing has changed."""
        before = self.stored()
        try:
            found = ask(self.study)
            said = LEFT_OUT if found == [LEFT_OUT_ANSWER] else f"it was not refused: {found}"
        except MaskedBanditError as why:
            said = f"{why.code}: {why}"
        assert said.startswith(("disagreement: ", LEFT_OUT)), said
        assert says in said, said
        assert self.stored() == before, "something has changed"
        assert ask_total(self.study, 0, N, [], digest_sent(self.done)).to_text() == self.said.to_text()


@pytest.fixture
def scene(tmp_path: Path) -> Any:
    made = Scene(tmp_path)
    yield made
    made.study.close()


def offer(sent: Sent, **changes: Any) -> OfferedReport:
    return sent.offered._replace(**changes)


def less(sent: dict[int, Sent]) -> dict[int, Sent]:
    return {place: each for place, each in sent.items() if place != 4}


LIES: dict[str, tuple[Callable[[Scene], Callable[[HelperStudy], Any]], str]] = {  # what is asked, and the refusal
    "a report in two cohorts": (lambda scene: lambda study: study.take_reports(2, N, [offer(scene.open[0])]), LEFT_OUT),
    "a report in two cohorts, after its total": (
        lambda scene: lambda study: study.take_reports(1, N, [offer(scene.done[0], place=3)]),
        LEFT_OUT,
    ),
    "a report in two places": (
        lambda scene: lambda study: study.take_reports(1, N, [offer(scene.open[0], place=3)]),
        LEFT_OUT,
    ),
    "a report of another turn": (
        lambda scene: lambda study: study.take_reports(1, N, [offer(scene.open[0], turn=1)]),
        LEFT_OUT,
    ),
    "a report with another proof": (
        lambda scene: lambda study: study.take_reports(1, N, [offer(scene.open[0], verifier=bytes(24))]),
        LEFT_OUT,
    ),
    "a second report of a place": (
        lambda scene: (
            lambda study: study.take_reports(
                1, N, [scene.operators.send(scene.operators.terms(1, N, 0), 1, turn=1).offered]
            )
        ),
        LEFT_OUT,
    ),
    "two reports of a place at once": (
        lambda scene: (
            lambda study: study.take_reports(
                1, N, [scene.operators.send(scene.operators.terms(1, N, 3), 1, turn).offered for turn in range(2)]
            )
        ),
        "place 3 of cohort 1 of small is offered with two reports at once",
    ),
    "one more report after the total": (
        lambda scene: (
            lambda study: study.take_reports(0, N, [scene.operators.send(scene.operators.terms(0, N, 3), 1).offered])
        ),
        "the total of cohort 0 of small was made, and the leader offers more for it",
    ),
    "another size, with reports": (
        lambda scene: (
            lambda study: study.take_reports(
                1, N - 1, [scene.operators.send(scene.operators.terms(1, N - 1, 3), 1).offered]
            )
        ),
        "cohort 1 of small has 5 places, and the leader asks for it as one of 4",
    ),
    "another size, with the total": (
        lambda scene: lambda study: ask_total(study, 1, N + 1, [], digest_sent(scene.open)),
        "cohort 1 of small has 5 places, and the leader asks for it as one of 6",
    ),
    "another size, after the total": (
        lambda scene: lambda study: ask_total(study, 0, N + 1, [], digest_sent(scene.done)),
        "cohort 0 of small has 5 places, and the leader asks for it as one of 6",
    ),
    "an aggregate twice, of a shorter list": (
        lambda scene: lambda study: ask_total(study, 0, N, [4], digest_sent(less(scene.done))),
        "the total of cohort 0 of small is of 4 reports, and the leader asks for that of another list",
    ),
    "another list than the helper's": (
        lambda scene: lambda study: ask_total(study, 1, N, [], digest_sent(less(scene.open))),
        "the list of 4 reports of cohort 1 of small is not the one that the leader has",
    ),
    "a list in which somebody is left out who is in the digest": (
        lambda scene: lambda study: ask_total(study, 1, N, [4], digest_sent(scene.open)),
        "the list of 3 reports of cohort 1 of small is not the one that the leader has",
    ),
    "the list of another cohort": (
        lambda scene: lambda study: ask_total(study, 1, N, [], digest_sent(scene.done)),
        "the list of 4 reports of cohort 1 of small is not the one that the leader has",
    ),
}


class AnyText(str):
    """A text that is every other."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


class NoHolders(dict[int, str]):
    """Places of which none has a report."""

    def __contains__(self, place: object) -> bool:
        return False


def knows_no_place(scene: Scene, patch: Patch) -> None:
    """A helper that takes any report of a name for that of the place for which it is offered."""
    patch.setattr(OfferedReport, "item", AnyText())
    patch.setattr(reports, "LEFT_OUT", ReportAnswer(True, bytes(24)))


def forgets_reports(scene: Scene, patch: Patch) -> None:
    """A helper that does not look for what it was offered before, in a table without keys."""
    database = scene.study.database
    database.script("CREATE TABLE loose AS SELECT * FROM helped_report; DROP TABLE helped_report;")
    database.script("ALTER TABLE loose RENAME TO helped_report;")
    patch.setattr(database, "rows_in", lambda *given, keys: [])
    patch.setattr(reports, "dict", NoHolders, raising=False)


def knows_no_item(scene: Scene, patch: Patch) -> None:
    """A helper that takes any report of a name for the same one."""
    patch.setattr(OfferedReport, "item", AnyText())


def takes_places_twice(scene: Scene, patch: Patch) -> None:
    """A helper that does not look whether a place is offered twice."""
    patch.setattr(reports, "check_places", lambda *given: None)


def knows_no_totals(scene: Scene, patch: Patch) -> None:
    """A helper that keeps shares, and does not know which totals it made."""
    scene.study.database.change("UPDATE helped_report SET locked = '00' WHERE cohort = 0")
    patch.setattr(HelperSession, "made", property(lambda self: {}, lambda self, value: None), raising=False)
    patch.setattr(TakenReport, "unlock", lambda self, lock: 1)


def takes_any_size(scene: Scene, patch: Patch) -> None:
    """A helper that believes what the leader says of the size of a cohort."""
    for where in (reports, totals):
        patch.setattr(where, "check_cohort", lambda session, cohort, n: session.offer(n))
    patch.setattr(TakenReport, "unlock", lambda self, lock: 1)


def takes_any_list(scene: Scene, patch: Patch) -> None:
    """A helper that believes that the leader has its list."""
    patch.setattr(totals, "digest_reports", lambda chosen: AnyText())


BROKEN: dict[str, Callable[[Scene, Patch], None]] = {
    "a report in two cohorts": forgets_reports,
    "a report in two cohorts, after its total": forgets_reports,
    "a report in two places": knows_no_place,
    "a report of another turn": knows_no_item,
    "a report with another proof": knows_no_item,
    "a second report of a place": forgets_reports,
    "two reports of a place at once": takes_places_twice,
    "one more report after the total": knows_no_totals,
    "another size, with reports": takes_any_size,
    "another size, with the total": takes_any_size,
    "another size, after the total": takes_any_size,
    "an aggregate twice, of a shorter list": knows_no_totals,
    "another list than the helper's": takes_any_list,
    "a list in which somebody is left out who is in the digest": takes_any_list,
    "the list of another cohort": takes_any_list,
}


@pytest.mark.sparing(4)
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_refused_by_name(scene: Scene, lie: str) -> None:
    ask, says = LIES[lie]
    scene.refuses(ask(scene), says)


@pytest.mark.sparing(4)
@pytest.mark.parametrize("lie", LIES)
def test_a_helper_that_believes_it_is_noticed(scene: Scene, monkeypatch: Patch, lie: str) -> None:
    ask, says = LIES[lie]
    asked = ask(scene)
    BROKEN[lie](scene, monkeypatch)
    with pytest.raises(AssertionError, match=r"it was not refused|something has changed"):
        scene.refuses(asked, says)


@pytest.mark.parametrize("whose", ["its own", "another's"])
def test_names_that_are_used_twice_stop_no_leader_that_was_restored(scene: Scene, whose: str) -> None:
    """It lost the newer report of a place, and offers the older one, for which devices chose names that hurt."""
    terms, newer = scene.operators.terms(2, N, 0), scene.operators.random.randbytes(16)
    place = {0: newer} if whose == "its own" else {0: bytes(16), 1: newer}
    older = [scene.operators.send(scene.operators.terms(2, N, each), 1).offered for each in place]
    older = [each._replace(report=place[each.place]) for each in older]
    lost = scene.operators.send(terms, 1, turn=1).offered._replace(report=newer)
    scene.study.take_reports(2, N, [lost])
    assert scene.study.take_reports(2, N, older) == [LEFT_OUT_ANSWER] * len(older)
    assert ask_total(scene.study, 2, N, [0, 1], digest_sent({})).reports == 0


ELSEWHERE: dict[str, dict[str, Any]] = {  # what a report is really of, that is offered for place 3 of cohort 1
    "another study": {"study": "other"},
    "another cohort": {"cohort": 2},
    "a cohort of another size": {"n": N + 1},
    "another place": {"place": 2},
    "another turn": {"turn": 1},
    "another name": {"report": bytes(16)},
}


def move_report(
    scene: Scene, study: str = "small", cohort: int = 1, n: int = N, place: int = 3, turn: int = 0, report: bytes = b""
) -> bool:
    """Whether the helper accepts a report of something else for place 3 of cohort 1."""
    operators = scene.operators
    real = operators.terms(cohort, n, place, operators.make_protocol(name=study))
    upload = seal_report(real, 3, (operators.leader.seals, operators.helper.seals), turn, operators.random.randbytes)
    reader, name = ShareReader(LEADER, read_seal_key(operators.lead), operators.key), report or upload.report
    try:  # as the helper will read it
        mine = reader.read(operators.terms(1, N, 3), name, 0, upload.leader)
    except Forged:
        mine = reader.read(real, upload.report, turn, upload.leader)
    offered = OfferedReport(3, name, 0, upload.helper, mine.verifier)
    (answer,) = scene.study.take_reports(1, N, [offered])
    return answer.ok


def test_a_report_counts_where_its_device_meant_it_to(scene: Scene) -> None:
    assert move_report(scene)


@pytest.mark.sparing(2)
@pytest.mark.parametrize("where", ELSEWHERE)
def test_a_report_of_something_else_is_not_accepted(scene: Scene, where: str) -> None:
    assert not move_report(scene, **ELSEWHERE[where])


@pytest.mark.sparing(2)
@pytest.mark.parametrize("where", ELSEWHERE)
def test_seals_that_are_bound_to_nothing_are_noticed(scene: Scene, monkeypatch: Patch, where: str) -> None:
    monkeypatch.setattr(ReportTerms, "bind", lambda *given: b"")
    monkeypatch.setattr(ReportTerms, "range", property(lambda self: find_range(self.largest, bytes(32))))
    assert move_report(scene, **ELSEWHERE[where])


@for_each(
    "asked",
    [
        ("take_reports", -1, N, []),
        ("take_reports", True, N, []),
        ("take_reports", 2**63, N, []),
        ("take_reports", 1, 0, []),
        ("take_reports", 1, 2**33, []),
        ("take_reports", 1, N, []),
        ("take_reports", 1, N, [None] * 257),
        *(
            ("take_reports", 1, N, [OfferedReport(3, bytes(16), 0, bytes(80), bytes(24))._replace(**change)])
            for change in (
                {"place": N},
                {"place": -1},
                {"place": True},
                {"turn": 2**32},
                {"report": bytes(15)},
                {"report": "00"},
                {"sealed": bytes(79)},
                {"verifier": bytes(23)},
            )
        ),
        ("make_total", 1, N, [N], "", ""),
        ("make_total", 1, N, [-1], "", ""),
        ("make_total", 1, N, ["0"], "", ""),
    ],
)
def test_what_no_leader_asks_is_malformed(scene: Scene, asked: Any) -> None:
    before = scene.stored()
    with pytest.raises(Malformed):
        scene.study.apply([asked])[0].value()
    assert scene.stored() == before
