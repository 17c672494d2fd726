"""A coordinator that lies, and sites that lose what they knew: a site leaves the attempt, and reveals nothing more."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.errors import BehindWitness, Corrupted, Disagreement, Late
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.kept_round import RoundDue, RoundTerms
from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.messages import SURVIVORS, pack_flags, pack_message
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.sites import people, rounds
from maskedbandit.store.sites.people import name_for_coordinator
from maskedbandit.store.sites.session import SiteSession
from maskedbandit.store.sites.study import SiteStudy
from maskedbandit.store.sites.verify import verify_site
from tests.store.forgetful import forget_refusal
from tests.store.site_scene import AtSite, Sites
from tests.store.small_study import WINDOW, Clock
from tests.store.test_rounds import fill

Lie = Callable[[RoundTerms], RoundTerms]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def scene(tmp_path: Path, clock: Clock) -> Iterator[Sites]:
    made = Sites(f"sqlite:///{tmp_path}/study.db", tmp_path, clock, backend={"colluding": 1})
    made.study._session.bits = Bits(Random(7).randbytes)  # every site has people in both cohorts, and room for more
    fill(made)
    clock.now += WINDOW + 1
    assert all(0 < many < 4 for many in first_due(made).terms.weights)
    yield made
    made.close()


def first_due(scene: Sites, site: int = 0) -> RoundDue:
    """What is due from a site in the first phase."""
    found: RoundDue = scene.do("rounds", site, [])[0]
    return found


def changed(weights: dict[int, int]) -> Lie:
    """Other weights of sites."""

    def lie(terms: RoundTerms) -> RoundTerms:
        found = [many + weights.get(site, 0) for site, many in enumerate(terms.weights)]
        return terms._replace(weights=tuple(found), n=terms.n)

    return lie


LIES: dict[str, Lie] = {
    "fewer people of this site": changed({0: -1, 1: 1}),
    "more people of this site": changed({0: 1, 1: -1}),
    "more people than places": changed({1: 1}),
    "a site above its share": lambda terms: terms._replace(
        n=2 * terms.n, weights=(terms.weights[0], 2 * terms.n - terms.weights[0], 0, 0)
    ),
    "another size": lambda terms: terms._replace(n=terms.n + 1),
    "a later attempt": lambda terms: terms._replace(attempt=2),
    "a cohort that this site has nobody in": lambda terms: terms._replace(cohort=7),
}


def tell(scene: Sites, lie: Lie) -> bytes:
    """What a site answers to a lie about the terms."""
    due = first_due(scene)
    message: bytes = scene.sites[0].do("round", due._replace(terms=lie(due.terms))).message
    return message


@pytest.mark.sparing(1)
@pytest.mark.parametrize("what", LIES)
def test_a_lie_about_the_terms(scene: Sites, what: str) -> None:
    assert tell(scene, LIES[what]) == b""
    assert not scene.sites[0].study._session.joined


@pytest.mark.sparing(1)
@pytest.mark.parametrize(
    "tickets",
    [lambda own, others: own[:-1], lambda own, others: (*own[:-1], own[0]), lambda own, others: (*own[:-1], others[0])],
)
def test_a_lie_about_who_is_in_the_cohort(scene: Sites, tickets: Any) -> None:
    """One too few, one twice, and one of another cohort."""
    due = first_due(scene)
    (other,) = [each for each in scene.do("rounds", 0, []) if each.terms.cohort == 1]
    lie = due._replace(invited=tickets(due.invited, other.invited))
    assert scene.sites[0].do("round", lie).message == b""


def test_the_truth_is_answered(scene: Sites) -> None:
    assert tell(scene, lambda terms: terms) != b""


def test_a_site_that_believes_its_weight_is_found(scene: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken twin, which does not look how many people it has."""
    real = rounds.read_rewards
    monkeypatch.setattr(rounds, "read_rewards", lambda session, cohort, tickets: [*real(session, cohort, tickets), []])
    assert tell(scene, LIES["more people of this site"]) != b""


def play_until(scene: Sites, phase: int) -> dict[int, RoundDue]:
    """The round of the first cohort goes on until this phase is due: what each site is told then."""
    due: dict[int, RoundDue] = {}
    for _ in range(20):
        due = {}
        for each in scene.sites:
            waiting = [one for one in scene.do("rounds", each.number, []) if one.terms.cohort == 0]
            if waiting and waiting[0].phase == phase:
                due[each.number] = waiting[0]
            elif waiting:
                scene.do("rounds", each.number, each.answer(waiting[:1]))
        if len(due) == len(scene.sites):
            return due
    raise AssertionError("the phase is never due")


def survivors(due: RoundDue, *sites: int) -> RoundDue:
    """The same with another list of survivors."""
    flags = pack_flags(sum(1 << site for site in sites), 4)
    return due._replace(message=pack_message(SURVIVORS, due.message[2 : 2 + KEY], flags))


@pytest.mark.sparing(1)
@pytest.mark.parametrize("sites", [(0, 1), (0,), (1, 2, 3), (0, 1, 2)])
def test_a_short_list_is_not_opened(scene: Sites, sites: tuple[int, ...]) -> None:
    """Fewer sites than the protocol says, or too few people, or a list without this site."""
    due = play_until(scene, 3)
    assert scene.sites[0].do("round", survivors(due[0], *sites)).message == b""
    assert not scene.sites[0].study._session.agreed


def test_the_whole_list_is_agreed_to(scene: Sites) -> None:
    due = play_until(scene, 3)
    assert scene.sites[0].do("round", survivors(due[0], 0, 1, 2, 3)).message != b""
    assert scene.sites[0].study._session.agreed


@pytest.mark.sparing(1)
@pytest.mark.parametrize("phase", range(5))
def test_another_message_of_the_same_phase(scene: Sites, phase: int) -> None:
    """The first answer stands; what is asked otherwise afterwards is answered by nothing."""
    due = play_until(scene, phase)[0]
    first = scene.sites[0].do("round", due)
    assert first.message
    other = due._replace(message=due.message + b"x")
    assert scene.sites[0].do("round", other).message == b""
    assert scene.sites[0].do("round", due) == first
    assert scene.sites[0].do("round", due._replace(terms=due.terms._replace(ring=bytes(32)))).message == b""


def test_no_attempt_after_the_sum_was_agreed_to(scene: Sites) -> None:
    due = play_until(scene, 3)[0]
    assert scene.sites[0].do("round", due).message
    again = RoundDue(due.terms._replace(attempt=2), 0, b"")
    assert scene.sites[0].do("round", again).message == b""


def test_no_phase_before_its_turn(scene: Sites) -> None:
    due = first_due(scene)
    for phase in range(1, 5):
        assert scene.sites[0].do("round", due._replace(phase=phase)).message == b""


def test_a_report_that_comes_after_the_site_joined(scene: Sites, clock: Clock) -> None:
    given = [row[0] for row in scene.sites[0].study.database.rows("SELECT ticket FROM site_place WHERE cohort = 0")]
    assert scene.sites[0].do("round", first_due(scene)).message
    clock.now -= WINDOW
    with pytest.raises(Late):
        scene.sites[0].do("report", given[0], 1.0)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("phase", [0, 2, 3])
def test_a_restored_site_answers_nothing(scene: Sites, tmp_path: Path, phase: int) -> None:
    """A copy from before the site joined, or agreed, is behind its witness: no second value, and no second list."""
    due, site = play_until(scene, phase)[0], scene.sites[0]
    site.study.close()
    path = tmp_path / "site0.db"
    shutil.copy(path, tmp_path / "copy.db")
    site.open()
    assert site.do("round", due).message
    site.study.close()
    for each in tmp_path.glob("site0.db*"):
        each.unlink()
    shutil.copy(tmp_path / "copy.db", path)
    with pytest.raises(BehindWitness):
        site.open()


TAMPERED = {
    "UPDATE site_round SET terms = REPLACE(terms, '[0, 1, 8', '[0, 1, 9')": "is not what the ledger says",
    "DELETE FROM site_round": "was removed",
    "UPDATE site_round SET seed = NULL": "was removed, and another one not",
    "UPDATE site_place SET exposed = NULL": "of nobody who saw an arm",
    "DELETE FROM site_place": "of nobody who saw an arm",
    "DELETE FROM entry WHERE number > 0": "small",
    "UPDATE entry SET body = REPLACE(body, '\"n\":8', '\"n\":9')": "was changed",
}


@pytest.mark.sparing(1)
@pytest.mark.parametrize("statement", TAMPERED)
def test_what_was_changed_at_a_site_is_found(scene: Sites, statement: str) -> None:
    site = scene.sites[0]
    assert site.do("round", first_due(scene)).message
    with closing(open_database(site.address)) as database:
        assert verify_site(database, site.witness, "small").joined == 1
        with database.transaction():
            assert database.change(statement) > 0
        with pytest.raises((Corrupted, BehindWitness), match=TAMPERED[statement]):
            verify_site(database, site.witness, "small")


def read_secrets(site: AtSite) -> dict[int, tuple[str, str]]:
    """What the site keeps secret of rounds, by cohort."""
    find = "SELECT cohort, value, seed FROM site_round WHERE value IS NOT NULL"
    return {cohort: (value, seed) for cohort, value, seed in site.study.database.rows(find)}


ENDS: dict[str, Callable[[Sites], Any]] = {
    "it was opened": lambda scene: scene.sites[0].do("round", play_until(scene, 4)[0]),
    "it was left": lambda scene: scene.sites[0].do("round", first_due(scene)._replace(phase=1, message=b"x")),
    "the study ended": lambda scene: scene.sites[0].do("end"),
}


@pytest.mark.sparing(1)
@pytest.mark.parametrize("how", ENDS)
def test_a_secret_of_a_round_that_is_over_is_found(scene: Sites, how: str) -> None:
    """Nothing of it is kept; whoever keeps it, or writes it down again, is found by `ledger verify`."""
    site = scene.sites[0]
    assert site.do("round", first_due(scene)).message
    kept = read_secrets(site)
    assert kept.keys() == {0}
    verify_site(site.study.database, site.witness, "small")
    ENDS[how](scene)
    assert read_secrets(site) == {}
    verify_site(site.study.database, site.witness, "small")
    with site.study.database.transaction():
        site.study.database.change("UPDATE site_round SET value = ?, seed = ? WHERE cohort = 0", *kept[0])
    with pytest.raises(Corrupted, match="were kept, and it is over"):
        verify_site(site.study.database, site.witness, "small")


def test_no_round_is_joined_after_the_study_ended(scene: Sites) -> None:
    """Whoever runs the study has said that it is archived, and asks for a sum all the same."""
    site, due = scene.sites[0], first_due(scene)
    site.do("end")
    answer = site.do("round", due)
    assert (answer.message, answer.why) == (b"", "out_of_turn")
    assert verify_site(site.study.database, site.witness, "small").joined == 0


@pytest.mark.sparing(1)
@pytest.mark.parametrize("how", ["it was opened", "it was left"])
def test_a_site_that_erases_no_secret_is_found(scene: Sites, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr(rounds, "forget_secrets", lambda session, which: None)
    with pytest.raises(AssertionError):
        test_a_secret_of_a_round_that_is_over_is_found(scene, how)


def test_a_second_place_of_somebody_who_is_in_a_sum(scene: Sites) -> None:
    """Neither the ticket of another person, nor one of a further cohort, takes an outcome into another sum."""
    site = scene.sites[0]
    find = "SELECT person, ticket, cohort FROM site_place ORDER BY cohort"
    (ann, of_ann, _), *_, (bob, of_bob, second) = site.study.database.rows(find)
    with pytest.raises(Disagreement, match="of another one"):
        site.do("note_place", ann, second, {"ticket": of_bob})
    with pytest.raises(Disagreement, match="to another cohort"):
        site.do("note_place", ann, second, {"ticket": of_ann})
    assert site.do("round", first_due(scene)).message
    with pytest.raises(Disagreement, match="who is in a sum"):
        site.do("note_place", ann, 9, {"ticket": "f" * 32})
    site.do("note_place", bob, 9, {"ticket": "e" * 32})  # whose place went back: nothing of that cohort has begun


def test_a_second_place_of_somebody_who_was_erased(scene: Sites) -> None:
    """Her data is gone, and that she was in a sum is not forgotten: a coordinator that gives her a place is refused."""
    site = scene.sites[0]
    (person, ticket), *_ = site.study.database.rows("SELECT person, ticket FROM site_place ORDER BY cohort")
    assert site.do("round", first_due(scene)).message
    assert [site.do("erase", person) for _ in range(2)] == [1, 0]
    assert site.do("place", person) is None
    for table in ("site_place", "site_report"):
        assert site.study.database.rows(f"SELECT COUNT(*) FROM {table} WHERE ticket = ?", ticket) == [(0,)]
    with pytest.raises(Disagreement, match="who is in a sum"):
        site.do("note_place", person, 9, {"ticket": "f" * 32})
    find = "SELECT answer, exposed FROM site_place WHERE person = ?"
    assert site.study.database.rows(find, person) == [("", None)], "when she saw the arm is kept"
    verify_site(site.study.database, site.witness, "small")


def test_a_site_that_forgets_who_was_erased_is_found(scene: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    real = people.erase_person_of_site

    def erase(session: SiteSession, person: str) -> int:
        done = real(session, person)
        session.database.change("DELETE FROM site_place WHERE study = ? AND answer = ''", session.name)
        return done

    monkeypatch.setitem(SiteStudy.operations, "erase", erase)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_a_second_place_of_somebody_who_was_erased(scene)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("says", ["the place of another one", "moved a place", "is in a sum"])
def test_a_site_that_takes_any_place_is_found(scene: Sites, monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    """Broken twins, each of which forgets one of the refusals; no two people have one ticket in the database either."""
    monkeypatch.setitem(SiteStudy.operations, "note_place", forget_refusal(people.note_place, says))
    with pytest.raises((pytest.fail.Exception, Corrupted), match=r"DID NOT RAISE|does not keep its own rules"):
        test_a_second_place_of_somebody_who_is_in_a_sum(scene)


def test_one_sum_of_a_cohort(tmp_path: Path) -> None:
    """A coordinator that plays a second attempt to its end cannot finish the first one as well."""
    clock = Clock()
    scene = Sites(f"sqlite:///{tmp_path}/study.db", tmp_path, clock, backend={"attempts": 2}, budget={"epsilon": 2})
    scene.study._session.bits = Bits(Random(7).randbytes)
    fill(scene)
    clock.now += WINDOW + 1
    play_until(scene, 3)
    site = scene.sites[0]
    due = next(each for each in scene.do("rounds", 0, []) if each.terms.cohort == 0)
    again = due._replace(terms=due.terms._replace(attempt=2), phase=0, message=b"", invited=tuple(tickets_of(site, 0)))
    assert site.do("round", again).message
    assert site.do("round", due).message == b"", "the first attempt is over"
    assert site.study.database.rows("SELECT COUNT(*) FROM site_round WHERE value IS NOT NULL AND cohort = 0") == [(1,)]
    assert verify_site(site.study.database, site.witness, "small").agreed == 0
    scene.close()


def tickets_of(site: AtSite, cohort: int) -> list[str]:
    """The tickets of a site's people in a cohort."""
    return [row[0] for row in site.study.database.rows("SELECT ticket FROM site_place WHERE cohort = ?", cohort)]


@pytest.mark.sparing(1)
@pytest.mark.parametrize("weights", [(), (8,), (2, 2, 2, 2, 0), (-1, 3, 3, 3)])
def test_weights_of_other_sites(scene: Sites, weights: tuple[int, ...]) -> None:
    assert tell(scene, lambda terms: terms._replace(weights=weights)) == b""


def test_a_report_leaves_no_trace_of_its_time(tmp_path: Path) -> None:
    """Nothing but the report itself is written: neither the time that the study has reached, nor its lease."""
    clock = Clock()
    scene = Sites(f"sqlite:///{tmp_path}/study.db", tmp_path, clock)
    given, site = scene.come(0, "ann"), scene.sites[0]
    find = "SELECT reached, lease, traces FROM study"
    before = site.study.database.rows(find)
    clock.now += 5000
    site.do("report", given.ticket, 1.0)
    assert site.study.database.rows(find) == before
    assert site.study.time == before[0][0]
    scene.close()


def test_budgets_are_of_the_project(scene: Sites) -> None:
    """A person has one name for the coordinator in all studies of a project."""
    witness = scene.sites[0].witness
    assert name_for_coordinator(witness, "project", "ann") == name_for_coordinator(witness, "project", "ann")
    assert name_for_coordinator(witness, "other", "ann") != name_for_coordinator(witness, "project", "ann")
