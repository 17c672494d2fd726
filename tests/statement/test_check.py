"""A statement is what the ledger says: whatever was changed in one or the other is found."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from maskedbandit import __version__
from maskedbandit.errors import BehindWitness, Contradicted, Corrupted, InvalidValue, UnknownStudy
from maskedbandit.lab.experiments.examples import find_experiment
from maskedbandit.lab.experiments.experiment import read_experiment
from maskedbandit.privacy.loss import ZERO
from maskedbandit.reports.statement import statement_of_experiment
from maskedbandit.statement import check as checking
from maskedbandit.statement.check import check_statement
from maskedbandit.statement.content import decode_statement, encode_statement
from maskedbandit.statement.service import check_ledger
from maskedbandit.store.book.chain import read_links
from maskedbandit.store.book.verify import Verified
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.service.played import BASE, Played, quick_folder
from tests.statement.stage import MEANS, as_file, finished
from tests.store.databases import fresh_postgresql

REFUSALS = (Contradicted, Corrupted, BehindWitness, InvalidValue, UnknownStudy)
Checker = Callable[[bytes, Played], object]


@pytest.fixture(scope="module")
def played() -> Iterator[Played]:
    with quick_folder() as folder:
        found = finished(folder / "study")
        yield found
        found.study.close()


@pytest.fixture(scope="module")
def text(played: Played) -> bytes:
    """Its statement."""
    return as_file(played)


@pytest.fixture
def copy(played: Played) -> Iterator[Played]:
    """A copy that a test may spoil."""
    with quick_folder() as folder:
        found = Played.copied(played, folder / "copy")
        yield found
        found.study.close()


def checked(text: bytes, study: Played) -> object:
    return check_statement(text, study.database, study.witness())


def changed(text: bytes, path: str, value: Any) -> bytes:
    """A statement in which one value is another."""
    found = json.loads(text)
    *way, last = [int(each) if each.isdigit() else each for each in path.split(".")]
    at = found
    for each in way:
        at = at[each]
    assert at[last] != value
    at[last] = value
    return as_is_written(found)


def as_is_written(found: Any) -> bytes:
    """What is changed alone gives a lie away, and not how the file is written."""
    return msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"


def test_what_the_ledger_gives_is_accepted(played: Played, text: bytes) -> None:
    said = check_statement(text, played.database, played.witness())
    assert said.ledger is not None
    assert said.ledger.releases > 2
    assert encode_statement(said) == text == as_file(played)  # the same bytes each time


def test_an_older_statement_stays_true(played: Played) -> None:
    for upto in (1, 3):
        text = as_file(played, upto)
        assert json.loads(text)["ledger"]["entries"] == upto
        checked(text, played)


CHANGES = {
    "name": "another",
    "project": "another",
    "about": "something else",
    "simulated": False,
    "state": "running",
    "as_of": "2026-01-01T00:00:00Z",
    "protocol": "0" * 64,
    "odds": "Nobody can guess anything.",
    "trust": "Nobody has to be trusted.",
    "not_protected": [],
    "assumptions": [],
    "person.0.epsilon": 0.1,
    "person.0.delta": 0.1,
    "person.0.right": 0.5,
    "person.1.epsilon": 0.1,
    "person.1.loss": "ε = 0.1",
    "person.2.epsilon": 0.1,
    "person.2.what": "the budget of a person in 900 days, in this study",
    "promises.0.policy": "Uniform",
    "promises.0.trust": "local",
    "points.composition": "There was one release.",
    "points.timing": "Protected.",
    "points.utility": "Perfect.",
    "evidence.tested.0.tests": ["tests/test_layers.py::test_imports_point_down"],
    "ledger": None,
    "ledger.entries": 3,
    "ledger.releases": 1,
    "ledger.head": "0" * 64,
    "ledger.key": "0" * 64,
    "registry": None,
    "registry.record.deployment.privacy_loss.number_of_privacy_units": 1,
    "registry.record.deployment.privacy_loss.privacy_parameters": {"epsilon": 0.1},
    "registry.record.deployment.basic.publication_date": "2020-01-01",
}


def check_refused(checker: Checker, text: bytes, study: Played) -> None:
    """It is refused, with a word on what is wrong."""
    with pytest.raises(REFUSALS) as why:
        checker(text, study)
    assert str(why.value)


@for_each("path", CHANGES)
def test_a_statement_that_the_ledger_contradicts_is_refused(played: Played, text: bytes, path: str) -> None:
    check_refused(checked, changed(text, path, CHANGES[path]), played)


@pytest.mark.parametrize("path", ["person.0.epsilon", "ledger.releases", "points.timing"])
def test_a_check_that_does_not_compare_is_noticed(
    played: Played, text: bytes, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control."""
    monkeypatch.setattr(checking, "check_agreement", lambda said, true: None)
    with pytest.raises(pytest.fail.Exception):
        check_refused(checked, changed(text, path, CHANGES[path]), played)


def test_numbers_of_an_older_ledger_are_not_those_of_a_newer_one(played: Played) -> None:
    """Two true statements, and one made of both."""
    old, new = (json.loads(as_file(played, entries)) for entries in (3, None))
    check_refused(checked, as_is_written(new | {"ledger": old["ledger"]}), played)
    check_refused(checked, as_is_written(old | {"person": new["person"], "points": new["points"]}), played)


@pytest.mark.slow
@for_each("path", [None, *CHANGES])
def test_a_statement_of_another_version_is_for_that_version(played: Played, text: bytes, path: str | None) -> None:
    """It may be worded otherwise, so that no lie in words could be told from the truth."""
    older = changed(text, "version", "0.0.1")
    if path is not None:
        older = changed(older, path, CHANGES[path])
    check_refused(checked, older, played)
    if path is None:
        with pytest.raises(Contradicted, match=rf"by version 0\.0\.1 .* this is version {re.escape(__version__)}"):
            checked(older, played)


def test_a_file_is_as_it_is_written(played: Played, text: bytes) -> None:
    """Programs differ in which of two values they take that have one name."""
    true = json.loads(text)["odds"]
    twice = text.replace(b'"odds":', b'"odds": "Nobody can guess anything.",\n  "odds":')
    assert json.loads(twice)["odds"] == true
    for wrong in (twice, text + b" ", json.dumps(json.loads(text)).encode()):
        with pytest.raises(Contradicted, match="not byte for byte"):
            checked(wrong, played)


def test_the_last_digits_of_a_number_may_be_those_of_another_machine(played: Played, text: bytes) -> None:
    right = json.loads(text)["person"][1]["right"]
    checked(changed(text, "person.1.right", right * (1 + 1e-14)), played)
    check_refused(checked, changed(text, "person.1.right", right * (1 - 1e-6)), played)


def compared(text: bytes, study: Played) -> None:
    """With the entries and the protocol that a service shows."""
    check_ledger(decode_statement(text), "newsletter", read_links(study.database, "newsletter"), study.protocol)


@for_each("path", CHANGES)
def test_a_statement_that_the_entries_of_a_service_contradict_is_refused(
    played: Played, text: bytes, path: str
) -> None:
    compared(text, played)
    check_refused(compared, changed(text, path, CHANGES[path]), played)


def test_a_draft_is_not_what_is_served_once_there_are_entries(played: Played) -> None:
    draft = decode_statement(as_file(played, 0))
    check_ledger(draft, "newsletter", [], played.protocol)
    with pytest.raises(Contradicted, match=r"ledger of the statement is None, .* has \d+ entries"):
        check_ledger(draft, "newsletter", read_links(played.database, "newsletter"), played.protocol)


def test_entries_and_a_protocol_that_do_not_belong_together_are_refused(played: Played, text: bytes) -> None:
    other = Protocol.from_table(BASE | {"about": "another"})
    with pytest.raises(Contradicted, match="the protocol that is served"):
        check_ledger(decode_statement(text), "newsletter", read_links(played.database, "newsletter"), other)


@pytest.mark.slow
def test_what_no_entry_says_is_not_compared() -> None:
    """The sizes of cohorts that were not released, if the price depends on them."""
    fine = {"name": "central", "epsilon": 1, "noise": "skellam", "grid": {"fixed": 1, "fineness": 1}}
    with quick_folder() as folder:
        study = finished(folder / "study", 60, channel=fine, budget={"epsilon": 8, "delta": 1e-5})
        text = as_file(study)
        compared(text, study)
        compared(as_file(study, 3), study)
        for path in ("person.0.epsilon", "person.1.right", "state", "as_of", "points.composition"):
            check_refused(compared, changed(text, path, CHANGES.get(path, 0.5)), study)
        study.study.close()


SPOILED = {
    "an entry was changed": "UPDATE entry SET body = replace(body, '\"kind\"', '\"Kind\"') WHERE number = 2",
    "the last entry was removed": "DELETE FROM entry WHERE number = (SELECT MAX(number) FROM entry)",
    "a release was changed": "UPDATE release SET total = total + 1 WHERE cohort = 0",
    "a release was removed": "DELETE FROM release WHERE cohort = 0",
    "the protocol was changed": "UPDATE study SET protocol = replace(protocol, '\"epsilon\":1', '\"epsilon\":2')",
    "the state was changed": "UPDATE study SET state = 'running'",
    "the seed was changed": "UPDATE study SET seed = '00'",
    "an outcome was changed": "UPDATE reward SET value = 1 - value",
}


@pytest.mark.parametrize("what", SPOILED)
def test_no_statement_is_made_of_a_ledger_that_does_not_hold(copy: Played, text: bytes, what: str) -> None:
    with copy.database.transaction():
        assert copy.database.change(SPOILED[what])
    with pytest.raises(REFUSALS):
        as_file(copy)
    check_refused(checked, text, copy)


def test_a_making_that_does_not_verify_is_noticed(copy: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: what only the recomputation finds."""
    monkeypatch.setattr(checking, "verify_study", lambda database, witness, study: Verified(10**6, "", 0, 0, ZERO))
    with copy.database.transaction():
        copy.database.change(SPOILED["an outcome was changed"])
    assert as_file(copy)


def test_a_statement_of_another_ledger_is_refused(played: Played, text: bytes) -> None:
    """A draft of the same protocol, a copy that went on otherwise, and an experiment."""
    with quick_folder() as folder:
        other = Played(folder / "other")
        check_refused(checked, text, other)
        draft = as_file(other)
        checked(draft, other)
        other.study.start(simulated=True)
        checked(draft, other)  # it said that nothing was published, and of which protocol
        other.come(3, MEANS)
        check_refused(checked, as_file(other), played)
        other.study.close()
    experiment = encode_statement(statement_of_experiment(read_experiment(find_experiment("quickstart"))))
    check_refused(checked, experiment, played)
    check_refused(checked, b"{", played)


@pytest.mark.slow
def test_so_it_is_on_postgresql() -> None:
    with quick_folder() as folder:
        study = finished(folder / "study", 60, address=fresh_postgresql())
        text = as_file(study)
        checked(text, study)
        names = {each["name"]: each["version"] for each in json.loads(text)["evidence"]["versions"]}
        assert re.fullmatch(r"\d+\.\d+", names["PostgreSQL"])
        for path in ("person.0.epsilon", "ledger.head", "odds"):
            check_refused(checked, changed(text, path, CHANGES[path]), study)
        with study.database.transaction():
            assert study.database.change(SPOILED["an outcome was changed"])
        check_refused(checked, text, study)
        study.study.close()
