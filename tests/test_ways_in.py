"""What leads people here: forms for issues, workflows, the conda recipe, the paper, and pages on other tools."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import maskedbandit
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RECIPE = (ROOT / "deploy" / "conda" / "recipe.yaml").read_text()
NAMED_FILE = re.compile(r"(?:blob/HEAD/)?((?:docs|deploy|src|tests)/[\w./-]+\w|[A-Z]+\.md)")


def missing_files(text: str) -> list[str]:
    """Files of the repository that a text names, and that are not there."""
    return [name for name in NAMED_FILE.findall(text) if not (ROOT / name).exists()]


# --- issues -------------------------------------------------------------------------------------------------

KINDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


def form_faults(form: dict[str, Any]) -> list[str]:
    """What is wrong with a form, by the rules of the forge: https://docs.github.com, "Syntax for issue forms"."""
    found = [key for key in ("name", "description", "body") if not form.get(key)]
    asked = [part for part in form.get("body", []) if part["type"] != "markdown"]
    ids = [part.get("id") for part in asked]
    found += ["nothing is asked"] * (not asked) + ["ids"] * (len(set(ids)) < len(ids) or None in ids)
    for part in form.get("body", []):
        needed = "value" if part["type"] == "markdown" else "label"
        found += [part["type"]] * (part["type"] not in KINDS or needed not in part["attributes"])
    return found


@for_each("path", [path for path in FORMS if path.stem != "config"], ids=lambda path: path.stem)
def test_forms_are_forms_and_name_files_that_there_are(path: Path) -> None:
    assert form_faults(yaml.safe_load(path.read_text())) == []
    assert missing_files(path.read_text()) == []


def test_a_form_that_is_none_is_found() -> None:
    part = {"type": "textarea", "id": "a", "attributes": {"label": "A"}}
    assert form_faults({"name": "x", "description": "y", "body": [part, part]}) == ["ids"]
    assert form_faults({"name": "x", "description": "y", "body": [{"type": "markdown", "attributes": {}}]}) == [
        "nothing is asked",
        "markdown",
    ]
    assert missing_files("see docs/concepts.md, docs/gone.md and SECURITY.md") == ["docs/gone.md"]


def test_whoever_could_tell_of_a_leak_is_told_not_to() -> None:
    """Each form in which a leak could be described says so first; and there is no blank one."""
    assert yaml.safe_load((FORMS[0].parent / "config.yml").read_text()) == {"blank_issues_enabled": False}
    for name in ("bug", "wrong_number", "privacy"):
        first = yaml.safe_load((FORMS[0].parent / f"{name}.yml").read_text())["body"][0]
        assert first["type"] == "markdown"
        assert "SECURITY.md" in first["attributes"]["value"], name
    assert "SECURITY.md" in (ROOT / ".github" / "pull_request_template.md").read_text()[:200]


# --- workflows ----------------------------------------------------------------------------------------------


def list_steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    """All steps of all jobs."""
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def unpinned(workflow: dict[str, Any]) -> list[str]:
    """Actions of which it is not said which version."""
    used = [step["uses"] for step in list_steps(workflow) if "uses" in step]
    return [each for each in used if not re.search(r"@(v\d+\.\d+\.\d+|[0-9a-f]{40})$", each)]


def missing_targets(workflow: dict[str, Any]) -> list[str]:
    """What `make` is asked for, and does not know."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    asked = [name for step in list_steps(workflow) for name in re.findall(r"\bmake (\w+)", step.get("run", ""))]
    return [name for name in asked if name not in targets]


@for_each("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_name_what_there_is_in_a_version_that_is_said(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert {"name", "permissions", "jobs"} <= set(workflow)
    assert "timeout-minutes" in workflow["jobs"][path.stem], "a job that hangs ends"
    assert (unpinned(workflow), missing_targets(workflow), missing_files(path.read_text())) == ([], [], [])


def test_a_workflow_with_a_moving_action_or_a_target_that_is_gone_is_found() -> None:
    steps = [{"uses": "actions/checkout@v4"}, {"uses": "actions/checkout@main"}, {"run": "make gone && make test"}]
    broken = {"jobs": {"x": {"steps": steps}}}
    assert unpinned(broken) == ["actions/checkout@v4", "actions/checkout@main"]
    assert missing_targets(broken) == ["gone"]


def test_the_image_is_that_of_the_dockerfile_and_says_what_it_was_built_from() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "image.yml").read_text())
    assert workflow[True] == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+"]}}  # YAML takes `on` for true
    (build,) = [step["with"] for step in list_steps(workflow) if "build-push" in step.get("uses", "")]
    assert (build["file"], build["provenance"], build["sbom"]) == ("deploy/Dockerfile", "mode=max", True)
    (login,) = [step["with"] for step in list_steps(workflow) if "login" in step.get("uses", "")]
    assert login["registry"] == "${{ vars.REGISTRY }}"


# --- conda --------------------------------------------------------------------------------------------------

OTHER_NAMES = {"matplotlib": "matplotlib-base", "prometheus-client": "prometheus_client"}  # on conda-forge


def conda_names(requirements: list[str]) -> list[str]:
    """What pip is asked for, as conda is asked for it."""
    found = []
    for each in requirements:
        name, bound = re.fullmatch(r"([\w-]+)(?:\[\w+\])?(>=[\d.]+)(?:;.*)?", each).groups()
        found.append(f"{OTHER_NAMES.get(name, name)} {bound}")
    return list(dict.fromkeys(found))


def test_conda_installs_what_pip_installs() -> None:
    recipe = yaml.safe_load(RECIPE)
    extras = [
        each
        for extra in ("lab", "service", "client", "postgres", "cluster")
        for each in PROJECT["optional-dependencies"][extra]
        if not each.startswith("maskedbandit[")
    ]
    needs = recipe["requirements"]
    assert needs["run"] == ["python >=${{ python_min }}", *conda_names(PROJECT["dependencies"])]
    assert needs["run_constraints"] == conda_names(extras)
    assert PROJECT["requires-python"] == f">={recipe['context']['python_min']}"
    assert recipe["context"]["version"] == maskedbandit.__version__
    assert recipe["build"]["python"]["entry_points"] == [f"{name} = {at}" for name, at in PROJECT["scripts"].items()]
    assert (recipe["about"]["license"], recipe["about"]["summary"]) == (PROJECT["license"], PROJECT["description"])
    assert (ROOT / "deploy" / "conda" / recipe["source"]["path"]).resolve() == ROOT


def test_names_for_conda_are_those_of_pip_but_for_extras_and_systems() -> None:
    asked = ["psycopg[binary]>=3.2", "uvloop>=0.22; sys_platform != 'win32'", "httpx>=0.28", "httpx>=0.28"]
    assert conda_names(asked) == ["psycopg >=3.2", "uvloop >=0.22", "httpx >=0.28"]


# --- pages on other tools -----------------------------------------------------------------------------------


@for_each("path", sorted((ROOT / "docs").glob("coming_from_*.md")), ids=lambda path: path.stem)
def test_pages_on_other_tools_have_the_same_parts_and_say_as_of_when(path: Path) -> None:
    text = path.read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        "Words",
        "The same task",
        "What you will miss",
        "What you gain",
    ]
    assert re.search(r"(?:on \d+ [A-Z][a-z]+|by [A-Z][a-z]+) 2026", text.partition("## ")[0]), "as of when"
    for study in re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        Protocol.from_table(tomllib.loads(study))


def test_every_decision_says_why_and_what_would_change_it() -> None:
    decisions = (ROOT / "docs" / "decisions.md").read_text().split("\n## ")[1:]
    assert len(decisions) > 8
    for decision in decisions:
        parts = re.findall(r"^\*\*(.+?)\.\*\*", decision, re.MULTILINE)
        assert parts == ["Decided", "Why", "Tested", "What would change it"], decision.partition("\n")[0]
        assert re.search(r"\]\(\.\./(tests|src|vectors)", decision), "where it is tested"


def test_a_table_that_is_no_study_is_found() -> None:
    with pytest.raises(maskedbandit.errors.InvalidValue):
        Protocol.from_table({"name": "newsletter", "variations": 3})


# --- the paper ----------------------------------------------------------------------------------------------

PAPER = (ROOT / "paper" / "paper.md").read_text()
HEAD, BODY = PAPER.removeprefix("---\n").split("\n---\n", 1)
# what the paper says in numbers, as the document says it too
NUMBERS = {
    "README.md": ("1.55", "1.54", "2.86", "14.37"),
    "docs/two_operators.md": ("1.15 times", "7.2 times"),
    "docs/regret.md": ("fifteen of the sixteen", "by up to 41 %", "24,000 runs"),
    "docs/identify.md": ("2.0 to 4.0 times the lower bound",),
    "docs/estimate.md": ("36 %", "0.3 %"),
}


def read_entries(bibliography: str) -> dict[str, str]:
    """The entries of a bibliography by their keys."""
    found = re.findall(r"^@\w+\{([^,\s]+),\n.*?^\}$", bibliography, re.MULTILINE | re.DOTALL)
    texts = re.findall(r"^@\w+\{[^,\s]+,\n.*?^\}$", bibliography, re.MULTILINE | re.DOTALL)
    return dict(zip(found, texts, strict=True))


def test_what_the_paper_cites_is_in_its_bibliography_and_papers_are_as_in_that_of_the_documents() -> None:
    cited = set(re.findall(r"(?<=[\[; ])@([\w-]+)", BODY))
    listed = read_entries((ROOT / "paper" / "paper.bib").read_text())
    papers = read_entries((ROOT / "docs" / "references.bib").read_text())
    assert cited == set(listed)
    assert {key for key in listed if key not in papers} == {
        *("growthbook", "mabwiser2019", "opendp", "oss_vizier", "statsig")
    }
    for key in listed.keys() & papers.keys():
        assert listed[key] == papers[key]


def test_the_paper_is_of_the_form_that_the_journal_asks_for() -> None:
    head = yaml.safe_load(HEAD)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert head["title"] == citation["title"]
    assert [each["name"] for each in head["authors"]] == [each["name"] for each in citation["authors"]]
    assert re.findall(r"^# (.*)$", BODY, re.MULTILINE) == [
        *("Summary", "Statement of need", "State of the field", "Software design", "Research impact statement"),
        *("AI usage disclosure", "Acknowledgements", "References"),
    ]
    assert 1000 <= len(re.sub(r"<!--.*?-->", "", BODY, flags=re.DOTALL).split()) <= 1500


def test_figures_and_numbers_of_the_paper_are_those_of_the_documents() -> None:
    pictures = re.findall(r"^!\[.*\\label\{(fig:\w+)\}\]\((.*)\)$", BODY, re.MULTILINE)
    assert len(pictures) == 2
    assert all((ROOT / "paper" / path).exists() for _, path in pictures)
    assert {label for label, _ in pictures} == set(re.findall(r"\\autoref\{(.*?)\}", BODY))
    said = " ".join(BODY.split())
    for name, numbers in NUMBERS.items():
        document = " ".join((ROOT / name).read_text().split())
        assert [each for each in numbers if each not in said or each not in document] == [], name
