"""The pages of the source papers: every row says where its statement is, and no number of a paper is left out."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.for_each import for_each

PAGES = Path(__file__).parent.parent / "docs" / "papers"
NUMBERED: dict[str, dict[str, Iterable[int]]] = {  # the kinds of statements of each paper, with all their numbers
    "lecture_notes": {
        "Def. 11.": (2, 3, 4, 5, 6, 8, 10),
        "Lem. 11.": (7, 11),
        "Thm. 11.": (1, 9, 12, 13),
        "Alg. ": (1,),
    },
    "gaussian_thompson": {"Thm. ": (1, 2)},
    "running_sums": {
        "Def. ": (1,),
        "Alg. ": range(1, 5),
        "Thm. ": (2, 3, 4, 7, 8),
        "Lem. ": (5, 6, 9, 10, 11, 12),
        "Fig. ": (1, 2),
    },
    "distributed": {
        "Def. ": range(1, 12),
        "Fact ": range(1, 4),
        "Alg. ": range(1, 8),
        "Thm. ": range(1, 8),
        "Prop. ": (1,),
        "Claim ": (1,),
        "Lem. ": range(1, 11),
        "Rem. ": range(1, 10),
        "Assumption ": (1, 2),
        "Table ": (1,),
        "Fig. ": range(1, 5),
    },
}
COLUMNS = ("statement", "it says", "what differs, and why", "where, tested by, seen in")
NOT_HERE = "not here"
NUMBERS = re.compile(r"([A-Z][a-z]+\.? (?:11\.)?)(\d+)((?:(?:, | to )\d+)*)")  # a kind, a number, and more of them


def rows(page: str) -> list[dict[str, str]]:
    """All rows of all tables of a page."""
    found = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and cells != list(COLUMNS) and set(line) - set("|-"):
            assert len(cells) == len(COLUMNS), line
            found.append(dict(zip(COLUMNS, cells, strict=True)))
    return found


def unfounded(page: str) -> list[str]:
    """Statements of which a row names neither file and test, nor why they are not here."""
    wrong = []
    for row in rows(page):
        where = row["where, tested by, seen in"]
        there = "](../../src/" in where or "](../../experiments/" in where
        tested = "](../../tests/" in where
        absent = where.startswith(NOT_HERE) and not there and not tested
        if not all((row["it says"], row["what differs, and why"], absent or (there and tested))):
            wrong.append(row["statement"])
    return wrong


def left_out(page: str, numbered: Mapping[str, Iterable[int]]) -> list[str]:
    """Numbers of a paper that no row has: "Lem. 7, 9" has both, and "Lem. 3 to 5" has three."""
    listed = set()
    for row in rows(page):
        for kind, first, more in NUMBERS.findall(row["statement"]):
            numbers = [int(first), *map(int, re.findall(r"\d+", more))]
            if " to " in more:
                numbers = list(range(numbers[0], numbers[-1] + 1))
            listed |= {f"{kind}{number}" for number in numbers}
    due = [f"{kind}{number}" for kind, numbers in numbered.items() for number in numbers]
    return [statement for statement in due if statement not in listed]


@for_each("path", sorted(PAGES.glob("*.md")), ids=lambda path: path.stem)
def test_every_row_names_a_file_and_a_test_or_says_why_not(path) -> None:
    assert len(rows(path.read_text())) > 5
    assert unfounded(path.read_text()) == []


@for_each("name", NUMBERED)
def test_no_number_of_a_paper_is_left_out(name) -> None:
    assert left_out((PAGES / f"{name}.md").read_text(), NUMBERED[name]) == []


def test_a_row_that_says_nothing_and_a_number_that_is_missing_are_found() -> None:
    head = "| " + " | ".join(COLUMNS) + " |\n|---|---|---|---|\n"
    page = head + (
        "| Thm. 1 | a | nothing | [f](../../src/f.py), [t](../../tests/t.py) |\n"
        "| Lem. 2, 4 | b | why | not here, [a figure](../figures/f.svg) |\n"
        "| Lem. 6 to 8 [X] | c | nothing | [f](../../src/f.py) |\n"
        "| the end | d | | not here |\n"
    )
    assert unfounded(page) == ["Lem. 6 to 8 [X]", "the end"]
    assert left_out(page, {"Thm. ": (1, 2), "Lem. ": range(2, 9)}) == ["Thm. 2", "Lem. 3", "Lem. 5"]
