"""Evidence of harm begins anew with each release, and a study that began under an older rule keeps it."""

from pathlib import Path

import pytest

from maskedbandit.errors import Corrupted
from maskedbandit.store import start
from maskedbandit.store.book import harm as harm_module
from maskedbandit.study.watch import Watch
from tests.store.test_guardrail import guarded, play


def test_a_study_that_began_under_the_older_rule_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its ledger does not say how evidence of harm begins; by today's rule the evidence in it is another."""
    monkeypatch.setattr(start, "rule_of_harm", lambda protocol: {})
    played = guarded(tmp_path)
    assert "evidence_of_harm" not in played.said()[0]
    played.open_again()
    play(played, {0: 0.05, 1: 0.9, 2: 0.1}, rounds=6)
    assert played.study.in_play == (0, 2)
    played.verify()
    played.open_again()
    monkeypatch.setattr(harm_module, "Watch", lambda guardrail, law, k, anew: Watch(guardrail, law, k))
    with pytest.raises(Corrupted, match="and it was not"):
        played.verify()
    played.study.close()


def test_the_ledger_says_how_evidence_of_harm_begins(tmp_path: Path) -> None:
    played = guarded(tmp_path)
    assert played.said()[0]["evidence_of_harm"] == "anew with each release"
    assert played.study._session.watch.anew
    played.open_again()
    assert played.study._session.watch.anew
    played.study.close()
