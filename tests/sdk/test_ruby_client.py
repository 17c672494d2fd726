"""The client in Ruby, which was written from a page: it plays the scenarios of all clients, and broken ones do not."""

import json
from pathlib import Path

import pytest

from tests.client.scenarios import SCENARIOS, play_scenario
from tests.sdk.ruby_device import RUBY, break_device, command_ruby

pytestmark = pytest.mark.slow


def play(name: str, code: Path, folder: Path) -> None:
    """Play a scenario with the client of a folder."""
    (path,) = [path for path in SCENARIOS if path.stem == name]
    play_scenario(json.loads(path.read_text()), command_ruby(code / "driven_client.rb"), folder)


@pytest.mark.parametrize("name", [path.stem for path in SCENARIOS])
def test_ruby_plays_it(tmp_path: Path, name: str) -> None:
    play(name, RUBY, tmp_path)


BROKEN = [
    ("away", 'found if found && found["until"] > Time.now.to_i', "nil"),
    ("crash", '[read["secret"]].pack("H*")', "SecureRandom.bytes(32)"),
    ("device", 'raise Mistake, "outcome_stays_on_device" if ticket && @outbox.devices?', ""),
    ("enrolment", "@outbox.find_arm(:default) || ", ""),
    ("everyday", '"event" => event, "proof"', '"event" => SecureRandom.hex, "proof"'),
    ("guardrail", 'metric == "" ? body : body.merge("metric" => metric)', "body"),
    ("leave", 'state["messages"].reject! { |message| message["ticket"] == ticket }', ""),
    ("mistakes", 'ticket.is_a?(String) && TICKET.match?(ticket) or raise Mistake, "personal_value"', ""),
    ("order", '.uniq { |message| message["ticket"] }', '.reverse.uniq { |message| message["ticket"] }'),
    ("refused", "next code if %w[conflict", 'next "" if %w[conflict'),
    ("retry", "return first if first && (settled?(first) || first.retry_after.positive?)", "return first if first"),
    ("tokens", "#{expires} #{unit}", "#{expires} somebody"),
]


@pytest.mark.parametrize(("name", "sound", "broken"), BROKEN, ids=[name for name, *_ in BROKEN])
def test_a_broken_client_of_ruby_is_found(tmp_path: Path, name: str, sound: str, broken: str) -> None:
    with pytest.raises(AssertionError, match="step"):
        play(name, break_device(tmp_path, sound, broken), tmp_path)
