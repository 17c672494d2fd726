"""The command that plays both operators and their people on one machine."""

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from maskedbandit.cli import main
from maskedbandit.cli.parts import demo_processes


@pytest.mark.slow
def test_it_runs_to_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices-demo", "-n", "41", "--data", str(tmp_path / "demo"), "--quiet"]) == 0
    said = capsys.readouterr().out.splitlines()
    found = re.fullmatch(r"people (\d+), missing (\d+), answer (plain|bold)", said[-1])
    assert found is not None, said
    assert int(found[1]) == 40
    assert 2 <= int(found[2]) < 40  # more than these two, where a machine is too slow for the grace
    assert "Traceback" not in (tmp_path / "demo" / "leader" / "log").read_text()


@pytest.mark.slow
def test_devices_that_stay_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = ["devices-demo", "--trust", "secagg", "-n", "40", "--data", str(tmp_path / "demo"), "--quiet"]
    assert main(said) == 0
    found = re.fullmatch(r"people 40, missing (\d+), answer (plain|bold)", capsys.readouterr().out.splitlines()[-1])
    assert found is not None
    assert 3 <= int(found[1]) <= 8  # two never come back, and one leaves; cohorts with fewer are discarded
    assert "Traceback" not in (tmp_path / "demo" / "leader" / "log").read_text()


@pytest.mark.slow
def test_a_shuffler_runs_to_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "demo"
    assert main(["devices-demo", "-n", "40", "--trust", "shuffled", "--data", str(folder), "--quiet"]) == 0
    found = re.fullmatch(r"people (\d+), missing (\d+), answer (plain|bold)", capsys.readouterr().out.splitlines()[-1])
    assert found is not None
    assert (int(found[1]), int(found[2]) >= 2) == (40, True)
    for name, says in (("leader", "2 releases"), ("helper", "devices, shuffled: 3 entries")):
        assert main(["ledger", "verify", "--data", str(folder / name)]) == 0
        assert says in capsys.readouterr().out
        assert "Traceback" not in (folder / name / "log").read_text()


def test_what_it_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices-demo", "-n", "3"]) == 2
    assert "from 4 to 10000" in capsys.readouterr().err
    assert main(["devices-demo", "--trust", "secagg", "-n", "39"]) == 2
    assert "from 40 to 10000" in capsys.readouterr().err
    assert main(["devices-demo", "--data", str(tmp_path)]) == 2
    assert "not there yet" in capsys.readouterr().err


@pytest.mark.slow
def test_no_process_is_left_if_one_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = []
    real = demo_processes.subprocess.Popen

    def begin(command: list[str], **more: object) -> object:
        begun.append(process := real([sys.executable, "-c", "raise SystemExit(3)"], **more))
        return process

    monkeypatch.setattr(demo_processes.subprocess, "Popen", begin)
    assert main(["devices-demo", "-n", "4", "--data", str(tmp_path / "demo"), "--quiet"]) == 2
    assert "the helper did not begin" in capsys.readouterr().err
    assert [each.poll() for each in begun] == [3]


@pytest.mark.slow
def test_the_page_is_served_until_it_is_ended() -> None:
    command = [sys.executable, "-m", "maskedbandit", "devices-demo", "-n", "4", "--quiet", "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        try:
            lines = dict(demo.stdout.readline().strip().rsplit(maxsplit=1) for _ in range(3))
            assert re.fullmatch("people 4, missing .*\n", demo.stdout.readline())
            page = httpx.get(lines["page"], trust_env=False, timeout=60, follow_redirects=True)
            ledger = httpx.get(
                f"{lines['page']}v1/studies/devices/ledger",
                headers={"Authorization": f"Bearer {lines['owner  key']}"},
                trust_env=False,
                timeout=60,
            )
            assert (page.status_code, ledger.status_code) == (200, 200)
        finally:
            demo.terminate()
        assert demo.wait(60) == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(lines["page"], trust_env=False)
