"""An experiment of the package is found by its name, whatever else is in the folder where the command runs."""

from pathlib import Path

import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments.examples import find_experiment, find_packaged_folder


def test_a_folder_of_the_same_name_is_not_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`serve --demo` makes a folder `demo`, beside which `audit demo` is asked for."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").mkdir()
    assert find_experiment("quickstart") == find_packaged_folder() / "quickstart.toml"


def test_a_file_of_the_same_name_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").write_text("")
    assert find_experiment("quickstart") == Path("quickstart")


def test_who_names_none_is_told_which_there_are() -> None:
    with pytest.raises(InvalidValue, match="quickstart"):
        find_experiment("slowstart")
