"""The programs for devices of two operators, run as a page says them: in Python, and in Chromium."""

import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.pairing import write_pairing
from maskedbandit.store.studies import find_witness
from maskedbandit.study.operators import OperatorKeys
from tests.service.fake_helper import FakeHelper
from tests.service.inside import TABLE
from tests.service.live import LATE, Live
from tests.service.test_connect import read_programs
from tests.service.test_connecting_programs import be_patient, count_rows, read_page
from tests.service.web_pages import PUBLIC, Site, make_device_key, open_page, sign_in, somebody
from tests.store.two_operators import CHANNEL, name_operators

pytestmark = pytest.mark.slow
REWARD = {"window": "1 hour", "exposure": "1 hour", "grace": "1 hour"}


def begin_study(server: Live, helper: OperatorKeys, name: str, **more: Any) -> dict[str, str]:
    """A running study of two operators, and the programs of its page."""
    with closing(open_database(server.address)) as database:
        leader = read_own_keys(find_witness(database, server.witness))
        with database.transaction():
            write_pairing(database, helper, "helper", "University", "http://127.0.0.1:9", "secret", 0)
    table: dict[str, Any] = {"channel": CHANNEL, "reward": REWARD, "operators": name_operators(leader, helper)}
    server.start_study(TABLE | table | {"name": name} | more)
    return read_programs(read_page(server, f"/studies/{name}"))


@pytest.fixture
def helper(tmp_path: Path) -> OperatorKeys:
    """The keys of a helper, who is away."""
    found = FakeHelper(tmp_path, lambda: 0)
    keys = found.keys
    found.close()
    return keys


def test_programs_of_devices_upload_what_is_sealed(
    browser: Browser, site: Site, server: Live, helper: OperatorKeys, tmp_path: Path
) -> None:
    programs = begin_study(server, helper, "sealed")
    environment = os.environ | {
        "MASKEDBANDIT_KEY": server.keys["client"],
        "DEVICE_FOLDER": str(tmp_path / "device"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    command = [sys.executable, "-c", be_patient(programs["python"])]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LATE)
    assert found.returncode == 0, found.stderr
    assert count_rows(server, "upload WHERE study = ?", "sealed") == 1
    site.program = begin_study(server, helper, "signed", signed_by=PUBLIC)["web"]
    key = make_device_key(server, "signed", site.url)
    site.me = {"unit": "bob", "token": sign_in("signed", "bob", time.time()), "key": key}
    with somebody(browser) as context:
        expect(open_page(context, f"{site.url}/").locator("body")).to_have_attribute("data-ready", "yes")
    assert count_rows(server, "upload WHERE study = ?", "signed") == 1
