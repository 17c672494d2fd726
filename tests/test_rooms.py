"""Rooms find what is in them by listing their folder."""

import pytest

import maskedbandit as mb
from maskedbandit.errors import UnknownName
from maskedbandit.rooms import Room, plain


def test_every_file_holds_the_class_of_its_name() -> None:
    for room in (mb.policies.room, mb.channels.room, mb.noises.room):
        names = list(room)
        assert names
        assert all(plain(room[name].__name__) == plain(name) for name in names)


def test_files_that_define_the_terms_are_not_in_the_room() -> None:
    assert "channel" not in list(mb.channels.room)
    assert "noisy" not in list(mb.channels.room)
    assert "policy" not in list(mb.policies.room)


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
