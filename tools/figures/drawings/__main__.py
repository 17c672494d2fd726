"""The drawings that explain: `python -m tools.figures.drawings docs/figures/drawings` draws them all."""

import sys
from collections.abc import Callable
from pathlib import Path

from tools.figures.drawings.life_of_a_person import draw_life_of_a_person
from tools.figures.drawings.pipeline import draw_pipeline
from tools.figures.drawings.states import draw_states
from tools.figures.drawings.trust import draw_trust

DRAWINGS: dict[str, Callable[[], str]] = {
    "pipeline": draw_pipeline,
    "life_of_a_person": draw_life_of_a_person,
    "states": draw_states,
    "trust": draw_trust,
}


def write_drawings(folder: Path) -> None:
    """Draw each into a file of its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWINGS.items():
        (folder / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    write_drawings(Path(sys.argv[1]))
