"""Tables as text, and as HTML for notebooks: lines of cells by their headings."""

from html import escape
from itertools import zip_longest

Cells = dict[str, str]  # cells by column heading


def widths(lines: list[Cells]) -> dict[str, int]:
    """How wide the columns are."""
    return {
        name: max(map(len, [name, *(each for line in lines for each in line[name].split("\n"))])) for name in lines[0]
    }


def span(lines: list[Cells]) -> int:
    """The width of all columns together, with two spaces between them."""
    found = widths(lines).values()
    return sum(found) + 2 * max(len(found) - 1, 0)


def table(lines: list[Cells], left: int) -> str:
    """Lines below their headings; the first `left` columns are text."""
    wide = widths(lines)
    pad = [str.ljust if i < left else str.rjust for i in range(len(wide))]
    rows = [[[name] for name in wide], [["─" * width] for width in wide.values()]]
    rows += [[line[name].split("\n") for name in wide] for line in lines]
    physical = [cells for row in rows for cells in zip_longest(*row, fillvalue="")]
    return "\n".join(
        "  ".join(each(cell, width) for each, cell, width in zip(pad, cells, wide.values(), strict=True)).rstrip()
        for cells in physical
    )


def html(lines: list[Cells], caption: str) -> str:
    """The same for a notebook.

    >>> html([{"curve": "a < b", "mean": "7"}], "two")
    '<table><caption>two</caption><tr><th>curve</th><th>mean</th></tr><tr><td>a &lt; b</td><td>7</td></tr></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in lines[0])
    rows = ["".join(f"<td>{escape(cell)}</td>" for cell in line.values()) for line in lines]
    return f"<table><caption>{escape(caption)}</caption>{''.join(f'<tr>{row}</tr>' for row in (head, *rows))}</table>"
