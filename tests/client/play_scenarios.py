"""Whether a client in any language plays the scenarios: `python -m tests.client.play_scenarios COMMAND...`.

The command is a program as docs/another_client.md says; it is played against a live service, scenario by scenario.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.client.scenarios import SCENARIOS, play_scenario


def play_scenarios(command: Sequence[str], paths: Sequence[Path] = SCENARIOS) -> list[str]:
    """Play scenarios and say of each what came of it; the names of those that failed."""
    failed = []
    for path in paths:
        scenario, said = json.loads(path.read_text()), "plays it"
        with TemporaryDirectory() as folder:
            try:
                play_scenario(scenario, command, Path(folder))
            except (AssertionError, RuntimeError) as why:  # another answer, or a client that ended
                failed.append(path.stem)
                said = f"FAILS: {why}"
        print(f"{path.stem}: {said}\n    {scenario['about']}", flush=True)
    return failed


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("COMMAND must be given: a program that plays scenarios, see docs/another_client.md")
    sys.exit(1 if play_scenarios(sys.argv[1:]) else 0)
