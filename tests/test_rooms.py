"""Rooms find what is in them by listing their folder."""

import inspect
from abc import ABC, abstractmethod
from importlib import import_module
from pkgutil import walk_packages

import pytest

import maskedbandit as mb
from maskedbandit.errors import UnknownName
from maskedbandit.rooms import Room
from maskedbandit.value_words import plain_name

PACKAGES = [each.name for each in walk_packages(mb.__path__, "maskedbandit.") if each.ispkg]
ROOMS = [found for name in PACKAGES if isinstance(found := getattr(import_module(name), "room", None), Room)]


def concrete_bases(found: type) -> list[type]:
    """Classes that a class inherits from although objects can be made of them."""
    return [base for base in found.__mro__[1:] if base not in (ABC, object) and not inspect.isabstract(base)]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.package)
def test_classes_inherit_abstract_ones_alone(room) -> None:
    """What two classes share is an abstract class or a kernel: neither changes if the other does."""
    found = {name: concrete_bases(room[name]) for name in room}
    assert {name: bases for name, bases in found.items() if bases} == {}


def test_a_class_that_inherits_a_concrete_one_is_found() -> None:
    class Abstract(ABC):
        @abstractmethod
        def ask(self) -> int: ...

    class Concrete(Abstract):
        def ask(self) -> int:
            return 0

    class Child(Concrete):
        pass

    assert concrete_bases(Concrete) == []
    assert concrete_bases(Child) == [Concrete]


def test_all_rooms_are_found() -> None:
    names = {room.package.removeprefix("maskedbandit.") for room in ROOMS}
    assert {"policies", "channels", "noises", "backends"} <= names


def test_every_file_holds_the_class_of_its_name() -> None:
    for room in (mb.policies.room, mb.channels.room, mb.noises.room):
        names = list(room)
        assert names
        assert all(plain_name(room[name].__name__) == plain_name(name) for name in names)


def test_files_that_define_the_terms_are_not_in_the_room() -> None:
    assert "channel" not in list(mb.channels.room)
    assert "noisy" not in list(mb.channels.room)
    assert {"policy", "contextual_policy"} & set(mb.policies.room) == set()


def test_parts_are_not_in_the_room(tmp_path, monkeypatch) -> None:
    assert not [name for name in mb.policies.room.modules.values() if ".parts." in name]
    room = tmp_path / "room_with_parts"
    for folder in (room, room / "parts", room / "other"):
        folder.mkdir()
        (folder / "__init__.py").write_text("")
    for folder in ("parts", "other"):
        (room / folder / f"{folder}_class.py").write_text(f"class {folder.title()}Class:\n    pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert list(Room("policy", "room_with_parts")) == ["other_class"]


def test_a_policy_without_a_kernel_of_its_own_is_not_in_the_room(tmp_path, monkeypatch) -> None:
    room = tmp_path / "unfinished_room"
    room.mkdir()
    (room / "__init__.py").write_text("")
    unfinished = "from maskedbandit.policies.parts.linear import LinearPolicy\nclass Half(LinearPolicy):\n    "
    whole = "ask = staticmethod(lambda s, x, pool, law, rng: 0)"
    (room / "half.py").write_text(unfinished + "pass\n")
    (room / "whole.py").write_text(unfinished.replace("Half", "Whole") + whole + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert list(Room("policy", "unfinished_room")) == ["whole"]
    with pytest.raises(UnknownName):
        Room("policy", "unfinished_room")["half"]


def test_a_new_file_is_found_without_touching_another(tmp_path, monkeypatch) -> None:
    room = tmp_path / "extra_room"
    room.mkdir()
    (room / "__init__.py").write_text("")
    (room / "greedy_one.py").write_text('"""Greedy: the best so far [ACF02, Thm. 1]."""\nclass GreedyOne:\n    pass\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    found = Room("policy", "extra_room")
    assert list(found) == ["greedy_one"]
    assert found["GreedyOne"] is found["greedy_one"]
    assert list(found.about()) == [("greedy_one", "Greedy: the best so far [ACF02]")]
    with pytest.raises(UnknownName, match="did you mean 'greedy_one'"):
        found["greedy"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("nothing_like_it", None),
        ("Successive_Eliminaton", "SuccessiveElimination"),
        ("UCB", "UCB1"),
        ("TTUCBB", "TTUCB"),
        ("x", None),
    ],
)
def test_suggestions_are_near_and_not_case_sensitive(name, hint) -> None:
    with pytest.raises(AttributeError) as wrong:
        getattr(mb.policies, name)
    said = str(wrong.value).partition(" (known:")[0]
    assert said == f"policy is {name!r}:" + ("" if hint is None else f" did you mean {hint!r}?")
