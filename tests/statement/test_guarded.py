"""Statements of studies with a guardrail, with changes of arms, archived, and with marks that are not seen."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from maskedbandit.privacy.loss import Loss
from maskedbandit.reports.statement import statement_of_experiment
from maskedbandit.statement.content import Statement, encode_statement
from maskedbandit.statement.page import print_statement
from maskedbandit.statement.study import study_statement
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.service.played import BASE, HOUR, Played
from tests.statement.stage import MEANS, finished, stated
from tests.statement.test_content import entry, facts_of, released

GUARDED: dict[str, Any] = BASE | {
    "guardrail": {"name": "unsubscribed", "harm": {"above": 2}, "most": 40, "default": 7, "share": "1/4"}
}
DEVICES = {"channel": {"name": "response", "epsilon": 1}, "reward": {"rule": "first", "window": "2 hours"}}
BOTH = ("unit", "neighbours", "contribution", "mechanism", "bias", "composition")


def of(table: dict[str, Any], *changes: dict[str, Any]) -> Statement:
    """The statement of a study in whose ledger is a release, and then these changes."""
    protocol = Protocol.from_table(table)
    found = [entry(0, kind="started", protocol=protocol.digest), released(1, 0, 5, Loss.pure(1))]
    found += [entry(2 + i, **each) for i, each in enumerate(changes)]
    return study_statement(protocol, facts_of(protocol, *found), "ab" * 32, "SQLite 3")


@for_each("point", BOTH)
def test_a_point_says_that_there_are_two_outcomes(point: str) -> None:
    assert "unsubscribed" in getattr(of(GUARDED).points, point)
    assert "unsubscribed" not in encode_statement(of(BASE)).decode()  # negative control


def test_both_bounds_defaults_and_noises_are_stated() -> None:
    """The reward has 3/4 of ε, so its noise is a third as wide."""
    said = of(GUARDED)
    assert "a number from 0 to 1 (the last" in said.points.contribution
    assert "unsubscribed, is a number from 0 to 40 (the last" in said.points.contribution
    assert "counts 0, and 7 for unsubscribed" in said.points.contribution
    assert "count as 0, and 7 for unsubscribed" in said.points.bias
    assert "the reward has 0.75, and unsubscribed 0.25" in said.points.mechanism
    wide = [float(each.split()[0]) for each in said.points.mechanism.split("standard deviation of ")[1:]]
    assert len(wide) == 2
    assert wide[1] == pytest.approx(3 * wide[0], rel=0.05)
    assert said.registry is not None
    deployment = said.registry.record.deployment
    for text in (
        deployment.basic.description,
        deployment.dp_variant.data_domain,
        deployment.privacy_loss.privacy_unit,
        deployment.privacy_loss.privacy_unit_details,
        deployment.implementation.mechanisms,
        deployment.implementation.additional_information,
    ):
        assert "unsubscribed" in text


@for_each("kind", ["local", "response"])
def test_with_local_trust_each_report_has_noise(kind: str) -> None:
    rule = {"rule": "first"}
    devices = {"channel": {"name": kind, "epsilon": 1}, "reward": rule | {"window": "2 hours"}}
    said, alone = of({**GUARDED, **devices, "guardrail": GUARDED["guardrail"] | rule}), of({**BASE, **devices})
    points = said.points
    assert "The noise in each report has a standard deviation" in points.mechanism
    assert "Each report of unsubscribed has noise of its own" in points.mechanism
    assert "the reward has 0.75, and unsubscribed 0.25" in points.mechanism
    assert "so every device has to, both" in points.contribution
    assert "the reports, of both outcomes, that each device made private" in points.data_collection
    assert any("A device reports both outcomes, whatever they are, at times" in each for each in said.assumptions)
    assert said.promises[0].sees == f"{alone.promises[0].sees}; and the same of unsubscribed"
    assert points.randomness.endswith("once for a report, and not from a seed.")
    assert (
        "Who has reported, which outcomes if there are several, and when: the server sees that." in said.not_protected
    )
    assert said.person[0].epsilon == 1
    assert "unsubscribed" not in encode_statement(alone).decode()
    assert "both" not in alone.points.contribution + alone.points.data_collection + "".join(alone.assumptions)


def test_changes_of_arms_are_counted() -> None:
    changes = [{"kind": f"arm_{each}", "arm": 1, "name": "question"} for each in ("paused", "resumed", "harmful")]
    quiet, one, three = of(GUARDED), of(GUARDED, changes[0]), of(GUARDED, *changes)
    assert "ε, the budget and all else were frozen" in quiet.points.choices  # negative control
    assert quiet.points.query_model.endswith("follows from earlier releases.")
    for said, text in ((one, "1 change of arms"), (three, "2 changes of arms")):
        assert "all else but which arms are in play" in said.points.choices
        for point in (said.points.choices, said.points.query_model):
            assert text in point
            assert "by people who may have seen releases" in point
    assert "harmful" not in one.points.choices + one.points.query_model
    assert "Found harmful by the rule of the protocol, from released sums alone: question." in three.points.choices
    assert "found harmful by them (question)" in three.points.query_model
    ruled = of(GUARDED, changes[2]).points
    assert "question" in ruled.choices
    assert "by people" not in ruled.choices + ruled.query_model


def test_arms_that_were_changed_in_a_stored_study_are_counted(tmp_path: Path) -> None:
    played = Played(tmp_path / "study")
    played.study.start()
    played.study.change_arms("pause", "short")
    played.come(5, MEANS)
    played.study.change_arms("add", "new")
    assert "2 changes of arms" in stated(played).points.choices
    assert "all else were frozen" in stated(played, 1).points.choices
    played.study.close()


@pytest.mark.parametrize("table", [{}, DEVICES], ids=["central", "local"])
def test_what_was_kept_is_said_once_it_is_erased(tmp_path: Path, table: dict[str, Any]) -> None:
    played = finished(tmp_path / "study", 20, **table)
    played.wait(3 * HOUR)
    before = stated(played)
    assert "until the person is erased or the study is archived" in before.points.data_collection
    played.study.archive()
    said = stated(played)
    text = said.points.data_collection + said.trust + said.points.trust_model
    assert "study is archived" not in text
    assert "until the study was archived, when that was erased" in text
    if not table:
        assert "it keeps every outcome until the study is archived" in before.trust
        assert "it kept every outcome until the study was archived, which erased them" in said.trust
    played.study.close()


@for_each("hidden", ["\u202e", "\u2028", "\n", "\u200b", "\x07", "\u2066"])
def test_marks_that_are_not_seen_are_not_in_what_is_signed(hidden: str) -> None:
    from maskedbandit.lab.experiments.examples import find_experiment
    from maskedbandit.lab.experiments.experiment import read_experiment

    table = BASE | {"about": f"which is best?{hidden}{hidden}the first"}
    said = of(table)
    assert said.about.isprintable()
    assert said.about.startswith("which is best?")
    assert said.about.endswith("the first")
    assert "\n" not in said.about
    plain = print_statement(of(BASE))
    assert print_statement(said).count(hidden) == plain.count(hidden) or hidden == "\n"
    assert hidden.encode() not in msgspec.json.encode(said)
    experiment = read_experiment(find_experiment("quickstart"))
    assert statement_of_experiment(experiment).about == " ".join(experiment.about.split())
