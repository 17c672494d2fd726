"""The drawings of the documents: the files are what the code draws, and what they show is what the code does."""

import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from maskedbandit.statement.trust_picture import STATIONS
from maskedbandit.store.book.entry import KINDS
from maskedbandit.store.states import BEFORE
from maskedbandit.store.study import Study
from tests.for_each import for_each
from tests.service.browser import chromium, luminance
from tools.figures.drawings.__main__ import DRAWINGS
from tools.figures.drawings.card import DARK, LIGHT, wrap_words
from tools.figures.drawings.life_of_a_person import STEPS, WINDOW
from tools.figures.drawings.states import MOVES, NOTES, STATES
from tools.figures.drawings.trust import PROTECTS

FOLDER = Path(__file__).parent.parent.parent / "docs" / "figures" / "drawings"
SVG = "{http://www.w3.org/2000/svg}"


def read_texts(name: str) -> list[str]:
    """The words of a drawing, line by line."""
    return [str(each.text) for each in ElementTree.fromstring(DRAWINGS[name]()).iter(f"{SVG}text")]


def test_the_files_are_what_the_code_draws() -> None:
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()} == {
        f"{name}.svg": draw() for name, draw in DRAWINGS.items()
    }


@for_each("name", list(DRAWINGS))
def test_whoever_cannot_see_a_drawing_is_told_what_it_shows(name) -> None:
    inside = ElementTree.fromstring(DRAWINGS[name]()).find(f"{SVG}svg")
    assert inside is not None
    assert inside.get("role") == "img"
    ids = {each.get("id"): each.text for each in inside if each.get("id")}
    assert all(ids[label] for label in str(inside.get("aria-labelledby")).split())


# --- states -------------------------------------------------------------------------------------------------------


def list_moves(before: Mapping[str, tuple[str, ...]]) -> dict[tuple[str, str], str]:
    """From which state a study may come to which other one, and what the ledger calls that, by the store."""
    return {(start, KINDS[kind].state): kind for kind, states in before.items() for start in states}


def list_arrows(drawing: str) -> set[tuple[str, str]]:
    """The same, by the arrows of a drawing: between the boxes where they begin and end."""
    root = ElementTree.fromstring(drawing)

    def read(each: ElementTree.Element, *names: str) -> list[float]:
        return [float(str(each.get(name))) for name in names]

    boxes = [read(each, "x", "y", "width", "height") for each in root.iter(f"{SVG}rect") if each.get("class") != "card"]
    names = [str(each.text) for each in root.iter(f"{SVG}text") if each.get("class") == "name"]

    def find(x: float, y: float) -> str:
        (name,) = (
            name
            for name, (left, top, wide, high) in zip(names, boxes, strict=True)
            if left - 9 <= x <= left + wide + 9 and top - 9 <= y <= top + high + 9
        )
        return name

    lines = [each for each in root.iter(f"{SVG}line") if each.get("class") == "way"]
    return {(find(*read(each, "x1", "y1")), find(*read(each, "x2", "y2"))) for each in lines}


def test_the_states_and_the_moves_are_those_of_the_store() -> None:
    moves = list_moves(BEFORE)
    assert list_arrows(DRAWINGS["states"]()) == set(moves)
    assert set(STATES) == {state for move in moves for state in move}
    for move, (verb, _, _) in MOVES.items():
        assert verb in Study.operations
        assert moves[move][:4] == verb[:4]  # "started" by "start"
    assert any("finished" in note for note in NOTES)


def test_a_move_that_is_missing_and_one_that_cannot_be_are_noticed() -> None:
    drawn = list_arrows(DRAWINGS["states"]())
    assert drawn != set(list_moves({kind: states for kind, states in BEFORE.items() if kind != "resumed"}))
    assert drawn != set(list_moves(BEFORE | {"archived": ("stopped", "draft")}))


# --- what else they show ------------------------------------------------------------------------------------------


def test_every_trust_model_of_the_statement_has_its_row() -> None:
    assert set(PROTECTS) == set(STATIONS)
    texts = read_texts("trust")
    assert [each for each in texts if each in PROTECTS] == list(PROTECTS)
    rows = texts[texts.index("none") :]
    for trust, stations in STATIONS.items():
        begin = rows.index(trust) + 2
        assert rows[begin : begin + len(stations)] == [each.name for each in stations]


def test_the_steps_of_a_person_are_operations_of_a_study_up_to_the_window() -> None:
    names = [each.name for each in STEPS]
    before, after = names[: names.index(WINDOW[1])], names[names.index(WINDOW[1]) :]
    assert before == ["assign", "expose", "report"]
    assert after == ["window", "release"]
    assert set(before) <= set(Study.operations)


def test_words_are_readable_on_every_ground_in_the_light_and_in_the_dark() -> None:
    """A contrast of 4.5 at least, which WCAG asks for."""
    for colours in (LIGHT, DARK):
        shades = {
            name: float(luminance(np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])))
            for name, colour in colours.items()
        }
        for words, ground in [("text", "card"), ("text", "open"), ("text", "closed"), ("soft", "card")]:
            light, dark = sorted((shades[words], shades[ground]), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (words, ground)


def test_words_are_wrapped_between_words() -> None:
    assert wrap_words("one two three", 75) == ["one two", "three"]
    assert wrap_words("unbreakable", 10) == ["unbreakable"]


WORDS_THAT_COLLIDE = """() => {
  const find = selector => [...document.querySelectorAll(selector)].map(each => [each, each.getBoundingClientRect()]);
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom - 3 <= b.top || b.bottom - 3 <= a.top;
  const within = (a, b) => a.left > b.left + 4 && a.right < b.right - 4 && a.top > b.top && a.bottom < b.bottom;
  const words = find("text"), boxes = find("rect:not(.card)"), [[, card]] = find("rect.card");
  return words.filter(([each, box]) => !within(box, card)
      || words.some(([other, at]) => other !== each && !apart(box, at))
      || boxes.some(([, at]) => !within(box, at) && !apart(box, at))
    ).map(([each]) => each.textContent);
}"""


@pytest.mark.slow
def test_no_word_leaves_its_box_or_stands_over_another() -> None:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        for name, draw in DRAWINGS.items():
            page.set_content(draw())
            assert page.evaluate(WORDS_THAT_COLLIDE) == [], name
        # and words that do are found
        page.set_content(re.sub("(>people get)<", r"\1 many<", DRAWINGS["states"]()))
        assert page.evaluate(WORDS_THAT_COLLIDE) == ["people get many"]
