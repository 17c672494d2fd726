"""Figures as files."""

from __future__ import annotations

import re
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from maskedbandit.lab.files import whole_file
from maskedbandit.lab.goals.style import TEXT_STAYS_TEXT

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG and SVG; the same figure gives the same files."""
    import matplotlib

    drawing, picture = StringIO(), BytesIO()
    with matplotlib.rc_context(TEXT_STAYS_TEXT):
        figure.savefig(drawing, format="svg", metadata={"Date": None})
    figure.savefig(picture, format="png", dpi=150)
    # hundredths of a point are enough, and halve the file
    text = re.sub(r"(\d\.\d\d)\d+", r"\1", drawing.getvalue())
    for suffix, content in ((".svg", text.encode()), (".png", picture.getvalue())):
        with whole_file(path.with_suffix(suffix)) as file:
            file.write(content)
