"""The documents are true: code in them runs, citations and links lead somewhere, versions agree, nothing is local."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

import maskedbandit
import maskedbandit.policies.regret as regret
from maskedbandit.rooms import Room
from tests.document_code import FENCED, executed, program, promised, session
from tests.for_each import for_each
from tests.thrift import thrifty

ROOT = Path(__file__).parent.parent
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BIBLIOGRAPHY = ROOT / "docs" / "references.bib"


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def texts() -> dict[str, str]:
    """Every text file of the repository that git does not ignore, by its name."""
    git = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        paths = [
            ROOT / name for name in subprocess.run(git, capture_output=True, text=True, check=True).stdout.split("\0")
        ]
    except (OSError, subprocess.CalledProcessError):  # not a checkout: what is packed with it
        folders = ("src", "tests", "docs", "experiments", "bench", ".ci")
        paths = [*ROOT.glob("*"), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
    found = {}
    for path in paths:
        if path.is_file() and "__pycache__" not in path.parts:
            try:
                found[named(path)] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # an image
    return found


# --- code ---------------------------------------------------------------------------------------------------


@contextmanager
def served(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """For a program of an application: the service with the study that it names, which hears of its people."""
    if "LEADER_URL" in source:
        with leading(folder, monkeypatch):
            yield source
        return
    if "MASKEDBANDIT_URL" not in source:
        yield source
        return
    from maskedbandit.client.clients import StudyClient
    from maskedbandit.client.openfeature import MaskedBanditProvider
    from maskedbandit.study.protocol import Protocol
    from tests.client.live_service import LiveService

    for each in (StudyClient, MaskedBanditProvider):  # this machine may be busy
        monkeypatch.setitem(each.__init__.__kwdefaults__, "deadline", 60.0)
    study = "demo" if '"demo"' in source else "newsletter"
    protocol = Protocol.from_file(ROOT / "experiments" / "studies" / f"{study}.toml")
    with LiveService(folder, protocol).running() as live:
        monkeypatch.setenv("MASKEDBANDIT_URL", live.url)
        monkeypatch.setenv("MASKEDBANDIT_KEY", live.key)
        monkeypatch.setenv("XDG_STATE_HOME", str(folder))
        yield source
        assert set(live.reports().values()) == {1.0}
        (exposed,) = live.rows("SELECT count(*) FROM place WHERE exposed IS NOT NULL")
        assert exposed == (len(live.reports()),)


@contextmanager
def leading(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For a program of a device: a leader on this machine, which is told that somebody opened the newsletter."""
    from tests.device.fake_leader import KEY, Leader, listening, make_place

    leader, place = Leader(), make_place(exposed=int(1000 * time.time()))
    leader.exposed = None
    with listening(leader) as url:
        monkeypatch.setenv("LEADER_URL", url)
        monkeypatch.setenv("FOLDER_OF_BOB", str(folder / "bob"))
        monkeypatch.setenv("DEVICE_KEY", KEY)
        monkeypatch.setenv("TOKEN_OF_BOB", "token")
        monkeypatch.setenv("DEVICE_FOLDER", str(folder / "device"))
        monkeypatch.setenv("PLACE_OF_ANN", json.dumps(place))
        yield
    assert leader.opened() == 255


def code_of(path: Path) -> str:
    """What a document is to have run: a tutorial also what it tells a shell."""
    return (session if path.parent.name == "tutorials" else program)(path.read_text())


WITH_CODE = [path for path in DOCUMENTS if code_of(path)]


DEAR = ("contextual", "secure_sums", "scale", "compare", "top_arms", "identify", "changing_arms", "two_operators")
PORT = "8470"  # of services that a tutorial begins


@contextmanager
def reading(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where a reader of a tutorial is, an empty folder with the command at hand: its program, with a port that is free.

    The studies there have noise of the operating system. They end with another answer, or later than is said, in fewer
    than one of 10 000 readings.
    """
    begun: list[subprocess.Popen[str]] = []

    class Begun(subprocess.Popen):
        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            begun.append(self)

    monkeypatch.setattr(subprocess, "Popen", Begun)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    try:
        yield source.replace(PORT, port)
    finally:
        for process in begun:
            if process.returncode is None:
                process.kill()
                process.communicate()


@pytest.mark.sparing(4)
@pytest.mark.parametrize(
    "path", thrifty(WITH_CODE, lambda path: path.stem in DEAR or path.parent.name == "tutorials"), ids=named
)
def test_code_runs_and_prints_what_it_says(path: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    if path.stem.startswith("add_a_"):  # guides: the contracts compile their kernels
        monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    source, where = code_of(path), reading if path.parent.name == "tutorials" else served
    with where(source, tmp_path, monkeypatch) as source:
        executed(source, tmp_path / f"code_of_{path.stem.lower()}.py")
    assert capsys.readouterr().out == promised(source)


def test_the_documents_with_code_are_found() -> None:
    assert {"README.md", "docs/add_a_policy.md", "docs/concepts.md"} <= {named(path) for path in WITH_CODE}


def test_a_wrong_promise_and_a_failing_block_are_noticed(tmp_path: Path, capsys) -> None:
    wrong = program("text\n```python\nx = 1\n```\nmore\n```python\nprint(x)\n# → 2\n```\n")
    executed(wrong, tmp_path / "wrong.py")
    assert capsys.readouterr().out != promised(wrong)
    assert wrong.splitlines().index("print(x)") == 6  # where it stands
    with pytest.raises(ZeroDivisionError):
        executed(program("```python\n1 / 0\n```\n"), tmp_path / "failing.py")


def test_what_a_shell_is_told_is_run_and_compared(tmp_path: Path, capsys) -> None:
    told = session(
        "```bash\necho unsaid\n```\ntext\n```bash\necho 'one \\n'\n# → two\n```\n```python\nprint(3)\n# → 3\n```\n"
    )
    executed(told, tmp_path / "told.py")
    assert (capsys.readouterr().out, promised(told)) == ("one \\n\n3\n", "two\n3\n")
    with pytest.raises(subprocess.CalledProcessError):
        executed(session("```bash\nfalse | true\ntrue\n```\n"), tmp_path / "failing.py")


def test_the_policy_of_the_guide_is_found_because_its_file_exists(tmp_path: Path, monkeypatch) -> None:
    guide = (ROOT / "docs" / "add_a_policy.md").read_text()
    (tmp_path / "explore_then_commit.py").write_text(FENCED.findall(guide)[0][1])
    monkeypatch.setattr(regret, "__path__", [*regret.__path__, str(tmp_path)])
    name = "maskedbandit.policies.regret.explore_then_commit"
    room = Room("policy", "maskedbandit.policies")
    try:
        assert room["explore_then_commit"].__name__ == "ExploreThenCommit"
        assert dict(room.about())["explore_then_commit"].endswith("[LS20]")
    finally:
        sys.modules.pop(name, None)
        vars(regret).pop("explore_then_commit", None)


@pytest.mark.slow
def test_the_readme_shows_what_make_run_prints(tmp_path: Path) -> None:
    from maskedbandit.lab.experiments.experiment import read_experiment
    from maskedbandit.lab.experiments.table import collect_results
    from maskedbandit.lab.goals.cells import format_summary

    experiment = read_experiment(ROOT / "experiments" / "quickstart.toml")
    rows = experiment.shown.summary(collect_results(experiment, experiment.settings, tmp_path))
    table = format_summary(rows, experiment.shown.cells).partition("\n\n")[0]
    assert len(table.splitlines()) == 2 + len(rows) > 2
    assert indent(table, "    ") in (ROOT / "README.md").read_text()


# --- citations ----------------------------------------------------------------------------------------------

KEY = r"[A-Z][A-Za-z+]*\d\d"
CITATION = re.compile(rf"\[({KEY}(?:[,;][^\[\]]*)?)\]")


def cited(text: str) -> set[str]:
    """Keys cited in a text: one or more to a bracket, each with or without a number."""
    parts = [part.strip() for bracket in CITATION.findall(text) for part in bracket.split(";")]
    return {key[0] for key in (re.match(rf"{KEY}(?!\w)", part) for part in parts) if key}


def entries(bibliography: str) -> list[str]:
    return re.findall(r"^@\w+\{([^,\s]+),$", bibliography, re.MULTILINE)


def mismatches(used: Iterable[str], listed: Iterable[str]) -> tuple[list[str], list[str]]:
    """Keys that no entry explains, and entries that nothing cites."""
    return sorted(set(used) - set(listed)), sorted(set(listed) - set(used))


def test_every_citation_has_an_entry_and_every_entry_is_cited() -> None:
    used = {key for name, text in texts().items() if not name.endswith(".bib") for key in cited(text)}
    listed = entries(BIBLIOGRAPHY.read_text())
    assert len(listed) == len(set(listed)) > 20
    assert mismatches(used, listed) == ([], [])


def test_an_unknown_key_and_an_unused_entry_are_found() -> None:
    text = "as in [" + "Abc01, Thm. 1;\nDef02], [" + "Ghi03]; not [1, 2], nor [Jkl4], nor f(x)"
    assert cited(text) == {"Abc01", "Def02", "Ghi03"}
    assert mismatches(cited(text), entries("@book{Abc01,\n}\n@misc{Xyz09,\n}\n")) == (["Def02", "Ghi03"], ["Xyz09"])


def test_entries_are_whole() -> None:
    for entry in re.split(r"^@", BIBLIOGRAPHY.read_text(), flags=re.MULTILINE)[1:]:
        assert entry.count("{") == entry.count("}"), entry
        assert re.search(r"^ +author += \{", entry, re.MULTILINE), entry
        assert re.search(r"^ +title += \{", entry, re.MULTILINE), entry


# --- links --------------------------------------------------------------------------------------------------


def anchors(document: str) -> set[str]:
    """The names by which headings can be linked to."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def definitions(source: str) -> set[str]:
    """The classes and functions of a file of Python, also those inside of a class."""
    return set(re.findall(r"^ *(?:class|def) (\w+)", source, re.MULTILINE))


PLACES = {".md": anchors, ".py": definitions}  # what a link may name of a file, by its ending


def dead(document: str, folder: Path) -> list[str]:
    """Relative links that lead nowhere; one into a file of Python may name a class or a function of it."""
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", document)):
        page, _, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            continue
        target = folder / page
        if not target.exists():
            found.append(link)
        elif anchor:
            places = PLACES[target.suffix](target.read_text()) if page else anchors(document)
            if anchor not in places:
                found.append(link)
    return found


@for_each("path", DOCUMENTS, ids=named)
def test_links_lead_somewhere(path: Path) -> None:
    assert dead(path.read_text(), path.parent) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# One heading: it's here\n")
    (tmp_path / "there.py").write_text("class Test:\n    def test_it(self):\n        called()\n")
    links = (
        "[a](there.md) [b](there.md#one-heading-its-here) [c](gone.md) [d](there.md#two) [e](#none) [f](https://a.b/c) "
        "[g](there.py#Test) [h](there.py#test_it) [i](there.py#called)"
    )
    assert dead(links, tmp_path) == ["gone.md", "there.md#two", "#none", "there.py#called"]


# --- versions -----------------------------------------------------------------------------------------------


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    newest = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    citation = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert {project, newest, *citation} == {maskedbandit.__version__}


def test_privacy_comes_first_in_every_release() -> None:
    releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    assert releases
    assert all(re.findall(r"^### (.+)$", release, re.MULTILINE)[0] == "Privacy" for release in releases)


# --- addresses -------------------------------------------------------------------------------------------------

HOSTS = [".".join(host) for host in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("crates", "io"))]
LOCAL = re.compile(r"(?<![\w.~:}/-])/(?:" + "|".join(("work", "root", "home", "tmp", "Users")) + r")(?![\w.-])")


def addresses(text: str) -> list[str]:
    """Registry hosts, and absolute paths of somebody's machine."""
    return [host for host in HOSTS if host in text] + LOCAL.findall(text)


def test_nothing_names_a_registry_or_a_machine() -> None:
    found = {name: addresses(text) for name, text in texts().items()}
    assert len(found) > 50
    assert {name: what for name, what in found.items() if what} == {}


def test_a_registry_and_a_machine_are_found() -> None:
    slash = "/"
    assert addresses(f"from https:{slash}{slash}files.{HOSTS[1]}{slash}simple") == [HOSTS[1]]
    assert addresses(f"see {slash}tmp{slash}x, '{slash}home{slash}ann' and {slash}root") == [
        f"{slash}{p}" for p in ("tmp", "home", "root")
    ]
    assert addresses("and/or, src/work/a.py, ~/.cache, the /working set") == []


def test_constraints_are_names_and_versions() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert [line for line in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def test_all_keys_of_a_protocol_are_documented_and_no_others():
    """Each table of the document against what the table of a protocol refuses to know."""
    from maskedbandit.errors import InvalidValue
    from maskedbandit.study.protocol import Protocol

    base = {"name": "x", "people": 10, "channel": "central", "arms": [{"name": "a"}, {"name": "b"}]}
    parts = re.split(r"^\*\*`\[+(\w+)\]+`\*\*", (ROOT / "docs" / "protocol.md").read_text(), flags=re.MULTILINE)
    tables = {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}
    others = ["guardrail", "metrics", "enrolment", "budget"]
    assert list(tables) == ["", "reward", "operators", "sites", "rounds", *others, "simulation"]
    del tables["simulation"]  # which a rehearsal reads, and no study
    del tables["operators"]  # whose two tables need all that they may have
    for name, text in tables.items():
        documented = {
            key.strip("[]")
            for line in re.findall(r"^\| (`[^|]+`) \|", text, re.MULTILINE)
            for key in re.findall(r"`([^`]+)`", line)
        }
        given: object = [{"unheard": 1}] if name == "metrics" else {"unheard": 1}
        given = {"list": [], "unheard": 1} if name == "sites" else given
        wrong = {**base, "unheard": 1} if not name else {**base, name: given}
        with pytest.raises(InvalidValue, match="known: ") as refused:
            Protocol.from_table(wrong)
        known = set(re.findall(r"\w+", str(refused.value).partition("known: ")[2]))
        assert documented == known, name
