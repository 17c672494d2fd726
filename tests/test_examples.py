"""What examples in docstrings say is what they give, in every module of the package and of its tests."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def list_modules(root: Path) -> dict[str, list[str]]:
    """The modules below a folder that may have examples, by their room."""
    found: dict[str, list[str]] = {}
    for path in sorted(root.rglob("*.py")):
        if ">>> " in path.read_text():
            name = ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
            found.setdefault(".".join(name.split(".")[:2]), []).append(name)
    return found


ROOMS = list_modules(ROOT / "src" / "maskedbandit") | list_modules(ROOT / "tests")


def wrong_examples(name: str) -> list[str]:
    """Names of what has an example in a module that gives something else than it says."""
    found, finder = [], doctest.DocTestFinder(recurse="." in name)  # the package has parts that come when looked at
    for case in finder.find(import_module(name)):
        if (
            doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(case).failed
        ):  # it prints what was said and what came
            found.append(case.name)
    return found


@pytest.mark.sparing(6)
@pytest.mark.parametrize("room", ROOMS)
def test_examples_give_what_they_say(room: str) -> None:
    assert [case for name in ROOMS[room] for case in wrong_examples(name)] == []


def test_an_example_that_gives_something_else_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "two").mkdir()
    functions = [
        f'def {name}():\n    """\n    >>> 1 + 1\n    {said}\n    """\n' for name, said in (("right", 2), ("wrong", 3))
    ]
    (tmp_path / "two" / "of_them.py").write_text("".join(functions))
    monkeypatch.syspath_prepend(tmp_path)
    assert wrong_examples("two.of_them") == ["two.of_them.wrong"]
