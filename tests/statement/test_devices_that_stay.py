"""What a study of devices that stay promises: no server sees an outcome, as long as it keeps to its rules."""

from contextlib import closing
from pathlib import Path

import pytest

from maskedbandit.statement.check import make_statement
from maskedbandit.statement.content import Statement, decode_statement, encode_statement
from maskedbandit.statement.page import print_statement
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from tests.statement.test_two_operators import SAID_OF_ONE_SERVER
from tests.store.small_study import Clock, small_protocol, small_study

ROUNDS = {
    "policy": {"name": "successive_elimination", "least": 10},
    "channel": {
        "name": "distributed",
        "epsilon": 1,
        "honest": "7/10",
        "backend": {"name": "secagg", "corrupted": "1/10", "smallest": 4},
    },
    "rounds": {"wait": "1 minute"},
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Statement:
    folder = tmp_path_factory.mktemp("stay")
    address = f"sqlite:///{folder}/study.db"
    small_study(address, folder / "witness", Clock(), small_protocol(**ROUNDS)).close()
    with closing(open_database(address)) as database:
        return make_statement(database, find_witness(database, Path(folder / "witness")), "small")


def test_who_must_be_trusted(said: Statement) -> None:
    assert "add up by themselves" in said.trust
    assert "up to 1 in 10 devices of a cohort" in said.trust
    assert "must not invent devices" in said.trust
    assert said.promises[0].trust == "distributed"
    assert any("breaks the rules of the rounds" in each for each in said.not_protected)
    assert any("more devices of a cohort tell all" in each for each in said.not_protected)  # than 1 in 10
    assert any("nobody runs many of them" in each for each in said.assumptions)
    assert said.registry.record.deployment.deployment_model.model_name == "Distributed"
    assert decode_statement(encode_statement(said)) == said


def test_nothing_is_said_that_is_true_of_a_server_that_has_outcomes(said: Statement) -> None:
    text = encode_statement(said).decode()
    for wrong in SAID_OF_ONE_SERVER:
        assert wrong not in text
    assert "one of each device" in said.points.mechanism
    assert "by each device" in said.points.randomness
    assert "Who is lost before the sum counts as nobody" in said.points.bias
    assert "those stay on people's devices" in said.points.data_collection


def test_the_page_has_its_picture(said: Statement) -> None:
    assert "Trust model: distributed" in print_statement(said)
