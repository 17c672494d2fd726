"""The device in Ruby, as a process, and copies of it that are broken."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.service.live import LATE, ROOT

RUBY = ROOT / "sdk" / "ruby"
# the device at work: calls with their time, and what each returns, or the name with which it is refused
CALLS = """
require ARGV[0]
folder, url, key, calls = ARGV[1..]
now = 0
device = MaskedBandit::Device.new(folder, url, key, epsilon: 200, least: 20, clock: -> { now })
said = JSON.parse(calls).map do |at, call, *given|
  now = at
  device.public_send(call, *given)
rescue MaskedBandit::Refused => e
  e.name
end
puts said.to_json
"""


def command_ruby(*given: object) -> list[str]:
    """The command that runs a program in Ruby."""
    ruby = shutil.which("ruby")
    assert ruby, "ruby is missing: `make slow` installs it as root on Debian, with apt-get install ruby"
    return [ruby, "-w", *map(str, given)]


def run_ruby(*given: object) -> str:
    """What a program in Ruby said."""
    return read_output(command_ruby(*given))


def read_output(command: list[str]) -> str:
    """What a process said that ended well and complained of nothing."""
    found = subprocess.run(command, capture_output=True, text=True, timeout=LATE)
    assert (found.returncode, found.stderr) == (0, ""), found.stderr
    return found.stdout


def command_device(code: Path, folder: Path, url: str, key: str, *calls: list[Any]) -> list[str]:
    """The command that has a device do all this in one process."""
    return command_ruby("-e", CALLS, code / "masked_bandit_device.rb", folder, url, key, json.dumps(calls))


def call_device(code: Path, folder: Path, url: str, key: str, *calls: list[Any]) -> list[Any]:
    """What is answered to each call of a device, in a process of its own."""
    return json.loads(read_output(command_device(code, folder, url, key, *calls)))


def break_device(folder: Path, sound: str, broken: str) -> Path:
    """A copy of the device in which something is written otherwise."""
    copy = folder / "broken"
    shutil.copytree(RUBY, copy)
    (file,) = [each for each in sorted(copy.iterdir()) if sound in each.read_text()]
    text = file.read_text()
    assert text.count(sound) == 1
    file.write_text(text.replace(sound, broken))
    return copy
