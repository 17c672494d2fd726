"""Sites that join or leave a study that runs: each agrees to the list, and no cohort is added up among two lists."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import (
    BehindWitness,
    Conflict,
    Corrupted,
    Disagreement,
    Forged,
    InvalidValue,
    MaskedBanditError,
    NotRunning,
    ProtocolError,
)
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.secagg.kept_round import RoundAnswer, RoundDue, RoundTerms
from maskedbandit.store.book.book import parse_protocol
from maskedbandit.store.book.checks import check_log, read_book
from maskedbandit.store.book.entries import read_entries
from maskedbandit.store.book.site_entries import SitesChanged, SitesConfirmed
from maskedbandit.store.book.site_lists import SiteLists, follow_lists
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.reconcile import bring_back, burn_missing, export_ledger
from maskedbandit.store.sites import lists, people, rounds
from maskedbandit.store.sites.lists import agree_to_lists
from maskedbandit.store.sites.study import SiteStudy
from maskedbandit.store.studies import find_witness
from maskedbandit.store.study import Study
from maskedbandit.study import site_stages
from maskedbandit.study.protocol import Protocol
from tests.store.site_scene import Sites, make_sites_without_noise
from tests.store.small_study import WINDOW, Clock

HALVES = dict.fromkeys(range(5), "1/2")  # four sites and one that joins


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def scene(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sites]:
    yield from make_sites_without_noise(tmp_path, clock, monkeypatch)


def come(scene: Sites, people: int, name: str, sites: tuple[int, ...] = (0, 1, 2, 3)) -> dict[int, float]:
    """So many people get places, who come to these sites in turn: the sum of their outcomes by cohort."""
    sums, many = dict[int, float](), 0
    for i in range(20 * people):
        value = float(i % 3 == 0)
        given = scene.come(sites[i % len(sites)], f"{name} {i}", value)
        if given.cohort is not None:
            sums[given.cohort] = sums.get(given.cohort, 0) + value
            many += 1
        if many == people:
            return sums
    raise AssertionError("so many places are not given")


def released(scene: Sites) -> dict[int, float]:
    """The sum of each cohort that was released."""
    return {each.cohort: each.total for each in scene.study.releases()}


def join_one(scene: Sites) -> None:
    """A fifth site joins, and all agree."""
    made = scene.join()
    scene.relist(HALVES)
    scene.enter(made)
    scene.confirm(0, 1, 2, 3)
    scene.do("rounds", 4, [], *made.study.confirm())


def test_a_site_joins(scene: Sites, clock: Clock) -> None:
    """Full cohorts are added up among the sites of before, the next ones with the new site."""
    sums = come(scene, 16, "early")
    join_one(scene)
    late = come(scene, 16, "late", (0, 1, 2, 3, 4))
    assert sums.keys().isdisjoint(late)
    clock.now += WINDOW + 1
    scene.go_round()
    assert released(scene) == sums | late
    assert [each.sites for each in scene.study.releases()] == [(0, 1, 2, 3)] * 2 + [(0, 1, 2, 3, 4)] * 2
    assert scene.study._session.arms.stage == 2
    scene.verify()


@pytest.mark.slow
def test_a_site_leaves(scene: Sites, clock: Clock) -> None:
    """It takes part in the rounds of cohorts that were full, and whoever has an arm there keeps it."""
    sums = come(scene, 16, "early")
    (kept,) = [scene.come(3, "early 3")]
    scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})
    scene.confirm(0, 1, 2)
    again = scene.come(3, "early 3")
    assert (again.arm, again.ticket, again.again) == (kept.arm, kept.ticket, True)
    assert scene.come(3, "nobody before").ticket is None
    late = come(scene, 16, "late", (0, 1, 2, 3))
    clock.now += WINDOW + 1
    scene.go_round()
    assert released(scene) == sums | late
    assert [each.sites for each in scene.study.releases()] == [(0, 1, 2, 3)] * 2 + [(0, 1, 2)] * 2
    scene.verify()


@pytest.mark.slow
def test_a_site_that_is_gone_holds_up_nothing(scene: Sites, clock: Clock) -> None:
    """Cohorts of before are given up once it was waited for, and those of the new list are released."""
    come(scene, 16, "early")
    scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})
    scene.confirm(0, 1, 2)
    late = come(scene, 16, "late", (0, 1, 2))
    clock.now += WINDOW + 1
    assert scene.go_round(away=[3]) == []
    clock.now += 60_001
    scene.go_round(away=[3])
    assert released(scene) == late
    kinds = [each.kind for each in read_entries(scene.study.database, "small")]
    assert kinds.count("discarded") == 2
    assert scene.study._session.driver.deck.unreleased() == []
    scene.verify()


@pytest.mark.slow
def test_cohorts_that_are_not_full_are_given_up(scene: Sites, clock: Clock) -> None:
    early = come(scene, 10, "early")
    join_one(scene)
    late = come(scene, 16, "late", (0, 1, 2, 3, 4))
    clock.now += WINDOW + 1
    scene.go_round()
    assert released(scene) == late
    assert early.keys().isdisjoint(late)
    scene.verify()


@pytest.mark.slow
def test_a_round_waits_until_all_agreed(scene: Sites, clock: Clock) -> None:
    """Nor do people of a site get places before it did."""
    made = scene.join()
    scene.relist(HALVES)
    scene.enter(made)
    scene.confirm(0, 1)
    scene.do("rounds", 4, [], *made.study.confirm())
    assert scene.come(2, "too early").ticket is None
    sums = come(scene, 16, "late", (0, 1, 4))
    clock.now += WINDOW + 1
    assert scene.go_round() == []
    assert not scene.sites[2].study._session.joined
    clock.now += 10 * 60_001
    assert scene.go_round() == []
    scene.confirm(2, 3)
    scene.go_round()
    assert released(scene) == sums
    assert scene.come(2, "too early").ticket is not None


@pytest.mark.slow
def test_a_site_that_never_agrees_is_lost(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the protocol says that one may be; a site that agreed is in the sum."""
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    policy = {"name": "successive_elimination", "least": 8}
    scene = Sites(f"sqlite:///{tmp_path}/study.db", tmp_path, clock, ("1/4",) * 5, backend={"lost": 1}, policy=policy)
    scene.relist({0: "1/3", **dict.fromkeys(range(1, 5), "1/4")})
    scene.confirm(0, 1, 2, 3)
    sums = come(scene, 16, "late")
    clock.now += WINDOW + 1
    assert scene.go_round() == []
    for _ in range(5):  # phases
        clock.now += 60_001
        scene.go_round()
    assert released(scene) == sums
    assert {each.sites for each in scene.study.releases()} == {(0, 1, 2, 3)}
    scene.verify()
    scene.close()


@pytest.mark.slow
def test_killed_anywhere(scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coordinator and sites are opened anew before every step: of the change, the agreement, and the rounds."""
    sums = come(scene, 16, "early")
    at_site, at_coordinator = type(scene.sites[0]).do, type(scene).do

    def reopened_site(at: Any, *operation: Any) -> Any:
        at.study.close()
        at.open()
        return at_site(at, *operation)

    def reopened(self: Sites, *operation: Any) -> Any:
        self.study.close()
        self.study = self.open()
        return at_coordinator(self, *operation)

    monkeypatch.setattr(type(scene.sites[0]), "do", reopened_site)
    monkeypatch.setattr(type(scene), "do", reopened)
    join_one(scene)
    late = come(scene, 16, "late", (0, 1, 2, 3, 4))
    clock.now += WINDOW + 1
    scene.go_round()
    assert released(scene) == sums | late
    scene.verify()


WRONG: dict[str, tuple[dict[int, str], str]] = {
    "too few": ({0: "1/2", 1: "1/2"}, "the number of sites.*from 3"),
    "shares too small": ({0: "1/4", 1: "1/4", 2: "1/4"}, "shares.*1 or more together"),
    "a share too large": ({0: "2", 1: "1/2", 2: "1/2"}, "share of site 1.*at most 1"),
    "a share that is none": ({0: "much", 1: "1/2", 2: "1/2"}, "share of site 1"),
}


@pytest.mark.sparing(1)
@pytest.mark.parametrize("what", WRONG)
def test_a_list_that_no_protocol_may_have(scene: Sites, what: str) -> None:
    shares, says = WRONG[what]
    with pytest.raises(InvalidValue, match=says):
        scene.relist(shares)
    assert len(scene.study.site_lists.stages) == 1
    assert come(scene, 16, "after")


def test_a_list_in_which_too_few_are_honest(tmp_path: Path, clock: Clock) -> None:
    """A largest site that could collude must leave enough honest people, as in the protocol."""
    made = Sites(f"sqlite:///{tmp_path}/study.db", tmp_path, clock, backend={"colluding": 1})
    with pytest.raises(InvalidValue, match="honest people counted on"):
        made.relist({0: "1/2", 1: "3/4", 2: "1/2", 3: "1/2"})
    made.close()
    with pytest.raises(InvalidValue, match="honest people counted on"):
        Sites(
            f"sqlite:///{tmp_path}/other.db",
            tmp_path,
            clock,
            ("3/4", "1/2", "1/2"),
            channel={"honest": "1/2"},
            backend={"colluding": 1},
        )


def test_other_reasons_against_a_list(scene: Sites) -> None:
    with pytest.raises(Conflict, match="this list of sites already"):
        scene.relist(dict.fromkeys(range(4), "1/2"))
    with pytest.raises(InvalidValue, match="key of the new list of sites"):
        scene.study.change_sites({"list": [scene.name(each, "1/3") for each in scene.sites], "wait": "1 day"})
    with pytest.raises(InvalidValue, match="table with a list"):
        scene.study.change_sites(None)
    unknown = scene.name(scene.sites[0], "1/2") | {"name": "stranger", "key": "5b" * 32}
    with pytest.raises(NotRunning, match="stranger did not join yet"):
        scene.study.change_sites({"list": [unknown, *(scene.name(each, "1/2") for each in scene.sites)]})
    scene.study.stop()
    with pytest.raises(NotRunning, match="only while it is running"):
        scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})


def test_what_a_site_agrees_to(scene: Sites) -> None:
    """It is one list, by its hash, once."""
    scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})
    newest, site = scene.study.site_lists.stages[-1], scene.sites[0]
    with pytest.raises(Conflict, match="look at it again"):
        site.confirm(scene.told(), "5b" * 32)
    site.confirm(scene.told(), newest.name)
    with pytest.raises(Conflict, match="already"):
        site.confirm(scene.told(), newest.name)
    assert [each.kind for each in read_entries(site.study.database, "small")] == ["site_began", "site_admitted"]


@pytest.mark.slow
def test_several_changes_before_a_site_agrees(scene: Sites, clock: Clock) -> None:
    """It agrees to all of them by the hash of the newest; a site that came back has its number again."""
    scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})
    scene.confirm(0, 1)
    scene.relist(dict.fromkeys((3, 2, 1, 0), "2/3"))
    scene.confirm(0, 1, 2, 3)
    assert [[*each.keys] for each in scene.study.site_lists.stages] == [[0, 1, 2, 3], [0, 1, 2], [0, 1, 2, 3]]
    sums = come(scene, 16, "late")
    clock.now += WINDOW + 1
    scene.go_round()
    assert released(scene) == sums
    scene.verify()


# A coordinator that lies.


def play(scene: Sites, clock: Clock) -> None:
    """People come, and all sites answer whatever is due of lists they agreed to."""
    come(scene, 16, "late", (0, 1, 2, 3))
    clock.now += WINDOW + 1
    scene.go_round()


def tell_apart(scene: Sites) -> None:
    """The coordinator shows one site other shares than all others."""
    scene.relist(dict.fromkeys(range(4), "2/3"))
    scene.confirm(0, 1, 2)
    (real,) = scene.told()
    other = real._replace(listed=tuple(each._replace(share="3/4") for each in real.listed))
    site = scene.sites[3]
    name = lists.follow_told(site.study.stages, [other])[-1].name
    site.confirm([other], name)
    session = scene.study._session
    session.site_lists = session.site_lists.after(3)  # it says that it knows nothing of that


def answer_all(scene: Sites) -> None:
    """All sites answer, whatever the coordinator says of lists."""
    waiting: dict[int, list[RoundAnswer]] = {each.number: [] for each in scene.sites}
    for _ in range(12):
        for each in scene.sites:
            with suppress(ProtocolError):  # what an honest coordinator would not even take
                scene.do("rounds", each.number, waiting[each.number])
            waiting[each.number] = each.answer(scene.do("rounds", each.number, []))


def test_different_lists_for_different_sites(scene: Sites, clock: Clock) -> None:
    tell_apart(scene)
    come(scene, 16, "late")
    clock.now += WINDOW + 1
    answer_all(scene)
    assert scene.study.releases() == []
    assert all(not each.study._session.agreed for each in scene.sites)


def test_rounds_that_are_not_bound_to_the_list_are_found(
    scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken twin: the name of a round says nothing of the list."""
    monkeypatch.setattr(Protocol, "name_of_sites", property(lambda self: self.digest))
    with pytest.raises(AssertionError):
        test_different_lists_for_different_sites(scene, clock)


def test_lists_that_no_site_was_told_of(scene: Sites, clock: Clock) -> None:
    """The coordinator adds a site of its own in silence: the others add nothing up with it."""
    made = scene.join()
    scene.relist({1: "1/2", 2: "1/2", 3: "1/2", 4: "1/2"})
    scene.enter(made)
    session = scene.study._session
    for number in (1, 2, 3, 4):
        session.site_lists = session.site_lists.after(number)
    come(scene, 16, "late", (1, 2, 3, 4))
    clock.now += WINDOW + 1
    answer_all(scene)
    assert scene.study.releases() == []
    assert all(not each.study._session.agreed for each in scene.sites)


def test_a_silent_list_under_rounds_that_are_not_bound(
    scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even then the sites do not know the key of the one that was added; a list of other shares would pass."""
    monkeypatch.setattr(Protocol, "name_of_sites", property(lambda self: self.digest))
    test_lists_that_no_site_was_told_of(scene, clock)


def test_back_to_an_older_list(scene: Sites, clock: Clock) -> None:
    """Neither as it is shown, nor for a place, nor for the round of a cohort."""
    come(scene, 4, "early")
    older = scene.told()
    join_one(scene)
    site, newest = scene.sites[0], scene.study.site_lists.stages[-1]
    with pytest.raises(Disagreement, match="other lists of sites than"):
        site.confirm(older, newest.name)
    assert site.do("note_place", "a" * 64, newest.first - 1, {"ticket": "f" * 32}) is None
    come(scene, 16, "late", (0, 1, 2, 3))
    clock.now += WINDOW + 1
    session = scene.study._session
    session.site_lists = session.site_lists._replace(stages=session.site_lists.stages[:1])
    session.protocol = scene.protocol
    answer_all(scene)
    assert scene.study.releases() == []
    assert all(not each.study._session.agreed for each in scene.sites)


def test_a_site_that_takes_places_of_an_older_list_is_found(
    scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people, "find_cohort", lambda number: 10**6)
    with pytest.raises(AssertionError):
        test_back_to_an_older_list(scene, clock)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("agrees", [False, True])
@pytest.mark.parametrize("weights", [(4, 2, 2), (2, 2, 2, 2)])
def test_a_site_that_left_is_asked_for_a_sum(scene: Sites, agrees: bool, weights: tuple[int, ...]) -> None:
    """Of a cohort of the list without it, it adds nothing up, once it knows that list; before, nobody else would."""
    scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})
    scene.confirm(0, 1, 2, *([3] if agrees else []))
    newest = scene.study.site_lists.stages[-1]
    for number in (0, 3):
        due = RoundDue(RoundTerms(newest.first, 1, 8, weights, bytes(32)), 0, b"")
        site = scene.sites[number]
        if number == 3 and not agrees:
            assert lists.list_agreed(site.study.stages, newest.name, newest.first, [due]) == []
        else:
            assert site.do("round", due).message == b""


def test_a_site_that_does_not_look_for_whom_a_list_is_is_found(scene: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "find_stage", lambda stages, cohort: stages[0])
    monkeypatch.setattr(rounds, "read_rewards", lambda session, cohort, tickets: [[]] * 2)
    with pytest.raises(AssertionError):
        test_a_site_that_left_is_asked_for_a_sum(scene, True, (2, 2, 2, 2))


def test_a_list_for_a_cohort_that_was_joined(scene: Sites, clock: Clock) -> None:
    """No cohort has two lists: what was joined among the sites of one is not begun again among others."""
    come(scene, 16, "early")
    clock.now += WINDOW + 1
    site = scene.sites[0]
    (due, *_) = scene.do("rounds", 0, [])
    assert site.do("round", due).message
    scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})
    (real,) = scene.told()
    lie = real._replace(first=due.terms.cohort)
    name = lists.follow_told(site.study.stages, [lie])[-1].name
    with pytest.raises(Disagreement, match="whose round was joined"):
        site.confirm([lie], name)
    site.confirm([real], scene.study.site_lists.stages[-1].name)


def test_a_site_that_lets_joined_cohorts_have_another_list_is_found(
    scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken twin does not look; then its own ledger cannot be read any more."""
    monkeypatch.setattr(lists, "check_first", lambda first, joined: None)
    with pytest.raises((pytest.fail.Exception, Corrupted)):
        test_a_list_for_a_cohort_that_was_joined(scene, clock)


def test_a_site_that_somebody_speaks_for(scene: Sites) -> None:
    """The coordinator cannot say by itself that a site agreed: its signature stands in the ledger."""
    scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})
    newest = scene.study.site_lists.stages[-1]
    _, signed = scene.sites[1].study.confirm()
    with pytest.raises(Forged, match="did not sign"):
        scene.do("rounds", 0, [], newest.name, signed)
    scene.confirm(0)
    entries = read_entries(scene.study.database, "small")
    assert follow_lists("small", scene.protocol, entries).missing == {1, 2}
    forged = [replace(each, site=1) if isinstance(each, SitesConfirmed) else each for each in entries]
    with pytest.raises(Corrupted, match="did not sign"):
        follow_lists("small", scene.protocol, forged)
    (changed,) = [each for each in entries if isinstance(each, SitesChanged)]
    twice = [*entries, entries[-1]]
    with pytest.raises(Corrupted, match="did not agree yet"):
        follow_lists("small", scene.protocol, twice)
    earlier = [replace(changed, first=7) if each is changed else each for each in entries]
    with pytest.raises(Corrupted, match="the newest one"):
        follow_lists("small", scene.protocol, earlier)


@pytest.mark.slow
def test_a_sum_of_a_site_that_did_not_agree(scene: Sites, clock: Clock) -> None:
    """`ledger verify` finds it, whoever wrote it."""
    join_one(scene)
    play(scene, clock)
    entries = read_entries(scene.study.database, "small")
    assert not follow_lists("small", scene.protocol, entries).missing
    without = [each for each in entries if not (isinstance(each, SitesConfirmed) and each.site == 2)]
    with pytest.raises(Corrupted, match="did not agree to the list of its cohort"):
        follow_lists("small", scene.protocol, without)


def test_people_of_a_site_that_left(scene: Sites) -> None:
    """`ledger verify` finds a place that the coordinator gave to somebody of a site that is not in the list."""
    scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})
    scene.confirm(0, 1, 2)
    come(scene, 16, "late", (0, 1, 2))
    scene.verify()
    with scene.study.database.transaction():
        scene.study.database.change("UPDATE place SET site = 3 WHERE place = 0")
    with pytest.raises(Corrupted, match="of a site that it does not have"):
        scene.verify()


def test_a_restored_site(scene: Sites, tmp_path: Path) -> None:
    """A copy from before it agreed is behind its witness, and says nothing."""
    scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})
    site = scene.sites[0]
    site.study.close()
    path = tmp_path / "site0.db"
    shutil.copy(path, tmp_path / "copy.db")
    site.open()
    scene.confirm(0)
    site.study.close()
    for each in tmp_path.glob("site0.db*"):
        each.unlink()
    shutil.copy(tmp_path / "copy.db", path)
    with pytest.raises(BehindWitness):
        site.open()


def restore(scene: Sites, tmp_path: Path) -> None:
    """The coordinator's database is a copy again that was made before."""
    scene.study.close()
    for each in tmp_path.glob("study.db*"):
        each.unlink()
    shutil.copy(tmp_path / "copy.db", tmp_path / "study.db")


@pytest.mark.slow
def test_a_restored_coordinator(scene: Sites, clock: Clock, tmp_path: Path) -> None:
    """A copy from before the change is behind its witness; with an export it has the list, and all places, again."""
    sums = come(scene, 16, "early")
    scene.study.close()
    shutil.copy(tmp_path / "study.db", tmp_path / "copy.db")
    scene.study = scene.open()
    join_one(scene)
    clock.now += WINDOW + 1
    scene.go_round()
    witness, file = find_witness(scene.study.database, scene.folder), tmp_path / "export"
    file.write_text("".join(f"{line}\n" for line in export_ledger(scene.study.database, witness, "small")))
    restore(scene, tmp_path)
    with pytest.raises(BehindWitness):
        scene.open()
    with closing(open_database(scene.address)) as database:
        bring_back(database, witness, "small", file)
    scene.study = scene.open()
    late = come(scene, 16, "late", (0, 1, 2, 3, 4))
    clock.now += WINDOW + 1
    scene.go_round()
    assert released(scene) == sums | late
    scene.verify()


def test_a_coordinator_that_lost_a_list_for_ever(scene: Sites, clock: Clock, tmp_path: Path) -> None:
    """Its sites agreed to a list that it does not know: they do not follow it back, and nothing is added up."""
    scene.study.close()
    shutil.copy(tmp_path / "study.db", tmp_path / "copy.db")
    scene.study = scene.open()
    witness = find_witness(scene.study.database, scene.folder)
    join_one(scene)
    restore(scene, tmp_path)
    with closing(open_database(scene.address)) as database:
        burn_missing(database, witness, "small")
    scene.study = scene.open()
    assert len(scene.study.site_lists.stages) == 1
    scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})
    with pytest.raises(Disagreement, match="other lists of sites than"):
        scene.confirm(0)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("statement", ["lists = REPLACE(lists, '1/2', '2/3')", "signed = '00'", "lists = '[]'"])
def test_what_was_agreed_to_is_what_is_admitted(scene: Sites, statement: str) -> None:
    """Whoever can write the database of a site, without its keys, agrees to nothing."""
    scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})
    site, newest = scene.sites[0], scene.study.site_lists.stages[-1]
    with closing(open_database(site.address)) as database:
        agree_to_lists(database, site.witness, "small", scene.told(), newest.name)
        with database.transaction():
            assert database.change(f"UPDATE agreed_list SET {statement}") == 1
    with pytest.raises(MaskedBanditError):
        site.do("tick")
    assert len(site.study.stages) == 1


def test_a_site_that_admits_what_nobody_signed_is_found(scene: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "check_signature", lambda *said: None)
    with pytest.raises(pytest.fail.Exception):
        test_what_was_agreed_to_is_what_is_admitted(scene, "signed = '00'")


def test_a_list_from_another_cohort_on(scene: Sites) -> None:
    """The ledger must say with which cohort the stage began, as the log has it."""
    come(scene, 10, "early")
    join_one(scene)
    witness = find_witness(scene.study.database, scene.folder)
    book = read_book(scene.study.database, witness, "small")
    check_log(book)
    later = [replace(each, first=each.first + 1) if isinstance(each, SitesChanged) else each for each in book.entries]
    with pytest.raises(Corrupted, match="from another cohort on"):
        check_log(replace(book, entries=tuple(each for each in later if not isinstance(each, SitesConfirmed))))


def test_lists_of_a_protocol(scene: Sites) -> None:
    """The text and hash of the protocol stay what they are."""
    join_one(scene)
    assert scene.study.protocol.digest == scene.protocol.digest
    assert scene.study.protocol.sites is not None
    assert [each.number for each in scene.study.protocol.sites.sites] == [0, 1, 2, 3, 4]
    assert parse_protocol(scene.protocol.text).sites != scene.study.protocol.sites
    assert site_stages.find_stage(scene.study.site_lists.stages, 0).first == 0


def wait_for_one(scene: Sites, clock: Clock) -> dict[int, float]:
    """Two lists, one after the other, while site 3 agreed to neither: a cohort of the first one is full and due."""
    scene.relist(dict.fromkeys(range(4), "2/3"))
    scene.confirm(0, 1, 2)
    sums = come(scene, 16, "between", (0, 1, 2))
    clock.now += WINDOW + 1
    return sums


@pytest.mark.slow
def test_a_site_is_asked_for_no_sum_of_a_list_to_which_it_did_not_agree(scene: Sites, clock: Clock) -> None:
    """Nor of one between, of which the newest list says nothing: it joins none among sites of before."""
    sums = wait_for_one(scene, clock)
    scene.relist(dict.fromkeys(range(4), "3/4"))
    assert scene.go_round() == []
    assert not scene.sites[3].study._session.joined
    scene.confirm(0, 1, 2, 3)
    scene.go_round()
    assert released(scene) == sums
    scene.verify()


@pytest.mark.slow
def test_a_site_that_agreed_to_a_list_between(scene: Sites, clock: Clock) -> None:
    """The coordinator heard of it when there was another one: it waits until the site agrees to that one too."""
    sums = wait_for_one(scene, clock)
    between = scene.study.site_lists.stages[-1]
    scene.sites[3].confirm(scene.told(), between.name)
    scene.relist(dict.fromkeys(range(4), "3/4"))
    assert scene.go_round() == []
    scene.confirm(0, 1, 2, 3)
    scene.go_round()
    assert released(scene) == sums
    scene.verify()


@pytest.mark.slow
def test_a_site_that_left_before_it_agreed(scene: Sites, clock: Clock) -> None:
    """It is in no sum of the list between, be it that it agrees to the one without it."""
    wait_for_one(scene, clock)
    scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})
    scene.confirm(0, 1, 2)
    scene.sites[3].confirm(scene.told(), scene.study.site_lists.stages[-1].name)
    late = come(scene, 16, "late", (0, 1, 2))
    clock.now += WINDOW + 1
    scene.go_round()
    clock.now += 60_001
    scene.go_round()
    assert released(scene) == late
    scene.verify()


@pytest.mark.sparing(1)
@pytest.mark.parametrize(
    "test",
    [
        test_a_site_is_asked_for_no_sum_of_a_list_to_which_it_did_not_agree,
        test_a_site_that_agreed_to_a_list_between,
        test_a_site_that_left_before_it_agreed,
    ],
)
def test_a_coordinator_that_asks_sites_that_did_not_agree_is_found(
    scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch, test: Callable[[Sites, Clock], None]
) -> None:
    """A broken twin: sums come about that the ledger does not allow, or a site joins what it cannot answer."""
    monkeypatch.setattr(SiteLists, "has_agreed", lambda self, site, cohort: True)
    with pytest.raises((AssertionError, ProtocolError)):
        test(scene, clock)


def test_a_list_that_was_agreed_to_twice_at_once(scene: Sites) -> None:
    """By two commands, of which the second one wrote after the server had read what the first one wrote."""
    scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})
    site, newest = scene.sites[0], scene.study.site_lists.stages[-1]
    with closing(open_database(site.address)) as database:
        agree_to_lists(database, site.witness, "small", scene.told(), newest.name)
        find = "SELECT lists, signed FROM agreed_list WHERE study = ?"
        (row,) = database.rows(find, "small")
        site.do("tick")
        lists.write_agreed_list(database, "small", *row)
        site.do("tick")
        assert database.rows(find, "small") == []
    scene.relist(dict.fromkeys(range(4), "2/3"))
    scene.confirm(0)
    kinds = [each.kind for each in read_entries(site.study.database, "small")]
    assert kinds == ["site_began", "site_admitted", "site_admitted"]


def check_nothing_is_told_before_it_is_kept(scene: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a list by the coordinator nor that it was agreed to by a site, as another thread may ask meanwhile."""
    site, seen = scene.sites[0], list[Any]()

    def watch(held: Any, look: Callable[[], Any]) -> None:
        commit = held._session.database.commit

        def watched() -> None:
            seen.append(look())
            commit()
            seen.append(look())

        monkeypatch.setattr(held._session.database, "commit", watched)

    first = scene.study.site_lists.stages
    watch(scene.study, lambda: scene.study.site_lists.stages)
    scene.relist({0: "1/2", 1: "1/2", 2: "1/2"})
    assert seen == [first, first]
    assert len(scene.study.site_lists.stages) == 2
    newest = scene.study.site_lists.stages[-1]
    with closing(open_database(site.address)) as database:
        agree_to_lists(database, site.witness, "small", scene.told(), newest.name)
    seen.clear()
    watch(site.study, lambda: site.study.confirm()[0])
    site.do("tick")
    assert seen == [scene.protocol.digest] * 2
    assert site.study.confirm()[0] == newest.name


def test_nothing_is_told_before_it_is_kept(scene: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    check_nothing_is_told_before_it_is_kept(scene, monkeypatch)


@pytest.mark.parametrize("who", [Study, SiteStudy])
def test_what_is_told_too_early_is_found(scene: Sites, monkeypatch: pytest.MonkeyPatch, who: Any) -> None:
    """Broken twins tell what stands in memory."""
    name = "site_lists" if who is Study else "stages"
    monkeypatch.setattr(who, name, property(lambda self: getattr(self._session, name)))
    with pytest.raises(AssertionError):
        check_nothing_is_told_before_it_is_kept(scene, monkeypatch)
