"""Wheels for one Python, with the loops of the README's first study compiled: whoever installs one need not wait.

    HATCH_BUILD_HOOK_ENABLE_CUSTOM=true python -m build --wheel

Otherwise a wheel is for every Python, and each machine compiles for itself. So does one whose Numba, whose NumPy or
whose system is another than those in the name of a file (digest.py): it looks for other names, and finds none. What a
loop calls is in its file. The code is for any processor of the platform, and the platform is that of Numba's own wheel:
a file has machine code which asks for nothing but what Numba brings.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "maskedbandit/lab/engine/loops"  # in the wheel: `PACKAGED` of kernel_folder.py
FILES = ("loop-*.kernel", "*.compiled")
ANY_PROCESSOR = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}


def find_first_study(readme: str) -> str:
    """The first Python in the README."""
    return readme.partition("```python\n")[2].partition("```")[0]


def compile_first_study(root: Path, folder: Path) -> None:
    """Run it with all kernels compiled, and kept in the folder."""
    own = {"PYTHONPATH": str(root / "src"), "MASKEDBANDIT_CACHE": str(folder), "MASKEDBANDIT_KERNELS": "compiled"}
    study = find_first_study((root / "README.md").read_text())
    subprocess.run([sys.executable, "-c", study], env={**os.environ, **ANY_PROCESSOR, **own}, check=True)


def name_platform(wheel: str) -> str:
    """The platforms of Numba's wheel, for this Python alone, from the file that describes it.

    >>> name_platform("Wheel-Version: 1.0\\nTag: cp313-cp313-linux_2\\nTag: cp313-cp313-linux_3\\n")
    'cp313-cp313-linux_2.linux_3'
    """
    tags = [line.removeprefix("Tag: ").split("-") for line in wheel.splitlines() if line.startswith("Tag: ")]
    python, abi, _ = tags[0]
    return f"{python}-{abi}-{'.'.join(platform for *_, platform in tags)}"


class CompiledLoops(BuildHookInterface):
    """The files of the loops, and the name of the wheel."""

    def dependencies(self) -> list[str]:
        """What runs the study is needed when the wheel is built."""
        return self.metadata.core.dependencies

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "standard":  # an editable install compiles on its machine
            return
        self.folder = Path(mkdtemp())
        compile_first_study(Path(self.root), self.folder)
        for kind in FILES:
            for path in self.folder.glob(kind):
                build_data["force_include"][str(path)] = f"{FOLDER}/{path.name}"
        build_data["pure_python"] = False
        build_data["tag"] = name_platform(distribution("numba").read_text("WHEEL") or "")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version == "standard":
            shutil.rmtree(self.folder)
