"""The schema of statements, the record for the registry, and what a person loses in words and numbers."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import jsonschema_rs
import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments.examples import find_experiment
from maskedbandit.lab.experiments.experiment import read_experiment
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.reports.statement import statement_of_experiment
from maskedbandit.service.views.view import read_view
from maskedbandit.statement.content import decode_statement, encode_statement, make_statement_schema
from maskedbandit.statement.facts import Facts
from maskedbandit.statement.promises import list_loss_parameters, state_amount
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.chain import Link
from maskedbandit.store.book.entries import parse_entry
from maskedbandit.store.book.entry import Entry
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.service.played import BASE, HOUR, Played, quick_folder
from tests.statement.stage import MEANS, as_file, finished

Judge = Callable[[bytes], bool]


@cache
def validator() -> Any:
    return jsonschema_rs.validator_for(make_statement_schema())


def by_schema(text: bytes) -> bool:
    """What another library says of a statement, from the published schema alone."""
    try:
        return bool(validator().is_valid(json.loads(text)))
    except ValueError:
        return False


def by_us(text: bytes) -> bool:
    try:
        decode_statement(text)
    except InvalidValue:
        return False
    return True


@pytest.fixture(scope="module")
def texts() -> Iterator[list[bytes]]:
    """Of a study with central trust, of one with local trust, and of an experiment."""
    reward = {"rule": "first", "window": "1 hour"}
    local = {"channel": {"name": "response", "epsilon": 2}, "budget": {"rho": 4}, "reward": reward}
    with quick_folder() as folder:
        central, devices = finished(folder / "central"), finished(folder / "local", **local)
        yield [
            as_file(central),
            as_file(devices),
            encode_statement(statement_of_experiment(read_experiment(find_experiment("quickstart")))),
        ]
        central.study.close()
        devices.study.close()


def spoiled(text: bytes) -> Iterator[tuple[str, bytes]]:
    """Each value of the statement left out, and each of another type; and one value too many."""

    def at(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        for key, each in value.items() if isinstance(value, dict) else enumerate(value[:1]):
            yield (*way, key)
            if isinstance(each, dict | list):
                yield from at(each, (*way, key))

    for way in list(at(json.loads(text))):
        for what in ("left out", "another type", "one too many"):
            found = json.loads(text)
            inner = found
            for key in way[:-1]:
                inner = inner[key]
            if what == "another type":
                inner[way[-1]] = [[]] if not isinstance(inner[way[-1]], list) else "a text"
            elif what == "one too many" and isinstance(inner, dict):
                inner["another"] = 1
            elif what == "left out" and isinstance(inner, dict):
                del inner[way[-1]]
            else:
                continue
            yield f"{what}: {'.'.join(map(str, way))}", json.dumps(found).encode()


OPTIONAL = ("publication_date", "epsilon", "delta", "rho")  # of a record for the registry


def check_judge(judge: Judge, texts: list[bytes]) -> int:
    """It accepts what is right, and nothing else: of how many wrong ones that was seen."""
    count = 0
    for text in texts:
        assert judge(text)
        for what, wrong in spoiled(text):
            optional = what.startswith("left out: registry") and what.endswith(OPTIONAL)
            assert judge(wrong) is optional, what
            count += 1
    return count


@pytest.mark.slow
@pytest.mark.parametrize("judge", [by_us, by_schema])
def test_a_statement_keeps_its_schema(texts: list[bytes], judge: Judge) -> None:
    assert check_judge(judge, texts) > 500


@pytest.mark.slow
def test_a_judge_that_misses_something_is_noticed(texts: list[bytes]) -> None:
    """Negative controls: fields that nobody knows, or that are missing, are let through."""
    open_ended = json.loads(
        json.dumps(make_statement_schema()).replace('"additionalProperties": false', '"additionalProperties": true')
    )
    for twin in (
        open_ended,
        {"type": "object"},
        make_statement_schema() | {"$defs": make_statement_schema()["$defs"] | {"Chain": {}}},
    ):
        lax = jsonschema_rs.validator_for(twin)
        with pytest.raises(AssertionError):
            check_judge(lambda text, lax=lax: bool(lax.is_valid(json.loads(text))), texts)


# the fields that the registry of deployments has for a deployment, at the commit that statement/content.py names
FIELDS = {
    "basic": "name data_curators description intended_use data_product_type data_product_region data_product_sector "
    "publication_date",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details number_of_privacy_units privacy_parameters "
    "privacy_parameters_details",
    "deployment_model": "model_name model_name_details trust_assumptions actors release_type release_type_details "
    "data_source_type data_source_type_details access_type access_type_details",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms composition post_processing justification "
    "utility additional_information",
    "administrative": "evidence_sources status registry_authors tier",
}


@pytest.mark.slow
def test_the_record_has_the_fields_of_the_registry(texts: list[bytes]) -> None:
    for text in texts[:2]:
        registry = json.loads(text)["registry"]
        deployment, left_out = registry["record"]["deployment"], set(registry["left_out"])
        assert list(deployment) == list(FIELDS)
        for group, names in FIELDS.items():
            missing = {f"deployment.{group}.{name}" for name in set(names.split()) - set(deployment[group])}
            assert set(deployment[group]) <= set(names.split()), group
            assert missing <= left_out | {"deployment.deployment_model.model_name_details"}
        assert set(deployment["privacy_loss"]["privacy_parameters"]) <= {"epsilon", "delta", "rho"}
    assert json.loads(texts[2])["registry"] is None


@for_each(
    ("loss", "epsilon", "delta", "numbers"),
    [
        (Loss.pure(1), 1, 0, {"epsilon": 1}),
        (Loss.approximate(1, 1e-5), 1, 1e-5, {"epsilon": 1, "delta": 1e-5}),
        (Loss.zcdp(0.125), 2.4192, 1e-6, {"rho": 0.125}),
        (Loss.unbounded(), None, 1, {"delta": 1}),
        (ZERO, 0, 0, {"epsilon": 0}),
    ],
)
def test_amounts_are_those_of_the_loss(
    loss: Loss, epsilon: float | None, delta: float, numbers: dict[str, float]
) -> None:
    found = state_amount("it", loss)
    assert found.epsilon == (None if epsilon is None else pytest.approx(epsilon, rel=1e-3))
    assert found.delta == pytest.approx(delta)
    said = list_loss_parameters(loss)
    assert {name: each for name in ("epsilon", "delta", "rho") if (each := getattr(said, name)) is not None} == numbers


ALSO: dict[str, dict[str, Any]] = {  # what an entry of a kind says too
    "started": {"protocol": "", "seed": ""},
    "burned": {"missing": 1, "witness": ""},
    "arm_added": {"payload": None},
    "arm_harmful": {"evidence": "0x1p+3"},
    "released": {"total": "0x1p+1", "members": "", "offer": "", "memory": ""},
}


def entry(number: int, kind: str, **says: Any) -> Entry:
    said = {"at": number, "kind": kind, **ALSO.get(kind, {}), **says}
    return parse_entry("newsletter", Link(number, json.dumps(said), f"{number:064x}", ""))


def released(number: int, arm: int, n: int, loss: Loss) -> Entry:
    return entry(number, kind="released", arm=arm, n=n, loss=loss.to_text(), step=number, cohort=number)


def facts_of(protocol: Protocol, *entries: Entry) -> Facts:
    return Facts.of(Book("newsletter", protocol, entries))


def test_releases_do_not_add_up_and_what_was_burned_does() -> None:
    protocol, one = Protocol.from_table(BASE), Loss.pure(1)
    found = [entry(0, kind="started", simulated=True), released(1, 0, 5, Loss.pure("1/2")), released(2, 1, 7, one)]
    facts = facts_of(protocol, *found)
    assert (facts.releases, facts.people, facts.noisiest, facts.simulated) == (2, 12, (1, 7), True)
    assert (facts.so_far, facts.at_most) == (one, one)
    facts = facts_of(protocol, *found[:2])
    assert (facts.so_far, facts.at_most, facts.first_release) == (Loss.pure("1/2"), one, 1)
    burned = [*found, entry(3, kind="burned", loss=one.to_text()), entry(4, kind="burned", loss=one.to_text())]
    facts = facts_of(protocol, *burned)
    assert (facts.so_far, facts.at_most, facts.gaps) == (3 * one, 3 * one, 2)
    assert facts_of(protocol).so_far == ZERO


def test_with_local_trust_everything_is_lost_at_once() -> None:
    """The server sees a report before its cohort is released."""
    table = BASE | {"channel": {"name": "response", "epsilon": 1}, "reward": {"rule": "first"}}
    started = entry(0, kind="started")
    assert facts_of(Protocol.from_table(table), started).so_far == Loss.pure(1)
    assert facts_of(Protocol.from_table(BASE), started).so_far == ZERO


FINE = {
    "channel": {"name": "central", "epsilon": 1, "noise": "skellam", "grid": {"fixed": 1, "fineness": 1}},
    "budget": {"epsilon": 8, "delta": 1e-5},
}


@pytest.mark.slow
@for_each("protocol", [{}, FINE], ids=["one price", "a price for each size"])
def test_the_page_and_the_command_state_the_same_at_every_stage(protocol: dict[str, Any]) -> None:
    def same(played: Played) -> None:
        shown = read_view(played.database, played.witness(), "newsletter", played.now)
        assert encode_statement(shown.statement) == as_file(played)

    with quick_folder() as folder:
        played = Played(folder / "study", **protocol)
        same(played)
        played.study.start()
        same(played)
        played.come(20, MEANS)
        same(played)
        played.come(100, MEANS)
        played.study.pause()
        same(played)
        played.study.resume()
        played.study.stop()
        same(played)
        played.wait(3 * HOUR)
        assert read_view(played.database, played.witness(), "newsletter", played.now).releases
        played.study.archive()
        same(played)
        played.study.close()
