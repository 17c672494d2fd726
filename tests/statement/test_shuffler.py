"""What a study with a shuffler promises: who has to be trusted with what, and nothing that is true of two servers."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from maskedbandit.statement.check import make_statement
from maskedbandit.statement.content import Statement, decode_statement, encode_statement
from maskedbandit.statement.page import print_statement
from maskedbandit.store.databases.connection import open_database
from tests.service.shuffler_inside import ShuffledStudy, shuffled_study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShuffledStudy]:
    with shuffled_study(tmp_path_factory.mktemp("shuffled")) as made:
        made.come_all([1] * 8)
        made.report()
        assert len(made.release()) == 2
        yield made


@pytest.fixture(scope="module")
def said(study: ShuffledStudy) -> Statement:
    with closing(open_database(study.service.address)) as database:
        return make_statement(database, study.service.host.witness, "small")


@pytest.mark.slow
def test_both_operators_are_named_and_the_shuffler_has_to_be_honest(said: Statement) -> None:
    assert "Clinic, which leads it, and University, its shuffler" in said.trust
    assert "The shuffler has to be honest" in said.trust
    assert said.promises[0].trust == "shuffled"
    assert any("leader and shuffler together" in each for each in said.not_protected)
    assert any("The shuffler is honest" in each for each in said.assumptions)
    assert "The leader must not invent people, nor report in their place." in said.trust
    assert any("a leader that invents the other people" in each for each in said.not_protected)
    assert any("sends the shuffler no report itself" in each for each in said.assumptions)
    assert said.registry.record.deployment.deployment_model.model_name == "Distributed"
    assert decode_statement(encode_statement(said)) == said
    assert "Trust model: shuffled" in print_statement(said)


def test_nothing_is_said_that_is_true_of_two_servers_or_one(said: Statement) -> None:
    text = encode_statement(said).decode()
    for wrong in ("in the clear", "is trusted: it keeps", "One of the two", "one of each operator", "sealed for two"):
        assert wrong not in text
    assert "within 30 seconds" in said.points.contribution
    assert "the shuffler sees who reported" in said.points.contribution
    assert "by the devices of a cohort" in said.points.randomness
    assert "nothing of any report" in said.points.data_collection
