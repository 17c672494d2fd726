"""A study has one trust model, whose words are found because their file exists."""

import json
from typing import Any

import pytest

from maskedbandit.statement.find_trust import find_trust_words, list_trust_words
from maskedbandit.statement.trusts.trusted_server import TrustedServer
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.store.small_study import small_protocol

KEYS = "5b" * 32, "c0" * 32
LATER = {"reward": {"window": "20 seconds", "grace": "5 seconds"}}
OPERATORS = {
    "leader": {"name": "Clinic", "key": KEYS[0]},
    "helper": {"name": "University", "key": KEYS[1], "address": "http://university.example"},
}
SITES = [{"name": name, "key": name * 64, "share": "1/2"} for name in "abc"]
MIXED = {"name": "shuffled", "epsilon": 1, "delta": "1/1000", "honest": "1/2", "backend": "shuffler"}
SUMMED = {"name": "distributed", "epsilon": 1, "honest": "1/2"}
MODELS: dict[str, dict[str, Any]] = {
    "TrustedServer": {},
    "PrivateDevices": {"channel": {"name": "response", "epsilon": 1}, "reward": LATER["reward"] | {"rule": "first"}},
    "LeaderAndHelper": LATER
    | {"channel": {"name": "two_servers", "epsilon": 1, "backend": "prio3"}, "operators": OPERATORS},
    "LeaderAndShuffler": LATER | {"channel": MIXED, "operators": OPERATORS, "budget": {"epsilon": 1, "delta": "1/100"}},
    "OwnSites": {"channel": SUMMED | {"backend": "sites"}, "sites": {"list": SITES}},
    "AddingDevices": {"channel": SUMMED | {"backend": "secagg"}, "rounds": {"wait": "1 minute"}},
}


def make_study(model: str) -> Protocol:
    """A study of this trust model."""
    table = json.loads(small_protocol().text) | MODELS[model]
    return Protocol.from_text(json.dumps(table, sort_keys=True, separators=(",", ":")))


@for_each("model", list(MODELS))
def test_a_study_has_the_words_of_one_trust_model(model: str) -> None:
    found = find_trust_words(make_study(model))
    assert type(found).__name__ == model
    said = [found.say_trust(""), found.say_seen(), *found.list_unprotected(), *found.list_assumptions()]
    assert all(each == each.strip() != "" for each in said)


def test_all_are_looked_at() -> None:
    assert {each.__name__ for each in list_trust_words()} == MODELS.keys()


def test_two_that_claim_one_study_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrustedServer, "holds", staticmethod(lambda protocol: True))
    with pytest.raises(ValueError, match="too many values"):
        find_trust_words(make_study("OwnSites"))
