"""The types of the TypeScript package are those of the service's OpenAPI document, and are said to be stale if not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.built_package import SDK, build_package
from tests.service.live import LATE

TYPES, SCRIPT = Path("src/server/api.ts"), Path("tools/types.mjs")


def check_types(package: Path) -> subprocess.CompletedProcess[str]:
    """Have a package look at its types."""
    command = ["node", str(package / SCRIPT), "--check"]
    given = {"PYTHON": sys.executable}
    return subprocess.run(command, env=os.environ | given, capture_output=True, text=True, check=False, timeout=LATE)


@pytest.mark.slow
def test_types_that_are_stale_are_found(tmp_path: Path) -> None:
    build_package()
    package = tmp_path / "sdk" / "typescript"
    for path in (TYPES, SCRIPT):
        (package / path).parent.mkdir(parents=True)
        shutil.copy(SDK / path, package / path)
    (package / "node_modules").symlink_to(SDK / "node_modules")
    assert (found := check_types(package)).returncode == 0, found.stderr
    text = (package / TYPES).read_text()
    (package / TYPES).write_text(text.replace("propensity: string;", "propensity: number;"))
    assert "stale" in (found := check_types(package)).stderr
    assert found.returncode == 1
