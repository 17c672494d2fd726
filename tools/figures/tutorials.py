"""The pictures that readers of tutorials draw: `python -m tools.figures.tutorials docs/figures/tutorials`."""

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.document_code import executed, session

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
DRAWN = ("own_policy", "replay_a_log")


def main(folder: Path) -> None:
    """Run what these tutorials tell Python, and keep what they draw."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in DRAWN:
        with TemporaryDirectory() as scratch:
            os.chdir(scratch)
            executed(session((TUTORIALS / f"{name}.md").read_text()), Path(f"code_of_{name}.py"))
            for picture in Path(scratch).glob("*.svg"):
                shutil.copy(picture, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
