"""What a study of two operators promises: neither sees an outcome, and nothing is said that is true of one server."""

from contextlib import closing
from pathlib import Path

import pytest

from maskedbandit.statement.check import make_statement
from maskedbandit.statement.content import Statement, decode_statement, encode_statement
from maskedbandit.statement.page import print_statement
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from tests.store.small_study import WINDOW, Clock
from tests.store.two_operators import GRACE, Leading

SAID_OF_ONE_SERVER = (
    "in the clear",
    "is trusted: it keeps",
    "whether a report came is protected",
    "both the database and",
)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Statement:
    folder, clock = tmp_path_factory.mktemp("two"), Clock()
    leading = Leading(f"sqlite:///{folder}/study.db", folder / "witness", clock)
    for i in range(4):
        given = leading.come(f"person {i}")
        leading.upload(given, leading.seal(given, 1))
    clock.now += WINDOW + GRACE + 1
    assert len(leading.settle()) == 2
    leading.study.close()
    with closing(open_database(leading.address)) as database:
        return make_statement(database, find_witness(database, Path(leading.folder)), "small")


def test_both_operators_are_named_and_one_is_enough(said: Statement) -> None:
    assert "Clinic, which leads it, and University, its helper" in said.trust
    assert "One of the two has to be honest" in said.trust
    assert said.promises[0].trust == "two servers"
    assert any("keys of both operators" in each for each in said.not_protected)
    assert any("One operator is honest" in each for each in said.assumptions)
    assert said.registry.record.deployment.deployment_model.model_name == "Distributed"
    assert decode_statement(encode_statement(said)) == said


def test_nothing_is_said_that_is_true_of_one_server(said: Statement) -> None:
    text = encode_statement(said).decode()
    for wrong in SAID_OF_ONE_SERVER:
        assert wrong not in text
    assert "within 25 seconds" in said.points.contribution
    assert "one of each operator" in said.points.mechanism
    assert "by each operator" in said.points.randomness
    assert "sealed for two operators" in said.points.data_collection


def test_the_page_has_its_picture(said: Statement) -> None:
    assert "Trust model: two servers" in print_statement(said)
