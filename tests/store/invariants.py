"""What must hold of the rows of a stored study, after every step, whatever happened before."""

import json
from collections import Counter, defaultdict
from functools import cache
from typing import Any

from maskedbandit.privacy.loss import Loss
from maskedbandit.store.book.chain import Link, check_chain
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.study import Study
from maskedbandit.study.driver import Driver
from tests.store.model import CHARGES, EPSILON, Model

COLUMNS = {
    "place": "study, ticket, cohort, place, arm, person, propensity, period, assigned, exposed, returned, erased",
    "reward": "study, ticket, event, proof, value, received, position",
    "release": "study, cohort, step, arm, n, total",
    "decision": "study, number, step, arm, n, close",
    "entry": "study, number, body, hash, signature",
    "study": "study, state, people, reached",
}
ORDERS = {"reward": "position", "release": "step", "decision": "number", "entry": "number"}


def check_database(database: Database, witness: Witness, models: dict[str, Model]) -> dict[str, list[Any]]:
    """Everybody was charged for every place and is within the budget; all rows, by table."""
    rows = {
        table: database.rows(f"SELECT {columns} FROM {table} ORDER BY {ORDERS.get(table, 'study')}")
        for table, columns in COLUMNS.items()
    }
    name_of = witness.pseudonyms("both").of
    charges = {(name_of(unit), period): n for (unit, period), n in next(iter(models.values())).charges.items()}
    spent = "SELECT person, period, text FROM account JOIN loss ON loss.loss = account.spent"
    accounts = {(who, period): times(text) for who, period, text in database.rows(spent)}
    assert accounts == {who: n for who, n in charges.items() if n}, "a charge was lost, or doubled"
    assert max(accounts.values(), default=0) <= CHARGES, "a person is over the budget"
    places = Counter((row[5], row[7]) for row in rows["place"] if row[5] is not None)
    assert all(accounts[who] >= n for who, n in places.items()), "a place was not charged"
    tickets = "SELECT person, period, tickets FROM account"
    named = [(ticket, who, period) for who, period, found in database.rows(tickets) for ticket in found.split()]
    theirs = [(row[1], row[5], row[7]) for row in rows["place"] if row[5] is not None]
    assert sorted(named) == sorted(theirs), "an account names other places than its person has"
    return rows


@cache
def times(text: str) -> int:
    """How many charges have this loss."""
    loss = Loss.from_text(text)
    return next(n for n in range(1, 100) if loss == Loss.pure(EPSILON * n))


def check_study(
    study: Study, witness: Witness, model: Model, tables: dict[str, list[Any]], heads: list[str], last: Any
) -> Any:
    """All that is said of a study; what follows from rows alone is not computed again if they are the `last` ones."""
    rows = {table: [row[1:] for row in found if row[0] == study.name] for table, found in tables.items()}
    check_places(rows, model)
    check_rewards(rows, model)
    check_releases(study, rows, model)
    check_memory(study, rows, model)
    seen = witness.seen(study.name)
    assert seen is not None
    hashes = [row[2] for row in rows["entry"]]
    assert seen.head == (len(hashes), hashes[-1]), "the witness has not seen what is shown"
    assert hashes[: len(heads)] == heads, "the ledger does not go on from what it was"
    heads[:] = hashes
    now = {**rows, "study": None}, study._session.driver, list(study._session.driver.log)
    if now != last:
        check_chain(study.name, [Link(*row) for row in rows["entry"]], witness.signing_key().public_key())
        check_replay(study, rows, model)
        verify_study(study.database, witness, study.name)
    return now


def check_places(rows: dict[str, list[Any]], model: Model) -> None:
    """What was acknowledged is there, once; a person has one place, and a place one person."""
    stored = {row[0]: row[1:] for row in rows["place"]}
    for ticket, each in model.given.items():
        assert ticket in stored, "an assignment was lost"
        cohort, place, arm, person, propensity, period, assigned, exposed, returned, erased = stored.pop(ticket)
        assert (cohort, place, arm, propensity) == (each.cohort, each.place, each.arm, each.propensity)
        assert (period, assigned, exposed, returned) == (each.period, each.assigned, each.exposed, each.returned)
        assert (person is None, erased) == (False, None)
    gone = sorted((each.cohort, each.place, each.assigned) for each in model.gone)
    assert sorted((row[0], row[1], row[6]) for row in stored.values()) == gone, "a place is there that nobody was given"
    assert all(row[3] is None and row[9] is not None for row in stored.values()), "a person was not erased"
    live = [row for row in rows["place"] if row[9] is None]
    assert max(Counter(row[4] for row in live if row[4]).values(), default=1) == 1, "a person has two places"
    assert max(Counter(row[1:3] for row in live).values(), default=1) == 1, "a place was dealt twice"
    sizes = [n for _, _, _, n, _ in rows["decision"] if n > 0]
    assert all(row[1] < len(sizes) and 0 <= row[2] < sizes[row[1]] for row in live), "a cohort has too many people"


def check_rewards(rows: dict[str, list[Any]], model: Model) -> None:
    """A report is there once; none came into a cohort after it was sealed."""
    stored = defaultdict(list)
    positions = [position for *_, position in rows["reward"]]
    assert len(set(positions)) == len(positions), "two reports have one position"
    for ticket, event, _, value, *_ in rows["reward"]:
        stored[ticket].append((event, value))
    expected = {ticket: each.reports for ticket, each in model.given.items() if each.reports}
    assert dict(stored) == expected, "a report was lost, counted twice, or not erased"
    cohorts = {row[0]: row[1] for row in rows["place"] if row[9] is None}
    for ticket, *_, received, _ in rows["reward"]:
        assert received < model.sealed.get(cohorts[ticket], received + 1), "a reward came after the noise was drawn"


def check_releases(study: Study, rows: dict[str, list[Any]], model: Model) -> None:
    """One release of each cohort, which never changes: of exactly n people, and the exact sum of their rewards."""
    stored = {cohort: (arm, n, total) for cohort, _, arm, n, total in rows["release"]}
    assert len(stored) == len(rows["release"]), "a cohort was released twice"
    assert stored == model.releases, "a release was changed, lost, or made too early"
    assert {each.cohort: (each.arm, each.n, each.total) for each in study.releases()} == stored, (
        "other releases are shown than are stored"
    )
    said = [json.loads(row[1]) for row in rows["entry"]]
    known = [(each["cohort"], each["total"]) for each in said if each["kind"] == "released"]
    assert sorted(known) == sorted((cohort, total.hex()) for cohort, (_, _, total) in stored.items())
    for cohort, (_, n, _) in stored.items():
        places = sorted(row[2] for row in rows["place"] if row[1] == cohort and row[9] is None)
        assert places == list(range(n)), f"a release of {n} has {len(places)} people"


def check_memory(study: Study, rows: dict[str, list[Any]], model: Model) -> None:
    """What is decided follows from the seed and the releases; what is in memory is what is stored."""
    state, people, _ = rows["study"][0]
    assert (state, people) == (model.state, model.people), "the state or the number of people is another"
    assert (study.state, study.people) == (state, people), "what is in memory was not stored"
    log = {step: ("ask", number, arm, n, close) for number, step, arm, n, close in rows["decision"]}
    log |= {step: ("tell", cohort, n, total) for cohort, step, _, n, total in rows["release"]}
    said = [json.loads(row[1]) for row in rows["entry"]]
    log |= {each["step"]: ("stage", each["aim"], *each["arms"]) for each in said if "arms" in each}
    in_play = [arm for arm, name in enumerate(model.arms) if name not in model.paused and name != model.control]
    assert list(study.in_play) == list(study._session.driver.arms) == in_play, "other arms are in play"
    assert [name for name, _ in study.protocol.arms] == model.arms, "other arms are known"
    sizes = [(arm, n) for _, _, arm, n, _ in rows["decision"]]
    if (control := study.protocol.control) is not None:  # there is no noise: every group has what is due
        given = sum(n for arm, n in sizes if arm == control.arm)
        assert given == control.due(sum(n for arm, n in sizes) - given), "the control has another share"
    assert study._session.driver.log == [log[step] for step in range(len(log))], "what was decided is not stored"
    live = [row for row in rows["place"] if row[9] is None]
    for places in study._session.driver.cohorts:
        if places.release is None:
            mine = [row for row in live if row[1] == places.cohort]
            left = {*range(places._next, places.size), *places._returned}
            assert left == {*range(places.size)} - {row[2] for row in mine}, "a place was forgotten"
            seen = [row[8] for row in mine if row[8] is not None]
            found = study._session.exposed.get(places.cohort, (0, 0))
            assert found == (len(seen), max(seen, default=0)), "an exposure was forgotten"


def check_replay(study: Study, rows: dict[str, list[Any]], model: Model) -> None:
    """What was decided, and what will be, follows from the seed and the releases."""
    protocol, driver = study.protocol, study._session.driver
    waiting = [row[1:3] for row in rows["place"] if row[9] is None and row[1] not in model.releases]
    seed = bytes.fromhex(study.database.rows("SELECT seed FROM study WHERE study = ?", study.name)[0][0])
    k, law = protocol.k - len(protocol.added), protocol.channel.law()
    how = protocol.policy, law, k, protocol.aim, seed, driver.log, waiting
    again = Driver.replay(*how, control=protocol.control)
    assert str(again.state) == str(driver.state), "another policy came back"
    assert again.answer == driver.answer
