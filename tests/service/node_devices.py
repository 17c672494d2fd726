"""Devices of the TypeScript package in Node, as it is built, and broken twins whose built text is altered."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.service.web_pages import build_package

PROGRAM = Path(__file__).with_name("javascript") / "devices.mjs"


class Twin(NamedTuple):
    """What is altered in a file of the built package."""

    file: str
    sound: str
    broken: str


TWINS = {
    "rounds": Twin(  # the uniform number of which it makes its noise, to quarters
        "core/local_reports.js",
        "DEVICE_NOISES[offer.noise.noise](offer.noise.scale, bits);",
        "BigInt(Math.round(Math.log(1 - Number(bits.below(4n)) / 4) * (Number(bits.below(2n)) * 2 - 1)));",
    ),
    "draws twice": Twin(  # or three times, and keeps the noise that is smallest
        "core/local_reports.js",
        "const noise = DEVICE_NOISES[offer.noise.noise](offer.noise.scale, bits);",
        "const [noise] = [0, 1, 2].map(() => DEVICE_NOISES[offer.noise.noise](offer.noise.scale, bits))"
        ".sort((one, other) => Number(one * one - other * other));",
    ),
    "tosses one coin": Twin(  # for all coins of a person
        "core/mixed_messages.js", "bits.below(1n << (many % WORD))", "(bits.below(2n) * ((1n << (many % WORD)) - 1n))"
    ),
    "shares too little": Twin("core/noise_shares.js", "new Fraction(1n, least)", "new Fraction(1n, 4n * least)"),
    "rounds flips": Twin("core/local_reports.js", "bits.below(2n)", "!bits.below(8n)"),  # 0.27 to 1/20
}


class NodeDevices:
    """A process of Node in which people's devices are."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, step: str, **given: Any) -> Any:
        """What came of a step."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"do": step, **given}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "Node ended"
        return json.loads(line)


def build_devices(folder: Path) -> None:
    """The package, with the program beside it."""
    build_package(folder)
    (folder / "package.json").write_text('{"type": "module"}')
    shutil.copy(PROGRAM, folder)


@contextmanager
def run_devices(built: Path, twin: str = "") -> Iterator[NodeDevices]:
    """Devices, until the end of a block; a broken twin has a copy of the package."""
    if twin:
        file, sound, broken = TWINS[twin]
        built = shutil.copytree(built, built.with_name(twin.replace(" ", "_")), symlinks=True)
        text = (built / "dist" / file).read_text()
        assert text.count(sound) == 1, f"{file} has another text by now"
        (built / "dist" / file).write_text(text.replace(sound, broken))
    command = ["node", PROGRAM.name]
    with subprocess.Popen(command, cwd=built, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield NodeDevices(process)
        finally:
            process.kill()
