"""The stock provider of OpenFeature for JavaScript, as docs/openfeature.md uses it, against a live server."""

import os
import shutil
import subprocess
import tomllib
from collections import Counter
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path

import pytest

from maskedbandit.store.databases.connection import open_database
from tests.document_code import FENCED
from tests.service.live import LATE, PATIENT, ROOT, Live

PACKAGES = Path(__file__).with_name("javascript")
PEOPLE = 30
EVERYBODY = """
for (let i = 0; i < 30; i++) {
  const flag = await shown(`person ${i}`);
  if (flag.reason !== "SPLIT" || flag.flagMetadata.exposed !== true) throw new Error(JSON.stringify(flag));
  if (flag.variant === "short") await opened(flag.flagMetadata.ticket);
  console.log(flag.variant, flag.value.subject);
}
"""


@pytest.mark.slow
def test_people_whose_application_knows_the_stock_provider_alone_are_all_in_a_release(
    turned_server: Live, tmp_path: Path, turned: Path
) -> None:
    check_all_are_in_a_release(turned_server, tmp_path, turned)


def check_all_are_in_a_release(server: Live, folder: Path, turned: Path) -> None:
    """Everybody comes, then all windows are over as the clock is turned."""
    table = tomllib.loads((ROOT / "experiments" / "studies" / "newsletter.toml").read_text())
    del table["simulation"]
    table["policy"] = {"name": "successive_elimination", "least": PEOPLE // 3}
    table["reward"] = PATIENT
    table["channel"] = {"name": "central", "epsilon": 200}  # so little noise that each outcome is seen in the sum
    table["budget"] = {"epsilon": 200}
    server.start_study(table)
    said = Counter(line.partition(" ")[0] for line in ran(server, folder).splitlines())
    assert said == {"short": 10, "question": 10, "numbers": 10}
    turned.touch()
    wait_for_releases(server, 3)
    found = server.ask("GET", "/v1/studies/newsletter/releases", key="owner").json["releases"]
    released = {each["arm"]: (each["n"], round(each["total"])) for each in found}
    assert released == {"short": (10, 10), "question": (10, 0), "numbers": (10, 0)}
    database = open_database(server.address)
    counts = "COUNT(*), COUNT(exposed), COUNT(returned), COUNT(DISTINCT person)"
    assert database.rows(f"SELECT {counts} FROM place") == [(PEOPLE, PEOPLE, 0, PEOPLE)]
    database.close()


def wait_for_releases(server: Live, many: int, study: str = "newsletter") -> None:
    """Listen until there were so many."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=LATE)
    headers = {"Authorization": f"Bearer {server.keys['owner']}"}
    connection.request("GET", f"/v1/studies/{study}/events", headers=headers)
    lines = iter(connection.getresponse().readline, b"")
    assert sum(1 for _ in islice((line for line in lines if line == b"event: released\n"), many)) == many
    connection.close()


def ran(server: Live, folder: Path) -> str:
    """What the program of the document prints when everybody comes."""
    npm = shutil.which("npm")
    assert npm, "npm is missing: `make slow` installs it as root on Debian, with apt-get install nodejs npm"
    place = folder / "javascript"
    shutil.copytree(PACKAGES, place)
    subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=place, check=True, timeout=LATE)
    (program,) = [text for kind, text in FENCED.findall((ROOT / "docs" / "openfeature.md").read_text()) if kind == "js"]
    (place / "program.js").write_text(program + EVERYBODY)
    given = {"MASKEDBANDIT_URL": server.url, "MASKEDBANDIT_KEY": server.keys["client"]}
    found = subprocess.run(
        ["node", "program.js"], cwd=place, env=os.environ | given, capture_output=True, text=True, timeout=LATE
    )
    assert found.returncode == 0, found.stderr
    return found.stdout
