"""The page of a statement: all of it, as text, on one sheet of paper."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from maskedbandit.channels import room
from maskedbandit.lab.experiments.examples import find_experiment
from maskedbandit.lab.experiments.experiment import read_experiment
from maskedbandit.reports.statement import statement_of_experiment
from maskedbandit.statement.content import Audited, Points, Statement, digest_statement, encode_statement
from maskedbandit.statement.page import POINT_NAMES, STATEMENT_STYLE, TEMPLATE_FOLDER, print_statement
from maskedbandit.statement.trust_picture import STATIONS, describe_picture, trust_picture
from tests.for_each import for_each
from tests.service.all_pages import HOSTILE
from tests.service.browser import OPTIONS
from tests.service.played import quick_folder
from tests.service.test_page import Page, contrast
from tests.statement.stage import finished, stated

LONG = "which of three subject lines is opened most often by people who have subscribed to the newsletter for a year"
DEVICES = {"channel": {"name": "response", "epsilon": 2}, "budget": {"epsilon": 2}, "reward": {"rule": "first"}}
GAUSS = {"channel": {"name": "central", "epsilon": 0.5, "noise": "discrete_gaussian"}, "budget": {"rho": 0.2}}
AUDIT = Audited(
    "study newsletter, all that was released of it",
    "ab" * 32,
    "2026-11-22",
    "0.1.0",
    "sampled",
    100_000,
    0.999,
    "ε = 1",
    "ε = 0.93",
    "noise of half the scale: at least ε = 1.7, so it was caught",
    ["what a device sends"],
    "cd" * 32,
)


@pytest.fixture(scope="module")
def said() -> Iterator[dict[str, Statement]]:
    """Statements of all kinds."""
    with quick_folder() as folder:
        studies = {
            "central": finished(folder / "central", project="letters", about=LONG),
            "local": finished(folder / "local", 20, **DEVICES),
            "gauss": finished(folder / "gauss", 80, **GAUSS),
        }
        found = {name: stated(each) for name, each in studies.items()}
        found["draft"] = stated(studies["central"], 0)
        found["audited"] = replace(found["central"], evidence=replace(found["central"].evidence, audits=[AUDIT] * 3))
        found["experiment"] = statement_of_experiment(read_experiment(find_experiment("quickstart")))
        yield found
        for each in studies.values():
            each.study.close()


@pytest.mark.slow
def test_a_page_has_every_point_and_every_number(said: dict[str, Statement]) -> None:
    assert set(POINT_NAMES) | {"trust_model"} == set(Points.__struct_fields__)
    for name, each in said.items():
        page = Page(print_statement(each))
        assert page.wrong == [], name
        words = page.text
        texts = [each.odds, each.trust, *each.not_protected, *each.assumptions, *POINT_NAMES.values()]
        texts += [getattr(each.points, point) for point in POINT_NAMES]
        texts += [tested.claim for tested in each.evidence.tested] + [one.digest[:16] for one in each.evidence.audits]
        texts += [test.rpartition("::")[2] for tested in each.evidence.tested for test in tested.tests]
        texts += [each.protocol, digest_statement(each), each.version, "Owner of the study", "Privacy officer"]
        if each.ledger:
            texts += [each.ledger.head, each.ledger.key, f"{each.ledger.entries} entries"]
        for text in texts:
            assert " ".join(text.split()) in words, (name, text)


@pytest.mark.slow
def test_a_page_names_the_file_that_it_shows(said: dict[str, Statement]) -> None:
    from hashlib import sha256

    for each in said.values():
        assert sha256(encode_statement(each)).hexdigest() in print_statement(each)


@pytest.mark.slow
def test_whatever_a_study_is_called_is_only_text(said: dict[str, Statement]) -> None:
    text = print_statement(replace(said["central"], about=HOSTILE, project=HOSTILE, odds=HOSTILE, trust=HOSTILE))
    assert "alert(1)" in text
    for never in ("<script", "<img", "onerror=y>", "49 &"):
        assert never not in text
    assert Page(text).wrong == []


def test_a_page_needs_nothing_else(said: dict[str, Statement]) -> None:
    for each in said.values():
        text = print_statement(each)
        assert not re.search(r"(src|href)=|url\(|@import", text)


def test_every_trust_model_has_a_picture_with_words() -> None:
    trusts = {room[name].trust for name in room}
    assert trusts | {"two servers", "sites"} == set(STATIONS)  # where others than devices add the noise
    for each in STATIONS:
        picture = str(trust_picture(each))
        assert picture.count('role="img"') == 2
        assert f'<desc id="trust-{each.replace(" ", "-")}-wide-about">' in picture
        assert all(station.does in describe_picture(each) for station in STATIONS[each])
        assert picture.count('class="border"') == (2 if each != "none" else 0)  # noise begins once, in both drawings


@for_each("dark", [False, True])
def test_colours_have_contrast(dark: bool) -> None:
    light, _, rest = (
        (TEMPLATE_FOLDER / STATEMENT_STYLE).read_text().partition("@media screen and (prefers-color-scheme: dark)")
    )
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", light))
    assert len(found) == 9
    found |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", rest)) if dark else {}
    for text in ("text", "soft", "mark"):
        assert contrast(found[text], found["page"]) >= 4.5
    for box in ("shown", "hidden"):
        assert contrast(found["text"], found[box]) >= 4.5
        assert contrast(found[f"{box}-edge"], found["page"]) >= 3


def sheets(page: str, folder: Path) -> int:
    """On how many sheets of paper a browser prints a page."""
    chromium = shutil.which("chromium")
    assert chromium, "chromium is missing: `make slow` installs it as root on Debian, with apt-get install chromium"
    (folder / "page.html").write_text(page)
    command = [chromium, *OPTIONS, "--no-pdf-header-footer", f"--print-to-pdf={folder / 'page.pdf'}"]
    subprocess.run([*command, str(folder / "page.html")], check=True, capture_output=True, timeout=120)
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", (folder / "page.pdf").read_bytes()))


@pytest.mark.slow
def test_a_statement_is_one_sheet(said: dict[str, Statement], tmp_path: Path) -> None:
    assert {name: sheets(print_statement(each), tmp_path) for name, each in said.items()} == dict.fromkeys(said, 1)
    longer = msgspec.structs.replace(said["central"], assumptions=said["central"].assumptions * 8)
    assert sheets(print_statement(longer), tmp_path) == 2  # negative control
