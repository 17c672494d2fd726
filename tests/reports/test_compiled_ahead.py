"""Another process compiles for a plan only where the plan waits for the compiler, and ends with it."""

from __future__ import annotations

import subprocess
import sys
from threading import Event
from typing import Any

import pytest

from maskedbandit.reports.plan import compiled_ahead as ahead


class Recorded(subprocess.Popen[bytes]):
    """A process that says when it began."""

    begun: list[Recorded]
    began: Event

    def __init__(self, *which: Any, **how: Any) -> None:
        super().__init__(*which, **how)
        self.begun.append(self)
        self.began.set()


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> type[Recorded]:
    class Fresh(Recorded):
        begun, began = [], Event()

    monkeypatch.setattr(ahead.subprocess, "Popen", Fresh)
    return Fresh


def test_it_ends_with_the_plan(processes: type[Recorded], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "COMPILING_PATIENCE", 0.0)
    with ahead.compiled_ahead("identify", ("central", "local")):
        assert processes.began.wait(600)
    (process,) = processes.begun
    assert process.returncode is not None


@pytest.mark.parametrize("trust", [(), ("central",), ("central", "local")])
def test_a_plan_that_need_not_wait_has_none(processes: type[Recorded], trust: tuple[str, ...]) -> None:
    with ahead.compiled_ahead("identify", trust):
        pass
    assert processes.begun == []


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["identify", "regret", "answer"])
def test_its_program_plans_what_is_asked(goal: str) -> None:
    program = ahead.PROGRAM.format(trust=("local",), goal=goal)
    subprocess.run([sys.executable, "-c", f"{program}\nassert each == 'local'"], check=True)
