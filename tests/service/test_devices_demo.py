"""The command that plays both operators and their people on one machine."""

import re
import sys
from pathlib import Path

import pytest

from maskedbandit.cli import main
from maskedbandit.cli.parts import two_operators


@pytest.mark.slow
def test_it_runs_to_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices-demo", "-n", "41", "--data", str(tmp_path / "demo"), "--quiet"]) == 0
    said = capsys.readouterr().out.splitlines()
    found = re.fullmatch(r"people (\d+), missing (\d+), answer (plain|bold)", said[-1])
    assert found is not None, said
    assert int(found[1]) == 40
    assert 2 <= int(found[2]) < 40  # more than these two, where a machine is too slow for the grace
    assert "Traceback" not in (tmp_path / "demo" / "leader" / "log").read_text()


def test_what_it_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices-demo", "-n", "3"]) == 2
    assert "from 4 to 10000" in capsys.readouterr().err
    assert main(["devices-demo", "--data", str(tmp_path)]) == 2
    assert "not there yet" in capsys.readouterr().err


@pytest.mark.slow
def test_no_process_is_left_if_one_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = []
    real = two_operators.subprocess.Popen

    def begin(command: list[str], **more: object) -> object:
        begun.append(process := real([sys.executable, "-c", "raise SystemExit(3)"], **more))
        return process

    monkeypatch.setattr(two_operators.subprocess, "Popen", begin)
    assert main(["devices-demo", "-n", "4", "--data", str(tmp_path / "demo"), "--quiet"]) == 2
    assert "the helper did not begin" in capsys.readouterr().err
    assert [each.poll() for each in begun] == [3]
