"""The evidence of a statement: tests that there are, and audits that prove something."""

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.loss import Loss
from maskedbandit.statement.evidence import TESTS_OF_CHANNELS, TESTS_OF_RELEASES, TESTS_OF_STORAGE, read_audit
from tests.for_each import for_each

ROOT = Path(__file__).parents[2]
PROTOCOL, LOST = "ab" * 32, Loss.pure(1)
NAMED = {name for each in (*TESTS_OF_RELEASES, *TESTS_OF_STORAGE) for name in each.tests} | {
    name for names in TESTS_OF_CHANNELS.values() for name in names
}
AUDIT: dict[str, Any] = {
    "format": "maskedbandit audit 1",
    "version": "0.1.0",
    "target": "study demo",
    "protocol": PROTOCOL,
    "date": "2026-11-22",
    "promised": {"epsilon": 1.0, "delta": 0.0},
    "method": "sampled",
    "samples": 100_000,
    "confidence": 0.999,
    "lower_bound": 0.93,
    "violation": False,
    "control": {"twin": "noise of half the scale", "lower_bound": 1.7, "caught": True},
    "parts": [],
}


def written_down(named: set[str]) -> set[str]:
    """Which of these tests are in their files."""
    found = set()
    for name in named:
        file, *path = name.split("::")
        inside: list[ast.stmt] = ast.parse((ROOT / file).read_text()).body if (ROOT / file).exists() else []
        for part in path:
            kinds = ast.FunctionDef | ast.ClassDef
            inside = next(([each, *each.body] for each in inside if isinstance(each, kinds) and each.name == part), [])
        found |= {name} if inside else set()
    return found


def collected(named: set[str]) -> set[str]:
    """Which of these tests pytest finds."""
    files = sorted({name.partition("::")[0] for name in named if (ROOT / name.partition("::")[0]).exists()})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *files]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[-2000:]
    return named & {line.partition("[")[0] for line in found.stdout.splitlines()}


@pytest.mark.parametrize("finds", [written_down, pytest.param(collected, marks=pytest.mark.slow)])
def test_every_test_that_is_named_is_there(finds: Callable[[set[str]], set[str]]) -> None:
    there = "tests/statement/test_evidence.py"
    gone = {f"{there}::test_that_nobody_wrote", f"{there}::TestX::test_x", "tests/test_gone.py::test_x"}
    assert len(NAMED) > 20
    assert finds(NAMED | gone) == NAMED  # with a negative control


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "audit.json"
    path.write_text(json.dumps(AUDIT | changes))
    return path


def test_an_audit_is_evidence(tmp_path: Path) -> None:
    found = read_audit(written(tmp_path), PROTOCOL, LOST)
    assert (found.promised, found.lower_bound, found.samples) == ("ε = 1", "ε = 0.93", 100_000)
    assert "noise of half the scale: at least ε = 1.7" in found.control
    assert read_audit(written(tmp_path, lower_bound=1 + 1e-9, left_out=["a part"]), PROTOCOL, LOST).left_out == [
        "a part"
    ]
    assert read_audit(written(tmp_path, protocol=None), None, LOST).protocol is None


@for_each(
    ("changes", "said"),
    [
        ({"violation": True}, "the promise is broken"),
        ({"control": {"twin": "silence", "lower_bound": 0.1, "caught": False}}, "caught its broken twin"),
        ({"protocol": "cd" * 32}, "protocol of the audit"),
        ({"protocol": None}, "protocol of the audit"),
        ({"format": "maskedbandit audit 2"}, "the report of an audit"),
        ({"violation": "no"}, "the report of an audit"),
        ({"lower_bound": 1.2}, "above what was promised"),
        ({"promised": {"epsilon": None, "delta": 0.0}}, "promises nothing"),
        (
            {"promised": {"epsilon": 2.0, "delta": 0.0}, "lower_bound": 1.5},
            "audit is 1.5: it must be at most ε = 1, which",
        ),
        ({"promised": {"epsilon": 1.0, "delta": 1.0}}, "delta of the audit.* 1.0"),
        ({"promised": {"epsilon": 1.0, "delta": -0.1}}, "delta of the audit.* -0.1"),
        ({"promised": {"epsilon": -1.0, "delta": 0.0}, "lower_bound": -2.0}, "epsilon of the audit.* -1.0"),
        ({"lower_bound": -0.1}, "lower_bound of the audit.* -0.1"),
        ({"samples": -1}, "samples of the audit.* -1"),
        ({"confidence": 1.5}, "confidence of the audit.* 1.5"),
        ({"control": {"twin": "none", "lower_bound": 1.0, "caught": True}}, "control of the audit.* 1.0"),
        ({"control": {"twin": "none", "lower_bound": -1.0, "caught": True}}, "control of the audit.* -1.0"),
        ({"date": "yesterday"}, "date of the audit.*yesterday.* such as 2026-11-22"),
        ({"date": "2026-13-01"}, "date of the audit"),
        ({"parts": [{"promised": {"epsilon": 3.0, "delta": 0.0}, "lower_bound": 1.1}]}, "at most ε = 1, which"),
    ],
)
def test_an_audit_that_proves_nothing_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        read_audit(written(tmp_path, **changes), PROTOCOL, LOST)


def test_an_audit_is_held_against_what_is_promised_at_its_delta(tmp_path: Path) -> None:
    lost, delta = Loss.zcdp(0.02), 1e-5
    most = lost.epsilon(delta)
    shown = {"promised": {"epsilon": 2 * most, "delta": delta}, "control": AUDIT["control"] | {"lower_bound": 9.0}}
    assert read_audit(written(tmp_path, **shown, lower_bound=most), PROTOCOL, lost).lower_bound
    with pytest.raises(InvalidValue, match="which the statement promises each person"):
        read_audit(written(tmp_path, **shown, lower_bound=1.01 * most), PROTOCOL, lost)


def test_a_twin_may_be_of_a_part_that_promises_less(tmp_path: Path) -> None:
    parts = [{"promised": {"epsilon": each, "delta": 0.0}, "lower_bound": 0.1} for each in (1.0, 0.5)]
    twin = AUDIT["control"] | {"lower_bound": 0.7}
    assert read_audit(written(tmp_path, control=twin, parts=parts), PROTOCOL, LOST)
    with pytest.raises(InvalidValue, match="control of the audit"):
        read_audit(written(tmp_path, control=twin | {"lower_bound": 0.4}, parts=parts), PROTOCOL, LOST)
