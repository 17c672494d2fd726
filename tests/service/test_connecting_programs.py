"""The programs by which a page says how to connect, run as they stand there, against a live service."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from maskedbandit.store.databases.connection import open_database
from tests.service.inside import TABLE
from tests.service.live import LATE, PATIENT, ROOT, Live
from tests.service.node_devices import build_devices
from tests.service.test_connect import read_programs
from tests.service.web_pages import PUBLIC, SIGNER, Site, make_device_key, open_page, sign_in, somebody

pytestmark = pytest.mark.slow
LOCAL: dict[str, Any] = {
    "channel": {"name": "local", "epsilon": 1},
    "reward": {"window": "1 hour", "exposure": "1 hour", "grace": "1 hour", "rule": "first"},
}
ELIGIBLE = {"country": ["D\"E$(false)`\\'", "AT"], "age": {"least": 18, "most": 65}, "member": True}
STUDIES: dict[str, dict[str, Any]] = {
    "trusted": {"reward": PATIENT},
    "signed": {"reward": PATIENT, "signed_by": PUBLIC},
    "eligible": {"reward": PATIENT, "enrolment": {"eligible": ELIGIBLE}},
    "enrols": {"reward": PATIENT | {"evaluating": "enrols"}},
    "devices": LOCAL | {"signed_by": PUBLIC},
    "noise": {"channel": {"name": "response", "epsilon": "1/2"}, "reward": PATIENT | {"rule": "first"}},
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which Node finds the package as it is built."""
    built = tmp_path_factory.mktemp("connect") / "package"
    build_devices(built)
    place = built.parent / "application"
    (place / "node_modules" / "maskedbandit").mkdir(parents=True)
    shutil.copy(ROOT / "sdk" / "typescript" / "package.json", place / "node_modules" / "maskedbandit")
    for name in ("dist", "node_modules"):
        (place / "node_modules" / "maskedbandit" / name).symlink_to(built / name)
    (place / "package.json").write_text('{"type": "module"}')
    return place


def read_page(server: Live, path: str) -> str:
    """A page, as an owner reads it."""
    with httpx.Client(base_url=server.url, timeout=LATE) as client:
        token = re.search(r'name="csrf" value="([0-9a-f]+)"', client.get("/sign-in").text)
        assert token
        client.post("/sign-in", data={"csrf": token[1], "key": server.keys["owner"]})
        return client.get(path).text


def find_program(server: Live, kind: str, program: str) -> str:
    """A program for a study of this kind, which is made for it, and runs."""
    name = f"{kind}-{program}"
    server.start_study(TABLE | STUDIES[kind] | {"name": name})
    return be_patient(read_programs(read_page(server, f"/studies/{name}"))[program])


def be_patient(text: str) -> str:
    """A program that waits for an arm for as long as it takes, as this machine may be busy."""
    return text.replace(", fallback=", f", deadline={LATE}, fallback=").replace(
        "  fallback:", f"  deadlineMs: {1000 * LATE},\n  fallback:"
    )


def count_rows(server: Live, what: str, study: str) -> int:
    """How many rows of a table a study has."""
    database = open_database(server.address)
    ((found,),) = database.rows(f"SELECT COUNT(*) FROM {what}", study)
    database.close()
    return int(found)


def run_program(server: Live, kind: str, program: str, command: list[str], folder: Path, **more: str) -> str:
    """What a program prints; then there is one person in its study, who saw the arm."""
    name = f"{kind}-{program}"
    given = {"MASKEDBANDIT_KEY": server.keys["client"], "PERSON_TOKEN": sign_in(name, "ann", time.time())}
    given |= {"PERSON_SIGNING_KEY": SIGNER.private_bytes_raw().hex(), "HOME": str(folder / "home"), **more}
    environment = os.environ | given | {"DEVICE_FOLDER": str(folder / f"device of {name}")}
    environment |= {"XDG_STATE_HOME": str(folder / "state")}
    found = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LATE)
    assert found.returncode == 0, (command, found.stdout, found.stderr)
    assert count_rows(server, "place WHERE study = ? AND exposed IS NOT NULL", name) == 1
    return found.stdout


def test_programs_of_a_shell_run(server: Live, tmp_path: Path) -> None:
    for kind in ("trusted", "signed", "enrols", "eligible", "devices"):
        for program in ("curl", "ofrep"):
            text = find_program(server, kind, program)
            said = run_program(server, kind, program, ["bash", "-euc", text], tmp_path)
            assert "ticket" in said
            reports = count_rows(server, "reward WHERE study = ?", f"{kind}-{program}")
            assert reports == (kind != "devices"), (kind, program)


def test_programs_in_python_run(server: Live, tmp_path: Path) -> None:
    for kind in ("trusted", "signed", "noise", "eligible", "devices"):
        text, name = find_program(server, kind, "python"), f"{kind}-python"
        text = re.sub(r"(    client\.report\(.*\)) .*", rf"\1; client.flush({LATE})", text)
        keys = {"DEVICE_KEY": make_device_key(server, name)} if kind == "devices" else {}
        run_program(server, kind, "python", [sys.executable, "-c", text], tmp_path, **keys)
        reports = count_rows(server, "reward WHERE study = ?", name)
        assert reports == (kind != "devices"), kind


def test_programs_in_node_run(server: Live, package: Path) -> None:
    for kind in ("trusted", "signed", "eligible", "devices"):
        text, name = find_program(server, kind, "node"), f"{kind}-node"
        text = text.replace("await client.close()", f"await client.flush({1000 * LATE}); await client.close()")
        (package / f"{name}.js").write_text(text)
        said = run_program(server, kind, "node", ["node", f"{name}.js"], package)
        if kind == "devices":
            assert json.loads(said.splitlines()[-1])["study"] == name
        assert count_rows(server, "reward WHERE study = ?", name) == (kind != "devices")


def test_programs_of_pages_run(browser: Browser, site: Site, server: Live) -> None:
    for kind in ("signed", "devices"):
        name = f"{kind}-web"
        site.program = find_program(server, kind, "web")
        key = make_device_key(server, name, site.url)
        site.me = {"unit": "ann", "token": sign_in(name, "ann", time.time()), "key": key}
        with somebody(browser) as context:
            expect(open_page(context, f"{site.url}/").locator("body")).to_have_attribute("data-ready", "yes")
        assert count_rows(server, "place WHERE study = ? AND exposed IS NOT NULL", name) == 1
        assert count_rows(server, "reward WHERE study = ?", name) == (kind == "signed")
